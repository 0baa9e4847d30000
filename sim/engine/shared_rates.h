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

typedef struct pp_shared_rates pp_shared_rates;

typedef struct pp_shared_rates_end {
    bool transfer;  /* otherwise an op */
    uint32_t index; /* of the transfer, or of the rank */
    pp_ns start_ns, end_ns;
} pp_shared_rates_end;

/* sharing: copied. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_shared_rates_new(const pp_sharing *sharing, uint32_t ranks,
                                            uint32_t transfers, pp_shared_rates **rates_out,
                                            pp_err *err);
void pp_shared_rates_free(pp_shared_rates **rates); /* for PP_CLEANUP; *shared rates NULL is fine */

/* Starts an op of duration_ns (alone) on a rank that has none; not before the last end. */
void pp_shared_rates_compute(pp_shared_rates *rates, uint32_t rank, pp_ns start_ns,
                             pp_ns duration_ns);
/* Starts a transfer; once for each number. both: it moves as many bytes back. */
void pp_shared_rates_move(pp_shared_rates *rates, uint32_t transfer, uint32_t from, uint32_t to,
                          bool both, pp_ns start_ns, pp_ns duration_ns);
/* The next end, of an op or a transfer. false: nothing is under way. */
bool pp_shared_rates_next(pp_shared_rates *rates, pp_shared_rates_end *end_out);
/* When the transfer ended, or -1. */
pp_ns pp_shared_rates_ended_ns(const pp_shared_rates *rates, uint32_t transfer);

#endif
