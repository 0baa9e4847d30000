/* rccl-tests prints the tables of nccl-tests. Known differences: a line "rccl-tests: Version ..."
 * without "#", "RCCL version : ..." for the version, a table of in-place times alone (-O 0), "#
 * Testing n cycle." between repeated tables, times from 10000 us on without decimals, devices
 * without a name, a line about asterisks at the end. */
#include "calib/import/import.h"
#include "calib/import/nccl/nccl_text.h"
#include "sim/base/span.h"

static bool recognise(const char *text, size_t bytes)
{
    pp_span begin = { text, bytes < 1 << 16 ? bytes : 1 << 16 };
    return pp_span_find(begin, "rccl-tests") || pp_span_find(begin, "RCCL version");
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    return pp_nccl_read(text, bytes, file, "rccl", samples, err);
}

const pp_import pp_import_rccl_tests = {
    .name = "rccl-tests",
    .summary = "output of AMD's rccl-tests, as text: times of links by message size",
    .recognise = recognise,
    .read = read,
};
