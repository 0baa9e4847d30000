/* Lowering by name, for tests of frameworks. */
#ifndef PPSIM_TESTS_SUPPORT_EXECUTORS_H
#define PPSIM_TESTS_SUPPORT_EXECUTORS_H

#include "sim/framework/registry.h"
#include "sim/program/comm.h"
#include "tests/support/step.h"

static inline pp_status lower_with(const char *framework, const pp_order *order,
                                   pp_program **program_out, pp_err *err)
{
    const pp_framework *found = NULL;
    pp_err own = { 0 };
    STEP_OK(pp_framework_get(framework, &found, &own), own);
    return pp_framework_lower(found, order, NULL, NULL, program_out, err);
}

/* Reads a file of tests/data/golden in PyTorch's cells. */
static inline pp_order *golden_order(const char *name)
{
    char path[128];
    size_t bytes = 0;
    pp_order *order = NULL;
    pp_err err = { 0 };
    snprintf(path, sizeof path, "golden/%s.csv", name);
    char *text PP_CLEANUP(pp_free_text) = step_data(path, &bytes);
    STEP_OK(pp_format_read(text, bytes, path, &order, &err), err);
    return order;
}

/* The next line of *rest without its end; NULL at the end. */
static inline char *next_line(char **rest)
{
    char *line = step_cut(rest, '\n');
    if (line)
        line[strcspn(line, "\r")] = '\0';
    return line;
}

#endif
