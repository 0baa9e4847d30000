/* What a batch takes without packing. */
#ifndef PPSIM_PLANNER_STUDY_PADDED_ROWS_H
#define PPSIM_PLANNER_STUDY_PADDED_ROWS_H

#include "planner/candidate/candidate.h"
#include "planner/candidate/request.h"

typedef struct pp_padded_rows {
    pp_ns step_ns;  /* 0: not known, since it does not fit or would take long to simulate */
    int64_t tokens; /* of a row: the longest sequence */
} pp_padded_rows;

/* Simulates one sequence per row, all padded to the longest, on the pipeline of a candidate with a
 * named schedule, or with 1f1b if its schedule does not allow the number of microbatches. lengths:
 * [count]. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_pad_rows(const pp_plan_request *request, const pp_candidate *like,
                                    const int64_t *lengths, size_t count, pp_padded_rows *rows_out,
                                    pp_err *err);

#endif
