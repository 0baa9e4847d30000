/* Ops on ranks and transfers between them whose speeds depend on each other, in the order of time.
 *
 * A transfer that takes d alone first spends its latency, at its own speed; then bytes move for
 * d - latency. While they move:
 * - the transfers on one NIC and direction share it, max-min fair; a NIC carries what one transfer
 *   alone gets. A transfer uses the sender's NIC outwards and the receiver's inwards, one that
 * moves bytes both ways uses both of both; ranks of one NIC reach each other without it.
 * - a rank that computes does so compute_slowdown times as long, and the transfer takes
 *   comm_slowdown times as long as its share of the NIC gives it; once, whichever end computes. It
 *   keeps its share of the NIC.
 * Ends are rounded up to whole ns. */
#ifndef PPSIM_SIM_ENGINE_SHARED_RATES_H
#define PPSIM_SIM_ENGINE_SHARED_RATES_H

#include "sim/job/sharing.h"

typedef struct pp_fluid pp_fluid;

typedef struct pp_fluid_end {
    bool transfer;  /* otherwise an op */
    uint32_t index; /* of the transfer, or of the rank */
    pp_ns start_ns, end_ns;
} pp_fluid_end;

/* sharing: copied. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_fluid_new(const pp_sharing *sharing, uint32_t ranks, uint32_t transfers,
                                     pp_fluid **fluid_out, pp_err *err);
void pp_fluid_free(pp_fluid **fluid); /* for PP_CLEANUP; *fluid NULL is fine */

/* Starts an op of duration_ns (alone) on a rank that has none; not before the last end. */
void pp_fluid_compute(pp_fluid *fluid, uint32_t rank, pp_ns start_ns, pp_ns duration_ns);
/* Starts a transfer; once for each number. both: it moves as many bytes back. */
void pp_fluid_move(pp_fluid *fluid, uint32_t transfer, uint32_t from, uint32_t to, bool both,
                   pp_ns start_ns, pp_ns duration_ns);
/* The next end, of an op or a transfer. false: nothing is under way. */
bool pp_fluid_next(pp_fluid *fluid, pp_fluid_end *end_out);
/* When the transfer ended, or -1. */
pp_ns pp_fluid_ended_ns(const pp_fluid *fluid, uint32_t transfer);

#endif
