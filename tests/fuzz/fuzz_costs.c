/* Any bytes as a costs file, as --costs and as --memory-costs are refused with a message, or read.
 * What was read and written is the same when it is read again. */
#include "sim/base/alloc.h"
#include "sim/cost/costs.h"
#include "sim/cost/costs_json.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, STAGES = 4, MICROBATCHES = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static pp_status read_costs(const char *text, size_t bytes, pp_costs **costs_out, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, "c.json", &json, err);
    if (status)
        return status;
    const pp_json_at root = pp_json_root(json, "c.json");
    return pp_costs_read(&root, RANKS, STAGES, MICROBATCHES, costs_out, err);
}

static char *print_costs(const pp_costs *costs, size_t *bytes_out)
{
    pp_json_build build = { false };
    char *text = NULL;
    pp_json *json PP_CLEANUP(pp_json_free) = pp_costs_write(costs, &build);
    require(pp_json_print(&build, json, &text, bytes_out, NULL) == PP_OK);
    return text;
}

static void check_file(const char *data, size_t bytes)
{
    pp_costs *first PP_CLEANUP(pp_costs_free) = NULL;
    pp_costs *second PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    pp_status status = read_costs(data, bytes, &first, &err);
    if (status) {
        require(status == PP_INPUT && err.status == status && *err.text);
        return;
    }
    require(first->classes >= 1 && first->classes <= MICROBATCHES);
    for (uint32_t j = 0; j < MICROBATCHES; j++)
        require(first->class_of[j] < first->classes);
    size_t once_bytes = 0, twice_bytes = 0;
    char *once PP_CLEANUP(pp_free_text) = print_costs(first, &once_bytes);
    require(read_costs(once, once_bytes, &second, &err) == PP_OK);
    char *twice PP_CLEANUP(pp_free_text) = print_costs(second, &twice_bytes);
    require(once_bytes == twice_bytes && memcmp(once, twice, once_bytes) == 0);
}

static void check_options(const char *data, size_t bytes)
{
    char text[512];
    pp_uniform_costs uniform;
    pp_memory_costs memory;
    pp_err err = { 0 };
    if (bytes >= sizeof text)
        return;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    pp_status status = pp_uniform_costs_parse(text, &uniform, &err);
    require(status == PP_OK || (status == PP_USAGE && *err.text));
    if (!status) {
        require(uniform.f_ns >= 0 && uniform.i_ns >= 0 && uniform.w_ns >= 0);
        require(uniform.i_ns + uniform.w_ns <= PP_NS_MAX);
    }
    err = (pp_err){ 0 };
    status = pp_memory_costs_parse(text, &memory, &err);
    require(status == PP_OK || (status == PP_USAGE && *err.text));
    if (!status)
        require(memory.f > 0 && memory.i <= 0 && memory.w <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_file((const char *)data, bytes);
    check_options((const char *)data, bytes);
    return 0;
}
