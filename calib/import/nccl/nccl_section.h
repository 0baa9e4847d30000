/* One test that nccl-tests or rccl-tests ran, whether it was printed as text or as JSON, and the
 * series of samples that it becomes. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_SECTION_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_SECTION_H

#include "calib/import/common/skips.h"
#include "sim/base/span.h"

/* A line of "Using devices". The texts are those of the file. */
typedef struct pp_nccl_rank {
    int64_t rank, group;
    pp_span host, device;
} pp_nccl_rank;

/* A row of the table, times out of place. */
typedef struct pp_nccl_row {
    double bytes, seconds;
    double p10_s, p90_s; /* NaN: not known */
    uint32_t repeats;
    double factor;     /* bus bandwidth / bandwidth; NaN: not known */
    int rooted;        /* root is 0 or more; -1: no such column */
    int reduces;       /* redop is not "none"; -1: no such column */
    int in_place_none; /* in-place errors are N/A though the others are not; -1: not known */
} pp_nccl_row;

/* Owner frees with pp_nccl_section_free. */
typedef struct pp_nccl_section {
    size_t line;         /* where it begins; 0: JSON */
    char program[40];    /* "sendrecv_perf"; "": not said */
    bool only_mentioned; /* in a line before, which may be about another test */
    char library[32];
    char device[128];
    int64_t channels_max, channels_peer; /* 0: not said */
    int64_t iterations;                  /* 0: not said */
    pp_nccl_rank *rank;
    size_t rank_count, rank_capacity;
    pp_nccl_row *row;
    size_t row_count, row_capacity;
} pp_nccl_section;

void pp_nccl_section_free(pp_nccl_section *section);
PP_MUST_CHECK pp_status pp_nccl_add_rank(pp_nccl_section *section, const pp_nccl_rank *rank,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_nccl_add_row(pp_nccl_section *section, const pp_nccl_row *row,
                                        pp_err *err);
/* "sendrecv_perf" -> "send_recv"; NULL when it is a test that is not used. */
const char *pp_nccl_class(const char *program);
/* The section's rows as a series, or a note why not. */
PP_MUST_CHECK pp_status pp_nccl_section_finish(pp_nccl_section *section, const char *file,
                                               pp_samples *samples, pp_skips *notes, pp_err *err);

#endif
