/* How one training framework communicates: it lowers an order to a program. A framework is one file
 * in sim/framework/ and one line in sim/executors.def; sim/framework/registry.h finds it by name.
 */
#ifndef PPSIM_SIM_FRAMEWORK_FRAMEWORK_H
#define PPSIM_SIM_FRAMEWORK_FRAMEWORK_H

#include "sim/cost/costs.h"
#include "sim/framework/lowering/graphs.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/job/software.h"
#include "sim/job/stage.h"
#include "sim/program/buffers.h"
#include "sim/program/program.h"

typedef struct pp_framework {
    const char *name;
    const char *summary;
    pp_p2p p2p;       /* the operation that a transfer uses */
    pp_graphs graphs; /* what it compiles into one graph */
    /* Makes the program of an order that pp_order_check accepted.
     * Fails: INFEASIBLE when it cannot finish (err names the ranks that wait for each other and
     * their ops), NOMEM. */
    pp_status (*lower)(const pp_order *order, pp_program **program_out, pp_err *err);
    /* Like lower, for frameworks whose steps depend on the costs: on durations, or on whether
     * parameters are sharded. NULL if they do not. costs is not retained. */
    pp_status (*lower_timed)(const pp_order *order, const pp_costs *costs, pp_program **program_out,
                             pp_err *err);
    /* Like lower, with PyTorch's settings. NULL if it has none of them. */
    pp_status (*lower_set)(const pp_order *order, const pp_pytorch_settings *settings,
                           pp_program **program_out, pp_err *err);
    const pp_size_protocol_support *size_protocols; /* NULL: its programs do not communicate */
    pp_buffers buffers;                             /* of its programs that communicate */
    const char *no_bare_ends; /* why no stage may have the embedding or the head and no layer, a
                                 predicate; NULL: it may */
    const char *pytorch;      /* the version of PyTorch whose compute_comms rows its programs are:
                                 "2.15"; NULL: they are none */
    bool splits_late;         /* it is PyTorch: its I frees nothing (pp_costs_split_late), and with
                                 `shards` it can free parameters after forwards */
    bool shards;              /* its programs gather and reduce sharded parameters, as FSDP2 does */
    bool gathers_all;         /* then all stages of a rank stay gathered */
    bool shards_ops;        /* with `shards`: no actions; every op gathers and frees, and backwards
                               reduce (pp_costs.shards_ops) */
    bool ignores_durations; /* with `lower_timed`: programs depend on `sharded` alone of the costs,
                               so that they can be used for others */
    bool divides_gradients; /* has ZeRO 2, which leaves the parameters whole */
    bool overlaps_pairs;    /* the halves of an overlapped pair run at the same time, so that the
                               exchange of experts of one hides behind the other's compute */
    bool post_validates;    /* ranks update in a chain if no barrier ends the step
                               (pp_step_tail_chained) */
} pp_framework;

/* Lowers an order by framework->lower_timed, if there is one and costs are given, or else by
 * framework->lower, and sets the framework's buffers. costs: NULL if not known. settings: NULL for
 * the defaults.
 * Fails: like lower; USAGE when the framework has not the settings, or cannot shard parameters that
 * the costs have sharded. */
PP_MUST_CHECK pp_status pp_framework_lower(const pp_framework *framework, const pp_order *order,
                                           const pp_costs *costs,
                                           const pp_pytorch_settings *settings,
                                           pp_program **program_out, pp_err *err);

/* Whether the framework has PyTorch's settings as far as they are not the defaults. Fails: USAGE.
 */
PP_MUST_CHECK pp_status pp_framework_check_settings(const pp_framework *framework,
                                                    const pp_pytorch_settings *settings,
                                                    pp_err *err);

/* Whether the framework runs the schedule several times per step. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_framework_check_runs(const pp_framework *framework, int64_t runs,
                                                pp_err *err);

/* The message for replicas that do not shard their parameters. Fails: USAGE. */
pp_status pp_framework_refuse_runs(pp_err *err);

/* Replaces `program`, which the framework lowered from `order`, by that of as many runs, one after
 * the other (sim/program/repeat.h). runs: 0 and 1 change nothing.
 * Fails: USAGE when the framework has only one, or the order is bidirectional; INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_framework_repeat(const pp_framework *framework, const pp_order *order,
                                            int64_t runs, pp_program **program, pp_err *err);

/* True if the framework has this ZeRO stage. */
bool pp_framework_has_zero(const pp_framework *framework, int zero);

/* Likewise. Fails: USAGE, with the frameworks that have it. */
PP_MUST_CHECK pp_status pp_framework_check_zero(const pp_framework *framework, int zero,
                                                pp_err *err);

/* Whether the framework frees parameters after forwards, in orders that split the backward or do
 * not. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_framework_check_reshard(const pp_framework *framework, bool splits,
                                                   pp_err *err);

/* Whether the framework runs these stages: with bare ends, one has no layer. stages: NULL, or
 * [stage_count]. what: the option or file that messages name. Fails: `refusal`. */
PP_MUST_CHECK pp_status pp_framework_check_stages(const pp_framework *framework,
                                                  const pp_stage *stages, size_t stage_count,
                                                  pp_status refusal, const char *what, pp_err *err);

/* Rewrites the communication of `program`, which `framework` lowered, for the size protocol, the
 * tensors and the hosts of `exchange`. costs: for the sizes of `cached` and the pairs of late
 * receives; may be NULL.
 * Fails: USAGE when the framework does not support the protocol (with the reason and the others);
 * INFEASIBLE when a size differs from the one its receiver expects ("mismatched sizes: ..."; names
 * microbatch and stages); INPUT when durations leave 64 bits; NOMEM. */
PP_MUST_CHECK pp_status pp_exchange_lower(const pp_framework *framework,
                                          const pp_exchange_options *exchange,
                                          const pp_costs *costs, pp_program *program, pp_err *err);

#endif
