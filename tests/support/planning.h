/* Models and hardware of traces/data, requests and choices, for tests of the planner. */
#ifndef PPSIM_TESTS_SUPPORT_PLANNING_H
#define PPSIM_TESTS_SUPPORT_PLANNING_H

#include "planner/study/plan_search.h"
#include "sim/analysis/report_json.h"
#include "sim/order/order_check.h"
#include "sim/plan/plan_read.h"
#include "sim/plan/plan_write.h"
#include "tests/support/stacks.h"
#include "tests/support/step.h"
#include "traces/read/data.h"

typedef struct planning {
    pp_model model;
    pp_hardware hardware;
} planning;

static inline planning planning_of(const char *model, const char *hardware)
{
    planning p;
    pp_err err = { 0 };
    const pp_data_file *file = pp_data_find(PP_DATA_MODEL, model);
    ck_assert_msg(file != NULL, "no model %s", model);
    STEP_OK(pp_model_parse(file->text, file->bytes, model, &p.model, &err), err);
    file = pp_data_find(PP_DATA_HARDWARE, hardware);
    ck_assert_msg(file != NULL, "no hardware %s", hardware);
    STEP_OK(pp_hardware_parse(file->text, file->bytes, hardware, &p.hardware, &err), err);
    return p;
}

/* `p` must outlive the request. */
static inline pp_plan_request request_of(const planning *p, int64_t pp)
{
    return (pp_plan_request){ .model = &p->model,
                              .hardware = &p->hardware,
                              .parallel = { .pp = pp },
                              .switches = { .stack = stack_named("every-schedule") } };
}

static inline pp_search_result *choose(const pp_plan_request *request)
{
    pp_search_result *choice = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_search(request, &choice, &err), err);
    return choice;
}

/* The request must fail with this status and `part` in its text. */
static inline void refuse(const pp_plan_request *request, pp_status status, const char *part)
{
    pp_search_result *choice = NULL;
    pp_err err = { 0 };
    pp_status got = pp_plan_search(request, &choice, &err);
    ck_assert_ptr_null(choice);
    ck_assert_msg(got == status, "%s instead of %s: %s", pp_status_text(got),
                  pp_status_text(status), err.text);
    ck_assert_msg(strstr(err.text, part) != NULL, "no '%s' in: %s", part, err.text);
}

static inline char *plan_text(const pp_plan *plan)
{
    pp_json_build build = { 0 };
    pp_json *json = pp_plan_write(plan, &build);
    char *text = NULL;
    size_t bytes;
    pp_err err = { 0 };
    STEP_OK(pp_json_print(&build, json, &text, &bytes, &err), err);
    pp_json_free(&json);
    return text;
}

/* One, two and four threads give the same plan, with this schedule; NULL: any. */
static inline void check_threads(pp_plan_request request, const char *schedule)
{
    char *first = NULL;
    for (request.threads = 1; request.threads <= 4; request.threads *= 2) {
        pp_search_result *choice = choose(&request);
        char *text = plan_text(choice->plan);
        ck_assert(!schedule || strcmp(choice->plan->schedule, schedule) == 0);
        if (first)
            ck_assert_str_eq(text, first);
        else
            first = strdup(text);
        free(text);
        pp_search_result_free(&choice);
    }
    free(first);
}

/* PyTorch looks losses up by the place of a microbatch among the forwards of the last stage. */
static inline void check_numbers(const pp_order *order)
{
    uint32_t next = 0;
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        pp_op op = order->ops[i];
        if (op.kind == PP_OP_F && op.stage == order->stages - 1)
            ck_assert_uint_eq(op.microbatch, next++);
    }
    ck_assert_uint_eq(next, order->microbatches);
}

/* A plan that is written, read and simulated again has the same step within the same memory, with
 * whole orders. */
static inline void check_plan(const pp_plan *plan)
{
    char *text = plan_text(plan);
    pp_json *json = NULL;
    pp_plan *read = NULL;
    pp_report *report = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_json_parse(text, strlen(text), "plan", &json, &err), err);
    STEP_OK(pp_plan_read(json, "plan", &read, &err), err);
    STEP_OK(pp_plan_simulate(read, NULL, NULL, NULL, &report, &err), err);
    ck_assert_int_eq(report->step_ns, plan->prediction->step_ns);
    ck_assert_int_le(report->peak_memory_bytes, plan->memory_limit_bytes);
    ck_assert_int_le(plan->prediction->lower_bound_ns, report->makespan_ns);
    for (uint32_t i = 0; i < read->order_count; i++)
        STEP_OK(pp_order_check(read->order[i], "plan", &err), err);
    for (uint32_t i = 0; i < read->order_count && strcmp(plan->schedule, "planned") == 0; i++)
        check_numbers(read->order[i]);
    pp_report_free(&report);
    pp_plan_free(&read);
    pp_json_free(&json);
    free(text);
}

static inline char *report_text(const pp_report *report)
{
    pp_json_build build = { 0 };
    pp_json *json = pp_report_write(report, &build);
    char *text = NULL;
    size_t bytes;
    pp_err err = { 0 };
    STEP_OK(pp_json_print(&build, json, &text, &bytes, &err), err);
    pp_json_free(&json);
    return text;
}

/* Trains like torchtitan and AutoModel, whatever the schedule. */
static inline void train_with_fsdp(pp_plan_request *request)
{
    request->switches.given.zero = request->switches.given.tp_overlap = true;
    request->switches.given.transformer_engine = true;
    request->switches.value.transformer_engine = false;
    request->switches.given.eager_loss = request->switches.value.eager_loss = true;
    request->switches.given.eager_layers = request->switches.value.eager_layers = true;
    request->switches.value.zero = 3;
    request->switches.value.tp_overlap = false;
}

/* A `stop` for tests: the time is up after this many looks at the clock. context: int64_t. */
static inline bool planning_late(void *context)
{
    int64_t *left = context;
    return --*left < 0;
}

#endif
