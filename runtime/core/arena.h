/* Where every tensor of a rank lies during a step, planned before the step begins.
 *
 * A tensor lives from one step of the rank's program to another, whatever the timing: a sent one
 * until the program shows that it was received. Tensors whose lives overlap lie apart, so that one
 * block serves the step and nothing is allocated during it. */
#ifndef PPSIM_RUNTIME_CORE_ARENA_H
#define PPSIM_RUNTIME_CORE_ARENA_H

#include "runtime/core/device_memory.h"
#include "sim/cost/costs.h"
#include "sim/program/comm.h"

#include <stdbool.h>

#define PP_ARENA_ALIGN 64u
#define PP_NOWHERE SIZE_MAX /* no such tensor, or none that is carried */

/* Places of the tensors that an op makes or first uses; I, W and B find the others with their F. */
typedef struct pp_op_places {
    size_t in;    /* F: activation, I and B: gradient from the neighbour stage */
    size_t out;   /* F: activation, I and B: gradient for the neighbour stage */
    size_t saved; /* F; as are the next two */
    size_t stash;
    size_t logits;
    size_t scratch;     /* I, B */
    uint32_t out_until; /* last position of `out`, where another rank gets it */
    uint32_t forward;   /* instruction of the F of its stage and microbatch; of F: its own */
} pp_op_places;

/* Sizes of the tensors of one op, in bytes; those of the simulator's account. */
typedef struct pp_tensor_bytes {
    int64_t in, out, saved, stash, logits, scratch;
} pp_tensor_bytes;

/* Memory that outlives an arena, so that the next one need not ask the system for it. All zero: no
 * memory yet. The owner free()s base. */
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

/* The passes over one stage and microbatch. */
typedef enum pp_pass {
    PP_PASS_FORWARD,
    PP_PASS_BACKWARD, /* I or B */
    PP_PASS_WEIGHT,   /* W, where there is one */
    PP_PASSES,
} pp_pass;

/* Look-ups in a program: from stage and microbatch to ops, from ops to consumers and positions. */
typedef struct pp_program_index {
    const pp_program *program;
    uint32_t *op;       /* [PP_PASSES][stages * microbatches] */
    uint32_t *consumer; /* [count]: instruction that takes its result, or PP_NO_SOURCE */
    uint32_t *position; /* [count]: its step, counted from the first of its rank */
    uint32_t *posted;   /* [transfers]: step that posts it, likewise */
} pp_program_index;

PP_MUST_CHECK pp_status pp_program_index_new(const pp_program *program, pp_program_index *cells_out,
                                             pp_err *err);
void pp_program_index_free(pp_program_index *cells);
/* PP_NO_SOURCE: there is none. */
static inline uint32_t pp_program_index_get(const pp_program_index *cells, pp_pass pass,
                                            uint32_t stage, uint32_t microbatch)
{
    size_t cells_of_pass = (size_t)cells->program->stages * cells->program->microbatches;
    return cells
        ->op[pass * cells_of_pass + (size_t)stage * cells->program->microbatches + microbatch];
}

pp_tensor_bytes pp_tensor_bytes_of(const pp_program *program, const pp_costs *costs, pp_op op);

/* limit_bytes: tensors that travel are carried up to this size, the others not at all; negative:
 * all tensors are carried whole. The memory is not taken yet. Fails: INPUT when costs contradict
 * themselves (a stage keeps less than its input), NOMEM. */
PP_MUST_CHECK pp_status pp_arena_plan(const pp_program_index *cells, const pp_costs *costs,
                                      uint32_t rank, int64_t limit_bytes, pp_arena *arena_out,
                                      pp_err *err);
/* Takes the memory and touches it: from `block`, which grows if need be and outlives the arena; or,
 * where that is NULL, from `memory`; or, where that is NULL too, from this process. fresh: every
 * double and float in it is a NaN, even if the block was used before. Fails: NOMEM, naming the
 * size.
 */
PP_MUST_CHECK pp_status pp_arena_take(pp_arena *arena, pp_arena_block *block,
                                      const pp_device_memory *memory, bool fresh, pp_err *err);
void pp_arena_free(pp_arena *arena);

static inline pp_op_places *pp_arena_at(const pp_arena *arena, size_t op)
{
    return &arena->place[op - arena->program->rank_begin[arena->rank]];
}

/* NULL for PP_NOWHERE. */
static inline void *pp_arena_address(const pp_arena *arena, size_t place)
{
    return place == PP_NOWHERE ? NULL : arena->base + place;
}

#endif
