/* Feeds any bytes to the import of Megatron-LM's timer logs. */
#include "tests/fuzz/import_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check_import("megatron-log", data, bytes);
    return 0;
}
