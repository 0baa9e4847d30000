/* Plans for a runtime: it can run them, and the reported cost of its limits is what a free search
 * finds. */
#include "planner/candidate/candidate.h"
#include "planner/study/target.h"
#include "sim/framework/sizes/size_protocol.h"
#include "tests/support/planning.h"
#include "traces/target/registry.h"

static const pp_target_limits *target_of(const char *name)
{
    const pp_target *target = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_target_get(name, &target, &err), err);
    return &target->limits;
}

static const struct {
    const char *target, *format;
    bool lengths;
} cases[] = {
    { "torchtitan", "torchtitan", false }, { "torchtitan", "torchtitan", true },
    { "automodel", "automodel", false },   { "automodel", "automodel", true },
    { "megatron", "megatron", false },     { "megatron", "megatron", true },
    { "ppsim", "pytorch-csv", false },     { "ppsim", "pytorch-csv", true },
};

/* The format of the runtime accepts the plan, without a warning about its stages. */
static void emit(const pp_plan *plan, const char *name)
{
    const pp_format *format = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_companion companion = { 0 };
    pp_err err = { 0 };
    for (size_t i = 0; i < pp_format_count(); i++)
        format = strcmp(pp_format_at(i)->name, name) == 0 ? pp_format_at(i) : format;
    ck_assert_ptr_nonnull(format);
    const pp_export data = { .plan = plan,
                             .order = plan->order[0],
                             .costs = plan->costs[0],
                             .report = plan->prediction,
                             .path = "plan.py",
                             .columns = 80 };
    STEP_OK(format->emit(&data, &text, &companion, &err), err);
    if (companion.text.data)
        ck_assert_msg(!strstr(companion.text.data, "no schedule name makes") &&
                          !strstr(companion.text.data, "wrong gradients") &&
                          !strstr(companion.text.data, "different numbers of stages"),
                      "%s", companion.text.data);
    pp_text_free(&companion.text);
}

static pp_plan_request request_for(const planning *p, int64_t *lengths, size_t count)
{
    pp_plan_request request = request_of(p, 4);
    request.parallel.tp = 2;
    request.parallel.dp = count ? 2 : 1;
    request.seq_length = 2048;
    request.orders = PP_ORDERS_BETTER;
    for (size_t k = 0; k < count; k++)
        lengths[k] = 64 + (int64_t)(k * 7919 % 1900);
    request.lengths = count ? lengths : NULL;
    request.length_count = count;
    if (!count)
        request.global_batch_size = 32;
    return request;
}

START_TEST(the_runtime_takes_the_plan)
{
    if (sample_skips((uint64_t)(_i + _i / 2), 2, 2)) /* each target, with lengths or without */
        return;
    planning p = planning_of("llama3-8b", "h100-80g");
    const pp_target_limits *target = target_of(cases[_i].target);
    int64_t lengths[96];
    pp_plan_request before = request_for(&p, lengths, cases[_i].lengths ? 96 : 0);
    before.memory_limit_bytes = (int64_t)1 << 40; /* torch keeps outputs, and must be comparable */
    pp_plan_request request = before;
    pp_err err = { 0 };
    STEP_OK(pp_target_apply(target, false, &request, &err), err);
    pp_search_result *choice = choose(&request);
    const pp_plan *plan = choice->plan;
    ck_assert_ptr_eq(plan->framework, target->frameworks[0]);
    /* data_parallel_shard_degree, strategy: fsdp2 */
    ck_assert_int_eq(choice->context.switches.transformer_engine, !target->fsdp);
    ck_assert_int_eq(plan->zero, target->fsdp ? 3 : plan->parallel.dp * plan->parallel.cp > 1);
    if (strcmp(cases[_i].target, "torchtitan") == 0)
        ck_assert(plan->buffers.has_return_outputs &&
                  !plan->buffers.return_outputs); /* its trainer: return_outputs=False */
    for (size_t i = 0; i < choice->count; i++) {
        const char *name = choice->candidate[i].schedule->name;
        ck_assert(strcmp(cases[_i].target, "megatron") != 0 || strcmp(name, "1f1b") == 0 ||
                  strcmp(name, "interleaved") == 0);
    }
    if (target->constant_shapes) {
        ck_assert_uint_eq(plan->order_count, 1);
        for (uint32_t r = 0; r < plan->costs_count; r++)
            for (uint32_t k = 0; k < plan->costs[r]->classes; k++)
                ck_assert_int_eq(plan->costs[r]->message_bytes[k * plan->costs[r]->stages],
                                 plan->costs[0]->message_bytes[0]);
    }
    if (plan->order_count == 1)
        emit(plan, cases[_i].format);
    STEP_OK(pp_target_compare(target, &before, choice, &err), err);
    ck_assert_ptr_eq(choice->target.target, target);
    pp_plan_request other = before; /* named schedules, without the target's limits */
    other.framework = target->frameworks[0];
    other.buffers = plan->buffers;
    other.orders = PP_ORDERS_NAMED;
    if (target->fsdp)
        train_with_fsdp(&other);
    pp_search_result *best = choose(&other);
    const double more =
        (double)plan->prediction->step_ns / (double)best->plan->prediction->step_ns - 1;
    ck_assert_str_eq(choice->target.schedule->name, best->plan->schedule);
    ck_assert_int_eq(choice->target.step_ns, best->plan->prediction->step_ns);
    ck_assert_double_eq_tol(choice->target.more, more, 1e-12);
    pp_search_result_free(&best);
    pp_search_result_free(&choice);
}
END_TEST

