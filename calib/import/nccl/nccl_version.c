/* NCCL codes a version in one number: major * 1000 + minor * 100 + patch up to version 2.8, and
 * major * 10000 + minor * 100 + patch since (NCCL_VERSION in nccl.h). */
#include "calib/import/nccl/nccl_version.h"

#include <inttypes.h>
#include <stdio.h>

void pp_nccl_version_text(const char *library, int64_t code, char *text, size_t size)
{
    int64_t unit = code < 10000 ? 1000 : 10000;
    if (code >= 1000 && code < 1000000)
        snprintf(text, size, "%s %" PRId64 ".%" PRId64 ".%" PRId64, library, code / unit,
                 code % unit / 100, code % 100);
}
