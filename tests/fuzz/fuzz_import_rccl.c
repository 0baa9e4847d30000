/* Feeds any bytes to the import of logs of rccl-tests. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("rccl-tests", data, bytes);
    return 0;
}
