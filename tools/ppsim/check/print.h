/* The verdict of `ppsim check`, and its output. */
#ifndef PPSIM_TOOLS_PPSIM_CHECK_PRINT_H
#define PPSIM_TOOLS_PPSIM_CHECK_PRINT_H

#include "sim/analysis/repair.h"
#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"
#include "traces/target/target.h"

/* What `ppsim check` is asked, and the verdict. */
typedef struct pp_check_verdict {
    const char *file;
    pp_comm_settings comm;         /* mode and lanes */
    const pp_framework *framework; /* NULL: the file has communication of its own */
    bool valid;                    /* valid and complete, and every send has its receive */
    bool protocol;                 /* a size protocol is part of the question */
    bool mismatch;                 /* a size differs from the one that its receiver expects */
    bool hangs;
    bool apart; /* it hangs because replicas do not meet; `reason` says where */
    bool sized; /* the sizes of messages are known */
    bool flips; /* it hangs, but not if messages of up to flip_bytes are buffered */
    int64_t flip_bytes;
    uint32_t flip_microbatch; /* first microbatch whose messages need the limit */
    pp_repair repair;         /* repair of a hang */
    const char *own_lanes;    /* the framework's lanes, if single lanes were assumed instead */
    size_t ops, transfers;
    uint32_t replica;        /* replica of the plan that the reason is about */
    pp_report *report;       /* of the simulated plan; NULL: there is none */
    bool overflows;          /* a rank of the plan exceeds its memory limit */
    const pp_target *target; /* NULL: none was named */
    bool refused;            /* the target does not run it; `refusal` says why */
    pp_err refusal;
    bool shuffled; /* PyTorch would run it and compute wrong gradients */
    pp_err reason;
} pp_check_verdict;

typedef struct pp_check_subject {
    char *text; /* contents of the file */
    size_t bytes;
    pp_plan *plan; /* NULL: a schedule file */
    pp_order *order;
    pp_program *program;
    pp_costs *own_costs;
    const pp_costs *costs;
    pp_timeline *timeline; /* holds the cycle after a hang */
} pp_check_subject;

/* Returns the number of replicas of a plan that differ. */
uint32_t pp_check_replicas(const pp_plan *plan);

/* Returns the position in the reason at which the cycle of waits begins, or NULL if there is
 * none. */
const char *pp_check_circle(const pp_check_verdict *v);

/* These functions print the verdict as the product of the command. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_check_print_json(const pp_args *args, const pp_check_verdict *v,
                                            const pp_check_subject *s, pp_err *err);
PP_MUST_CHECK pp_status pp_check_print_text(const pp_args *args, const pp_check_verdict *v,
                                            const pp_check_subject *s, pp_err *err);

#endif
