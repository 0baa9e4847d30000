/* Recomputation by stage and by microbatch: its costs, and that there is no more of it than memory
 * requires. */
#include "tests/support/planning.h"
#include "tests/support/sample.h"
#include "traces/format/registry.h"

static double score(const pp_candidate *c)
{
    return (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
}

static void check_equal(const pp_costs *a, const pp_costs *b)
{
    const size_t count = (size_t)a->classes * a->stages;
    ck_assert_mem_eq(a->f_ns, b->f_ns, count * sizeof *a->f_ns);
    ck_assert_mem_eq(a->i_ns, b->i_ns, count * sizeof *a->i_ns);
    ck_assert_mem_eq(a->w_ns, b->w_ns, count * sizeof *a->w_ns);
    ck_assert_mem_eq(a->b_ns, b->b_ns, count * sizeof *a->b_ns);
    ck_assert_mem_eq(a->activation_bytes, b->activation_bytes, count * sizeof(int64_t));
    ck_assert_mem_eq(a->recompute_bytes, b->recompute_bytes, count * sizeof(int64_t));
    ck_assert_mem_eq(a->temporary_bytes, b->temporary_bytes, count * sizeof(int64_t));
}

/* A switch for all stages is the same as that switch on all layers of every stage. */
START_TEST(stages_that_are_alike_cost_what_the_switch_does)
{
    static const char *const models[] = { "llama3-8b", "gpt22b", "mixtral-8x7b" };
    const pp_recompute how = (pp_recompute)(_i % 3);
    planning p = planning_of(models[_i / 3], "h100-80g");
    pp_cost_context context = { .model = &p.model,
                                .hardware = &p.hardware,
                                .parallel = { 4, 2, 1, 1, 1, 1, 0 } };
    pp_stage stages[4] = { { .embedding = true }, { 0 }, { 0 }, { .loss = true } };
    pp_workload workload PP_CLEANUP(pp_workload_free) = { 0 };
    pp_costs *switched PP_CLEANUP(pp_costs_free) = NULL;
    pp_costs *said PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    context.switches = stack_switches("every-schedule", &context.parallel);
    STEP_OK(pp_workload_fixed(2, 1, 2048, &workload, &err), err);
    for (int s = 0; s < 4; s++) {
        stages[s].layers = p.model.layers / 4;
        stages[s].first_layer = s * stages[s].layers;
    }
    context.switches.recompute = how;
    STEP_OK(pp_cost_model_build(&context, stages, 4, &workload, 0, &switched, &err), err);
    context.switches.recompute = PP_RECOMPUTE_STAGES;
    for (int s = 0; s < 4; s++) {
        stages[s].full = how == PP_RECOMPUTE_FULL ? stages[s].layers : 0;
        stages[s].selective = how == PP_RECOMPUTE_SELECTIVE ? stages[s].layers : 0;
    }
    STEP_OK(pp_cost_model_build(&context, stages, 4, &workload, 0, &said, &err), err);
    check_equal(switched, said);
    stages[3].selective = stages[3].layers + 1;
    pp_costs *none = NULL;
    ck_assert_int_eq(pp_cost_model_build(&context, stages, 4, &workload, 0, &none, &err), PP_INPUT);
}
END_TEST

/* llama3-70b on 64 GPUs in 1F1B: rank r keeps 8 - r microbatches, so the first ranks recompute. */
static pp_plan_request tight(const planning *p)
{
    pp_plan_request request = request_of(p, 8);
    request.parallel.tp = 8;
    request.parallel.vpp = 1;
    request.micro_batch_size = 2;
    request.seq_length = 8192;
    request.global_batch_size = 64;
    request.memory_limit_bytes = (int64_t)50 << 30;
    request.schedule = pp_schedule_find("1f1b");
    return request;
}

static pp_plan_request with(pp_plan_request request, pp_recompute how)
{
    request.switches.given.recompute = true;
    request.switches.value.recompute = how;
    return request;
}

/* The best result with one switch for all stages. */
static double best_uniform(const pp_plan_request *request)
{
    double best = 0;
    for (int how = PP_RECOMPUTE_NONE; how <= PP_RECOMPUTE_FULL; how++) {
        pp_search_result *choice = NULL;
        pp_err err = { 0 };
        const pp_plan_request one = with(*request, (pp_recompute)how);
        if (pp_plan_search(&one, &choice, &err))
            continue;
        if (best == 0 || score(&choice->candidate[0]) < best)
            best = score(&choice->candidate[0]);
        pp_search_result_free(&choice);
    }
    return best;
}

START_TEST(stages_that_differ_beat_the_switch)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    const pp_plan_request request = with(tight(&p), PP_RECOMPUTE_STAGES);
    const double uniform = best_uniform(&request);
    pp_search_result *choice = choose(&request);
    ck_assert(uniform > 0);
    ck_assert_int_eq(choice->plan->recompute, PP_RECOMPUTE_STAGES);
    ck_assert_msg(score(&choice->candidate[0]) < 0.97 * uniform, "%.4f of the switch",
                  score(&choice->candidate[0]) / uniform);
    ck_assert_int_le(choice->plan->prediction->peak_memory_bytes, request.memory_limit_bytes);
    pp_search_result_free(&choice);
}
END_TEST

