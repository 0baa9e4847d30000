/* The search loses nothing by pruning, its results are identical to the byte, and it names the rule
 * that is broken. */
#include "tests/support/planning.h"

/* The request that allows only this candidate. */
static pp_plan_request only(const pp_plan_request *request, const pp_candidate *c)
{
    pp_plan_request one = *request;
    one.parallel = c->parallel;
    one.micro_batch_size = c->micro_batch_size;
    one.global_batch_size = c->micro_batch_size * c->microbatches * c->parallel.dp;
    one.schedule = c->schedule;
    one.partition = c->partition;
    one.switches.given.recompute = true;
    one.switches.value.recompute = c->recompute;
    return one;
}

static double score(const pp_candidate *c)
{
    return (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
}

/* Pruning must not lose an answer: every candidate that was not simulated is simulated alone, and
 * is not faster or does not fit; every one that was simulated gives the same step again, or, where
 * recomputation was chosen per microbatch, no longer one: alone, that search has more beginnings.
 */
START_TEST(pruning_loses_nothing)
{
    static const struct {
        const char *model, *hardware;
        int64_t pp;
    } rows[] = { { "gpt22b", "a100-80g", 4 },
                 { "llama3-8b", "h100-80g", 3 },
                 { "mixtral-8x7b", "h200-141g", 5 } };
    planning p = planning_of(rows[_i].model, rows[_i].hardware);
    pp_plan_request request = request_of(&p, rows[_i].pp);
    request.global_batch_size = 16;
    pp_search_result *choice = choose(&request);
    ck_assert_uint_gt(choice->pruned, 0);
    /* one search per candidate: every candidate of the last model, a sample for the others */
    size_t stride = _i == 2 ? 1 : choice->count / 80 + 1;
    const uint32_t part = sample_stride(6, 3);
    stride *= part;
    for (size_t i = sample_first(part); i < choice->count; i += stride) {
        const pp_candidate *c = &choice->candidate[i];
        pp_plan_request one = only(&request, c);
        pp_search_result *alone = NULL;
        char why[PP_REASON_BYTES];
        pp_err err = { 0 };
        pp_status status = pp_plan_search(&one, &alone, &err);
        if (c->status == PP_CANDIDATE_OK) {
            ck_assert_int_eq(status, PP_OK);
            if (c->recompute == PP_RECOMPUTE_MICROBATCHES)
                ck_assert_int_le(alone->candidate[0].step_ns, c->step_ns);
            else
                ck_assert_int_eq(alone->candidate[0].step_ns, c->step_ns);
            ck_assert_int_le(c->least_step_ns, c->step_ns);
        }
        if (status == PP_OK)
            ck_assert_msg(score(&alone->candidate[0]) >= score(&choice->candidate[0]),
                          "%s vpp %d: %s, but %lld", c->schedule->name, (int)c->parallel.vpp,
                          pp_misfit_print(&c->reason, why, sizeof why),
                          (long long)alone->candidate[0].step_ns);
        if (c->status == PP_CANDIDATE_INFEASIBLE && c->legal)
            ck_assert_msg(status == PP_INFEASIBLE ||
                              (status == PP_USAGE && strstr(err.text, c->schedule->name)),
                          "%s vpp %d: %s: %s", c->schedule->name, (int)c->parallel.vpp,
                          pp_misfit_print(&c->reason, why, sizeof why), err.text);
        ck_assert(c->status == PP_CANDIDATE_OK || c->reason.kind);
        pp_search_result_free(&alone);
    }
    pp_search_result_free(&choice);
}
END_TEST

/* What a search keeps of costs, with several tp, recomputations and partitions, is what each of its
 * candidates has alone. */
START_TEST(kept_costs_are_those_of_the_candidate)
{
    static const int64_t lengths[] = { 900, 2048, 33, 1500, 700, 2048, 64, 1999,
                                       512, 1,    77, 1024, 300, 1800, 5,  640 };
    planning p = planning_of("gpt1.7b", "a100-80g");
    pp_plan_request request = request_of(&p, 2);
    request.lengths = lengths;
    request.length_count = sizeof lengths / sizeof *lengths;
    request.seq_length = 2048;
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = choose(&request);
    size_t compared = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        if (c->status != PP_CANDIDATE_OK || !pp_candidate_is_named(c) ||
            c->recompute > PP_RECOMPUTE_FULL || c->partition == PP_PARTITION_FITTED)
            continue;
        pp_plan_request one = only(&request, c);
        one.global_batch_size = 0;
        pp_search_result *alone PP_CLEANUP(pp_search_result_free) = choose(&one);
        ck_assert_msg(alone->candidate[0].step_ns == c->step_ns, "%s tp %d vpp %d: %lld, not %lld",
                      c->schedule->name, (int)c->parallel.tp, (int)c->parallel.vpp,
                      (long long)c->step_ns, (long long)alone->candidate[0].step_ns);
        compared++;
    }
    ck_assert_uint_ge(compared, 4);
}
END_TEST

