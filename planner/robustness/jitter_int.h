/* What the files planner/jitter*.c share. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_INT_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_INT_H

#include "planner/robustness/jitter.h"
#include "sim/base/random.h"
#include "sim/program/program.h"

#define PP_JITTER_LANES 64u             /* scenarios that advance together: a block */
#define PP_JITTER_DRAWS 65536u          /* quantiles of a pool */
#define PP_JITTER_COMM PP_OP_KIND_COUNT /* the class of transfers, behind those of ops */
#define PP_JITTER_CLASSES (PP_OP_KIND_COUNT + 1)

/* The random bits of an op in a block of scenarios; its input's transfer uses the upper half. */
static inline uint64_t pp_jitter_bits(uint64_t key, uint64_t block)
{
    return pp_random_mix(key + (block + 1) * PP_RANDOM_STEP);
}

/* Of an op: the same in every lowering of an order. */
static inline uint64_t pp_jitter_key(uint64_t seed, pp_op op)
{
    uint64_t id = (uint64_t)op.kind << 48 | (uint64_t)op.stage << 32 | op.microbatch;
    return pp_random_mix(pp_random_mix(seed) ^ pp_random_mix(id + 1));
}

/* base * factor * draw, to the nearest nanosecond (below 2^51, where adding 2^52 rounds). */
static inline double pp_jitter_scale(double base_ns, double factor, float draw)
{
    return (base_ns * factor * (double)draw + 0x1p52) - 0x1p52;
}

/* The factors of a class: quantiles of its distribution in random order, then the first LANES of
 * them again, so that a block may start anywhere. One factor, 1, when sigma is 0. */
typedef struct pp_jitter_pool {
    float *factor[PP_JITTER_CLASSES]; /* classes of one sigma share one */
    uint32_t mask[PP_JITTER_CLASSES];
    double largest[PP_JITTER_CLASSES];
} pp_jitter_pool;

PP_MUST_CHECK pp_status pp_jitter_pool_new(const pp_jitter_spec *spec, uint64_t seed,
                                           pp_jitter_pool *pool, pp_err *err);
void pp_jitter_pool_free(pp_jitter_pool *pool);

/* The factors of an op and of its input's transfer: LANES of them. */
static inline const float *pp_jitter_draws(const pp_jitter_pool *pool, uint64_t bits,
                                           uint32_t class)
{
    uint64_t at = class == PP_JITTER_COMM ? bits >> 32 : bits;
    return pool->factor[class] + (at & pool->mask[class]);
}

/* Pairs of ranks that exchange tensors, both directions together. */
typedef struct pp_jitter_link {
    uint32_t first, second; /* first < second */
} pp_jitter_link;

typedef struct pp_jitter_links {
    size_t count;
    pp_jitter_link *link; /* [count], sorted */
    uint32_t *rank_of;    /* [program->count]: of an instruction */
    uint32_t *of;         /* [program->count]: the link of its input; count: no transfer */
} pp_jitter_links;

PP_MUST_CHECK pp_status pp_jitter_links_new(const pp_program *program, pp_jitter_links *out,
                                            pp_err *err);
void pp_jitter_links_free(pp_jitter_links *links);

/* One step of the batched form. Rows are LANES doubles; row 0 holds zeros. */
typedef struct pp_jitter_step {
    uint64_t key;
    double duration_ns, latency_ns; /* latency 0: no transfer */
    uint32_t rank, link, class;
    uint32_t before, source, row; /* ends of its rank's last op and of its source; its own end */
} pp_jitter_step;

/* A program without communication, ready to run many scenarios at once. */
typedef struct pp_jitter_tape {
    size_t count;
    pp_jitter_step *step; /* [count] */
    uint32_t ranks, rows;
    uint32_t *last_row; /* [ranks]: where the end of the rank stands in the end */
} pp_jitter_tape;

PP_MUST_CHECK pp_status pp_jitter_tape_new(const pp_jitter_subject *subject,
                                           const pp_jitter_links *links, uint64_t seed,
                                           pp_jitter_tape *tape, pp_err *err);
void pp_jitter_tape_free(pp_jitter_tape *tape);

/* Scratch of one thread. */
typedef struct pp_jitter_lanes {
    double *row;         /* [rows * LANES]; NULL without a tape */
    double *rank_factor; /* [ranks * LANES] */
    double *link_factor; /* [(links + 1) * LANES] */
} pp_jitter_lanes;

/* Runs one block; all ways give the same bits. */
typedef void pp_jitter_kernel(const pp_jitter_tape *tape, const pp_jitter_pool *pool,
                              const pp_jitter_lanes *lanes, uint64_t block, bool slow);

/* index 0 runs everywhere; NULL: this processor cannot, or there are no more. The last is best. */
pp_jitter_kernel *pp_jitter_kernel_at(size_t index);
size_t pp_jitter_kernel_count(void);

/* pp_jitter_run by one way: a kernel (a program without communication), or NULL: the engine. */
PP_MUST_CHECK pp_status pp_jitter_run_by(pp_jitter_kernel *kernel, const pp_jitter_subject *subject,
                                         const pp_jitter_spec *spec, uint64_t seed,
                                         uint32_t threads, pp_ns *step_ns_out, pp_err *err);

#endif