/* The score with this recomputation; 0: nothing fits. */
static double score_with(pp_plan_request request, pp_recompute how)
{
    pp_search_result *choice = NULL;
    pp_err err = { 0 };
    request = with(request, how);
    if (pp_plan_search(&request, &choice, &err))
        return 0;
    const double found = score(&choice->candidate[0]);
    pp_search_result_free(&choice);
    return found;
}

/* If one switch makes a request fit, fewer layers do, too, even with a framework's buffers; and the
 * free choice is as fast as the better one, however little memory there is. */
START_TEST(less_memory_changes_nothing)
{
    static const pp_framework *const frameworks[] = { &pp_framework_ideal, &pp_framework_megatron,
                                                      &pp_framework_torch };
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = tight(&p);
    int looked = 0;
    request.framework = frameworks[_i];
    for (int64_t gib = 24; gib <= 60; gib += 4) {
        request.memory_limit_bytes = gib << 30;
        const double full = score_with(request, PP_RECOMPUTE_FULL);
        const double stages = score_with(request, PP_RECOMPUTE_STAGES);
        const double microbatches = score_with(request, PP_RECOMPUTE_MICROBATCHES);
        const double chosen = score_with(request, PP_RECOMPUTE_AUTO);
        if (full == 0)
            continue;
        ck_assert_msg(stages > 0 && microbatches > 0, "nothing fits %d GiB", (int)gib);
        ck_assert_double_le(chosen, 1.002 * microbatches);
        ck_assert_double_le(chosen, 1.001 * stages);
        ck_assert_double_le(chosen, full);
        looked++;
    }
    ck_assert_int_gt(looked, 1);
}
END_TEST

/* With a layer less on any stage that recomputes, its rank does not fit. */
START_TEST(no_stage_recomputes_more_than_it_must)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    const pp_plan_request request = with(tight(&p), PP_RECOMPUTE_STAGES);
    pp_search_result *choice = choose(&request);
    pp_plan *plan = choice->plan;
    pp_err err = { 0 };
    int looked = 0;
    for (uint32_t s = 0; s < 8; s++) {
        pp_stage *stage = &plan->partition[s];
        int64_t *layers = stage->selective ? &stage->selective : &stage->full;
        if (!*layers)
            continue;
        --*layers;
        pp_costs_free(&plan->costs[0]);
        STEP_OK(pp_cost_model_build(&choice->context, plan->partition, 8, &plan->workload, 0,
                                    &plan->costs[0], &err),
                err);
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        STEP_OK(pp_plan_simulate(plan, NULL, NULL, NULL, &report, &err), err);
        ck_assert_int_gt(report->per_rank[s].memory.total_bytes, request.memory_limit_bytes);
        ++*layers;
        looked++;
    }
    ck_assert_int_gt(looked, 0);
    pp_search_result_free(&choice);
}
END_TEST

