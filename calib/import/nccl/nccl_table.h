/* Reads rows of the tables of nccl-tests. Columns are found by the header, so that one function
 * reads the layouts of all versions. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_TABLE_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_TABLE_H

#include "calib/import/nccl/nccl_section.h"

enum { PP_NCCL_COLUMNS_MAX = 32 };

/* The places of the columns; a column that the table lacks has the place `count`. Times and errors
 * have two columns: the first is of operations out of place, the second of those in place. */
typedef struct pp_nccl_layout {
    size_t count; /* of columns; 0: no header was read */
    size_t type, redop, root;
    size_t time, algbw, busbw, wrong;
    size_t errors, second_errors; /* `wrong`, or the column "error" of versions up to 2.11 */
    size_t timestamp;             /* printed as two words; 0: there is none */
    bool cpu_time;                /* the time is only that of the launches */
} pp_nccl_layout;

/* Returns whether the word is "N/A". */
bool pp_nccl_is_none(pp_span word);
/* Reads a header, given its words. Returns false if it is not a header of a table. */
bool pp_nccl_layout_read(pp_span words, pp_nccl_layout *layout_out);
/* Guesses the layout of rows without a header by their number of columns; returns false if that is
 * not possible. */
bool pp_nccl_layout_guess(size_t columns, pp_nccl_layout *layout_out);
/* Reads a row of layout->count cells. Returns why it cannot be used, or NULL when `row` was filled.
 */
const char *pp_nccl_row_read(const pp_nccl_layout *layout, const pp_span *cells, pp_nccl_row *row);

#endif
