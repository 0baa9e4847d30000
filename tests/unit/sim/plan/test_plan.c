/* A plan is read back to the byte, reports its slowest replica, and is refused with the place of
 * the error. */
#include "sim/plan/plan.h"
#include "sim/plan/plan_read.h"
#include "sim/plan/plan_write.h"
#include "tests/support/step.h"

static char *print_plan(const pp_plan *plan)
{
    pp_json_build build = { 0 };
    pp_json *json = pp_plan_write(plan, &build);
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    STEP_OK(pp_json_print(&build, json, &text, &bytes, &err), err);
    pp_json_free(&json);
    return text;
}

static pp_status read_plan(const char *text, pp_plan **plan_out, pp_err *err)
{
    pp_json *json = NULL;
    pp_status status = pp_json_parse(text, strlen(text), "p.json", &json, err);
    if (status)
        return status;
    status = pp_plan_read(json, "p.json", plan_out, err);
    pp_json_free(&json);
    return status;
}

/* Interleaved on 2 ranks, 2 chunks, 4 microbatches of unequal length, 2 replicas with costs and
 * memory of their own. */
static pp_plan *sample_plan(void)
{
    pp_plan *plan = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    plan->parallel = (pp_parallel){ .pp = 2, .tp = 2, .cp = 1, .dp = 2, .ep = 1, .vpp = 2 };
    strcpy(plan->model, "toy");
    strcpy(plan->schedule, "interleaved");
    plan->framework = &pp_framework_ideal;
    plan->recompute = PP_RECOMPUTE_FULL;
    plan->seed = 7;
    plan->seq_length = 100;
    plan->memory_limit_bytes = 1 << 30;
    plan->order = calloc(1, sizeof *plan->order);
    plan->costs = calloc(2, sizeof *plan->costs);
    plan->order_count = 1;
    plan->costs_count = 2;
    plan->order[0] = step_order("interleaved", 2, 2, 4, 0);
    const int64_t lengths[] = { 100, 60, 40, 30, 30, 90, 80, 20, 100, 10, 50, 70 };
    STEP_OK(pp_workload_pack(lengths, 12, 100, 1, 2, 4, &plan->workload, &err), err);
    ck_assert_uint_eq(plan->workload.microbatches, 4);
    for (uint32_t r = 0; r < 2; r++) {
        STEP_OK(pp_costs_new(2, 4, 4, 4, &plan->costs[r], &err), err);
        pp_costs *c = plan->costs[r];
        c->has_memory = true;
        c->fixed_ns = 5;
        c->model_flops = 1e15 / 3.0;
        c->peak_flops_per_s = 4e14;
        for (uint32_t j = 0; j < 4; j++) {
            c->class_of[j] = j;
            for (uint32_t s = 0; s < 4; s++) {
                size_t at = pp_cost_index(c, s, j);
                c->f_ns[at] = 10 + s + 3 * j + r;
                c->i_ns[at] = 11 + s + 5 * j;
                c->w_ns[at] = 12 + 7 * j;
                c->b_ns[at] = c->i_ns[at] + c->w_ns[at];
                c->send_f_ns[at] = s < 3 ? 2 + j : 0;
                c->send_b_ns[at] = s > 0 ? 3 + j : 0;
                c->activation_bytes[at] = 1000 + 10 * j;
                c->stash_bytes[at] = 500;
            }
        }
        for (uint32_t k = 0; k < 2; k++) {
            c->parameter_bytes[k] = 123456 + k;
            c->optimizer_ns[k] = 40 + k;
        }
    }
    plan->partition = calloc(4, sizeof *plan->partition);
    plan->partition[0] = (pp_stage){ .embedding = true, .layers = 3 };
    plan->partition[1] = (pp_stage){ .first_layer = 3, .layers = 4 };
    plan->partition[2] = (pp_stage){ .first_layer = 7, .layers = 1 };
    plan->partition[3] = (pp_stage){ .first_layer = 8, .layers = 0, .mtp = 2, .loss = true };
    STEP_OK(pp_notes_add(&plan->assumptions, &err, "hardware", "h%d", 100), err);
    return plan;
}