/* A plan that was written and read still has its layers. */
START_TEST(plans_carry_it)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    const pp_plan_request request = with(tight(&p), PP_RECOMPUTE_STAGES);
    pp_search_result *choice = choose(&request);
    char *text = plan_text(choice->plan);
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_plan *read PP_CLEANUP(pp_plan_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_json_parse(text, strlen(text), "plan", &json, &err), err);
    STEP_OK(pp_plan_read(json, "plan", &read, &err), err);
    for (uint32_t s = 0; s < 8; s++) {
        ck_assert_int_eq(read->partition[s].full, choice->plan->partition[s].full);
        ck_assert_int_eq(read->partition[s].selective, choice->plan->partition[s].selective);
    }
    check_plan(choice->plan);
    free(text);
    pp_search_result_free(&choice);
}
END_TEST

/* Documents of 200 to 8096 tokens, one per microbatch. */
enum { DOCUMENTS = 64 };
/* With a table per microbatch, a step takes less than `most` of the time with one per stage. */
static void demand_gain(const pp_plan_request *request, double most)
{
    const double stages = score_with(*request, PP_RECOMPUTE_STAGES);
    const double microbatches = score_with(*request, PP_RECOMPUTE_MICROBATCHES);
    ck_assert(stages > 0 && microbatches > 0);
    ck_assert_msg(microbatches < most * stages, "%.4f of stages", microbatches / stages);
}

typedef struct documents {
    int64_t length[DOCUMENTS];
    size_t end[DOCUMENTS];
} documents;

static pp_plan_request unequal(const planning *p, documents *d)
{
    pp_plan_request request = tight(p);
    for (size_t k = 0; k < DOCUMENTS; k++) {
        d->length[k] = 200 + (int64_t)(k * 3571 % 7897);
        d->end[k] = k + 1;
    }
    request.lengths = d->length;
    request.length_count = request.group_count = DOCUMENTS;
    request.group_end = d->end;
    request.global_batch_size = 0;
    request.micro_batch_size = 1;
    request.memory_limit_bytes = (int64_t)28 << 30;
    request.switches.given.zero = true; /* as much memory per GPU with two replicas as with one */
    return request;
}

/* Long microbatches recompute, in the replica that has them. The free choice is no slower than
 * recomputation per stage, and its plan is reproducible. */
START_TEST(microbatches_that_differ_beat_stages)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    documents d;
    pp_plan_request request = unequal(&p, &d);
    request.parallel.dp = _i;
    const double stages = score_with(request, PP_RECOMPUTE_STAGES);
    pp_search_result *choice = choose(&request);
    const pp_plan *plan = choice->plan;
    ck_assert_int_eq(plan->recompute, PP_RECOMPUTE_MICROBATCHES);
    ck_assert_uint_eq(plan->recomputed.replicas, (uint32_t)_i);
    ck_assert_msg(score(&choice->candidate[0]) < 0.98 * stages, "%.4f of stages",
                  score(&choice->candidate[0]) / stages);
    check_plan(plan);
    pp_search_result_free(&choice);
}
END_TEST

/* 30 GiB, 32 sequences: 1f1b lacks memory. */
static pp_plan_request short_of_memory(const planning *p)
{
    pp_plan_request request = tight(p);
    request.micro_batch_size = 1;
    request.global_batch_size = 32;
    request.memory_limit_bytes = (int64_t)30 << 30;
    return request;
}

/* Memory that the framework holds in addition is reserved, so a gain remains. */
START_TEST(buffers_are_left_room)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = short_of_memory(&p);
    request.framework = &pp_framework_deepspeed;
    demand_gain(&request, 0.99);
}
END_TEST

