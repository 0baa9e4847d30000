/* Megatron-LM's pipeline loops with overlap_p2p_comm. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_OVERLAP_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_OVERLAP_H

#include "sim/program/program.h"

/* Lowers an interleaved order as Megatron-LM runs it with overlap_p2p_comm: odd and even ranks
 * issue single sends and receives in opposite order, and wait for them when they are needed.
 * An order without interleaving is lowered in batches, since the option does not change it.
 * flush: with overlap_p2p_comm_warmup_flush, so that warm-up and cool-down overlap, too.
 * Fails: like pp_megatron_check and pp_lower_ranks. */
PP_MUST_CHECK pp_status pp_megatron_overlap(const pp_order *order, const char *framework,
                                            bool flush, pp_program **program_out, pp_err *err);

#endif
