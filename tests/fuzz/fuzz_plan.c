/* Any bytes: pp_plan_read refuses them with a message, or gives a plan that simulates (or says why
 * not) and that is written and read back to the same bytes. */
#include "sim/plan/plan.h"
#include "sim/plan/plan_read.h"
#include "sim/plan/plan_write.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static pp_plan *read_plan(const char *text, size_t bytes)
{
    pp_json *json = NULL;
    pp_plan *plan = NULL;
    pp_err err = { 0 };
    pp_status status = pp_json_parse(text, bytes, "plan.json", &json, &err);
    if (!status)
        status = pp_plan_read(json, "plan.json", &plan, &err);
    pp_json_free(&json);
    if (status) {
        require(status == PP_INPUT || status == PP_NOMEM);
        require(err.status == status && *err.text && !plan);
    }
    return plan;
}

static char *write_plan(const pp_plan *plan, size_t *bytes_out)
{
    pp_json_build build = { 0 };
    pp_json *json = pp_plan_write(plan, &build);
    char *text = NULL;
    pp_err err = { 0 };
    require(pp_json_print(&build, json, &text, bytes_out, &err) == PP_OK);
    pp_json_free(&json);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_plan *plan = read_plan((const char *)data, bytes);
    if (!plan)
        return 0;
    pp_report *report = NULL;
    pp_err err = { 0 };
    pp_status status = pp_plan_simulate(plan, NULL, NULL, NULL, &report, &err);
    require(!status || (err.status == status && *err.text));
    pp_report_free(&report);
    size_t first_bytes = 0;
    size_t second_bytes = 0;
    char *first = write_plan(plan, &first_bytes);
    pp_plan *again = read_plan(first, first_bytes);
    require(again != NULL);
    char *second = write_plan(again, &second_bytes);
    require(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0);
    free(first);
    free(second);
    pp_plan_free(&again);
    pp_plan_free(&plan);
    return 0;
}
