/* Fault injection: faults that a run is given on purpose, to test that each is reported and none
 * hangs the run. */
#ifndef PPSIM_RUNTIME_CORE_FAULTS_H
#define PPSIM_RUNTIME_CORE_FAULTS_H

#include "sim/base/status.h"
#include "sim/base/units.h"
#include "sim/cost/costs.h"
#include "sim/program/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* enum, name, does it hit a message?, an op? (neither: the start)
 *   DROP       the message is lost
 *   DELAY      it starts later by `time`
 *   DUPLICATE  it arrives twice
 *   TRUNCATE   half of it arrives
 *   REORDER    it arrives after the next one of its edge
 *   TAG        its header names another microbatch
 *   DEATH      the rank ends before the op
 *   STALL      the rank pauses for `time` before the op
 *   PLAN       the rank has read another plan */
#define PP_FAULT_MAP(X)           \
    X(DROP, drop, 1, 0)           \
    X(DELAY, delay, 1, 0)         \
    X(DUPLICATE, duplicate, 1, 0) \
    X(TRUNCATE, truncate, 1, 0)   \
    X(REORDER, reorder, 1, 0)     \
    X(TAG, tag, 1, 0)             \
    X(DEATH, death, 0, 1)         \
    X(STALL, stall, 0, 1)         \
    X(PLAN, plan, 0, 0)

typedef enum pp_fault_kind {
#define PP_FAULT_ENUM(id, name, message, op) PP_FAULT_##id,
    PP_FAULT_MAP(PP_FAULT_ENUM)
#undef PP_FAULT_ENUM
        PP_FAULT_KIND_COUNT,
} pp_fault_kind;

static inline bool pp_fault_is_of_message(pp_fault_kind kind)
{
    static const bool of_message[PP_FAULT_KIND_COUNT] = {
#define PP_FAULT_OF_MESSAGE(id, name, message, op) message,
        PP_FAULT_MAP(PP_FAULT_OF_MESSAGE)
#undef PP_FAULT_OF_MESSAGE
    };
    return of_message[kind];
}

typedef struct pp_fault {
    pp_fault_kind kind;
    uint32_t rank; /* that sends, computes or starts */
    uint32_t at;   /* index of the message or op among those of the rank in a step, from 0 */
    uint32_t step; /* of the run, from 0 */
    pp_ns time_ns; /* duration of DELAY and STALL */
} pp_fault;

#define PP_FAULTS_MAX 16

typedef struct pp_faults {
    pp_fault fault[PP_FAULTS_MAX];
    size_t count;
} pp_faults;

/* Parses a fault and adds it: "drop,rank=1,at=3,step=0", "stall,rank=2,at=5,time=2s",
 * "plan,rank=1". Keys that are left out are 0. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_faults_add(const char *text, pp_faults *faults, pp_err *err);

/* Checks that each fault can happen in a step of the program: its rank has that message or op, and
 * a message that is cut has a size. A run without the fault would look like one that survived it.
 * Ranks and steps must exist. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_faults_check(const pp_faults *faults, const pp_program *program,
                                        const pp_costs *costs, pp_err *err);

/* Returns the fault of `kind` that hits message or op `at` of `rank` in `step`, or NULL. faults:
 * NULL is fine. */
const pp_fault *pp_faults_at(const pp_faults *faults, pp_fault_kind kind, uint32_t rank,
                             uint32_t step, uint32_t at);

#endif
