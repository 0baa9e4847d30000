/* Where the time of a step goes: compute, waits by cause, and what follows the last ops.
 * docs/reference/formats.md defines the parts under "why" of ppsim.report. */
#ifndef PPSIM_SIM_ANALYSIS_TIME_BREAKDOWN_H
#define PPSIM_SIM_ANALYSIS_TIME_BREAKDOWN_H

#include "sim/base/units.h"
#include "sim/cost/cost_model.h"

#include <stdbool.h>

/* X(name in the enum, key in reports, text for people) */
#define PP_WHY_MAP(X)                                         \
    X(COMPUTE, compute, "compute")                            \
    X(COLLECTIVES, collectives, "tp, cp, ep exchange in ops") \
    X(WARM_UP, warm_up, "bubble: warm-up")                    \
    X(COOL_DOWN, cool_down, "bubble: cool-down")              \
    X(IMBALANCE, imbalance, "bubble: unequal ranks")          \
    X(DATA, data, "bubble: order of ops")                     \
    X(BUFFER, buffer, "wait: receiver not ready")             \
    X(P2P, p2p, "wait: transfer")                             \
    X(SHARDING, sharding, "wait: sharded parameters")         \
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

/* Both lists sum exactly to the time of the step. */
typedef struct pp_why {
    pp_ns mean_ns[PP_WHY_COUNT];    /* over the ranks, rounded so that the sum is exact */
    pp_ns slowest_ns[PP_WHY_COUNT]; /* of the rank `slowest` */
    uint32_t slowest;     /* the rank that computes longest; the lowest one if several do */
    bool has_collectives; /* false: collectives inside ops are counted as compute */
    bool has_sharding;    /* parameters are sharded */
    /* PP_WHY_COLLECTIVES of both lists, divided by kind; it sums exactly to that part */
    pp_ns exchange_mean_ns[PP_EXCHANGE_KINDS], exchange_slowest_ns[PP_EXCHANGE_KINDS];
} pp_why;

#endif
