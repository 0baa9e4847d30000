/* Properties that every plan has, whatever its model: all of traces/data, several pp and
 * hardware. */
#include "sim/framework/registry.h"
#include "tests/support/planning.h"
#include "tests/support/sample.h"

/* Every layer occurs once, in order, with the embedding first and the loss last, and only the
 * stages of these may be without layers. */
static void check_partition(const pp_plan *plan, const pp_model *model)
{
    uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    int64_t layers = 0;
    int64_t mtp = 0;
    for (uint32_t s = 0; s < stages; s++) {
        const pp_stage *stage = &plan->partition[s];
        ck_assert_int_eq(stage->first_layer, layers);
        ck_assert_int_gt(stage->layers + stage->mtp + stage->embedding + stage->loss, 0);
        ck_assert_int_eq(stage->embedding, s == 0);
        ck_assert_int_eq(stage->loss, s == stages - 1);
        layers += stage->layers;
        mtp += stage->mtp;
    }
    ck_assert_int_eq(layers, model->layers);
    ck_assert_int_eq(mtp, model->mtp_layers);
}

static void check_report(const pp_report *report)
{
    ck_assert(report->has_bound);
    ck_assert_int_le(report->lower_bound_ns, report->makespan_ns);
    ck_assert_int_gt(report->lower_bound_ns, 0);
    ck_assert(report->has_memory);
    ck_assert_int_le(report->peak_memory_bytes, report->memory_limit_bytes);
    ck_assert(report->model_flops_utilization > 0 && report->model_flops_utilization < 1);
    ck_assert(report->tokens_per_s > 0);
    for (uint32_t r = 0; r < report->ranks; r++) {
        const pp_rank_report *rank = &report->per_rank[r];
        int64_t sum = 0;
        for (int c = 0; c < PP_MEMORY_COUNT; c++)
            sum += rank->memory.bytes[c];
        ck_assert_int_eq(sum, rank->memory.total_bytes);
        pp_ns time_ns = rank->busy_ns;
        for (int c = 0; c < PP_IDLE_COUNT; c++)
            time_ns += rank->idle_ns[c];
        ck_assert_int_eq(time_ns, report->makespan_ns);
    }
}

/* A plan that is written, read and simulated again has the same prediction, byte for byte. */
static void check_file(const pp_plan *plan)
{
    char *text = plan_text(plan);
    pp_json *json = NULL;
    pp_plan *read = NULL;
    pp_report *report = NULL;
    const pp_costs *costs;
    pp_err err = { 0 };
    STEP_OK(pp_json_parse(text, strlen(text), "plan", &json, &err), err);
    STEP_OK(pp_plan_read(json, "plan", &read, &err), err);
    STEP_OK(pp_plan_simulate(read, NULL, NULL, &costs, &report, &err), err);
    STEP_OK(pp_bound_report(costs, read->order[0], true, report, &err), err);
    char *before = report_text(plan->prediction);
    char *after = report_text(report);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    pp_report_free(&report);
    pp_plan_free(&read);
    pp_json_free(&json);
    free(text);
}

static const int64_t ranks_tried[] = { 1, 3, 8, 16, 31 };

START_TEST(plans_are_whole)
{
    const pp_data_file *file = pp_data_at(PP_DATA_MODEL, (size_t)_i);
    static const char *const machines[] = { "h100-80g", "b200-180g" };
    for (size_t h = 0; h < 2; h++) {
        planning p = planning_of(file->name, machines[h]);
        for (size_t i = 0; i < sizeof ranks_tried / sizeof *ranks_tried; i++) {
            if ((h > 0 && ranks_tried[i] != 16) || sample_skips((size_t)_i + i, 5, 4))
                continue;
            pp_plan_request request = request_of(&p, ranks_tried[i]);
            pp_search_result *choice = NULL;
            pp_err err = { 0 };
            pp_status status = pp_plan_search(&request, &choice, &err);
            if (status) { /* too few ranks for the model, or too few layers for the ranks */
                ck_assert_msg(status ==
                                  (ranks_tried[i] > p.model.layers ? PP_USAGE : PP_INFEASIBLE),
                              "%s pp %d: %s", file->name, (int)ranks_tried[i], err.text);
                ck_assert_uint_gt(strlen(err.text), 40);
                continue;
            }
            STEP_OK(pp_order_check(choice->plan->order[0], "plan", &err), err);
            check_partition(choice->plan, &p.model);
            check_report(choice->plan->prediction);
            if (ranks_tried[i] <= 8)
                check_file(choice->plan);
            pp_search_result_free(&choice);
        }
    }
}
END_TEST