START_TEST(candidates_are_listed_best_first)
{
    planning p = planning_of("gpt175b", "h100-80g");
    pp_plan_request request = request_of(&p, 16);
    pp_search_result *choice = choose(&request);
    ck_assert(choice->per_gpu);
    ck_assert_int_eq(choice->plan->prediction->step_ns, choice->candidate[0].step_ns);
    for (size_t i = 1; i < choice->count; i++) {
        const pp_candidate *a = &choice->candidate[i - 1];
        const pp_candidate *b = &choice->candidate[i];
        ck_assert_int_le(a->status, b->status);
        if (b->status == PP_CANDIDATE_OK) {
            ck_assert(score(a) <= score(b));
            ck_assert_int_le(b->peak_bytes, choice->plan->memory_limit_bytes);
        }
    }
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(equal_requests_give_equal_bytes)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    pp_search_result *a = choose(&request);
    pp_search_result *b = choose(&request);
    char *x = plan_text(a->plan);
    char *y = plan_text(b->plan);
    ck_assert_str_eq(x, y);
    free(x);
    free(y);
    pp_search_result_free(&a);
    pp_search_result_free(&b);
}
END_TEST

/* On one rank gpipe and 1f1b take the same time; 1f1b keeps one live microbatch. */
START_TEST(equal_times_go_to_less_memory)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_plan_request request = request_of(&p, 1);
    request.micro_batch_size = 1;
    pp_search_result *choice = choose(&request);
    ck_assert_str_eq(choice->plan->schedule, "1f1b");
    pp_search_result_free(&choice);
}
END_TEST

/* Memory that no model counts, including what an allocator reserves but does not use: 5 %, in the
 * plan and in the report. */
START_TEST(a_part_of_the_memory_is_left_alone)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_plan_request request = request_of(&p, 1);
    request.micro_batch_size = 1;
    pp_search_result *choice = choose(&request);
    ck_assert(!choice->assumed.given.memory_limit);
    ck_assert_int_eq(choice->assumed.memory_reserve_bytes, p.hardware.memory_bytes / 20);
    ck_assert_int_eq(choice->assumed.memory_limit_bytes, choice->plan->memory_limit_bytes);
    ck_assert_int_eq(choice->plan->memory_limit_bytes,
                     p.hardware.memory_bytes - p.hardware.memory_bytes / 20);
    pp_search_result_free(&choice);
}
END_TEST

/* The change that the message proposes must be true: a request with it fits. */
START_TEST(the_cheapest_change_fits)
{
    planning p = planning_of("gpt175b", "a100-80g");
    pp_plan_request request = request_of(&p, 8);
    request.parallel.tp = 8;
    request.micro_batch_size = 1;
    request.memory_limit_bytes = (int64_t)52 << 30;
    request.switches.given.recompute = true;
    request.switches.value.recompute = PP_RECOMPUTE_NONE;
    refuse(&request, PP_INFEASIBLE,
           "MiB, the step adds mostly activations. Cheapest change tried that fits: recompute "
           "per-microbatch");
    request.recompute_constant = true;
    refuse(&request, PP_INFEASIBLE, "recompute per-stage");
    request.recompute_uniform = true;
    refuse(&request, PP_INFEASIBLE, "recompute full");
    request.switches.value.recompute = PP_RECOMPUTE_FULL;
    pp_search_result *choice = choose(&request);
    ck_assert_int_le(choice->plan->prediction->peak_memory_bytes, choice->plan->memory_limit_bytes);
    pp_search_result_free(&choice);
}
END_TEST

