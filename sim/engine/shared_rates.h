/* Simulates ops and transfers whose speeds depend on each other, in the order of time.
 *
 * A transfer that takes d alone first spends its latency, which nothing slows down, and then moves
 * bytes for d - latency. While bytes move:
 * - Transfers that use one NIC in one direction share it max-min fairly. The capacity of a NIC is
 *   the rate of one transfer alone. A transfer uses the sender's NIC outwards and the receiver's
 *   inwards, or both directions of both NICs if it moves bytes both ways. Ranks on the same NIC
 *   reach each other without it.
 * - Compute on its ranks takes compute_slowdown times as long. If either rank computes, the
 *   transfer takes comm_slowdown times as long as its share of the NIC implies, and keeps that
 *   share.
 * Ends are rounded up to whole ns. */
#ifndef PPSIM_SIM_ENGINE_SHARED_RATES_H
#define PPSIM_SIM_ENGINE_SHARED_RATES_H

#include "sim/job/sharing.h"

typedef struct pp_shared_rates pp_shared_rates;

/* The end of an op or of a transfer. */
typedef struct pp_shared_rates_end {
    bool transfer;  /* false: an op */
    uint32_t index; /* the transfer, or the rank of the op */
    pp_ns start_ns, end_ns;
} pp_shared_rates_end;

/* An empty simulation. sharing: copied. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_shared_rates_new(const pp_sharing *sharing, uint32_t ranks,
                                            uint32_t transfers, pp_shared_rates **rates_out,
                                            pp_err *err);
void pp_shared_rates_free(pp_shared_rates **rates); /* for PP_CLEANUP; *rates NULL is fine */

/* Starts an op, which would take duration_ns alone, on a rank that runs no other op. start_ns must
 * not be before the last end that pp_shared_rates_next returned. */
void pp_shared_rates_compute(pp_shared_rates *rates, uint32_t rank, pp_ns start_ns,
                             pp_ns duration_ns);
/* Starts a transfer, which would take duration_ns alone. Call it once for each index. both: the
 * transfer moves as many bytes in the other direction. start_ns: as for an op. */
void pp_shared_rates_move(pp_shared_rates *rates, uint32_t transfer, uint32_t from, uint32_t to,
                          bool both, pp_ns start_ns, pp_ns duration_ns);
/* Advances to the next end of an op or a transfer. Returns false when nothing is running. */
bool pp_shared_rates_next(pp_shared_rates *rates, pp_shared_rates_end *end_out);
/* The time at which the transfer ended, or -1. */
pp_ns pp_shared_rates_ended_ns(const pp_shared_rates *rates, uint32_t transfer);

#endif
