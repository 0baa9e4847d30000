/* How one training framework communicates: it lowers an order to a program. One file in
 * sim/framework/ and one line in sim/executors.def; sim/framework/registry.h finds them by name. */
#ifndef PPSIM_SIM_FRAMEWORK_FRAMEWORK_H
#define PPSIM_SIM_FRAMEWORK_FRAMEWORK_H

#include "sim/cost/costs.h"
#include "sim/framework/lowering/graphs.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/job/software.h"
#include "sim/program/buffers.h"
#include "sim/program/program.h"

typedef struct pp_framework {
    const char *name;
    const char *summary;
    pp_p2p p2p; /* what its transfers are made of */
    pp_graphs graphs;
    /* order: checked (pp_order_check).
     * Fails: INFEASIBLE when it cannot finish (err names the ranks that wait for each other and
     * their ops), NOMEM. */
    pp_status (*lower)(const pp_order *order, pp_program **program_out, pp_err *err);
    /* Like lower, for frameworks whose communication order depends on durations. NULL if it does
     * not. costs is not retained. */
    pp_status (*lower_timed)(const pp_order *order, const pp_costs *costs, pp_program **program_out,
                             pp_err *err);
    const pp_size_protocol_support *size_protocols; /* NULL: dependencies only, no messages */
    pp_buffers buffers;                             /* its own, of programs that communicate */
    bool post_validates; /* without a barrier: sim/analysis/step_tail.h */
} pp_framework;

/* framework->lower, with the framework's buffers. costs: NULL when not known. Fails: as that. */
PP_MUST_CHECK pp_status pp_framework_lower(const pp_framework *framework, const pp_order *order,
                                           const pp_costs *costs, pp_program **program_out,
                                           pp_err *err);

/* Rewrites the communication of `program`, which `framework` lowered, as `exchange` says. costs:
 * sizes, for `cached`, and pairs, for late receives; NULL: there are none.
 * Fails: USAGE when the framework has no such protocol (with the reason and those it has);
 * INFEASIBLE when a size differs from the one its receiver expects ("mismatched sizes: ..."; names
 * microbatch and stages); INPUT when durations leave 64 bits; NOMEM. */
PP_MUST_CHECK pp_status pp_exchange_lower(const pp_framework *framework,
                                          const pp_exchange_options *exchange,
                                          const pp_costs *costs, pp_program *program, pp_err *err);

#endif