/* A larger limit never makes the plan slower, and one byte below the peak is respected. */
START_TEST(memory_is_obeyed)
{
    planning p = planning_of("gpt175b", "h100-80g");
    pp_plan_request request = request_of(&p, 16);
    request.parallel.tp = 8;
    double before = 0;
    for (int64_t gib = 90; gib >= 35; gib -= 5) {
        pp_search_result *choice = NULL;
        pp_err err = { 0 };
        request.memory_limit_bytes = gib << 30;
        if (pp_plan_search(&request, &choice, &err))
            break;
        ck_assert_int_le(choice->candidate[0].peak_bytes, gib << 30);
        ck_assert((double)choice->candidate[0].step_ns >= before);
        before = (double)choice->candidate[0].step_ns;
        int64_t peak = choice->candidate[0].peak_bytes;
        pp_search_result_free(&choice);
        request.memory_limit_bytes = peak - 1;
        if (pp_plan_search(&request, &choice, &err))
            break;
        ck_assert_int_lt(choice->candidate[0].peak_bytes, peak);
        pp_search_result_free(&choice);
    }
    ck_assert(before > 0);
}
END_TEST

/* --partition auto is never slower than uniform. */
START_TEST(balanced_is_not_slower_than_uniform)
{
    static const char *const models[] = { "gpt175b", "gpt22b", "llama3-70b", "gpt39b" };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        planning p = planning_of(models[i], "h200-141g");
        pp_plan_request request = request_of(&p, 8);
        request.parallel.tp = 8;
        pp_search_result *automatic = choose(&request);
        request.partition = PP_PARTITION_UNIFORM;
        pp_search_result *uniform = choose(&request);
        ck_assert_int_le(automatic->candidate[0].step_ns, uniform->candidate[0].step_ns);
        pp_search_result_free(&automatic);
        pp_search_result_free(&uniform);
    }
}
END_TEST

/* Stages with the embedding or the head, and no layer. */
static uint32_t count_bare(const pp_plan *plan)
{
    uint32_t count = 0;
    for (int64_t s = 0; s < plan->parallel.pp * plan->parallel.vpp; s++)
        count += plan->partition[s].layers + plan->partition[s].mtp == 0;
    return count;
}

/* A vocabulary of 128,256 weighs as much as several of llama3-8b's layers: on 16 ranks its head is
 * better off alone, and nobody has to ask for it. */
START_TEST(ends_may_be_bare)
{
    const planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 16);
    pp_search_result *free_ends PP_CLEANUP(pp_search_result_free) = choose(&request);
    request.bare_ends = PP_BARE_ENDS_OFF;
    pp_search_result *layers PP_CLEANUP(pp_search_result_free) = choose(&request);
    ck_assert_uint_gt(count_bare(free_ends->plan), 0);
    ck_assert_uint_eq(count_bare(layers->plan), 0);
    ck_assert_int_lt(free_ends->plan->prediction->step_ns * 100,
                     layers->plan->prediction->step_ns * 97);
}
END_TEST

/* Plans with bare ends are tried beside those with a layer on every stage, so that none is lost. */
START_TEST(bare_ends_are_never_slower)
{
    static const char *const models[] = { "gpt39b", "llama3-8b", "llama3-70b", "gpt22b" };
    for (size_t i = 0; i < 2 * sizeof models / sizeof *models; i++) {
        const planning p = planning_of(models[i / 2], "h200-141g");
        pp_plan_request request = request_of(&p, i % 2 ? 8 : 16);
        request.parallel.tp = 4;
        pp_search_result *free_ends PP_CLEANUP(pp_search_result_free) = choose(&request);
        request.bare_ends = PP_BARE_ENDS_OFF;
        pp_search_result *layers PP_CLEANUP(pp_search_result_free) = choose(&request);
        ck_assert_int_le(free_ends->candidate[0].step_ns, layers->candidate[0].step_ns);
    }
}
END_TEST

/* neuronx-distributed cuts after transformer layers, so it gets no such plan, in whatever way it is
 * chosen. */
