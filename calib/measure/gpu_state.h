/* Clocks, power and temperature of this machine's GPUs, from NVIDIA's management library if there
 * is one. */
#ifndef PPSIM_CALIB_MEASURE_GPU_STATE_H
#define PPSIM_CALIB_MEASURE_GPU_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_GPU_STATES_MAX 128

/* Reasons for which clocks are lower than the maximum: NVML's bits and the names that users see. */
#define PP_GPU_REASON_MAP(X)  \
    X(0x001, "idle")          \
    X(0x002, "application")   \
    X(0x004, "power cap")     \
    X(0x008, "hardware")      \
    X(0x010, "sync boost")    \
    X(0x020, "heat")          \
    X(0x040, "hardware heat") \
    X(0x080, "power brake")   \
    X(0x100, "display")

/* One GPU at one moment. Unknown numbers are negative. */
typedef struct pp_gpu_state {
    char probe[32]; /* the probe before or after which the state was read */
    bool after;
    int32_t gpu; /* index, as nvidia-smi counts */
    char name[96];
    double sm_mhz, memory_mhz, power_w, power_limit_w, celsius;
    int64_t reasons; /* bits of PP_GPU_REASON_MAP */
} pp_gpu_state;

/* The states that were read, in order; all zero at first. */
typedef struct pp_gpu_states {
    char driver[80];
    char lacks[160]; /* why some or all states are missing; "": none is */
    pp_gpu_state state[PP_GPU_STATES_MAX];
    uint32_t count;
} pp_gpu_states;

/* Appends the state of every GPU. If the library is missing, it only sets `lacks`. */
void pp_gpu_states_look(pp_gpu_states *states, const char *probe, bool after);
/* Puts the states of the interrupted run `before` in front of those of this run. */
void pp_gpu_states_carry(const pp_gpu_states *before, pp_gpu_states *states);
/* Writes the names of the reasons in `bits` except "idle", such as "power cap, heat", and returns
 * `buffer`. The text is empty if there are none or `bits` is negative. */
const char *pp_gpu_reasons(int64_t bits, char *buffer, size_t size);

#endif