static pp_plan *read_back(const pp_plan *plan)
{
    pp_plan *again = NULL;
    pp_err err = { 0 };
    char *text = print_plan(plan);
    STEP_OK(read_plan(text, &again, &err), err);
    free(text);
    return again;
}

static void demand_same_file(const pp_plan *a, const pp_plan *b)
{
    char *first = print_plan(a);
    char *second = print_plan(b);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
}

START_TEST(a_plan_is_read_back_to_the_byte)
{
    pp_plan *plan = sample_plan();
    pp_err err = { 0 };
    STEP_OK(pp_plan_simulate(plan, NULL, NULL, NULL, &plan->prediction, &err), err);
    pp_plan *again = read_back(plan);
    STEP_OK(pp_plan_simulate(again, NULL, NULL, NULL, &again->prediction, &err), err);
    demand_same_file(plan, again);
    pp_plan_free(&again);
    pp_plan_free(&plan);
}
END_TEST

/* What stages of 3, 4, 1 and 0 layers recompute for microbatch j of replica r. */
static void recompute(pp_plan *plan)
{
    pp_err err = { 0 };
    STEP_OK(pp_recompute_table_new(2, 4, 4, &plan->recomputed, &err), err);
    plan->recompute = PP_RECOMPUTE_MICROBATCHES;
    for (uint32_t r = 0; r < 2; r++) {
        for (uint32_t j = 0; j < 4; j++) {
            pp_recomputed *of = pp_recompute_table_at(&plan->recomputed, r, j);
            of[0] = (pp_recomputed){ .full = (int32_t)(j % 3), .selective = 1 };
            of[1] = (pp_recomputed){ .full = (int32_t)(j + r) % 3, .selective = (int32_t)(j % 2) };
            of[2] = (pp_recomputed){ .selective = (int32_t)r };
        }
    }
}

START_TEST(recomputation_per_microbatch_is_read_back)
{
    pp_plan *plan = sample_plan();
    recompute(plan);
    pp_plan *again = read_back(plan);
    ck_assert_uint_eq(again->recomputed.replicas, 2);
    ck_assert_uint_eq(again->recomputed.microbatches, 4);
    ck_assert_uint_eq(again->recomputed.stages, 4);
    ck_assert_mem_eq(again->recomputed.of, plan->recomputed.of, 32 * sizeof(pp_recomputed));
    demand_same_file(plan, again);
    pp_plan_free(&again);
    pp_plan_free(&plan);
}
END_TEST

START_TEST(the_slowest_replica_is_reported)
{
    pp_plan *plan = sample_plan();
    const pp_costs *costs = NULL;
    pp_report *report = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_simulate(plan, NULL, NULL, &costs, &report, &err), err);
    ck_assert_ptr_eq(costs, plan->costs[1]);
    ck_assert_uint_eq(report->replica, 1);
    pp_report_free(&report);
    pp_plan_free(&plan);
}
END_TEST

/* The faster replica may be the one that does not fit. */
START_TEST(memory_is_that_of_the_replica_that_needs_most)
{
    pp_plan *plan = sample_plan();
    pp_report *report = NULL;
    pp_report *alone = NULL;
    pp_err err = { 0 };
    uint32_t rank = 0;
    plan->costs[0]->parameter_bytes[1] += 1 << 20;
    STEP_OK(pp_plan_simulate(plan, NULL, NULL, NULL, &alone, &err), err);
    plan->memory_limit_bytes = alone->peak_memory_bytes - 1;
    STEP_OK(pp_plan_simulate(plan, NULL, NULL, NULL, &report, &err), err);
    ck_assert_uint_eq(report->replica, 1);
    ck_assert_uint_eq(report->memory_replica, 0);
    ck_assert_int_gt(report->peak_memory_bytes, 1 << 20);
    ck_assert_int_eq(pp_report_excess(report, plan->memory_limit_bytes, &rank), 1);
    ck_assert_uint_eq(rank, 1);
    ck_assert_ptr_nonnull(pp_report_first_over(report, &rank));
    pp_report_free(&report);
    pp_report_free(&alone);
    pp_plan_free(&plan);
}
END_TEST