static bool count_simulation(void *context)
{
    ++*(int *)context;
    return false;
}

/* To say how far the nearest is from fitting, a search simulates what may be nearer than what it
 * has simulated, and searches that only ask whether anything fits simulate nothing. */
START_TEST(what_does_not_fit_is_hardly_simulated)
{
    planning p = planning_of("gpt175b", "a100-80g");
    pp_plan_request request = request_of(&p, 4);
    int simulations = 0;
    request.switches.stack = stack_named("megatron-bridge-2026");
    request.parallel.tp = 4;
    request.schedule = &pp_schedule_interleaved;
    request.micro_batch_size = 1;
    request.global_batch_size = 64;
    request.cancelled = count_simulation;
    request.cancel_context = &simulations;
    request.no_advice = true;
    refuse(&request, PP_INFEASIBLE, "nearest: interleaved");
    ck_assert_int_ge(simulations, 1);
    ck_assert_int_le(simulations, 2);
}
END_TEST

START_TEST(too_few_gpus_ask_for_more)
{
    planning p = planning_of("gpt175b", "h100-80g");
    pp_plan_request request = request_of(&p, 2);
    request.parallel.tp = 8;
    refuse(&request, PP_INFEASIBLE, "optimizer");
    refuse(&request, PP_INFEASIBLE, "ranks 8");
    request.parallel.pp = 8;
    pp_search_result *choice = choose(&request);
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(illegal_requests_name_the_rule)
{
    planning p = planning_of("gpt22b", "h100-80g"); /* 48 layers, 64 heads */
    pp_plan_request request = request_of(&p, 0);
    refuse(&request, PP_USAGE, "must be given");
    request = request_of(&p, 60);
    refuse(&request, PP_USAGE, "up to 50");
    request = request_of(&p, 51);
    refuse(&request, PP_USAGE, "up to 50");
    request = request_of(&p, 49);
    request.bare_ends = PP_BARE_ENDS_OFF;
    refuse(&request, PP_USAGE, "up to 48");
    request = request_of(&p, 4);
    request.parallel.tp = 5;
    refuse(&request, PP_USAGE, "does not divide");
    request = request_of(&p, 4);
    request.micro_batch_size = 3;
    request.global_batch_size = 10;
    refuse(&request, PP_USAGE, "9 and 12");
    request = request_of(&p, 4);
    request.parallel.vpp = 5;
    request.partition = PP_PARTITION_UNIFORM;
    refuse(&request, PP_USAGE, "5 chunks per rank do not divide 48 layers");
    request = request_of(&p, 4);
    request.schedule = pp_schedule_find("gpipe");
    request.parallel.vpp = 2;
    refuse(&request, PP_USAGE, "1 stage per rank");
    request = request_of(&p, 4);
    request.partition = PP_PARTITION_LAYOUT;
    request.layout = "Et*16|t*16|t*16L";
    refuse(&request, PP_USAGE, "3 stages");
    request = request_of(&p, 4);
    request.group_size = 3;
    request.schedule = pp_schedule_find("interleaved");
    refuse(&request, PP_USAGE, "not allowed");
}
END_TEST

/* Checks `where` of the refusal. */
static void refuse_at(const pp_plan_request *request, const char *where, const char *part)
{
    pp_search_result *choice = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_plan_search(request, &choice, &err), PP_USAGE);
    ck_assert_str_eq(err.where, where);
    ck_assert_msg(strstr(err.text, part) != NULL, "no '%s' in: %s", part, err.text);
}

START_TEST(refusals_blame_the_option_given)
{
    planning p = planning_of("gpt175b", "h100-80g"); /* 96 layers */
    pp_plan_request request = request_of(&p, 16);
    request.parallel.vpp = 7;
    refuse_at(&request, "chunks", "up to 98");
    request = request_of(&p, 99);
    refuse_at(&request, "ranks", "up to 98");
    request = request_of(&p, 4);
    request.partition = PP_PARTITION_LAYOUT;
    request.layout = "Et*9x|L";
    refuse_at(&request, "partition, layout:5", "are known");
    request = request_of(&p, 4);
    request.memory_limit_bytes = -1;
    refuse_at(&request, "memory_limit", "must be positive");
}
END_TEST

