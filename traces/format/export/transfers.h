/* The tensors that travel between ranks in a timeline, for the formats that write them. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_TRANSFERS_H
#define PPSIM_TRACES_FORMAT_EXPORT_TRANSFERS_H

#include "traces/format/export/export.h"

/* Those between different ranks that take time. The owner frees it with pp_transfers_free. */
typedef struct pp_transfers {
    pp_recorded_transfer *item;
    size_t count;
} pp_transfers;

/* Collects the transfers of a recording, of a simulation with communication, or, without
 * communication, one per edge, which takes the latency of that edge (data->costs). The list is
 * empty if the data has neither costs nor a recording. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_transfers_collect(const pp_export *data, pp_transfers *list_out,
                                             pp_err *err);
void pp_transfers_free(pp_transfers *list); /* for PP_CLEANUP */

/* Returns whether the input of op i comes from another rank. */
bool pp_op_is_between_ranks(const pp_program *program, size_t i);

#endif
