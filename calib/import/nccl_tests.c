/* The import of what NVIDIA's nccl-tests print, text or JSON; nccl/nccl_text.c reads both. */
#include "calib/import/import.h"
#include "calib/import/nccl/nccl_text.h"
#include "sim/base/span.h"

/* Recognises the output of rccl-tests, which otherwise looks like that of nccl-tests. */
static bool is_rccl(pp_span begin)
{
    return pp_span_find(begin, "rccl-tests") || pp_span_find(begin, "RCCL version");
}

static bool recognise(const char *text, size_t bytes)
{
    pp_span begin = { text, bytes < 1 << 16 ? bytes : 1 << 16 };
    if (is_rccl(begin))
        return false;
    if (pp_span_find(begin, "algbw") && pp_span_find(begin, "busbw"))
        return true;
    if (pp_span_find(begin, "# nccl-tests version") || pp_span_find(begin, "# nThread "))
        return true;
    return pp_span_find(begin, "\"nccl_version\"") && pp_span_find(begin, "_perf");
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    return pp_nccl_read(text, bytes, file, "nccl", samples, err);
}

const pp_import pp_import_nccl_tests = {
    .name = "nccl-tests",
    .summary = "output of NVIDIA's nccl-tests, as text or JSON: times of links by message size",
    .recognise = recognise,
    .read = read,
};