/* Megatron asserts seq_length % (2 cp) == 0, and % tp (of a cp rank's share) with sequence
 * parallelism. */
START_TEST(sequences_divide_over_cp_and_tp)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.cp = 2;
    request.seq_length = 2046;
    refuse_at(&request, "seq_length", "2044 and 2048");
    request.seq_length = 0;
    request.parallel.cp = 3;
    refuse_at(&request, "cp", "2046 and 2052");
    request = request_of(&p, 4);
    request.seq_length = 2044;
    request.parallel.tp = 8;
    refuse_at(&request, "seq_length", "2040 and 2048");
    request.switches.given.sequence_parallel = true;
    pp_search_result *choice = choose(&request);
    pp_search_result_free(&choice);
    request.switches.given.sequence_parallel = false;
    request.parallel.tp = 0; /* tp is free now */
    choice = choose(&request);
    for (size_t i = 0; i < choice->count; i++)
        ck_assert_int_lt(choice->candidate[i].parallel.tp, 8);
    pp_search_result_free(&choice);
}
END_TEST

/* A request for what was chosen gives the same plan. */
START_TEST(the_default_batch_does_not_depend_on_the_micro_batch)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.dp = 2;
    pp_search_result *free_size = choose(&request);
    request.micro_batch_size = free_size->plan->micro_batch_size;
    pp_search_result *given = choose(&request);
    ck_assert_int_eq(given->plan->global_batch_size, 64);
    ck_assert_int_eq(given->plan->prediction->step_ns, free_size->plan->prediction->step_ns);
    ck_assert_str_eq(given->plan->schedule, free_size->plan->schedule);
    pp_search_result_free(&free_size);
    pp_search_result_free(&given);
    request.micro_batch_size = 3;
    given = choose(&request);
    ck_assert_int_eq(given->plan->global_batch_size, 66); /* 11 micro-batches on each replica */
    pp_search_result_free(&given);
}
END_TEST

START_TEST(a_layout_is_taken_as_it_is)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.partition = PP_PARTITION_LAYOUT;
    request.layout = "E|t*16|t*16|t*8|t*8|||L";
    pp_search_result *choice = choose(&request);
    ck_assert_int_eq(choice->plan->parallel.vpp, 2);
    ck_assert_int_eq(choice->plan->order[0]->stage_rank[4], 0); /* Megatron's placement: loop */
    ck_assert_int_eq(choice->plan->partition[0].layers, 0);
    ck_assert_int_eq(choice->plan->partition[4].layers, 8);
    pp_search_result_free(&choice);
}
END_TEST

static bool never_again(void *context)
{
    int *asked = context;
    return ++*asked > 2;
}

START_TEST(a_budget_ends_the_search)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    int asked = 0;
    request.stop = never_again;
    request.context = &asked;
    pp_search_result *choice = choose(&request);
    ck_assert(choice->stopped);
    ck_assert_uint_le(choice->simulated, 2);
    pp_search_result_free(&choice);
    request.stop = NULL;
    request.max_simulations = 1;
    choice = choose(&request);
    ck_assert_uint_eq(choice->simulated, 1);
    pp_search_result_free(&choice);
    request = request_of(&p, 8);
    choice = choose(&request);
    ck_assert(!choice->stopped);
    pp_search_result_free(&choice);
}
END_TEST

static bool always(void *context)
{
    (void)context;
    return true;
}

/* Without any time the answer is the plainest pipeline that fits, whatever does not. */
START_TEST(a_budget_ends_the_bounding)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    request.stop = always;
    pp_search_result *choice = choose(&request);
    ck_assert(choice->stopped);
    ck_assert_uint_eq(choice->simulated, 1);
    ck_assert_uint_eq(choice->ok, 1);
    ck_assert_str_eq(choice->plan->schedule, "1f1b");
    pp_search_result_free(&choice);
    /* without recomputation nothing fits */
    p = planning_of("gpt175b", "a100-80g");
    request = request_of(&p, 8);
    request.parallel.tp = 8;
    request.memory_limit_bytes = (int64_t)52 << 30;
    request.stop = always;
    choice = choose(&request);
    ck_assert_uint_eq(choice->simulated, 1);
    ck_assert_uint_eq(choice->ok, 1);
    ck_assert_str_eq(choice->plan->schedule, "1f1b");
    ck_assert_int_eq(choice->candidate[0].recompute, PP_RECOMPUTE_FULL);
    pp_search_result_free(&choice);
}
END_TEST

