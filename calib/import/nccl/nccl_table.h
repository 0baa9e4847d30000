/* The tables of nccl-tests, found by their headers, so that every layout that was printed so far is
 * one case: columns may be there or not, and stand where the header has them. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_TABLE_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_TABLE_H

#include "calib/import/nccl/nccl_section.h"

enum { PP_NCCL_COLUMNS_MAX = 32 };

/* Where the columns stand; `count` is what is not there. Times are those of the first half. */
typedef struct pp_nccl_layout {
    size_t count; /* columns; 0: no header yet */
    size_t type, redop, root;
    size_t time, algbw, busbw, wrong;
    size_t errors, second_errors; /* `wrong`, or the "error" of up to 2.11; the same in place */
    size_t timestamp;             /* printed as two words; 0: none */
    bool cpu_time;                /* the time is that of the launches alone */
} pp_nccl_layout;

bool pp_nccl_is_none(pp_span word); /* N/A */
/* words: those of the header. false when it is no header of a table. */
bool pp_nccl_layout_read(pp_span words, pp_nccl_layout *layout_out);
/* Rows whose header is missing, by their number of columns. */
bool pp_nccl_layout_guess(size_t columns, pp_nccl_layout *layout_out);
/* cells: layout->count of them. Says why a row cannot be taken; NULL: row is filled in. */
const char *pp_nccl_row_read(const pp_nccl_layout *layout, const pp_span *cells, pp_nccl_row *row);

#endif
