/* Feeds any bytes to the import of recordings of PyTorch's profiler. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("kineto", data, bytes);
    return 0;
}