static bool never(void *context)
{
    (void)context;
    return false;
}

static double nothing(void *context)
{
    (void)context;
    return 0;
}

/* The clock stands still, so only the ops of a candidate tell that the time is too short: 196,608
 * take longer than 0.2 s, and less than 5 s. */
START_TEST(what_cannot_end_in_time_is_not_begun)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    request.schedule = pp_schedule_find("1f1b");
    request.micro_batch_size = 1;
    request.global_batch_size = 8192;
    request.stop = never;
    request.spent = nothing;
    request.budget_s = 0.2;
    refuse(&request, PP_UNDECIDED, "after 0 iterations");
    request.budget_s = 5;
    pp_search_result *choice = choose(&request);
    ck_assert_uint_gt(choice->simulated, 0);
    pp_search_result_free(&choice);
}
END_TEST

/* An iteration is a simulation of up to a million ops: 8 ranks x 65,536 microbatches x F, I and W
 * are 1.6 million; 8 iterations are always allowed for the plain pipeline. */
START_TEST(large_simulations_count_as_several)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    request.schedule = pp_schedule_find("1f1b");
    request.micro_batch_size = 1;
    request.partition = PP_PARTITION_UNIFORM;
    request.global_batch_size = 65536;
    request.max_simulations = 1;
    pp_search_result *choice = choose(&request);
    ck_assert_uint_eq(choice->simulated, 2);
    ck_assert(choice->stopped);
    pp_search_result_free(&choice);
    request.global_batch_size = 1 << 20;
    refuse(&request, PP_UNDECIDED, "after 0 iterations");
}
END_TEST

/* Two stages of one rank are a pipeline, too, if the schedule is given. */
START_TEST(one_rank_takes_a_schedule_of_two_stages)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_plan_request request = request_of(&p, 1);
    request.schedule = pp_schedule_find("zbv");
    for (int gpus = 0; gpus < 2; gpus++) {
        request.gpus = gpus ? 16 : 0;
        request.parallel.pp = gpus ? 0 : 1;
        pp_search_result *choice = choose(&request);
        ck_assert_str_eq(choice->plan->schedule, "zbv");
        ck_assert_int_eq(choice->plan->parallel.vpp, 2);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* With lengths, bounds sum over all microbatches, so an iteration suffices for a number of them. */
START_TEST(iterations_limit_bounds_with_lengths)
{
    enum { COUNT = 12000 };
    static int64_t lengths[COUNT];
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    for (size_t k = 0; k < COUNT; k++)
        lengths[k] = 1100 + (int64_t)(k * 7919 % 900);
    request.lengths = lengths;
    request.length_count = COUNT;
    request.seq_length = 2048;
    request.micro_batch_size = 1;
    request.max_simulations = 1;
    pp_search_result *choice = choose(&request);
    size_t unseen = 0;
    for (size_t i = 0; i < choice->count; i++)
        unseen += choice->candidate[i].status == PP_CANDIDATE_NOT_SIMULATED;
    ck_assert(choice->stopped);
    ck_assert_uint_gt(unseen, choice->count / 2);
    ck_assert_str_eq(choice->plan->schedule, "1f1b");
    pp_search_result_free(&choice);
}
END_TEST

/* Every replica has data of its own; the prediction is that of the slowest one. */
START_TEST(lengths_are_packed_per_replica)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[240];
    for (size_t k = 0; k < 240; k++)
        lengths[k] = 100 + (int64_t)(k * 7919 % 4000);
    pp_plan_request request = request_of(&p, 4);
    request.parallel.dp = 2;
    request.lengths = lengths;
    request.length_count = 240;
    request.seq_length = 4096;
    pp_search_result *choice = choose(&request);
    const pp_plan *plan = choice->plan;
    ck_assert_uint_eq(plan->workload.replicas, 2);
    ck_assert_uint_eq(plan->workload.length_count, 240);
    ck_assert_uint_eq(plan->costs_count, 2);
    ck_assert_int_eq(plan->global_batch_size, 240);
    int64_t tokens = 0;
    int64_t given = 0;
    for (size_t j = 0; j < (size_t)2 * plan->workload.microbatches; j++)
        tokens += plan->workload.microbatch[j].tokens;
    for (size_t k = 0; k < 240; k++)
        given += lengths[k];
    ck_assert_int_eq(tokens, given);
    ck_assert(choice->assumed.lengths);
    ck_assert_uint_eq(choice->assumed.length_count, 240);
    ck_assert_uint_eq(choice->assumed.group_count, 0);
    ck_assert_uint_gt(plan->workload.first_fit_bins, 0);
    pp_search_result_free(&choice);
    request.schedule = pp_schedule_find("interleaved");
    request.parallel.vpp = 2;
    request.micro_batch_size = 1;
    request.length_count = 205;
    choice = choose(&request);
    plan = choice->plan;
    ck_assert_uint_eq(plan->workload.microbatches % 4, 0);
    ck_assert_uint_gt(plan->workload.bins, plan->workload.first_fit_bins);
    ck_assert_int_eq(plan->micro_batch_size, 1);
    pp_search_result_free(&choice);
    request.schedule = NULL;
    request.parallel.vpp = 0;
    request.micro_batch_size = 0;
    request.length_count = 240;
    request.global_batch_size = 240;
    refuse(&request, PP_USAGE, "one of the two");
}
END_TEST

