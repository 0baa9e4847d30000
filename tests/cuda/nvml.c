/* Stand-in for libnvidia-ml: two GPUs; the second one is hot, and each query makes both hotter.
 * STANDIN_FAIL=nvmlInit_v2:7: that call always fails, with code 7. */
#include "tests/cuda/nvml.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned looks;

#define FAILS                               \
    do {                                    \
        const int code = code_of(__func__); \
        if (code)                           \
            return code;                    \
    } while (0)

static int code_of(const char *name)
{
    const char *entry = getenv("STANDIN_FAIL");
    const size_t length = strlen(name);
    const bool due = entry && strncmp(entry, name, length) == 0 && entry[length] == ':';
    return due ? (int)strtol(entry + length + 1, NULL, 10) : 0;
}

static int is_second(const struct nvml_gpu *gpu)
{
    return (const char *)gpu == (const char *)&looks + 1;
}

int nvmlInit_v2(void)
{
    looks++;
    FAILS;
    return 0;
}

int nvmlShutdown(void)
{
    FAILS;
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    FAILS;
    snprintf(version, size, "580.00.stand-in");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    FAILS;
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_gpu **gpu)
{
    FAILS;
    *gpu = (struct nvml_gpu *)(void *)((char *)&looks + index);
    return 0;
}

int nvmlDeviceGetName(struct nvml_gpu *gpu, char *name, unsigned size)
{
    FAILS;
    snprintf(name, size, "stand-in %d", is_second(gpu));
    return 0;
}

int nvmlDeviceGetClockInfo(struct nvml_gpu *gpu, int which, unsigned *mhz)
{
    FAILS;
    *mhz = which == 1 ? (is_second(gpu) ? 1200 : 1980) : 2619;
    return 0;
}

int nvmlDeviceGetPowerUsage(struct nvml_gpu *gpu, unsigned *mw)
{
    FAILS;
    *mw = is_second(gpu) ? 699500 : 70250;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(struct nvml_gpu *gpu, unsigned *mw)
{
    FAILS;
    *mw = 700000;
    return is_second(gpu) ? 3 : 0; /* 3: not supported */
}

int nvmlDeviceGetTemperature(struct nvml_gpu *gpu, int which, unsigned *celsius)
{
    FAILS;
    *celsius = 30 + looks + (is_second(gpu) ? 50 : 0) + (unsigned)which;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_gpu *gpu, unsigned long long *bits)
{
    FAILS;
    *bits = is_second(gpu) ? 0x24 : 0x1;
    return 0;
}
