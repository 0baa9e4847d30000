/* The addresses of all tensors of a rank during a step, planned before the step begins.
 *
 * A tensor lives from one position of the rank's program to another, whatever the timing: a tensor
 * that is sent lives until the program proves that it was received. Tensors whose lives overlap get
 * different addresses, so that one block of memory serves the step and nothing is allocated while
 * it runs. */
#ifndef PPSIM_RUNTIME_CORE_ARENA_H
#define PPSIM_RUNTIME_CORE_ARENA_H

#include "runtime/core/device_memory.h"
#include "sim/cost/costs.h"
#include "sim/program/comm.h"

#include <stdbool.h>

#define PP_ARENA_ALIGN 64u
#define PP_NOWHERE SIZE_MAX /* there is no such tensor, or it is not carried */

/* Offsets in the arena of the tensors that an op makes or uses first. I, W and B find the other
 * tensors in the entry of their F (`forward`). */
typedef struct pp_op_places {
    size_t in;    /* F: activation, I and B: gradient from the neighbour stage */
    size_t out;   /* F: activation, I and B: gradient for the neighbour stage */
    size_t saved; /* `saved`, `stash` and `logits` are in the entry of F */
    size_t stash;
    size_t logits;
    size_t scratch;     /* I, B */
    uint32_t out_until; /* last position of `out` if it is sent */
    uint32_t forward;   /* instruction of the F of its stage and microbatch; of F: its own */
} pp_op_places;

/* Sizes of the tensors of one op in bytes, as the simulator accounts for them. */
typedef struct pp_tensor_bytes {
    int64_t in, out, saved, stash, logits, scratch;
} pp_tensor_bytes;

/* Memory that is kept from one arena to the next, so that it is requested from the system once.
 * Zero-initialised it has no memory yet. The owner frees `base` with free(). */
typedef struct pp_arena_block {
    char *base;
    size_t bytes;
} pp_arena_block;

/* Owner frees with pp_arena_free. */
typedef struct pp_arena {
    const pp_program *program;
    uint32_t rank;
    pp_op_places *place; /* [ops of the rank] */
    char *base;          /* bytes of it; NULL: not taken yet */
    size_t bytes;
    pp_arena_block *block;          /* where base comes from; NULL: its own */
    const pp_device_memory *memory; /* that base is of; NULL: this process's */
} pp_arena;

/* The forward and the backward pass of one stage and microbatch. */
typedef enum pp_pass {
    PP_PASS_FORWARD,
    PP_PASS_BACKWARD, /* I or B */
    PP_PASS_WEIGHT,   /* W, if there is one */
    PP_PASSES,
} pp_pass;

/* Look-up tables of a program: from stage and microbatch to ops, and from ops to consumers and
 * positions. A position is a step of a rank's program, counted from the first of that rank. */
typedef struct pp_program_index {
    const pp_program *program;
    uint32_t *op;       /* [PP_PASSES][stages * microbatches] */
    uint32_t *consumer; /* [count]: op that uses its result, or PP_NO_SOURCE */
    uint32_t *position; /* [count]: position of the op */
    uint32_t *posted;   /* [transfers]: position of its post */
} pp_program_index;

PP_MUST_CHECK pp_status pp_program_index_new(const pp_program *program, pp_program_index *index_out,
                                             pp_err *err);
void pp_program_index_free(pp_program_index *index);
/* Returns the op of a pass over one stage and microbatch, or PP_NO_SOURCE. */
static inline uint32_t pp_program_index_get(const pp_program_index *index, pp_pass pass,
                                            uint32_t stage, uint32_t microbatch)
{
    size_t cells_of_pass = (size_t)index->program->stages * index->program->microbatches;
    return index
        ->op[pass * cells_of_pass + (size_t)stage * index->program->microbatches + microbatch];
}

pp_tensor_bytes pp_tensor_bytes_of(const pp_program *program, const pp_costs *costs, pp_op op);

/* Plans the arena of `rank` and takes no memory yet. limit_bytes: of tensors that are sent, at most
 * this many bytes are carried, and of other tensors nothing; negative: all tensors are carried
 * whole. Fails: INPUT when costs contradict themselves (a stage keeps less than its input), NOMEM.
 * */
PP_MUST_CHECK pp_status pp_arena_plan(const pp_program_index *index, const pp_costs *costs,
                                      uint32_t rank, int64_t limit_bytes, pp_arena *arena_out,
                                      pp_err *err);
/* Takes the memory of the arena and touches every page. It comes from `block`, which grows if need
 * be and outlives the arena; if `block` is NULL, from `memory`; if both are NULL, from this
 * process. fresh: every double and float in it is a NaN, even if the block was used before. Fails:
 * NOMEM, naming the size. */
PP_MUST_CHECK pp_status pp_arena_take(pp_arena *arena, pp_arena_block *block,
                                      const pp_device_memory *memory, bool fresh, pp_err *err);
void pp_arena_free(pp_arena *arena);

static inline pp_op_places *pp_arena_at(const pp_arena *arena, size_t op)
{
    return &arena->place[op - arena->program->rank_begin[arena->rank]];
}

/* Returns the address of a place, or NULL for PP_NOWHERE. */
static inline void *pp_arena_address(const pp_arena *arena, size_t place)
{
    return place == PP_NOWHERE ? NULL : arena->base + place;
}

#endif
