/* Facts about an order. They decide whether PyTorch's schedule rows can express it, and the
 * configuration next to the rows has to state them. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_PYTORCH_FACTS_H
#define PPSIM_TRACES_FORMAT_EXPORT_PYTORCH_FACTS_H

#include "traces/format/export/export.h"

typedef struct pp_pytorch_facts {
    uint32_t per_rank; /* stages per rank; 0: not the same on all ranks */
    bool placed;       /* stages are placed by `placement`, a loop or a V */
    pp_placement placement;
    bool split;           /* the backward is split into I and W */
    bool overlapped;      /* forwards and backwards are paired (OVERLAP_F_B) */
    bool lengths_differ;  /* microbatches have different numbers of tokens */
    bool losses_shuffled; /* the last stage computes forwards in an order other than by number */
    bool forward_only;
} pp_pytorch_facts;

/* Fails: INFEASIBLE when the rows cannot express this order (a stage runs on two ranks, a rank has
 * no ops), NOMEM. */
PP_MUST_CHECK pp_status pp_pytorch_facts_gather(const pp_export *data, pp_pytorch_facts *facts_out,
                                                pp_err *err);

/* Returns whether the last stage computes forwards in an order other than by number. */
bool pp_pytorch_losses_shuffled(const pp_order *order);

#define PP_PYTORCH_WARNING_BYTES 400

/* What PyTorch does with such an order, and the way out. `err` names the command. Returns buffer.
 */
const char *pp_pytorch_losses_warning(const pp_err *err, char *buffer, size_t size);

/* Returns whether stages are placed on a V of two per rank. */
bool pp_pytorch_is_v(const pp_pytorch_facts *facts);

/* Returns the schedule whose name makes torchtitan divide and place the model as the rows do; NULL:
 * there is none. */
const char *pp_pytorch_schedule_name(const pp_export *data, const pp_pytorch_facts *facts);

/* Appends the rows: a line per rank, a cell per op or overlapped pair. */
void pp_pytorch_rows_print(const pp_order *order, pp_text *text);

#endif