/* A stack of the user has gradients in bf16, which torchtitan cannot be told. */
START_TEST(gradients_are_those_of_the_target)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_stack stack = *stack_named("nemo-2025");
    stack.switches.grad_dtype = PP_DTYPE_BF16;
    static const struct {
        const char *target;
        pp_dtype gradients;
    } rows[] = { { "torchtitan", PP_DTYPE_FP32 }, { "megatron", PP_DTYPE_BF16 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_plan_request request = request_for(&p, NULL, 0);
        pp_err err = { 0 };
        request.switches.stack = &stack;
        request.schedule = &pp_schedule_one_f_one_b;
        request.memory_limit_bytes = (int64_t)1 << 40;
        STEP_OK(pp_target_apply(target_of(rows[i].target), false, &request, &err), err);
        pp_search_result *choice = choose(&request);
        ck_assert_int_eq(choice->plan->grad_dtype, rows[i].gradients);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* Megatron-LM's layouts may have stages "E" and "L"; torchtitan and AutoModel empty the list of
 * layers of a stage whose modules name none. */
START_TEST(the_runtime_takes_bare_ends)
{
    const planning p = planning_of("llama3-8b", "h100-80g");
    const pp_target_limits *target = target_of(cases[_i].target);
    pp_plan_request request = request_for(&p, NULL, 0);
    pp_err err = { 0 };
    request.parallel.pp = 16;
    request.parallel.tp = 1;
    request.parallel.vpp = 1;
    request.orders = PP_ORDERS_NAMED;
    request.partition = PP_PARTITION_BARE;
    STEP_OK(pp_target_apply(target, false, &request, &err), err);
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = choose(&request);
    ck_assert_int_eq(choice->plan->partition[15].layers, 0);
    emit(choice->plan, cases[_i].format);
}
END_TEST

/* The text names the fastest schedule that the target runs, and how much slower it is than the
 * request. */
static void expect_nearest(const pp_plan_request *request, const char *target, const char *text)
{
    pp_plan_request asked = *request;
    pp_plan_request other = *request;
    char words[200];
    asked.no_split = false;
    asked.framework =
        request->no_split ? target_of(target)->frameworks[0] : &pp_framework_ppsim; /* no zbv */
    other.schedule = NULL;
    other.only = target_of(target)->only;
    other.orders = PP_ORDERS_NAMED;
    other.framework = target_of(target)->frameworks[0];
    if (target_of(target)->fsdp) {
        train_with_fsdp(&asked);
        train_with_fsdp(&other);
    }
    pp_search_result *a = choose(&asked);
    pp_search_result *b = choose(&other);
    const pp_candidate *best = &b->candidate[0];
    snprintf(words, sizeof words, "(%+.2f %%",
             100 * (pp_candidate_score(best, best->step_ns) /
                        pp_candidate_score(&a->candidate[0], a->candidate[0].step_ns) -
                    1));
    ck_assert_msg(strstr(text, words) && strstr(text, best->schedule->name), "%s: %s", words, text);
    ck_assert(!best->schedule->splits_backward);
    pp_search_result_free(&a);
    pp_search_result_free(&b);
}

/* The exchange that is asked for is written, or refused; what is free, the runtime can do. */
START_TEST(context_parallelism_is_exchanged_as_the_runtime_does)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target_limits *target = &pp_target_at(i)->limits;
        for (int kind = -1; kind < 0 || pp_cp_comm_names()[kind]; kind++) {
            pp_plan_request request = request_for(&p, NULL, 0);
            pp_err err = { 0 };
            request.schedule = pp_schedule_find("1f1b");
            request.orders = PP_ORDERS_NAMED;
            request.parallel.cp = 4;
            request.seq_length = 32768;
            request.micro_batch_size = 1;
            request.memory_limit_bytes = (int64_t)1 << 40;
            request.switches.given.cp_comm = kind >= 0;
            request.switches.value.cp_comm = kind < 0 ? PP_CP_COMM_RING : (pp_cp_comm)kind;
            if (pp_target_apply(target, false, &request, &err)) {
                ck_assert_msg(target->fsdp && (kind == PP_CP_COMM_ALL_TO_ALL ||
                                               kind == PP_CP_COMM_HIERARCHICAL),
                              "%s, kind %d: %s", target->name, kind, err.text);
                ck_assert_str_eq(err.where, "cp_comm");
                continue;
            }
            pp_search_result *choice = choose(&request);
            const pp_plan *plan = choice->plan;
            ck_assert_int_eq(plan->cp_comm, kind >= 0      ? kind
                                            : target->fsdp ? (int)PP_CP_COMM_ALL_GATHER
                                                           : (int)PP_CP_COMM_RING);
            STEP_OK(pp_target_check_cp_comm(target, plan->cp_comm, PP_INFEASIBLE, "", &err), err);
            pp_search_result_free(&choice);
        }
    }
}
END_TEST