START_TEST(bare_ends_are_not_for_all)
{
    static const pp_framework *const only[] = { &pp_framework_neuronx, NULL };
    const planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 16);
    request.framework = &pp_framework_neuronx;
    pp_search_result *named PP_CLEANUP(pp_search_result_free) = choose(&request);
    ck_assert_uint_eq(count_bare(named->plan), 0);
    request.bare_ends = PP_BARE_ENDS_ON;
    refuse(&request, PP_USAGE, "neuronx cuts models after transformer layers");
    request = request_of(&p, 16);
    request.free.framework = true;
    request.free.frameworks = only;
    pp_search_result *found PP_CLEANUP(pp_search_result_free) = choose(&request);
    ck_assert_ptr_eq(found->plan->framework, &pp_framework_neuronx);
    ck_assert_uint_eq(count_bare(found->plan), 0);
}
END_TEST

/* A schedule that no runtime supports (pp_schedule.simulate_only) is not proposed, only
 * simulated. */
START_TEST(schedules_that_cannot_be_run_are_no_candidates)
{
    const planning p = planning_of("gpt22b", "a100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 8;
    request.global_batch_size = 16;
    pp_search_result *c PP_CLEANUP(pp_search_result_free) = choose(&request);
    bool v = false;
    for (size_t i = 0; i < c->count; i++) {
        ck_assert(!c->candidate[i].schedule->simulate_only);
        v |= strcmp(c->candidate[i].schedule->name, "dualpipev") == 0;
    }
    ck_assert(v);
    ck_assert(pp_schedule_find("dualpipe")->simulate_only);
}
END_TEST

/* 1f1b on 64 GPUs, with a stack that can recompute several layers at a time. */
static pp_plan_request tight_request(const planning *p)
{
    pp_plan_request request = request_of(p, 8);
    request.parallel.tp = 8;
    request.schedule = pp_schedule_find("1f1b");
    request.seq_length = 8192;
    request.micro_batch_size = 1;
    request.global_batch_size = 64;
    request.switches.stack = stack_named("megatron-bridge-2026");
    return request;
}

/* Where the inputs of all layers do not fit, those of every second one do, in the same time. If
 * these do not fit, either, the advice is as before. */
START_TEST(several_layers_are_recomputed_where_one_at_a_time_does_not_fit)
{
    const planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = tight_request(&p);
    request.switches.given.recompute = true;
    request.switches.value.recompute = PP_RECOMPUTE_FULL;
    pp_search_result *one = choose(&request);
    request.memory_limit_bytes = one->plan->prediction->peak_memory_bytes - 1;
    refuse(&request, PP_INFEASIBLE, "recompute full");
    request.switches.given.recompute = false;
    pp_search_result *two = choose(&request);
    ck_assert_int_eq(two->plan->recompute, PP_RECOMPUTE_FULL);
    ck_assert_int_eq(two->plan->recompute_layers, 2);
    ck_assert_int_eq(two->plan->prediction->step_ns, one->plan->prediction->step_ns);
    check_plan(two->plan);
    request.memory_limit_bytes = two->plan->prediction->peak_memory_bytes * 9 / 10;
    refuse(&request, PP_INFEASIBLE, "Cheapest change tried that fits");
    request.memory_limit_bytes = two->plan->prediction->peak_memory_bytes;
    request.recompute_uniform = true; /* targets that have one switch */
    refuse(&request, PP_INFEASIBLE, "recompute full");
    request.recompute_uniform = false;
    request.switches.stack = stack_named("every-schedule");
    refuse(&request, PP_INFEASIBLE, "recompute full");
    pp_search_result_free(&one);
    pp_search_result_free(&two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("planner");
    TCase *tc = tcase_create("planner");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, plans_are_whole, 0, (int)pp_data_count(PP_DATA_MODEL));
    sample_add_test(tc, memory_is_obeyed, 2);
    sample_add_test(tc, balanced_is_not_slower_than_uniform, 2);
    tcase_add_test(tc, ends_may_be_bare);
    tcase_add_test(tc, several_layers_are_recomputed_where_one_at_a_time_does_not_fit);
    sample_add_test(tc, bare_ends_are_never_slower, 2);
    tcase_add_test(tc, bare_ends_are_not_for_all);
    sample_add_test(tc, schedules_that_cannot_be_run_are_no_candidates, 2);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
