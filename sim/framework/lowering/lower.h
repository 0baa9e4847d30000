/* Helpers for frameworks that lower an order rank by rank. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_LOWER_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_LOWER_H

#include "sim/program/comm.h"

/* The rank whose steps are being written. */
typedef struct pp_lowering {
    pp_comm_builder *builder;
    const pp_program *program;
    uint32_t rank;
    size_t begin, end; /* the rank's ops in program->op */
    uint32_t group;    /* Megatron's microbatch group; 0 without interleaving */
} pp_lowering;

/* Return true if the result of `op` goes to another rank, or if its input comes from one. */
bool pp_lower_leaves(const pp_program *program, pp_op op);
bool pp_lower_arrives(const pp_program *program, pp_op op);

/* Add to `group` the send of the op's result, or the receive of its input, if another rank is
 * involved. op: may be NULL, which adds nothing. */
void pp_lower_send(const pp_lowering *l, uint32_t group, const pp_op *op);
void pp_lower_receive(const pp_lowering *l, uint32_t group, const pp_op *op);

/* Post the send of the op's result, or the receive of its input, as a group of its own and wait. */
void pp_lower_send_now(const pp_lowering *l, const pp_op *op);
void pp_lower_receive_now(const pp_lowering *l, const pp_op *op);

/* Writes the steps of one rank. Fails: NOMEM. */
typedef pp_status pp_lower_rank(const pp_lowering *l, pp_err *err);

/* Makes the program of `order` with the communication that `rank` writes for each rank. group:
 * Megatron's microbatch group; 0 without interleaving.
 * Fails: INFEASIBLE when it cannot finish or its sends and receives do not pair up, NOMEM. */
PP_MUST_CHECK pp_status pp_lower_ranks(const pp_order *order, uint32_t group, pp_lower_rank *rank,
                                       pp_program **program_out, pp_err *err);

/* Fails: USAGE when a stage is on two ranks. framework: for messages, here and below. */
PP_MUST_CHECK pp_status pp_lower_check_one_rank(const pp_order *order, const char *framework,
                                                pp_err *err);

/* Fails: USAGE when the order has only forwards. instead: the frameworks that take such orders. */
PP_MUST_CHECK pp_status pp_lower_check_trains(const pp_order *order, const char *framework,
                                              const char *instead, pp_err *err);

/* Fails: USAGE when the named schedule does not produce this order; NOMEM. */
PP_MUST_CHECK pp_status pp_lower_check_schedule(const pp_order *order, const char *framework,
                                                const char *schedule, pp_err *err);

#endif
