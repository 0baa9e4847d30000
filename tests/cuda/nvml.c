/* Stand-in for libnvidia-ml: two GPUs, of which the second is hot; looking makes both hotter.
 * STANDIN_NVML=7: it does not start. */
#include "tests/cuda/nvml.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned looks;

static int is_second(const struct nvml_gpu *gpu)
{
    return (const char *)gpu == (const char *)&looks + 1;
}

int nvmlInit_v2(void)
{
    const char *code = getenv("STANDIN_NVML");
    looks++;
    return code ? (int)strtol(code, NULL, 10) : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    snprintf(version, size, "580.00.stand-in");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_gpu **gpu)
{
    *gpu = (struct nvml_gpu *)(void *)((char *)&looks + index);
    return 0;
}

int nvmlDeviceGetName(struct nvml_gpu *gpu, char *name, unsigned size)
{
    snprintf(name, size, "stand-in %d", is_second(gpu));
    return 0;
}

int nvmlDeviceGetClockInfo(struct nvml_gpu *gpu, int which, unsigned *mhz)
{
    *mhz = which == 1 ? (is_second(gpu) ? 1200 : 1980) : 2619;
    return 0;
}

int nvmlDeviceGetPowerUsage(struct nvml_gpu *gpu, unsigned *mw)
{
    *mw = is_second(gpu) ? 699500 : 70250;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(struct nvml_gpu *gpu, unsigned *mw)
{
    *mw = 700000;
    return is_second(gpu) ? 3 : 0; /* 3: not supported */
}

int nvmlDeviceGetTemperature(struct nvml_gpu *gpu, int which, unsigned *celsius)
{
    *celsius = 30 + looks + (is_second(gpu) ? 50 : 0) + (unsigned)which;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_gpu *gpu, unsigned long long *bits)
{
    *bits = is_second(gpu) ? 0x24 : 0x1;
    return 0;
}
