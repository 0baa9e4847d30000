/* What frameworks share that lower an order rank by rank. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_LOWER_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_LOWER_H

#include "sim/program/comm.h"

/* One rank while its steps are written. */
typedef struct pp_lowering {
    pp_comm_builder *builder;
    const pp_program *program;
    uint32_t rank;
    size_t begin, end; /* of the rank's ops */
    uint32_t group;    /* Megatron's microbatch group; 0 without interleaving */
} pp_lowering;

/* Does the result of `op` go to another rank? Does its input come from one? */
bool pp_lower_leaves(const pp_program *program, pp_op op);
bool pp_lower_arrives(const pp_program *program, pp_op op);

/* Add what has to be sent or received to `group`; op NULL: nothing. */
void pp_lower_send(const pp_lowering *l, uint32_t group, const pp_op *op);
void pp_lower_receive(const pp_lowering *l, uint32_t group, const pp_op *op);

/* A blocking send of its result, or receive of its input, alone. */
void pp_lower_send_now(const pp_lowering *l, const pp_op *op);
void pp_lower_receive_now(const pp_lowering *l, const pp_op *op);

/* Writes the steps of one rank. Fails: NOMEM. */
typedef pp_status pp_lower_rank(const pp_lowering *l, pp_err *err);

/* The program of `order` with the communication that `rank` writes.
 * Fails: INFEASIBLE when it cannot finish or its sends and receives do not pair up, NOMEM. */
PP_MUST_CHECK pp_status pp_lower_ranks(const pp_order *order, uint32_t group, pp_lower_rank *rank,
                                       pp_program **program_out, pp_err *err);

/* Fails: USAGE when a stage lives on two ranks. */
PP_MUST_CHECK pp_status pp_lower_one_rank(const pp_order *order, const char *framework,
                                          pp_err *err);

/* Fails: USAGE when the order has forwards only. instead: frameworks that take it. */
PP_MUST_CHECK pp_status pp_lower_trains(const pp_order *order, const char *framework,
                                        const char *instead, pp_err *err);

/* Fails: USAGE when the named schedule does not make this order; NOMEM. */
PP_MUST_CHECK pp_status pp_lower_only(const pp_order *order, const char *framework,
                                      const char *schedule, pp_err *err);

#endif