/* m < p, m = 1, and m that PyTorch's rule refuses on interleaved. */
START_TEST(odd_batches_plan_as_well)
{
    planning p = planning_of("gpt22b", "h100-80g");
    static const int64_t batches[] = { 1, 2, 7, 11, 17 };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        pp_plan_request request = request_of(&p, 8);
        request.global_batch_size = batches[i];
        pp_search_result *choice = choose(&request);
        pp_search_result_free(&choice);
    }
    pp_plan_request request = request_of(&p, 8);
    request.schedule = pp_schedule_find("interleaved");
    request.global_batch_size = 17;
    request.micro_batch_size = 1;
    pp_search_result *choice = choose(&request);
    ck_assert_uint_eq(choice->candidate[0].group_size, 9); /* 17 mod 8 is neither 0 nor >= 8 */
    ck_assert(!choice->assumed.given.group_size);
    pp_search_result_free(&choice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choose");
    TCase *tc = tcase_create("choose");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, pruning_loses_nothing, 0, 3);
    tcase_add_test(tc, kept_costs_are_those_of_the_candidate);
    tcase_add_test(tc, candidates_are_listed_best_first);
    tcase_add_test(tc, equal_requests_give_equal_bytes);
    tcase_add_test(tc, equal_times_go_to_less_memory);
    tcase_add_test(tc, a_part_of_the_memory_is_left_alone);
    tcase_add_test(tc, the_cheapest_change_fits);
    tcase_add_test(tc, what_does_not_fit_is_hardly_simulated);
    tcase_add_test(tc, too_few_gpus_ask_for_more);
    tcase_add_test(tc, illegal_requests_name_the_rule);
    tcase_add_test(tc, refusals_blame_the_option_given);
    tcase_add_test(tc, sequences_divide_over_cp_and_tp);
    tcase_add_test(tc, the_default_batch_does_not_depend_on_the_micro_batch);
    tcase_add_test(tc, a_layout_is_taken_as_it_is);
    tcase_add_test(tc, a_budget_ends_the_search);
    tcase_add_test(tc, a_budget_ends_the_bounding);
    tcase_add_test(tc, what_cannot_end_in_time_is_not_begun);
    tcase_add_test(tc, large_simulations_count_as_several);
    tcase_add_test(tc, one_rank_takes_a_schedule_of_two_stages);
    tcase_add_test(tc, iterations_limit_bounds_with_lengths);
    tcase_add_test(tc, lengths_are_packed_per_replica);
    tcase_add_test(tc, odd_batches_plan_as_well);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
