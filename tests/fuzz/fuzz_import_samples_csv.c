/* Feeds any bytes to the import of tables of samples. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("samples-csv", data, bytes);
    return 0;
}
