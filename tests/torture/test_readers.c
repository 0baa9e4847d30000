/* Whichever allocation fails, every reader, every writer and the search report it and leak
 * nothing. */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "planner/study/cluster.h"
#include "planner/study/pack_pipeline.h"
#include "planner/study/plan_search.h"
#include "sim/base/alloc.h"
#include "sim/cost/costs_json.h"
#include "sim/engine/engine.h"
#include "sim/framework/registry.h"
#include "sim/job/expert_tokens.h"
#include "sim/job/lengths.h"
#include "sim/job/stack.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "tests/torture/torture.h"
#include "traces/format/registry.h"
#include "traces/read/comm_rows.h"
#include "traces/read/data.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int read_model(void *name)
{
    const pp_data_file *file = pp_data_find(PP_DATA_MODEL, name);
    pp_model model;
    pp_err err = { 0 };
    return (int)pp_model_parse(file->text, file->bytes, name, &model, &err);
}

static int read_config(void *text)
{
    pp_model model;
    pp_err err = { 0 };
    return (int)pp_model_parse(text, strlen(text), "config.json", &model, &err);
}

static int read_hardware(void *name)
{
    const pp_data_file *file = pp_data_find(PP_DATA_HARDWARE, name);
    pp_hardware hardware;
    pp_err err = { 0 };
    return (int)pp_hardware_parse(file->text, file->bytes, name, &hardware, &err);
}

static int read_stack(void *name)
{
    const pp_data_file *file = pp_data_find(PP_DATA_STACK, name);
    pp_stack stack;
    pp_err err = { 0 };
    return (int)pp_stack_parse(file->text, file->bytes, name, &stack, &err);
}

static int read_cluster(void *text)
{
    pp_cluster cluster;
    pp_err err = { 0 };
    return (int)pp_cluster_parse(text, strlen(text), "cluster.json", &cluster, &err);
}

static int read_costs(void *text)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    pp_status status = pp_json_parse(text, strlen(text), "costs", &json, &err);
    if (status)
        return (int)status;
    pp_json_at root = pp_json_root(json, "costs");
    return (int)pp_costs_read(&root, 2, 2, 3, &costs, &err);
}

static int pack_lengths(void *text)
{
    pp_lengths lengths PP_CLEANUP(pp_lengths_free) = { 0 };
    pp_workload workload PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    pp_status status = pp_lengths_parse(text, strlen(text), "lengths", &lengths, &err);
    if (!status && lengths.group_count)
        status = pp_workload_group(lengths.length, lengths.group_end, lengths.group_count, 100, 2,
                                   &workload, &err);
    else if (!status)
        status = pp_workload_pack(lengths.length, lengths.count, 100, 1, 2, 1, &workload, &err);
    return (int)status;
}

static int read_expert_tokens(void *text)
{
    pp_expert_tokens tokens PP_CLEANUP(pp_expert_tokens_free) = { 0 };
    pp_err err = { 0 };
    return (int)pp_expert_tokens_parse(text, strlen(text), "tokens", 0, &tokens, &err);
}

static int read_rows(void *text)
{
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_err err = { 0 };
    return (int)pp_format_read(text, strlen(text), "rows.csv", &order, &err);
}

static int read_comm_rows(void *text)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    return (int)pp_comm_rows_read(text, strlen(text), "rows.csv", PP_ROWS_SINGLE, false, NULL,
                                  &program, &err);
}

static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10, 0 };

static char instance_json[] =
    "{\"name\":\"x\",\"p\":2,\"v\":1,\"m\":3,\"rank_of\":[0,1],\"cap\":[9,9],"
    "\"stages\":[{\"f\":[3,0,0],\"b\":[4,0,0],\"w\":[2,0,0],\"act\":[3,1],\"whold\":[2,0],"
    "\"transient\":[0,1,0]},{\"f\":[2,0,0],\"b\":[4,0,0],\"w\":[2,0,0],\"act\":[3,1],"
    "\"whold\":[2,0],\"transient\":[0,1,0]}],"
    "\"microbatches\":{\"tokens\":[1,0,1],\"sumsq\":[0,0,0]},"
    "\"link\":{\"lat\":1,\"per_token_q20\":0}}";

