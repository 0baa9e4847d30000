/* Where the time of a step goes: what ranks compute, what they wait for and why, and what follows
 * their last ops. Definitions: docs/formats.md, "why" of ppsim.report. */
#ifndef PPSIM_SIM_ANALYSIS_TIME_BREAKDOWN_H
#define PPSIM_SIM_ANALYSIS_TIME_BREAKDOWN_H

#include "sim/base/units.h"

#include <stdbool.h>

#define PP_WHY_MAP(X)                                         \
    X(COMPUTE, compute, "compute")                            \
    X(COLLECTIVES, collectives, "tp, cp, ep exchange in ops") \
    X(WARM_UP, warm_up, "bubble: warm-up")                    \
    X(COOL_DOWN, cool_down, "bubble: cool-down")              \
    X(IMBALANCE, imbalance, "bubble: unequal ranks")          \
    X(DATA, data, "bubble: order of ops")                     \
    X(BUFFER, buffer, "wait: receiver not ready")             \
    X(P2P, p2p, "wait: transfer")                             \
    X(HOST, host, "wait: host")                               \
    X(SYNC, sync, "wait: device sync")                        \
    X(GRAD_SYNC, grad_sync, "gradient sync (dp)")             \
    X(TIED, tied, "tied embedding")                           \
    X(OPTIMIZER, optimizer, "optimizer")                      \
    X(FIXED, fixed, "fixed")

typedef enum pp_why_part {
#define PP_WHY_ENUM(name, key, text) PP_WHY_##name,
    PP_WHY_MAP(PP_WHY_ENUM)
#undef PP_WHY_ENUM
        PP_WHY_COUNT,
} pp_why_part;

const char *pp_why_text(pp_why_part part);

/* Both lists sum to the step, to the nanosecond. */
typedef struct pp_why {
    pp_ns mean_ns[PP_WHY_COUNT]; /* over the ranks, rounded so that the sum is exact */
    pp_ns slowest_ns[PP_WHY_COUNT];
    uint32_t slowest;     /* the rank that computes longest, the lowest of several */
    bool has_collectives; /* otherwise they are part of compute */
} pp_why;

#endif
