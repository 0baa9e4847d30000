/* Plans one pipeline again for every batch: which sequences share a microbatch and in which order
 * each rank runs its ops. Everything else (model, hardware, partition, schedule, framework, memory
 * limit) was chosen before and is kept, with what was derived from it. */
#ifndef PPSIM_PLANNER_STUDY_REPLAN_H
#define PPSIM_PLANNER_STUDY_REPLAN_H

#include "planner/candidate/request.h"
#include "planner/pack/grouping.h"
#include "sim/program/timeline.h"

typedef struct pp_replanner pp_replanner;

/* request: of the pipeline; its lengths are those of a typical batch, and its micro_batch_size is
 * given. It is copied, and what it points to must outlive the replanner. Fails:
 * like pp_packer_open. */
PP_MUST_CHECK pp_status pp_replanner_new(const pp_plan_request *request,
                                         pp_replanner **replanner_out, pp_err *err);
void pp_replanner_free(pp_replanner **replanner); /* for PP_CLEANUP; *replanner NULL is fine */

typedef struct pp_replan_task {
    const int64_t *lengths; /* [count], in tokens */
    size_t count;
    /* The effort: policies that are tried or moves of ops, as in pp_order_search_options. Equal
     * efforts give equal answers. 0: the time decides. */
    int64_t iterations;
    double (*spent)(void *context); /* without iterations: the part of the time that has passed */
    void *context;
    uint64_t seed;
} pp_replan_task;

/* Owner frees with pp_replanned_free. */
typedef struct pp_replanned {
    pp_grouping grouping;
    pp_plan *plan;       /* version, command and assumptions are the caller's to fill */
    pp_program *program; /* of the slowest replica, as is the timeline */
    pp_timeline *timeline;
    pp_ns step_ns;      /* of the slowest replica */
    pp_ns first_fit_ns; /* of the pipeline's own schedule with the sequences packed first fit; 0:
                           that does not fit */
} pp_replanned;

/* Plans one batch. The answer fits, and takes at most first_fit_ns. By one thread at a time.
 * Fails: INPUT (a length beyond what a microbatch holds, or below 1), USAGE (too few sequences),
 * INFEASIBLE (no packing fits), UNDECIDED (none did before the time was up), NOMEM. */
PP_MUST_CHECK pp_status pp_replan(pp_replanner *replanner, const pp_replan_task *task,
                                  pp_replanned **replanned_out, pp_err *err);
void pp_replanned_free(pp_replanned **replanned); /* for PP_CLEANUP; *replanned NULL is fine */

#endif
