/* What PyTorch's schedule rows of an order have, and a configuration beside them must say. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_PYTORCH_FACTS_H
#define PPSIM_TRACES_FORMAT_EXPORT_PYTORCH_FACTS_H

#include "traces/format/export/export.h"

typedef struct pp_pytorch_facts {
    uint32_t per_rank; /* v; 0 when ranks differ */
    bool placed;       /* loop or V */
    pp_placement placement;
    bool split;           /* has I and W */
    bool overlapped;      /* has OVERLAP_F_B */
    bool lengths_differ;  /* microbatches are not all of one size */
    bool losses_shuffled; /* the last stage's forwards do not go in the order of microbatches */
    bool forward_only;
} pp_pytorch_facts;

/* Fails: INFEASIBLE when rows of one rank each cannot say this order, NOMEM. */
PP_MUST_CHECK pp_status pp_pytorch_facts_gather(const pp_export *data, pp_pytorch_facts *facts_out,
                                                pp_err *err);

/* A V of two stages per rank? */
bool pp_pytorch_is_v(const pp_pytorch_facts *facts);

/* The name that makes torchtitan split and place the model as the rows do; NULL: none does. */
const char *pp_pytorch_schedule_name(const pp_export *data, const pp_pytorch_facts *facts);

/* A line per rank, a cell per op. */
void pp_pytorch_rows_print(const pp_order *order, pp_text *text);

#endif
