/* The import of ppsim's own format samples-json (docs/reference/formats.md): series as a profile
 * has them. */

#include "calib/samples/samples_json.h"
#include "calib/import/common/skips.h"
#include "calib/import/import.h"
#include "sim/base/span.h"
#include <stdlib.h>
#include <string.h>

static bool recognise(const char *text, size_t bytes)
{
    pp_span begin = { text, bytes };
    return bytes && memchr("{ \t\r\n", text[0], 5) && pp_span_find(begin, "\"ppsim.samples\"");
}

static pp_status read_document(const pp_json_at *root, pp_samples *samples, pp_err *err)
{
    static const char *const keys[] = { "format", "version", "device", "skipped", "series", NULL };
    char device[sizeof samples->device] = "";
    pp_json_at list = { 0 };
    pp_status status = pp_json_check_format(root, "ppsim.samples", 1, err);
    if (status || (status = pp_json_only(root, keys, err)))
        return status;
    if (pp_json_has(root, "device"))
        status = pp_json_get_name(root, "device", device, sizeof device, err);
    if (status || (status = pp_json_get(root, "series", &list, err)) ||
        (status = pp_samples_read(&list, samples, err)))
        return status;
    memcpy(samples->device, device, sizeof device);
    return PP_OK;
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_skips notes PP_CLEANUP(pp_skips_free) = { 0 };
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, file);
    status = read_document(&root, samples, err);
    return status ? status : pp_skips_finish(&notes, file, "holds no sample", samples, err);
}

const pp_import pp_import_samples_json = {
    .name = "samples-json",
    .summary = "ppsim's own samples as JSON",
    .recognise = recognise,
    .read = read,
};