/* If the framework holds nothing in addition, each table fits at once; split backwards keep memory
 * until their W. */
START_TEST(tables_fit_as_they_are)
{
    static const char *const schedules[] = { "1f1b", "zbv" };
    planning p = planning_of("llama3-70b", "h100-80g");
    documents d;
    pp_plan_request request = with(unequal(&p, &d), PP_RECOMPUTE_MICROBATCHES);
    request.schedule = pp_schedule_find(schedules[_i]);
    request.parallel.vpp = 1 + _i;
    pp_search_result *choice = choose(&request);
    int looked = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        if (c->recompute != PP_RECOMPUTE_MICROBATCHES)
            continue;
        ck_assert_int_ne(c->status, PP_CANDIDATE_INFEASIBLE);
        looked++;
    }
    ck_assert_int_gt(looked, 0);
    ck_assert_int_eq(choice->plan->recompute, PP_RECOMPUTE_MICROBATCHES);
    pp_search_result_free(&choice);
}
END_TEST

/* Peak of the stage's only rank, with new costs. */
static int64_t peak_of(const pp_search_result *choice, uint32_t stage)
{
    pp_plan *plan = choice->plan;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err err = { 0 };
    pp_costs_free(&plan->costs[0]);
    STEP_OK(pp_cost_model_build(&choice->context, plan->partition, 8, &plan->workload, 0,
                                &plan->costs[0], &err),
            err);
    STEP_OK(pp_plan_simulate(plan, NULL, NULL, NULL, &report, &err), err);
    return report->per_rank[stage].memory.total_bytes;
}

/* With a layer less of any microbatch, the stage's rank does not fit. */
START_TEST(no_microbatch_recomputes_more_than_it_must)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    documents d;
    const pp_plan_request request = with(unequal(&p, &d), PP_RECOMPUTE_MICROBATCHES);
    pp_search_result *choice = choose(&request);
    pp_recompute_table *table = &choice->plan->recomputed;
    int looked = 0;
    ck_assert_ptr_eq(choice->context.recomputed, table);
    ck_assert_int_le(peak_of(choice, 0), request.memory_limit_bytes);
    for (uint32_t i = 0; i < DOCUMENTS * 8; i++) {
        pp_recomputed *of = &table->of[i];
        int32_t *layers = of->selective ? &of->selective : &of->full;
        if (!*layers || i % 3)
            continue;
        --*layers;
        ck_assert_int_gt(peak_of(choice, i % 8), request.memory_limit_bytes);
        ++*layers;
        looked++;
    }
    ck_assert_int_gt(looked, 20);
    pp_search_result_free(&choice);
}
END_TEST

/* The table is the one that the costs were made with, however microbatches are numbered. */
static void check_costs(const pp_search_result *choice)
{
    const pp_plan *plan = choice->plan;
    const uint32_t stages = plan->recomputed.stages;
    pp_err err = { 0 };
    for (uint32_t r = 0; r < plan->costs_count; r++) {
        const pp_costs *had = plan->costs[r];
        pp_costs *made PP_CLEANUP(pp_costs_free) = NULL;
        STEP_OK(pp_cost_model_build(&choice->context, plan->partition, stages, &plan->workload, r,
                                    &made, &err),
                err);
        for (uint32_t j = 0; j < plan->workload.microbatches * stages; j++) {
            const size_t a = pp_cost_index(had, j % stages, j / stages);
            const size_t b = pp_cost_index(made, j % stages, j / stages);
            ck_assert_int_eq(had->i_ns[a], made->i_ns[b]);
            ck_assert_int_eq(had->activation_bytes[a], made->activation_bytes[b]);
        }
    }
}

/* Free orders use such recomputation, too. They are no slower than with recomputation per stage,
 * and the same for any number of threads. */