/* The dispatcher is the stack's where the target has it, and one that it has otherwise; what is
 * given and not there is refused. */
START_TEST(experts_are_exchanged_as_the_runtime_does)
{
    planning p = planning_of("mixtral-8x7b", "h100-80g");
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target_limits *target = &pp_target_at(i)->limits;
        ck_assert(target->dispatchers >> target->dispatcher & 1);
        for (int k = 0; pp_dispatcher_names()[k / 2]; k++) {
            const int kind = k / 2;
            const bool given = k % 2, has = target->dispatchers >> kind & 1;
            pp_plan_request request = request_for(&p, NULL, 0);
            pp_stack stack = *request.switches.stack;
            pp_err err = { 0 };
            request.schedule = pp_schedule_find("1f1b");
            request.orders = PP_ORDERS_NAMED;
            stack.switches.dispatcher = given ? PP_DISPATCHER_ALLTOALL : (pp_dispatcher)kind;
            request.switches.stack = &stack;
            request.switches.given.dispatcher = given;
            request.switches.value.dispatcher = (pp_dispatcher)kind;
            const pp_status status = pp_target_apply(target, false, &request, &err);
            ck_assert_int_eq(status, given && !has ? PP_USAGE : PP_OK);
            if (status) {
                ck_assert_str_eq(err.where, "moe_dispatcher");
                continue;
            }
            const pp_switches s = pp_switches_requested(&request.switches, stack.switches);
            ck_assert_int_eq(s.dispatcher, has ? kind : (int)target->dispatcher);
        }
    }
}
END_TEST

/* What the stack does with rows of experts is off where the target cannot be told, and refused if
 * given. */
