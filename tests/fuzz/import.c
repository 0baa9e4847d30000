/* Feeds any bytes to the import named PPSIM_IMPORT. It gives samples whose times are above 0, or an
 * error with a place, and lists what it skipped. tests/CMakeLists.txt compiles this file once per
 * import. */

#include "calib/import/import_read.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void need(int holds)
{
    if (!holds)
        abort();
}

static void check_series(const pp_series *series)
{
    need(series->class_name[0] && series->ranks >= 0 && series->nodes >= 0);
    for (size_t i = 0; i < series->count; i++) {
        need(series->sample[i].seconds > 0 && isfinite(series->sample[i].seconds));
        for (size_t v = 0; v < PP_VARIABLE_COUNT; v++)
            need(isnan(series->sample[i].at[v]) || series->sample[i].at[v] >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    const pp_import *import = NULL;
    pp_err err = { 0 };
    need(pp_import_get(PPSIM_IMPORT, &import, &err) == PP_OK);
    (void)import->recognise((const char *)data, bytes);
    pp_status status = pp_import_read(import, (const char *)data, bytes, "fuzz", &samples, &err);
    if (status) {
        need((status == PP_INPUT || status == PP_NOMEM) && err.text[0] && samples.count == 0);
        return 0;
    }
    size_t points = 0;
    for (size_t i = 0; i < samples.count; i++) {
        check_series(&samples.series[i]);
        points += samples.series[i].count;
    }
    need(points > 0);
    need(!samples.skipped || strncmp(samples.skipped, "fuzz:", 5) == 0);
    return 0;
}
