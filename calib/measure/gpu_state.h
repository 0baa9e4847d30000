/* Clocks, power and temperature of this machine's GPUs, from NVIDIA's management library, which is
 * opened when it is asked for. */
#ifndef PPSIM_CALIB_MEASURE_GPU_STATE_H
#define PPSIM_CALIB_MEASURE_GPU_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_GPU_STATES_MAX 128

/* Why clocks are lower than they could be: bits of NVML. */
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

/* One GPU at one moment; a number is negative where it is not known. */
typedef struct pp_gpu_state {
    char probe[32]; /* before or after it */
    bool after;
    int32_t gpu; /* as nvidia-smi counts */
    char name[96];
    double sm_mhz, memory_mhz, power_w, power_limit_w, celsius;
    int64_t reasons; /* bits */
} pp_gpu_state;

/* All zero: nothing was looked at. */
typedef struct pp_gpu_states {
    char driver[80];
    char lacks[160]; /* why nothing is known, or not all; "": it is */
    pp_gpu_state state[PP_GPU_STATES_MAX];
    uint32_t count;
} pp_gpu_states;

/* Adds a state for every GPU; of a machine without the library `lacks` alone. */
void pp_gpu_states_look(pp_gpu_states *states, const char *probe, bool after);
/* Those of an interrupted run come first. */
void pp_gpu_states_carry(const pp_gpu_states *before, pp_gpu_states *states);
/* "power cap, heat": names of the reasons in `bits`, but for "idle"; "": none, or not known.
 * Returns buffer. */
const char *pp_gpu_reasons(int64_t bits, char *buffer, size_t size);

#endif
