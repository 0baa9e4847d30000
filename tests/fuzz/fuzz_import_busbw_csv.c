/* Feeds any bytes to the import of tables of bus bandwidths. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("busbw-csv", data, bytes);
    return 0;
}
