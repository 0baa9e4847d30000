/* Reads clocks, power and temperature of GPUs from libnvidia-ml (NVML), which is opened and closed
 * in each call, so that ppsim starts on machines without it. */
#include "calib/measure/gpu_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Constants of NVIDIA's nvml.h, which are the same in all of its versions. */
enum { SM_CLOCK = 1, MEMORY_CLOCK = 2, GPU_TEMPERATURE = 0, IDLE = 1 };

typedef struct nvml_gpu *gpu;

/* The functions of libnvidia-ml that are used; they return 0 on success. */
typedef struct library {
    void *handle;
    int (*start)(void);
    int (*end)(void);
    int (*driver)(char *version, unsigned size);
    int (*count)(unsigned *count);
    int (*at)(unsigned index, gpu *gpu);
    int (*name)(gpu gpu, char *name, unsigned size);
    int (*clock)(gpu gpu, int which, unsigned *mhz);
    int (*power)(gpu gpu, unsigned *mw);
    int (*power_limit)(gpu gpu, unsigned *mw);
    int (*temperature)(gpu gpu, int which, unsigned *celsius);
    int (*reasons)(gpu gpu, unsigned long long *bits);
} library;

/* C has no conversion from an object pointer to a function pointer; POSIX guarantees that copying
 * the bytes works. */
static bool find(const library *l, const char *name, void *function_out)
{
    void *found = dlsym(l->handle, name);
    memcpy(function_out, &found, sizeof found);
    return found != NULL;
}

static bool open_library(library *l, char *lacks, size_t size)
{
    l->handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) {
        snprintf(lacks, size, "libnvidia-ml.so.1 was not found; it comes with the NVIDIA driver");
        return false;
    }
    if (!find(l, "nvmlInit_v2", &l->start) || !find(l, "nvmlShutdown", &l->end) ||
        !find(l, "nvmlSystemGetDriverVersion", &l->driver) ||
        !find(l, "nvmlDeviceGetCount_v2", &l->count) ||
        !find(l, "nvmlDeviceGetHandleByIndex_v2", &l->at) ||
        !find(l, "nvmlDeviceGetName", &l->name) || !find(l, "nvmlDeviceGetClockInfo", &l->clock) ||
        !find(l, "nvmlDeviceGetPowerUsage", &l->power) ||
        !find(l, "nvmlDeviceGetEnforcedPowerLimit", &l->power_limit) ||
        !find(l, "nvmlDeviceGetTemperature", &l->temperature) ||
        !find(l, "nvmlDeviceGetCurrentClocksThrottleReasons", &l->reasons)) {
        snprintf(lacks, size, "libnvidia-ml.so.1 lacks a function that ppsim needs");
        return false;
    }
    int code = l->start();
    if (code)
        snprintf(lacks, size, "libnvidia-ml.so.1 does not start (error %d)", code);
    return code == 0;
}

/* Returns -1 if `code` reports a failure. */
static double read_number(int code, const unsigned *value, double unit)
{
    return code ? -1 : *value * unit;
}

static void look_at(const library *l, unsigned index, pp_gpu_state *s)
{
    gpu of;
    unsigned n = 0;
    unsigned long long bits = 0;
    if (l->at(index, &of))
        return;
    if (l->name(of, s->name, sizeof s->name))
        s->name[0] = '\0';
    s->sm_mhz = read_number(l->clock(of, SM_CLOCK, &n), &n, 1);
    s->memory_mhz = read_number(l->clock(of, MEMORY_CLOCK, &n), &n, 1);
    s->power_w = read_number(l->power(of, &n), &n, 1e-3);
    s->power_limit_w = read_number(l->power_limit(of, &n), &n, 1e-3);
    s->celsius = read_number(l->temperature(of, GPU_TEMPERATURE, &n), &n, 1);
    if (l->reasons(of, &bits) == 0)
        s->reasons = (int64_t)(bits & UINT32_MAX);
}

/* Returns the next free element, or NULL if none is left, which it records in `lacks`. */
static pp_gpu_state *next_place(pp_gpu_states *states)
{
    if (states->count < PP_GPU_STATES_MAX)
        return &states->state[states->count++];
    snprintf(states->lacks, sizeof states->lacks, "only the first %d states were kept",
             PP_GPU_STATES_MAX);
    return NULL;
}

void pp_gpu_states_look(pp_gpu_states *states, const char *probe, bool after)
{
    library l = { 0 };
    unsigned gpus = 0;
    if (!open_library(&l, states->lacks, sizeof states->lacks)) {
        if (l.handle)
            dlclose(l.handle);
        return;
    }
    if (l.driver(states->driver, sizeof states->driver))
        states->driver[0] = '\0';
    const int code = l.count(&gpus);
    if (code) {
        gpus = 0;
        snprintf(states->lacks, sizeof states->lacks,
                 "libnvidia-ml.so.1 cannot count the GPUs (error %d)", code);
    }
    for (unsigned i = 0; i < gpus; i++) {
        pp_gpu_state *s = next_place(states);
        if (!s)
            break;
        *s = (pp_gpu_state){ .after = after,
                             .gpu = (int32_t)i,
                             .sm_mhz = -1,
                             .memory_mhz = -1,
                             .power_w = -1,
                             .power_limit_w = -1,
                             .celsius = -1,
                             .reasons = -1 };
        snprintf(s->probe, sizeof s->probe, "%s", probe);
        look_at(&l, i, s);
    }
    (void)l.end();
    dlclose(l.handle);
}

void pp_gpu_states_carry(const pp_gpu_states *before, pp_gpu_states *states)
{
    pp_gpu_states all = *before;
    for (uint32_t i = 0; i < states->count; i++) {
        pp_gpu_state *s = next_place(&all);
        if (!s)
            break;
        *s = states->state[i];
    }
    if (states->driver[0])
        memcpy(all.driver, states->driver, sizeof all.driver);
    if (states->lacks[0])
        memcpy(all.lacks, states->lacks, sizeof all.lacks);
    *states = all;
}

static const struct {
    uint32_t bit;
    const char *name;
} reasons[] = {
#define PP_GPU_REASON(bit, name) { bit, name },
    PP_GPU_REASON_MAP(PP_GPU_REASON)
#undef PP_GPU_REASON
};

enum { REASONS = sizeof reasons / sizeof reasons[0] };

const char *pp_gpu_reasons(int64_t bits, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < REASONS && used < size && bits >= 0; i++)
        if (bits & reasons[i].bit & ~(int64_t)IDLE)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     reasons[i].name);
    return buffer;
}