START_TEST(free_orders_have_it)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    documents d;
    pp_plan_request request = unequal(&p, &d);
    request.parallel.dp = _i;
    request.schedule = NULL;
    request.orders = PP_ORDERS_PLANNED;
    request.max_simulations = 400;
    const double stages = score_with(request, PP_RECOMPUTE_STAGES);
    char *text[2];
    for (uint32_t k = 0; k < 2; k++) {
        request.threads = 1 + 2 * k;
        pp_search_result *choice = choose(&request);
        ck_assert_int_eq(choice->plan->recompute, PP_RECOMPUTE_MICROBATCHES);
        ck_assert_str_eq(choice->plan->schedule, "planned");
        ck_assert_double_lt(score(&choice->candidate[0]), stages);
        check_plan(choice->plan);
        check_costs(choice);
        text[k] = plan_text(choice->plan);
        pp_search_result_free(&choice);
    }
    ck_assert_str_eq(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}
END_TEST

/* gpt7.5b that keeps its attention scores: the core frees more memory per second than the rest of a
 * layer. There are 16 sequences, of 300 to 2048 tokens if lengths are given. */
static pp_plan_request unfused(const planning *p, documents *d)
{
    enum { SEQUENCES = 16 };
    pp_plan_request request = request_of(p, 4);
    request.parallel.tp = 2;
    request.micro_batch_size = 1;
    request.seq_length = 2048;
    request.switches.given.flash_attention = true;
    request.switches.value.flash_attention = false;
    if (!d) {
        request.global_batch_size = SEQUENCES;
        return request;
    }
    request.parallel.vpp = 1;
    for (size_t k = 0; k < SEQUENCES; k++) {
        d->length[k] = 300 + (int64_t)(k * 577 % 1749);
        d->end[k] = k + 1;
    }
    request.lengths = d->length;
    request.length_count = request.group_count = SEQUENCES;
    request.group_end = d->end;
    return request;
}

/* The core of every layer first, then the rest of them. */
START_TEST(attention_cores_are_recomputed_first)
{
    planning p = planning_of("gpt7.5b", "h100-80g");
    documents d;
    pp_plan_request request = with(unfused(&p, &d), PP_RECOMPUTE_MICROBATCHES);
    request.schedule = pp_schedule_find("1f1b");
    request.memory_limit_bytes = (int64_t)20 << 30;
    pp_search_result *choice = choose(&request);
    const pp_recompute_table *table = &choice->plan->recomputed;
    int both = 0;
    for (uint32_t i = 0; i < table->microbatches * table->stages; i++) {
        const pp_recomputed of = table->of[i];
        const int64_t layers = choice->plan->partition[i % table->stages].layers;
        ck_assert(of.full == 0 || of.full + of.selective == layers);
        both += of.full > 0 && of.selective > 0;
    }
    ck_assert_int_gt(both, 0);
    pp_search_result_free(&choice);
}
END_TEST

/* For the costs with its table, a schedule may make another order, in which that table need not
 * fit. */
START_TEST(tables_fit_the_order_that_is_made_of_them)
{
    planning p = planning_of("gpt7.5b", "h100-80g");
    documents d;
    pp_plan_request request = unfused(&p, &d);
    request.schedule = pp_schedule_find("zb-1p");
    request.memory_limit_bytes = (int64_t)22 << 30;
    demand_gain(&request, 0.99);
}
END_TEST

/* Free orders are searched while all microbatches of a stage recompute the same, and refined
 * afterwards. From a table, which leaves no memory for other orders, the search would make no
 * progress. */
START_TEST(free_orders_are_found_before_tables)
{
    planning p = planning_of("gpt7.5b", "h100-80g");
    pp_plan_request request = unfused(&p, NULL);
    request.memory_limit_bytes = (int64_t)(20 + _i) << 30;
    request.orders = PP_ORDERS_PLANNED;
    request.max_simulations = 400;
    demand_gain(&request, 0.997);
}
END_TEST

