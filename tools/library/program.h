/* Inside of the library: programs. */
#ifndef PPSIM_TOOLS_LIBRARY_PROGRAM_H
#define PPSIM_TOOLS_LIBRARY_PROGRAM_H

#include "tools/library/ppsim.h"

/* A row of ppsim_program_rows. */
typedef struct ppsim_row {
    uint8_t action;
    uint32_t stage, microbatch, peer, group;
    int64_t bytes;
} ppsim_row;

struct ppsim_program {
    uint32_t ranks;
    size_t *begin;  /* [ranks + 1]: the first row of each rank */
    ppsim_row *row; /* [begin[ranks]] */
};

#endif
