/* One test that nccl-tests or rccl-tests ran, whether it was printed as text or as JSON, and the
 * series of samples that it becomes. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_SECTION_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_SECTION_H

#include "calib/import/common/skips.h"
#include "sim/base/span.h"

/* A line of the list "Using devices". Its spans are in the text of the file. */
typedef struct pp_nccl_rank {
    int64_t rank, group;
    pp_span host, device;
} pp_nccl_rank;

/* A row of the table. Times are those of operations out of place. */
typedef struct pp_nccl_row {
    double bytes, seconds;
    double p10_s, p90_s; /* NaN: not known */
    uint32_t repeats;
    double factor;     /* bus bandwidth / bandwidth; NaN: not known */
    int rooted;        /* 1: the operation has a root; -1: there is no such column */
    int reduces;       /* 1: the operation reduces; -1: there is no such column */
    int in_place_none; /* 1: only the errors in place are N/A; -1: not known */
} pp_nccl_row;

/* What was read of a test. All zero is empty. The owner frees it with pp_nccl_section_free. */
typedef struct pp_nccl_section {
    size_t line;         /* its first line; 0: the file is JSON */
    char program[40];    /* "sendrecv_perf"; "": not known */
    bool only_mentioned; /* a line before the test names the program, perhaps for another test */
    char library[32];
    char device[128];
    int64_t channels_max, channels_peer; /* 0: not known */
    int64_t iterations;                  /* 0: not known */
    pp_nccl_rank *rank;
    size_t rank_count, rank_capacity;
    pp_nccl_row *row;
    size_t row_count, row_capacity;
} pp_nccl_section;

void pp_nccl_section_free(pp_nccl_section *section);
/* Add a copy to the lists of a section. Fail: NOMEM. */
PP_MUST_CHECK pp_status pp_nccl_add_rank(pp_nccl_section *section, const pp_nccl_rank *rank,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_nccl_add_row(pp_nccl_section *section, const pp_nccl_row *row,
                                        pp_err *err);
/* Returns the class of a program: "send_recv" for "sendrecv_perf". NULL: its test is not used. */
const char *pp_nccl_class(const char *program);
/* Appends the rows of the section to `samples` as a series, or a note to `notes` that explains why
 * this is not possible. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_nccl_section_finish(pp_nccl_section *section, const char *file,
                                               pp_samples *samples, pp_skips *notes, pp_err *err);

#endif