/* Replaces the first `from` by `to` and expects this message of the reader. */
static void spoil_in(pp_plan *plan, const char *from, const char *to, const char *where,
                     const char *text)
{
    pp_plan *again = NULL;
    pp_err err = { 0 };
    char *good = print_plan(plan);
    char *at = strstr(good, from);
    ck_assert_msg(at != NULL, "no %s in the plan", from);
    size_t room = strlen(good) + strlen(to) + 1;
    char *bad = malloc(room);
    snprintf(bad, room, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    ck_assert_msg(read_plan(bad, &again, &err) == PP_INPUT, "%s -> %s was taken", from, to);
    ck_assert_str_eq(err.where, where);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s: '%s' is not in '%s'", to, text, err.text);
    free(good);
    free(bad);
    pp_plan_free(&plan);
}

static void spoil(const char *from, const char *to, const char *where, const char *text)
{
    spoil_in(sample_plan(), from, to, where, text);
}

START_TEST(broken_plans_are_refused_with_the_place)
{
    spoil("\n \"version\": 1", "\n \"version\": 2", "p.json#/version", "newer");
    spoil("\"pp\": 2", "\"pp\": 3", "p.json#/partition/layers", "4 stages");
    spoil("\"pp\": 2", "\"pp\": 0", "p.json#/parallel/pp", "from 1 to");
    spoil("\"0F0\"", "\"0f0\"", "p.json#/schedule/ranks/0/0", "is not an op");
    spoil("\"0F0\"", "\"0F3\"", "p.json: rank 0 op 7", "0F3");
    spoil("\"seq_length\"", "\"seq_lenght\"", "p.json#/parallel", "seq_length");
    spoil("\"tokens\": 100", "\"tokens\": 101", "p.json#/microbatches/0/0", "do not sum");
    spoil("\"placement\": \"loop\"", "\"placement\": \"v\"", "p.json#/placement", "stage 2");
}
END_TEST

static void spoil_cp(const char *from, const char *to, const char *where, const char *text)
{
    pp_plan *plan = sample_plan();
    plan->parallel.cp = 8;
    plan->cp_comm = PP_CP_COMM_HIERARCHICAL;
    plan->cp_inner = 4;
    pp_plan *again = read_back(plan);
    ck_assert_int_eq(again->cp_comm, PP_CP_COMM_HIERARCHICAL);
    ck_assert_int_eq(again->cp_inner, 4);
    pp_plan_free(&again);
    spoil_in(plan, from, to, where, text);
}

START_TEST(the_exchange_of_context_parallelism_is_read_back)
{
    const char *at = "p.json#/parallel", *inner = "p.json#/parallel/cp_inner";
    spoil_cp("hierarchical", "tree", at, "cp_comm \"tree\" is not known");
    spoil_cp("hierarchical", "ring", at, "belong together");
    spoil_cp("cp_inner\": 4", "cp_inner\": 3", at, "cp_inner 3 does not divide cp 8");
    spoil_cp("cp_inner\": 4", "cp_inner\": 16", inner, "from 1 to 8");
    spoil_cp("cp_inner\": 4", "cp_inner\": 0", inner, "from 1 to 8");
}
END_TEST

START_TEST(chunks_of_full_recomputation_are_read_back)
{
    const char *at = "p.json#/recompute_layers";
    for (int k = 0; k < 3; k++) {
        pp_plan *plan = sample_plan();
        plan->recompute = PP_RECOMPUTE_FULL;
        plan->recompute_layers = 3;
        if (k == 1)
            spoil_in(plan, "recompute_layers\": 3", "recompute_layers\": 0", at, "from 1 to");
        else if (k == 2)
            spoil_in(plan, "\"recompute\": \"full\"", "\"recompute\": \"none\"", "p.json#",
                     "belong together");
        if (k)
            continue;
        pp_plan *again = read_back(plan);
        ck_assert_int_eq(again->recompute_layers, 3);
        pp_plan_free(&again);
        pp_plan_free(&plan);
    }
}
END_TEST

static pp_plan *plan_with_experts(void)
{
    pp_plan *plan = sample_plan();
    plan->parallel.dp = plan->parallel.ep = 2;
    plan->dispatcher = PP_DISPATCHER_HYBRIDEP;
    plan->moe_fp8_dispatch = plan->moe_shared_expert_overlap = true;
    plan->moe_capacity = 1.25;
    plan->moe_pads = true;
    plan->moe_kept = 0.875;
    plan->moe_imbalance = 1.5;
    plan->imbalance_count = 2;
    plan->moe_imbalances = calloc(2, sizeof *plan->moe_imbalances);
    plan->moe_imbalances[0] = 1.25;
    plan->moe_imbalances[1] = 1.75;
    plan->recompute = PP_RECOMPUTE_SELECTIVE;
    plan->recompute_modules = 1U << PP_MODULE_MOE_ACT | 1U << PP_MODULE_LAYERNORM;
    plan->graphs = 1U << PP_GRAPH_ATTENTION | 1U << PP_GRAPH_ROUTER;
    return plan;
}

static void spoil_experts(const char *from, const char *to, const char *where, const char *text)
{
    spoil_in(plan_with_experts(), from, to, where, text);
}

/* A file of before 0.3 has neither: it was predicted with DeepEP, and its selective recomputation
 * is of the attention core. */
START_TEST(dispatch_and_modules_are_read_back)
{
    const char *at = "p.json#/parallel", *list = "p.json#/recompute_modules";
    pp_plan *plan = plan_with_experts();
    pp_plan *again = read_back(plan);
    ck_assert_int_eq(again->dispatcher, PP_DISPATCHER_HYBRIDEP);
    ck_assert(again->moe_fp8_dispatch && again->moe_shared_expert_overlap);
    ck_assert_double_eq(again->moe_imbalance, 1.5);
    ck_assert_double_eq(again->moe_capacity, 1.25);
    ck_assert(again->moe_pads);
    ck_assert_double_eq(again->moe_kept, 0.875);
    ck_assert_uint_eq(again->imbalance_count, 2);
    ck_assert_double_eq(again->moe_imbalances[1], 1.75);
    ck_assert_uint_eq(again->recompute_modules, plan->recompute_modules);
    ck_assert_uint_eq(again->graphs, plan->graphs);
    pp_plan_free(&again);
    char *text = print_plan(plan);
    char *line = strstr(text, "\"moe_dispatcher\"");
    ck_assert_ptr_nonnull(line);
    const char *next = strchr(line, '\n');
    memmove(line, next, strlen(next) + 1);
    pp_err err = { 0 };
    STEP_OK(read_plan(text, &again, &err), err);
    ck_assert_int_eq(again->dispatcher, PP_DISPATCHER_DEEPEP);
    free(text);
    pp_plan_free(&again);
    plan->parallel.ep = 1; /* then there is nothing to exchange */
    plan->moe_fp8_dispatch = plan->moe_shared_expert_overlap = false;
    plan->moe_imbalance = 1;
    plan->moe_capacity = 0;
    plan->moe_pads = false;
    plan->moe_kept = 0;
    plan->recompute_modules = plan->graphs = 0;
    again = read_back(plan);
    ck_assert_int_eq(again->dispatcher, PP_DISPATCHER_ALLTOALL);
    ck_assert(!again->moe_fp8_dispatch && !again->moe_shared_expert_overlap);
    ck_assert_double_eq(again->moe_imbalance, 1);
    ck_assert_double_eq(again->moe_capacity, 0);
    ck_assert(!again->moe_pads);
    ck_assert_double_eq(again->moe_kept, 0);
    ck_assert_uint_eq(again->recompute_modules, PP_MODULES_CORE);
    ck_assert_uint_eq(again->graphs, 0);
    pp_plan_free(&again);
    pp_plan_free(&plan);
    spoil_experts("\"moe_router\"", "\"router\"", "p.json#/cuda_graphs/1",
                  "\"router\" is not the name of a graph");
    spoil_experts("\"moe_router\"", "\"full\"", "p.json#/cuda_graphs", "full captures all");
    spoil_experts("\"attn\"", "\"moe\"", "p.json#/cuda_graphs", "moe holds moe_router");
    spoil_experts("\"moe_router\"", "\"moe_preprocess\"", "p.json#/cuda_graphs",
                  "moe_preprocess needs moe_router");
    spoil_experts("\"hybridep\"", "\"tutel\"", at, "moe_dispatcher \"tutel\" is not known");
    spoil_experts("moe_fp8_dispatch\": true", "moe_fp8_dispatch\": 8",
                  "p.json#/parallel/moe_fp8_dispatch", "true or false");
    spoil_experts("moe_shared_expert_overlap\": true", "moe_shared_expert_overlap\": 1",
                  "p.json#/parallel/moe_shared_expert_overlap", "true or false");
    spoil_experts("moe_capacity\": 1.25", "moe_capacity\": 0", "p.json#/parallel/moe_capacity",
                  "from 0.01 to");
    spoil_experts("\"moe_capacity\": 1.25,", "", at, "has moe_pads, but no moe_capacity");
    spoil_experts("moe_pads\": true", "moe_pads\": 1", "p.json#/parallel/moe_pads",
                  "true or false");
    spoil_experts("moe_imbalance\": 1.5", "moe_imbalance\": 0.5", "p.json#/parallel/moe_imbalance",
                  "from 1 to");
    spoil_experts("1.75", "0.75", "p.json#/parallel/moe_imbalances/1", "from 1 to");
    spoil_experts("\n   1.25,\n   1.75\n  ", "", "p.json#/parallel/moe_imbalances",
                  "must have from 1 to");
    spoil_experts("\"moe_act\"", "\"act\"", "p.json#/recompute_modules/1",
                  "is not the name of a module");
    spoil_experts("\n  \"layernorm\",\n  \"moe_act\"\n ", "", list, "names no module");
}
END_TEST

START_TEST(every_framework_is_read_back)
{
    pp_plan *plan = sample_plan();
    for (size_t i = 0; i < pp_framework_count(); i++) {
        plan->framework = pp_framework_at(i);
        pp_plan *again = read_back(plan);
        ck_assert_ptr_eq(again->framework, plan->framework);
        ck_assert_ptr_eq(pp_framework_find(plan->framework->name), plan->framework);
        pp_plan_free(&again);
    }
    pp_plan_free(&plan);
}
END_TEST

static void demand_same_settings(const pp_plan *a, const pp_plan *b)
{
    ck_assert_int_eq(a->has_sizes, b->has_sizes);
    ck_assert_int_eq(a->sizes.kind, b->sizes.kind);
    ck_assert_int_eq(a->sizes.tokens, b->sizes.tokens);
    ck_assert_int_eq(a->recompute, b->recompute);
    ck_assert_int_eq(a->comm.has_mode, b->comm.has_mode);
    ck_assert_int_eq(a->comm.mode, b->comm.mode);
    ck_assert_int_eq(a->comm.eager_bytes, b->comm.eager_bytes);
    ck_assert_int_eq(a->comm.has_lanes, b->comm.has_lanes);
    ck_assert_int_eq(a->comm.lanes, b->comm.lanes);
    ck_assert_int_eq(a->buffers.has_recv, b->buffers.has_recv);
    ck_assert_int_eq(a->buffers.recv, b->buffers.recv);
    ck_assert_int_eq(a->buffers.has_send, b->buffers.has_send);
    ck_assert_int_eq(a->buffers.send, b->buffers.send);
    ck_assert_int_eq(a->buffers.has_return_outputs, b->buffers.has_return_outputs);
    ck_assert_int_eq(a->buffers.return_outputs, b->buffers.return_outputs);
}

START_TEST(every_name_of_a_setting_is_read_back)
{
    static const pp_recompute how[] = { PP_RECOMPUTE_NONE, PP_RECOMPUTE_SELECTIVE,
                                        PP_RECOMPUTE_FULL, PP_RECOMPUTE_UNKNOWN };
    static const int64_t eager[] = {
        0, 1, 999, 1000, 1024, 1500000, 2000000, 3 * (1 << 20), 64000000000000, PP_BYTES_MAX
    };
    pp_plan *plan = sample_plan();
    for (int k = 0; k < 12; k++) {
        const int64_t tokens = k == PP_SIZES_BUCKET || k == 7 ? 512 : 0;
        const pp_size_protocol_kind kind = k == 7 ? PP_SIZES_PADDED : (pp_size_protocol_kind)k;
        plan->has_sizes = k < 8;
        plan->sizes = (pp_size_protocol){ .kind = k < 8 ? kind : PP_SIZES_PLAN, .tokens = tokens };
        plan->recompute = how[k % 4];
        plan->comm = (pp_comm_settings){ .has_mode = true, .mode = PP_COMM_EAGER };
        plan->comm.eager_bytes = eager[k % 10];
        if (k >= 10)
            plan->comm = (pp_comm_settings){ .has_mode = true, .mode = PP_COMM_BATCHED_SHAPES };
        if (k == 11)
            plan->comm.mode = PP_COMM_RENDEZVOUS;
        plan->comm.has_lanes = k <= PP_LANES_PER_EDGE;
        plan->comm.lanes = plan->comm.has_lanes ? (pp_lanes)k : PP_LANES_SINGLE;
        plan->buffers = (pp_buffer_settings){
            .has_recv = k < PP_RECV_BUFFERS_COUNT,
            .recv = k < PP_RECV_BUFFERS_COUNT ? (pp_recv_buffers)k : PP_RECV_ON_POST,
            .has_send = k < PP_SEND_BUFFERS_COUNT,
            .send = k < PP_SEND_BUFFERS_COUNT ? (pp_send_buffers)k : PP_SEND_UNTIL_DONE,
            .has_return_outputs = k < 2,
            .return_outputs = k == 1,
        };
        pp_plan *again = read_back(plan);
        demand_same_settings(again, plan);
        pp_plan_free(&again);
    }
    plan->comm = (pp_comm_settings){ .has_mode = false };
    pp_plan *again = read_back(plan);
    demand_same_settings(again, plan);
    pp_plan_free(&again);
    pp_plan_free(&plan);
}
END_TEST

START_TEST(unknown_settings_are_refused_with_the_place)
{
    spoil("\"shapes\": null", "\"shapes\": \"guess\"", "p.json#/shapes",
          "is not one of plan, local,");
    spoil("\"comm\": null", "\"comm\": \"eager\"", "p.json#/comm", "is not one of rendezvous,");
    spoil("\"comm\": null", "\"comm\": \"eager:5\"", "p.json#/comm", "unit");
    spoil("\"lanes\": null", "\"lanes\": \"two\"", "p.json#/lanes", "is not one of single,");
    spoil("\"lanes\": null", "\"recv_buffers\": \"later\", \"lanes\": null", "p.json#/recv_buffers",
          "is not one of on-post,");
    spoil("\"lanes\": null", "\"send_buffers\": \"never\", \"lanes\": null", "p.json#/send_buffers",
          "is not one of until-done,");
    spoil("\"lanes\": null", "\"return_outputs\": \"maybe\", \"lanes\": null",
          "p.json#/return_outputs", "is not one of off, on");
    spoil("\"recompute\": \"full\"", "\"recompute\": \"some\"", "p.json#/recompute",
          "is not one of none, selective,");
    spoil("\"recompute\": \"full\"", "\"recompute\": \"auto\"", "p.json#/recompute",
          "is not one of none, selective,");
    spoil("\"executor\": \"ideal\"", "\"executor\": \"idael\"", "p.json#/executor",
          "there is no executor 'idael', did you mean 'ideal'?");
    spoil("\"executor\": \"ideal\"", "\"executor\": null", "p.json#/executor", "string");
}
END_TEST

/* The first column of the table: full 0, 0, 0, 0, selective 1, 0, 0, 0; the second: full 1, 1. */
#define COLUMN(a, b) "\"full\": [\n     " a ",\n     " b ","

static void spoil_recomputed(const char *from, const char *to, const char *where, const char *text)
{
    pp_plan *plan = sample_plan();
    recompute(plan);
    spoil_in(plan, from, to, where, text);
}

START_TEST(broken_recomputation_is_refused_with_the_place)
{
    spoil_recomputed("\"per-microbatch\"", "\"full\"", "p.json#", "if, and only if");
    spoil_recomputed("\"recomputed\"", "\"recomputes\"", "p.json#", "recomputes");
    spoil("\"recompute\": \"full\"", "\"recompute\": \"per-microbatch\"", "p.json#",
          "if, and only if");
    spoil_recomputed(COLUMN("0", "0"), COLUMN("-1", "0"), "p.json#/recomputed/0/0/full/0",
                     "from 0 to 3");
    spoil_recomputed(COLUMN("0", "0"), COLUMN("0", "5"), "p.json#/recomputed/0/0/full/1",
                     "from 0 to 4");
    spoil_recomputed(COLUMN("0", "0"), COLUMN("3", "0"), "p.json#/recomputed/0/0/selective/0",
                     "from 0 to 0");
    spoil_recomputed(COLUMN("0", "0"), COLUMN("0.5", "0"), "p.json#/recomputed/0/0/full/0", "");
    spoil_recomputed(COLUMN("1", "1"), COLUMN("1, 1", "1"), "p.json#/recomputed/0/1/full",
                     "has 5 stages, but pp x vpp is 4");
    spoil_recomputed("\"full\"", "\"whole\"", "p.json#/recomputed/0/0", "whole");
    spoil_recomputed("\"recomputed\": [", "\"recomputed\": [[],", "p.json#/recomputed",
                     "has 3 lists, but \"microbatches\" has 2");
    spoil_recomputed("\"recomputed\": [\n  [", "\"recomputed\": [\n  [{},", "p.json#/recomputed/0",
                     "has 5 entries, but \"microbatches\" has 4");
    pp_plan *plan = sample_plan();
    recompute(plan);
    free(plan->partition);
    plan->partition = NULL;
    spoil_in(plan, "ppsim.plan", "ppsim.plan", "p.json#", "needs \"partition\"");
}
END_TEST

START_TEST(layouts_are_printed_and_read_back)
{
    static const struct {
        const char *text, *canonical;
        int64_t layers, mtp;
        uint32_t stages;
    } cases[] = {
        { "EtL", "EtL", 1, 0, 1 },
        { "Et*3|(tt|)*29,m|L",
          "Et*3|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|"
          "t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|t*2|m|L",
          61, 1, 32 },
        { "E|t*2|L", "E|t*2|L", 2, 0, 3 },
        { "Et,t|tL", "Et*2|tL", 3, 0, 2 },
        /* as Megatron-LM d98e8a64 reads them (parse_str_to_list): commas anywhere, *0, |*n */
        { "E(t|)*2,tL", "Et|t|tL", 3, 0, 3 },
        { "E,t,*,1,0|(t*2|)*2L", "Et*10|t*2|t*2|L", 14, 0, 4 },
        { "Et|*3tL", "Et|||tL", 2, 0, 4 },
        { "Et*2t*0L", "Et*2L", 2, 0, 1 },
        { "E(t*3,|)*0t|mL", "Et|mL", 1, 1, 2 },
        { "E(|t)*2|(m)*2L", "E|t|t|m*2L", 2, 2, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pp_stage *stages = NULL;
        uint32_t count = 0;
        pp_text text = { 0 };
        pp_err err = { 0 };
        STEP_OK(
            pp_layout_parse(cases[i].text, cases[i].layers, cases[i].mtp, &stages, &count, &err),
            err);
        ck_assert_uint_eq(count, cases[i].stages);
        pp_layout_print(stages, count, &text);
        ck_assert_str_eq(text.data, cases[i].canonical);
        int64_t next = 0;
        for (uint32_t s = 0; s < count; s++) {
            ck_assert_int_eq(stages[s].first_layer, next);
            next += stages[s].layers;
        }
        pp_text_free(&text);
        free(stages);
    }
}
END_TEST

START_TEST(layouts_that_misplace_a_part_are_refused)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { "Et*2|tL", "3 of 4 decoder layers" },
        { "t*4L", "E first" },
        { "Et*4", "0 L" },
        { "EEt*4L", "E first" },
        { "Et*4|Lt", "E first" },
        { "Et*4x", "only E t m L" },
        { "E(t(t)*2)*2L", "nested" },
        { "E(t*4", "no ')'" },
        { "Et*4)L", "no '('" },
        { "Et*0L", "0 of 4" },
        { "Et*L", "count" },
        { "E(t)L", "followed by *n" },
        { "E()*4t*4L", "must contain" },
        { "E(,)*4t*4L", "must contain" },
        { "Et*2*2L", "only E t m L" },
        { "Et*99999999L", "count" },
        { "", "0 of 4" },
        { "E(t*400000)*400000L", "too long" },
        { "Et*4mL", "1 of 0 MTP" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pp_stage *stages = NULL;
        uint32_t count = 0;
        pp_err err = { 0 };
        ck_assert_msg(pp_layout_parse(cases[i].text, 4, 0, &stages, &count, &err) == PP_USAGE,
                      "'%s' was taken", cases[i].text);
        ck_assert_msg(strstr(err.text, cases[i].reason) != NULL, "'%s': %s", cases[i].text,
                      err.text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tc = tcase_create("plan");
    tcase_add_test(tc, a_plan_is_read_back_to_the_byte);
    tcase_add_test(tc, recomputation_per_microbatch_is_read_back);
    tcase_add_test(tc, broken_recomputation_is_refused_with_the_place);
    tcase_add_test(tc, the_slowest_replica_is_reported);
    tcase_add_test(tc, memory_is_that_of_the_replica_that_needs_most);
    tcase_add_test(tc, broken_plans_are_refused_with_the_place);
    tcase_add_test(tc, the_exchange_of_context_parallelism_is_read_back);
    tcase_add_test(tc, chunks_of_full_recomputation_are_read_back);
    tcase_add_test(tc, dispatch_and_modules_are_read_back);
    tcase_add_test(tc, every_framework_is_read_back);
    tcase_add_test(tc, every_name_of_a_setting_is_read_back);
    tcase_add_test(tc, unknown_settings_are_refused_with_the_place);
    tcase_add_test(tc, layouts_are_printed_and_read_back);
    tcase_add_test(tc, layouts_that_misplace_a_part_are_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
