/* Feeds any bytes to the import of logs of nccl-tests. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("nccl-tests", data, bytes);
    return 0;
}
