/* A program in the form in which a kernel computes many scenarios of it at once. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_TAPE_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_TAPE_H

#include "planner/robustness/jitter_links.h"
#include "planner/robustness/jitter_subject.h"

/* One op. A row holds the ends of an op in PP_JITTER_LANES scenarios; row 0 holds zeros. */
typedef struct pp_jitter_step {
    uint64_t key;
    double duration_ns, latency_ns; /* latency_ns 0: no transfer */
    uint32_t rank, link, class;
    uint32_t before, source, row; /* rows of the op before it, of its source, and its own */
} pp_jitter_step;

/* The ops of a program without communication, in topological order. */
typedef struct pp_jitter_tape {
    size_t count;
    pp_jitter_step *step; /* [count] */
    uint32_t ranks, rows;
    uint32_t *last_row; /* [ranks]: the row of the last op of each rank */
} pp_jitter_tape;

/* subject: its program has no communication. Owner frees with pp_jitter_tape_free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_tape_new(const pp_jitter_subject *subject,
                                           const pp_jitter_links *links, uint64_t seed,
                                           pp_jitter_tape *tape, pp_err *err);
void pp_jitter_tape_free(pp_jitter_tape *tape);

#endif