/* If exactly the switch fits together with a framework's buffers, recomputation per microbatch
 * fits, too. */
START_TEST(the_least_memory_of_the_switch_is_enough)
{
    static const char *const of[][3] = { { "gpt3.6b", "1f1b", "ppsim" },
                                         { "gpt3.6b", "1f1b", "deepspeed" },
                                         { "gpt7.5b", "zbv", "xla" } };
    planning p = planning_of(of[_i][0], "h100-80g");
    pp_plan_request request = request_of(&p, _i == 2 ? 2 : 4);
    request.parallel.tp = 4;
    request.micro_batch_size = 1;
    request.global_batch_size = 16;
    request.schedule = pp_schedule_find(of[_i][1]);
    request.framework = pp_framework_find(of[_i][2]);
    const pp_plan_request switched = with(request, PP_RECOMPUTE_FULL);
    pp_search_result *choice = choose(&switched);
    const double full = score(&choice->candidate[0]);
    request.memory_limit_bytes = choice->plan->prediction->peak_memory_bytes;
    pp_search_result_free(&choice);
    for (int how = PP_RECOMPUTE_STAGES; how <= PP_RECOMPUTE_MICROBATCHES; how++) {
        const double found = score_with(request, (pp_recompute)how);
        ck_assert(found > 0);
        ck_assert_double_le(found, full);
    }
}
END_TEST

/* Executor deepspeed runs 1f1b only: other schedules, with better bounds, do not use up the
 * budget. */
START_TEST(schedules_that_are_refused_take_no_turns)
{
    planning p = planning_of("gpt7.5b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 4;
    request.global_batch_size = 96;
    request.memory_limit_bytes = (int64_t)10542 << 20;
    request.framework = &pp_framework_deepspeed;
    const double all = score_with(request, PP_RECOMPUTE_STAGES);
    request.schedule = pp_schedule_find("1f1b");
    const double alone = score_with(request, PP_RECOMPUTE_STAGES);
    ck_assert(alone > 0 && all > 0);
    ck_assert_double_le(all, 1.001 * alone);
}
END_TEST

/* If the runtime does not support it, the result is no worse than with recomputation per stage. */
START_TEST(a_runtime_without_support_gets_no_table)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    documents d;
    pp_plan_request request = unequal(&p, &d);
    const double stages = score_with(request, PP_RECOMPUTE_STAGES);
    for (int k = 0; k < 3; k++) {
        request.recompute_constant = k == 0;
        request.recompute_alike = k == 1;
        request.recompute_uniform = k == 2;
        pp_search_result *choice = choose(&request);
        ck_assert_int_ne(choice->plan->recompute, PP_RECOMPUTE_MICROBATCHES);
        ck_assert(k > 0 || score(&choice->candidate[0]) <= stages);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* Megatron recomputes the same number of layers on every stage. */
START_TEST(megatron_gets_blocks)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = with(tight(&p), PP_RECOMPUTE_STAGES);
    const pp_format *megatron = NULL;
    pp_err unknown = { 0 };
    STEP_OK(pp_format_get("megatron", &megatron, &unknown), unknown);
    for (int alike = 0; alike < 2; alike++) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_err err = { 0 };
        request.recompute_alike = alike;
        pp_search_result *choice = choose(&request);
        const pp_export data = { .plan = choice->plan,
                                 .order = choice->plan->order[0],
                                 .costs = choice->plan->costs[0] };
        ck_assert_int_eq(choice->plan->recompute, PP_RECOMPUTE_STAGES);
        pp_status status = megatron->emit(&data, &text, NULL, &err);
        if (!alike) {
            ck_assert_int_eq(status, PP_INFEASIBLE);
            ck_assert_ptr_nonnull(strstr(err.text, "every stage"));
        } else {
            char wanted[80];
            STEP_OK(status, err);
            snprintf(wanted, sizeof wanted, "--recompute-method block\n--recompute-num-layers %d\n",
                     (int)choice->plan->partition[0].full);
            ck_assert_ptr_nonnull(strstr(text.data, wanted));
        }
        pp_search_result_free(&choice);
    }
}
END_TEST

