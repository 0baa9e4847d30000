/* One batch that is to be packed, with what is derived from its lengths. */
#ifndef PPSIM_PLANNER_PACK_PACK_CASE_H
#define PPSIM_PLANNER_PACK_PACK_CASE_H

#include "planner/pack/pack_judge.h"

typedef struct pp_pack_task {
    const int64_t *lengths; /* [count] */
    size_t count;
    const size_t *group_end; /* [group_count]: the given microbatches; NULL: consecutive ones */
    size_t group_count;
    bool packings[PP_PACKING_COUNT]; /* the packings that are tried */
    bool coarse;                     /* tries fewer numbers of microbatches, orders and ramps */
    int64_t ops_most;                /* about how many ops are simulated: half for packings, the
                                        rest for moves and swaps; 0: no limit */
    int64_t iterations;              /* number of moves and swaps that are judged; 0: none, unless
                                        ops_most or stop is given */
    bool (*stop)(void *context);     /* true ends the search once something fits; NULL: never */
    void *context;
    uint64_t seed;
} pp_pack_task;

/* A task with what is derived from it. */
typedef struct pp_pack_case {
    pp_packer *packer;
    const pp_pack_task *task;
    double *weight;      /* [task->count], of the sequences */
    uint32_t *by_size;   /* [task->count]: heaviest first, then as given */
    uint32_t fewest, ff; /* microbatches per replica: the fewest that hold all tokens; of first fit,
                            0: there is none */
    pp_grouping first_fit;
    int64_t ops_before; /* of the packer */
} pp_pack_case;

/* Weighs the sequences; the caller fills in first_fit and ff. Free it also on failure. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_pack_case_open(pp_pack_case *c, pp_packer *packer,
                                          const pp_pack_task *task, pp_err *err);
void pp_pack_case_free(pp_pack_case *c);
/* True if moves and swaps, or, if `part` is 2, packings have used up their budget. */
bool pp_pack_is_over(const pp_pack_case *c, int part);

#endif