START_TEST(rows_go_to_experts_as_the_runtime_sends_them)
{
    planning p = planning_of("mixtral-8x7b", "h100-80g");
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target_limits *target = &pp_target_at(i)->limits;
        for (int k = 0; k < 4; k++) {
            const bool given = k & 1, shared = k & 2;
            const bool has = shared ? target->shared_expert_overlap : target->fp8_dispatch;
            pp_plan_request request = request_for(&p, NULL, 0);
            pp_switch_request *s = &request.switches;
            pp_stack stack = *s->stack;
            pp_err err = { 0 };
            request.schedule = pp_schedule_find("1f1b");
            request.orders = PP_ORDERS_NAMED;
            stack.switches.dispatcher = PP_DISPATCHER_DEEPEP;
            s->stack = &stack;
            if (shared) {
                stack.switches.moe_shared_expert_overlap = true;
                s->given.moe_shared_expert_overlap = s->value.moe_shared_expert_overlap = given;
            } else {
                stack.switches.moe_fp8_dispatch = true;
                s->given.moe_fp8_dispatch = s->value.moe_fp8_dispatch = given;
            }
            const pp_status status = pp_target_apply(target, false, &request, &err);
            ck_assert_int_eq(status, given && !has ? PP_USAGE : PP_OK);
            if (status) {
                ck_assert_str_eq(err.where,
                                 shared ? "moe_shared_expert_overlap" : "moe_fp8_dispatch");
                continue;
            }
            pp_switches now = pp_switches_requested(s, stack.switches);
            ck_assert_int_eq(shared ? now.moe_shared_expert_overlap : now.moe_fp8_dispatch, has);
            /* a dispatcher that has neither, and a module that Megatron-Core does not do both of */
            stack.switches.dispatcher = PP_DISPATCHER_ALLGATHER;
            s->given.dispatcher = false;
            now = pp_switches_requested(s, stack.switches);
            ck_assert(!now.moe_shared_expert_overlap && !now.moe_fp8_dispatch);
            stack.switches.dispatcher = PP_DISPATCHER_ALLTOALL;
            s->given.recompute_modules = true;
            s->value.recompute_modules = 1U << PP_MODULE_SHARED_EXPERTS;
            now = pp_switches_requested(s, stack.switches);
            ck_assert(!now.moe_shared_expert_overlap && !now.moe_fp8_dispatch);
        }
    }
}
END_TEST

START_TEST(capacity_is_refused_where_it_cannot_be_told)
{
    planning p = planning_of("mixtral-8x7b", "h100-80g");
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target_limits *target = &pp_target_at(i)->limits;
        pp_plan_request request = request_for(&p, NULL, 0);
        pp_err err = { 0 };
        request.schedule = pp_schedule_find("1f1b");
        request.orders = PP_ORDERS_NAMED;
        request.switches.value.moe_capacity = 1.5;
        request.switches.value.moe_pads = true;
        const pp_status status = pp_target_apply(target, false, &request, &err);
        ck_assert_int_eq(status, target->expert_capacity ? PP_OK : PP_USAGE);
        if (status)
            ck_assert_str_eq(err.where, "moe_capacity");
    }
}
END_TEST

START_TEST(graphs_are_refused_where_they_cannot_be_told)
{
    planning p = planning_of("mixtral-8x7b", "h100-80g");
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target_limits *target = &pp_target_at(i)->limits;
        pp_plan_request request = request_for(&p, NULL, 0);
        pp_err err = { 0 };
        request.schedule = pp_schedule_find("1f1b");
        request.orders = PP_ORDERS_NAMED;
        request.switches.given.cuda_graphs = true;
        ck_assert_int_eq(pp_target_apply(target, false, &request, &err), PP_OK);
        request.switches.value.graphs = 1U << PP_GRAPH_ATTENTION;
        const pp_status status = pp_target_apply(target, false, &request, &err);
        ck_assert_int_eq(status, target->cuda_graphs ? PP_OK : PP_USAGE);
        if (status)
            ck_assert_str_eq(err.where, "cuda_graphs");
    }
}
END_TEST

/* A stack with graphs trains without them where they cannot be told. */
START_TEST(graphs_of_a_stack_are_off_where_they_cannot_be_told)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_stack stack = *stack_named("every-schedule");
    stack.switches.cuda_graphs = true;
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target_limits *target = &pp_target_at(i)->limits;
        pp_plan_request request = request_for(&p, NULL, 0);
        pp_err err = { 0 };
        request.schedule = pp_schedule_find("1f1b");
        request.orders = PP_ORDERS_NAMED;
        request.switches.stack = &stack;
        STEP_OK(pp_target_apply(target, false, &request, &err), err);
        const pp_switches got = pp_switches_requested(&request.switches, stack.switches);
        ck_assert_int_eq(got.cuda_graphs, target->cuda_graphs);
        ck_assert_uint_eq(got.graphs, 0);
    }
}
END_TEST