/* Megatron-Core's TransformerConfig: "full recompute is only supported with full iteration CUDA
 * graph", so no stage and no microbatch recomputes a whole layer of which a graph holds a part. */
static void check_no_whole_layers(const pp_plan *plan)
{
    const size_t stages = (size_t)(plan->parallel.pp * plan->parallel.vpp);
    const pp_recompute_table *table = &plan->recomputed;
    const size_t cells = (size_t)table->replicas * table->microbatches * table->stages;
    ck_assert_int_ne(plan->recompute, PP_RECOMPUTE_FULL);
    for (size_t s = 0; plan->recompute == PP_RECOMPUTE_STAGES && s < stages; s++)
        ck_assert_int_eq(plan->partition[s].full, 0);
    for (size_t i = 0; i < cells; i++)
        ck_assert_int_eq(table->of[i].full, 0);
}

START_TEST(layers_in_graphs_are_not_recomputed_whole)
{
    static const uint64_t simulations[] = { 0, 1, 40 };
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = tight(&p);
    int planned = 0;
    request.max_simulations = simulations[_i];
    request.switches.stack = stack_named("megatron-bridge-2026"); /* may recompute in chunks */
    for (int i = 0; i < 2 * 6; i++) {
        pp_search_result *choice = NULL;
        pp_err err = { 0 };
        request.memory_limit_bytes = (int64_t)(30 + 10 * (i / 2)) << 30;
        request.switches.given.cuda_graphs = true;
        request.switches.value.graphs = 1U << PP_GRAPH_ATTENTION;
        request.recompute_alike = i % 2;
        const pp_status status = pp_plan_search(&request, &choice, &err);
        ck_assert_msg(!status || status == PP_INFEASIBLE || status == PP_UNDECIDED, "%s", err.text);
        planned += !status;
        if (choice)
            check_no_whole_layers(choice->plan);
        pp_search_result_free(&choice);
    }
    ck_assert_int_gt(planned, 0);
    ck_assert_int_lt(planned, 2 * 6);
    request = with(request, PP_RECOMPUTE_MICROBATCHES);
    refuse(&request, PP_USAGE, "none or selective only");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute");
    TCase *tc = tcase_create("recompute");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, stages_that_are_alike_cost_what_the_switch_does, 0, 9);
    sample_add_test(tc, stages_that_differ_beat_the_switch, 3);
    tcase_add_loop_test(tc, less_memory_changes_nothing, 0, 3);
    sample_add_test(tc, no_stage_recomputes_more_than_it_must, 3);
    sample_add_test(tc, plans_carry_it, 3);
    tcase_add_loop_test(tc, microbatches_that_differ_beat_stages, 1, 3);
    sample_add_test(tc, buffers_are_left_room, 3);
    tcase_add_loop_test(tc, tables_fit_as_they_are, 0, 2);
    sample_add_test(tc, no_microbatch_recomputes_more_than_it_must, 3);
    tcase_add_loop_test(tc, free_orders_have_it, 1, 3);
    sample_add_test(tc, attention_cores_are_recomputed_first, 3);
    sample_add_test(tc, tables_fit_the_order_that_is_made_of_them, 3);
    tcase_add_loop_test(tc, free_orders_are_found_before_tables, 0, 2);
    tcase_add_loop_test(tc, the_least_memory_of_the_switch_is_enough, 0, 3);
    sample_add_test(tc, schedules_that_are_refused_take_no_turns, 3);
    sample_add_test(tc, a_runtime_without_support_gets_no_table, 3);
    sample_add_test(tc, megatron_gets_blocks, 3);
    suite_add_tcase(suite, tc);
    tc = tcase_create("graphs");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, layers_in_graphs_are_not_recomputed_whole, 0, 3);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