/* Reads, bounds, orders and prints an instance. */
static int order_instance(void *text)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *instance PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text orders PP_CLEANUP(pp_text_free) = { 0 };
    const pp_order_search_options budget = { .iterations = 40 };
    pp_order_bounds limits;
    pp_err err = { 0 };
    pp_status status = pp_json_parse(text, strlen(text), "i", &json, &err);
    if (status)
        return (int)status;
    const pp_json_at root = pp_json_root(json, "i");
    status = pp_order_problem_read(&root, &instance, &err);
    if (status || (status = pp_order_bounds_find(instance, &limits, &err)) ||
        (status = pp_order_search(instance, limits.ticks, &budget, &found, &err)))
        return (int)status;
    pp_order_problem_print_orders(instance, found->ops, &orders);
    return (int)pp_text_check(&orders, &err);
}

/* Builds, lowers, runs and writes 1F1B in every format. */
static int write_formats(void *framework_name)
{
    const pp_schedule_params shape = { .ranks = 2, .chunks = 1, .microbatches = 3 };
    const pp_framework *framework = NULL;
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_memory_costs memory;
    pp_err err = { 0 };
    pp_status status = pp_framework_get(framework_name, &framework, &err);
    if (status || (status = pp_plan_new(&plan, &err)) ||
        (status = pp_schedule_build(pp_schedule_find("1f1b"), &shape, &order, &err)) ||
        (status = framework->lower(order, &program, &err)) ||
        (status = pp_costs_uniform(&uniform, 2, 2, 3, &costs, &err)) ||
        (status = pp_memory_costs_parse("F=3B,I=-1B,W=-2B", &memory, &err)))
        return (int)status;
    pp_costs_set_memory(costs, &memory);
    if ((status = pp_simulate(program, costs, &timeline, &err)))
        return (int)status;
    plan->parallel = (pp_parallel){ 2, 1, 1, 1, 1, 1, 0 };
    const pp_export data = { .plan = plan,
                             .order = order,
                             .program = program,
                             .timeline = timeline,
                             .costs = costs,
                             .path = "step.py" };
    for (size_t i = 0; i < pp_format_count() && !status; i++) {
        const pp_format *format = pp_format_at(i);
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_companion companion = { 0 };
        if (format->emit)
            status = format->emit(&data, &text, &companion, &err);
        if (format->trace && !status)
            status = format->trace(&data, &text, &err);
        pp_text_free(&companion.text);
    }
    return (int)status;
}

/* The whole search for a small model. Everything it reads is read before allocations fail. */
typedef struct job {
    pp_model model;
    pp_hardware hardware;
    pp_stack stack;
    bool planned; /* with orders of its own, for two replicas */
} job;

static int search(void *context)
{
    static const int64_t lengths[] = { 2048, 1024, 500, 2000 };
    const job *j = context;
    pp_plan_request request = { .model = &j->model,
                                .hardware = &j->hardware,
                                .parallel = { .pp = 2, .tp = 1 },
                                .micro_batch_size = 1,
                                .global_batch_size = 4,
                                .schedule = pp_schedule_find("1f1b"),
                                .switches = { .stack = &j->stack } };
    if (j->planned) {
        request.parallel = (pp_parallel){ .pp = 2, .tp = 1, .dp = 2, .vpp = 1 };
        request.global_batch_size = 0;
        request.lengths = lengths;
        request.length_count = sizeof lengths / sizeof *lengths;
        request.schedule = NULL;
        request.orders = PP_ORDERS_PLANNED;
        request.max_simulations = 60;
        request.switches.given.recompute = true;
    }
    pp_search_result *choice = NULL;
    pp_err err = { 0 };
    pp_status status = pp_plan_search(&request, &choice, &err);
    pp_search_result_free(&choice);
    return (int)status;
}

/* All packings of a few sequences, and some moves. */
static int pack_all(void *context)
{
    static const int64_t lengths[] = { 100, 400, 60, 300, 500 };
    const job *j = context;
    const pp_plan_request request = { .model = &j->model,
                                      .hardware = &j->hardware,
                                      .parallel = { .pp = 2, .tp = 1, .dp = 2 },
                                      .seq_length = 512,
                                      .micro_batch_size = 1,
                                      .lengths = lengths,
                                      .length_count = 5,
                                      .schedule = pp_schedule_find("1f1b"),
                                      .partition = PP_PARTITION_UNIFORM,
                                      .switches = { .stack = &j->stack,
                                                    .given = { .recompute = true } } };
    const pp_pack_task task = {
        .lengths = lengths, .count = 5, .packings = { true, true, true, true }, .iterations = 2
    };
    pp_packer *packer PP_CLEANUP(pp_packer_close) = NULL;
    pp_packed *packed PP_CLEANUP(pp_packed_free) = NULL;
    pp_err err = { 0 };
    pp_status status = pp_packer_open(&request, &packer, &err);
    return (int)(status ? status : pp_pack(packer, &task, &packed, &err));
}

