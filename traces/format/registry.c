/* The table of formats, made from traces/formats.def and traces/targets.def. Reading tries the
 * formats in the order of the table and takes the first one that recognises the text. */
#include "traces/format/registry.h"

#include "sim/base/registry.h"
#include "traces/target/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PP_FORMAT(id) extern const pp_format pp_format_##id;
#include "traces/formats.def"
#undef PP_FORMAT

#define PP_TARGET(id) extern const pp_target pp_target_##id;
#include "traces/targets.def"
#undef PP_TARGET

/* The format of a target has no name when the target reads ppsim.plan files. */
static const pp_format *const formats[] = {
#define PP_FORMAT(id) &pp_format_##id,
#include "traces/formats.def"
#undef PP_FORMAT
#define PP_TARGET(id) &pp_target_##id.format,
#include "traces/targets.def"
#undef PP_TARGET
};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

size_t pp_format_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        count += formats[i]->name != NULL;
    return count;
}

const pp_format *pp_format_at(size_t index)
{
    size_t i = 0;
    while (!formats[i]->name || index-- > 0)
        i++;
    return formats[i];
}

static const char *name_at(size_t index)
{
    return pp_format_at(index)->name;
}

pp_status pp_format_get(const char *name, const pp_format **format_out, pp_err *err)
{
    const pp_registry registry = {
        .noun = "format", .all = PP_FIELD_ASK_FORMATS, .count = pp_format_count(), .name = name_at
    };
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *format_out = pp_format_at(index);
    return status;
}

pp_status pp_format_read(const char *text, size_t bytes, const char *file, pp_order **order_out,
                         pp_err *err)
{
    char where[256];
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (!formats[i]->recognise)
            continue;
        if (formats[i]->recognise(text, bytes))
            return formats[i]->read(text, bytes, file, order_out, err);
        int n =
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", formats[i]->name);
        if (n > 0 && (size_t)n < sizeof known - used)
            used += (size_t)n;
    }
    snprintf(where, sizeof where, "%.200s:1:1", file);
    return pp_err_set(err, PP_INPUT, where,
                      "%s; give a plan (%s) or a schedule in one of the formats that ppsim reads: "
                      "%s, pytorch-comms",
                      bytes ? "is neither a plan nor a schedule" : "is empty",
                      pp_err_name(err, PP_FIELD_PLAN_FILE), known);
}
