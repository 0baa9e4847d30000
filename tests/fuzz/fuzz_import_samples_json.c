/* Feeds any bytes to the import of samples in JSON. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("samples-json", data, bytes);
    return 0;
}
