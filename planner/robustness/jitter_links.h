/* The links that a program uses. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_LINKS_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_LINKS_H

#include "sim/program/program.h"

/* A pair of ranks that exchange tensors; both directions are one link. */
typedef struct pp_jitter_link {
    uint32_t first, second; /* first < second */
} pp_jitter_link;

typedef struct pp_jitter_links {
    size_t count;
    pp_jitter_link *link; /* [count], sorted */
    uint32_t *rank_of;    /* [program->count]: the rank of an instruction */
    uint32_t *of;         /* [program->count]: the link of its input; count: no transfer */
} pp_jitter_links;

/* Owner frees with pp_jitter_links_free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_links_new(const pp_program *program, pp_jitter_links *out,
                                            pp_err *err);
void pp_jitter_links_free(pp_jitter_links *links);

#endif
