/* One simulated step for tests: order, program, costs, timeline, report. */
#ifndef PPSIM_TESTS_SUPPORT_STEP_H
#define PPSIM_TESTS_SUPPORT_STEP_H

#include "sim/analysis/report.h"
#include "sim/base/file.h"
#include "sim/engine/engine.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tests/support/patience.h"
#include "tests/support/sample.h"
#include "traces/format/registry.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct step {
    pp_order *order;
    pp_program *program;
    pp_costs *costs;
    pp_timeline *timeline;
    pp_report *report;
} step;

static inline void step_free(step *s)
{
    pp_report_free(&s->report);
    pp_timeline_free(&s->timeline);
    pp_costs_free(&s->costs);
    pp_program_free(&s->program);
    pp_order_free(&s->order);
}

#define STEP_OK(call, err) ck_assert_msg((call) == PP_OK, "%s: %s", (err).where, (err).text)

static inline pp_order *step_order_for(const char *name, const pp_schedule_params *shape)
{
    pp_order *order = NULL;
    pp_err err = { 0 };
    ck_assert_ptr_nonnull(pp_schedule_find(name));
    STEP_OK(pp_schedule_build(pp_schedule_find(name), shape, &order, &err), err);
    return order;
}

static inline pp_order *step_order(const char *name, uint32_t p, uint32_t v, uint32_t m,
                                   uint32_t group)
{
    const pp_schedule_params shape = {
        .ranks = p, .chunks = v, .microbatches = m, .group_size = group
    };
    return step_order_for(name, &shape);
}

/* `text`: as --costs. */
static inline pp_costs *step_costs(const char *text, uint32_t p, uint32_t v, uint32_t m)
{
    pp_uniform_costs uniform;
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_uniform_costs_parse(text, &uniform, &err), err);
    STEP_OK(pp_costs_uniform(&uniform, p, p * v, m, &costs, &err), err);
    return costs;
}

/* Lowers with `ideal`, simulates, reports. s->order and s->costs must be set. */
static inline void step_simulate(step *s)
{
    const pp_framework *ideal = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get("ideal", &ideal, &err), err);
    STEP_OK(pp_framework_lower(ideal, s->order, NULL, NULL, &s->program, &err), err);
    STEP_OK(pp_simulate(s->program, s->costs, &s->timeline, &err), err);
    STEP_OK(pp_report_build("test", &pp_framework_ideal, s->program, s->timeline, s->costs, true,
                            &s->report, &err),
            err);
}

/* `costs`: as --costs. The order becomes the step's. */
static inline step step_of(pp_order *order, const char *costs)
{
    step s = { .order = order };
    ck_assert_uint_eq(order->stages % order->ranks, 0);
    s.costs = step_costs(costs, order->ranks, order->stages / order->ranks, order->microbatches);
    step_simulate(&s);
    return s;
}

/* Reads a file below tests/data; the caller frees it with free(). */
static inline char *step_data(const char *name, size_t *bytes_out)
{
    char path[512];
    char *text = NULL;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "%s/tests/data/%s", PPSIM_SOURCE_DIR, name);
    STEP_OK(pp_file_read(path, &text, bytes_out, &err), err);
    return text;
}

/* Cuts the next piece off *rest; `separator` ends it. Returns NULL at the end. */
__attribute__((noinline, unused)) static char *step_cut(char **rest, char separator)
{
    char *piece = *rest;
    if (!piece || !*piece)
        return NULL;
    char *stop = strchr(piece, separator);
    if (stop)
        *stop = '\0';
    *rest = stop ? stop + 1 : NULL;
    return piece;
}

/* An order written as rows of tokens, "0F0 0B0"; not checked. */
__attribute__((noinline, unused)) static pp_order *step_order_of_rows(uint32_t stages,
                                                                      uint32_t microbatches,
                                                                      const char *const rows[],
                                                                      uint32_t ranks)
{
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_new(ranks, stages, microbatches, PP_PLACE_LOOP, 64, &order, &err), err);
    for (uint32_t r = 0; r < ranks; r++) {
        char row[256];
        char *rest = row;
        char *token;
        snprintf(row, sizeof row, "%s", rows[r]);
        while ((token = step_cut(&rest, ' '))) {
            pp_op op;
            ck_assert(pp_op_parse(token, strlen(token), &op));
            pp_order_add(order, r, op.kind, op.stage, op.microbatch);
        }
    }
    pp_order_end(order);
    return order;
}

/* The fields of a line; missing ones are "". Returns how many there are. */
static inline size_t step_fields(char *line, char *fields[], size_t count)
{
    size_t n = 0;
    for (char *c = line; n < count; n++) {
        fields[n] = c;
        c = strchr(c, ',');
        if (!c) {
            n++;
            break;
        }
        *c++ = '\0';
    }
    for (size_t i = n; i < count; i++)
        fields[i] = line + strlen(line);
    return n;
}

static inline uint32_t step_number(const char *text)
{
    int64_t value = 0;
    pp_err err = { 0 };
    STEP_OK(pp_parse_int(text, text, 0, UINT32_MAX, &value, &err), err);
    return (uint32_t)value;
}

static inline pp_ns step_duration(const char *text)
{
    pp_ns ns = 0;
    pp_err err = { 0 };
    STEP_OK(pp_parse_duration(text, text, &ns, &err), err);
    return ns;
}

static inline int step_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