/* Megatron-LM ("CUDA Graphs" in its user guide): the dispatch of experts has shapes that
 * change, and cannot be captured, unless each expert has as many rows. */
START_TEST(full_graphs_of_experts_need_padding_in_megatron)
{
    static const char *const models[] = { "llama3-8b", "mixtral-8x7b" };
    for (int i = 0; i < 16; i++) {
        const bool experts = i & 1, pads = i & 2, own = i & 4, megatron = i & 8;
        planning p = planning_of(models[experts], "h100-80g");
        pp_stack stack = *stack_named("every-schedule");
        pp_plan_request request = request_for(&p, NULL, 0);
        pp_err err = { 0 };
        stack.switches.cuda_graphs = own;
        request.switches.stack = &stack;
        request.schedule = pp_schedule_find("1f1b");
        request.orders = PP_ORDERS_NAMED;
        request.switches.given.cuda_graphs = !own;
        request.switches.value.graphs = own ? 0 : PP_GRAPHS_FULL;
        request.switches.value.moe_capacity = pads ? 1 : 0;
        request.switches.value.moe_pads = pads;
        const bool refused = megatron && experts && !pads;
        const pp_status status =
            pp_target_apply(target_of(megatron ? "megatron" : "ppsim"), false, &request, &err);
        ck_assert_int_eq(status, refused ? PP_USAGE : PP_OK);
        if (refused)
            ck_assert_msg(strstr(err.text, "as many rows") && strstr(err.text, "cuda_graphs off"),
                          "%s", err.text);
    }
}
END_TEST

START_TEST(what_it_does_not_run_is_refused)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_err err = { 0 };
    const pp_target *none = NULL;
    ck_assert_int_eq(pp_target_get("jax", &none, &err), PP_USAGE);
    pp_plan_request request = request_for(&p, NULL, 0);
    request.schedule = pp_schedule_find("zbv");
    request.memory_limit_bytes = (int64_t)1 << 40;
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_target_apply(target_of("megatron"), false, &request, &err), PP_INFEASIBLE);
    expect_nearest(&request, "megatron", err.text);
    request.no_split = true;
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_target_apply(target_of("torchtitan"), false, &request, &err),
                     PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "torch_compile") != NULL, "%s", err.text);
    expect_nearest(&request, "torchtitan", err.text);
    request = request_for(&p, NULL, 0);
    request.orders = PP_ORDERS_PLANNED;
    ck_assert_int_eq(pp_target_apply(target_of("megatron"), false, &request, &err), PP_INFEASIBLE);
    request = request_for(&p, NULL, 0);
    request.framework = &pp_framework_deepspeed;
    ck_assert_int_eq(pp_target_apply(target_of("ppsim"), false, &request, &err), PP_USAGE);
    request = request_for(&p, NULL, 0);
    request.exchange.shapes.kind = PP_SIZES_MESSAGE;
    ck_assert_int_eq(pp_target_apply(target_of("torchtitan"), true, &request, &err), PP_USAGE);
    request = request_for(&p, NULL, 0);
    request.switches.given.recompute = true;
    request.switches.value.recompute = PP_RECOMPUTE_STAGES;
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_target_apply(target_of("automodel"), false, &request, &err), PP_USAGE);
    ck_assert_str_eq(err.where, "recompute");
    err = (pp_err){ 0 };
    STEP_OK(pp_target_apply(target_of("megatron"), false, &request, &err), err);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("target");
    TCase *tc = tcase_create("target");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, the_runtime_takes_the_plan, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, gradients_are_those_of_the_target);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i += 2)
        tcase_add_loop_test(tc, the_runtime_takes_bare_ends, i, i + 1);
    tcase_add_test(tc, context_parallelism_is_exchanged_as_the_runtime_does);
    tcase_add_test(tc, experts_are_exchanged_as_the_runtime_does);
    tcase_add_test(tc, rows_go_to_experts_as_the_runtime_sends_them);
    tcase_add_test(tc, capacity_is_refused_where_it_cannot_be_told);
    tcase_add_test(tc, graphs_are_refused_where_they_cannot_be_told);
    tcase_add_test(tc, graphs_of_a_stack_are_off_where_they_cannot_be_told);
    tcase_add_test(tc, full_graphs_of_experts_need_padding_in_megatron);
    tcase_add_test(tc, what_it_does_not_run_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