static char csv[] = "0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1B1\n";
static char comm_csv[] = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
static char costs_json[] =
    "{\"format\":\"ppsim.costs\",\"version\":1,\"forward_ns\":[[1,2,3],[4,5,6]],"
    "\"backward_ns\":2,\"comm_ns\":1}";
static char tokens_text[] = "[[1,2],[[3,4],[5,6]]]";
static char lengths_text[] = "10\n20\n30\n90\n80\n70\n";
static char groups_text[] = "[[10, 20], [30], [90], [80, 20]]";
static char config[] = "{\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":2,\"n_head\":2,"
                       "\"n_positions\":64,\"vocab_size\":100}";
static char mixed_config[] =
    "{\"model_type\":\"gemma2\",\"hidden_size\":64,\"num_hidden_layers\":3,"
    "\"num_attention_heads\":4,\"intermediate_size\":64,\"vocab_size\":100,"
    "\"max_position_embeddings\":64,\"layer_types\":[\"full_attention\",\"full_attention\","
    "\"sliding_attention\"]}";
static char model_name[] = "mixtral-8x7b";
static char mixed_name[] = "qwen3-next-80b-a3b";
static char cluster_json[] =
    "{\"format\":\"ppsim.cluster\",\"version\":1,\"name\":\"c\",\"classes\":["
    "{\"hardware\":\"a\",\"ranks\":2}],\"links\":[{\"between\":[0,1],\"bytes_per_s\":1e9}]}";
static char hardware_name[] = "h100-80g";
static char stack_name[] = "nemo-2025";
static char ideal[] = "ideal";
static char torch[] = "torch";

static const struct {
    const char *name;
    int (*body)(void *context);
    void *context;
} bodies[] = {
    { "model", read_model, model_name },
    { "config", read_config, config },
    { "hardware", read_hardware, hardware_name },
    { "stack", read_stack, stack_name },
    { "cluster", read_cluster, cluster_json },
    { "costs", read_costs, costs_json },
    { "tokens", read_expert_tokens, tokens_text },
    { "lengths", pack_lengths, lengths_text },
    { "rows", read_rows, csv },
    { "comm rows", read_comm_rows, comm_csv },
    { "formats", write_formats, ideal },
    { "formats, torch", write_formats, torch },
    { "groups", pack_lengths, groups_text },
    { "instance", order_instance, instance_json },
    { "mixed model", read_model, mixed_name },
    { "mixed config", read_config, mixed_config },
};

START_TEST(every_failed_allocation_is_reported)
{
    long allocations = 0;
    int status =
        pp_torture_run(bodies[_i].body, bodies[_i].context, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "%s: status %d after allocation %ld failed", bodies[_i].name, status,
                  allocations);
    ck_assert_int_gt(allocations, 1);
}
END_TEST

START_TEST(the_search_survives_any_failed_allocation)
{
    job j = { .planned = _i == 1 };
    pp_err err = { 0 };
    const pp_data_file *file = pp_data_find(PP_DATA_MODEL, "gpt1.7b");
    ck_assert_int_eq(pp_model_parse(file->text, file->bytes, "m", &j.model, &err), PP_OK);
    file = pp_data_find(PP_DATA_HARDWARE, hardware_name);
    ck_assert_int_eq(pp_hardware_parse(file->text, file->bytes, "h", &j.hardware, &err), PP_OK);
    file = pp_data_find(PP_DATA_STACK, "nemo-2025");
    ck_assert_int_eq(pp_stack_parse(file->text, file->bytes, "s", &j.stack, &err), PP_OK);
    j.stack.has.free_schedules = true; /* searches have all their choices */
    long allocations = 0;
    int status = pp_torture_run(search, &j, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_gt(allocations, 50);
    status = pp_torture_run(pack_all, &j, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "pack: status %d after allocation %ld failed", status, allocations);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torture readers");
    TCase *tc = tcase_create("allocations");
    tcase_set_timeout(tc, 200);
    tcase_add_loop_test(tc, every_failed_allocation_is_reported, 0,
                        (int)(sizeof bodies / sizeof bodies[0]));
    tcase_add_loop_test(tc, the_search_survives_any_failed_allocation, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
