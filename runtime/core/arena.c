/* Plans the memory of one rank's tensors before a step, as an interval packing.
 *
 * A tensor lives from the step that first writes it to the last that reads it; a sent one lives
 * until a later receive proves that its receiver has it (a binary search over the sorted
 * arrivals). First fit in the order of births: each tensor goes to the lowest address that is free
 * throughout its life. That takes O(n log n) to sort and O(n k) to place n tensors of which k live
 * at once, and a step itself only adds offsets to a base. */
#include "runtime/core/arena.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE

static bool is_backward(pp_op op)
{
    return op.kind == PP_OP_I || op.kind == PP_OP_B;
}

void pp_program_index_free(pp_program_index *index)
{
    free(index->op);
    free(index->consumer);
    free(index->position);
    free(index->posted);
    *index = (pp_program_index){ 0 };
}

pp_status pp_program_index_new(const pp_program *program, pp_program_index *index_out, pp_err *err)
{
    const pp_comm *comm = program->comm;
    size_t cell_count = (size_t)program->stages * program->microbatches;
    pp_program_index index = { .program = program };
    index.op = pp_alloc_array(PP_PASSES * cell_count, sizeof *index.op);
    index.consumer = pp_alloc_array(program->count, sizeof *index.consumer);
    index.position = pp_alloc_array(program->count, sizeof *index.position);
    index.posted = pp_alloc_array(comm->transfer_count, sizeof *index.posted);
    if (!index.op || !index.consumer || !index.position || !index.posted) {
        pp_program_index_free(&index);
        return pp_err_nomem(err);
    }
    memset(index.op, 0xff, PP_PASSES * cell_count * sizeof *index.op);
    memset(index.consumer, 0xff, program->count * sizeof *index.consumer);
    for (size_t i = 0; i < program->count; i++) {
        pp_op op = program->op[i];
        size_t cell = (size_t)op.stage * program->microbatches + op.microbatch;
        pp_pass pass = op.kind == PP_OP_F   ? PP_PASS_FORWARD
                       : op.kind == PP_OP_W ? PP_PASS_WEIGHT
                                            : PP_PASS_BACKWARD;
        index.op[pass * cell_count + cell] = (uint32_t)i;
        if (program->source[i] != NONE)
            index.consumer[program->source[i]] = (uint32_t)i;
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            pp_comm_step step = comm->step[s];
            uint32_t at = (uint32_t)(s - comm->step_begin[r]);
            if (step.kind == PP_COMM_STEP_RUN)
                index.position[step.index] = at;
            for (uint32_t k = 0;
                 step.kind == PP_COMM_STEP_POST && k < comm->group[step.index].count; k++)
                index.posted[comm->group[step.index].first + k] = at;
        }
    }
    *index_out = index;
    return PP_OK;
}

pp_tensor_bytes pp_tensor_bytes_of(const pp_program *program, const pp_costs *costs, pp_op op)
{
    size_t row = pp_cost_index(costs, op.stage, op.microbatch);
    int64_t below = op.stage ? costs->message_bytes[row - 1] : 0;
    int64_t above = op.stage + 1u < program->stages ? costs->message_bytes[row] : 0;
    pp_tensor_bytes bytes = { 0 };
    if (op.kind == PP_OP_F) {
        bytes.in = below;
        bytes.out = above;
        bytes.stash = costs->stash_bytes[row];
        bytes.saved = costs->activation_bytes[row] - bytes.stash - below;
        bytes.logits = costs->logits_bytes[row];
    } else if (is_backward(op)) {
        bytes.in = above;
        bytes.out = below;
        bytes.scratch = costs->temporary_bytes[row] + costs->recompute_bytes[row];
    }
    return bytes;
}

/* A result of another rank has arrived at this one. By then, that rank has also done everything
 * that it had to do before. */
typedef struct arrival {
    uint32_t from;
    uint32_t made; /* position on `from` of the op that made it */
    uint32_t used; /* position here from which on this arrival, or a later one, is known */
} arrival;

/* A tensor that needs a place: positions first to last, both included. */
typedef struct tensor {
    size_t *place;
    size_t bytes;
    uint32_t first, last;
} tensor;

typedef struct planning {
    const pp_program_index *index;
    const pp_program *program;
    const pp_costs *costs;
    pp_arena *arena;
    int64_t limit_bytes;
    arrival *arrival;
    size_t arrival_count;
    tensor *tensor;
    size_t count;
    uint32_t end; /* the last position */
} planning;

static void planning_free(planning *p)
{
    free(p->arrival);
    free(p->tensor);
}

static uint32_t rank_of(const planning *p, uint32_t op)
{
    return pp_program_rank(p->program, p->program->op[op]);
}

static int compare_arrivals(const void *left, const void *right)
{
    const arrival *a = left;
    const arrival *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->made < b->made ? -1 : a->made > b->made;
}

static void collect_arrivals(planning *p)
{
    uint32_t rank = p->arena->rank;
    for (size_t i = p->program->rank_begin[rank]; i < p->program->rank_begin[rank + 1]; i++) {
        uint32_t source = p->program->source[i];
        if (source != NONE && rank_of(p, source) != rank)
            p->arrival[p->arrival_count++] = (arrival){ .from = rank_of(p, source),
                                                        .made = p->index->position[source],
                                                        .used = p->index->position[i] };
    }
    qsort(p->arrival, p->arrival_count, sizeof *p->arrival, compare_arrivals);
    for (size_t k = p->arrival_count; k-- > 1;) {
        arrival *before = &p->arrival[k - 1];
        if (before->from == p->arrival[k].from && before->used > p->arrival[k].used)
            before->used = p->arrival[k].used;
    }
}

/* Returns the position on this rank from which on it is certain that `consumer`, on another rank,
 * has run. */
static uint32_t certain_after(const planning *p, uint32_t consumer)
{
    const arrival wanted = { .from = rank_of(p, consumer), .made = p->index->position[consumer] };
    size_t low = 0;
    for (size_t high = p->arrival_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare_arrivals(&p->arrival[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < p->arrival_count && p->arrival[low].from == wanted.from;
    return found ? p->arrival[low].used : p->end + 1;
}

static void add(planning *p, size_t *place, int64_t bytes, bool travels, uint32_t first,
                uint32_t last)
{
    if (p->limit_bytes >= 0)
        bytes = !travels ? 0 : bytes > p->limit_bytes ? p->limit_bytes : bytes;
    if (bytes <= 0)
        return;
    size_t rounded = ((size_t)bytes + PP_ARENA_ALIGN - 1) / PP_ARENA_ALIGN * PP_ARENA_ALIGN;
    p->tensor[p->count++] =
        (tensor){ .place = place, .bytes = rounded, .first = first, .last = last };
}

static void add_input(planning *p, size_t i, int64_t bytes, uint32_t last)
{
    const pp_comm *comm = p->program->comm;
    uint32_t source = p->program->source[i];
    uint32_t receive = comm->needs[i];
    if (source == NONE)
        return;
    uint32_t first = receive == NONE
                         ? p->index->position[source]
                         : p->index->posted[comm->group[comm->transfer[receive].group].first];
    add(p, &pp_arena_at(p->arena, i)->in, bytes, receive != NONE, first, last);
}

/* An output for another rank gets a place of its own; any other output is written where it is used.
 * */
static void add_output(planning *p, size_t i, int64_t bytes)
{
    uint32_t consumer = p->index->consumer[i];
    if (consumer == NONE || rank_of(p, consumer) == p->arena->rank)
        return;
    uint32_t after = certain_after(p, consumer);
    pp_op_places *own = pp_arena_at(p->arena, i);
    own->out_until = after - 1;
    add(p, &own->out, bytes, true, p->index->position[i], own->out_until);
}

static pp_status add_op(planning *p, size_t i, pp_err *err)
{
    pp_op op = p->program->op[i];
    pp_op_places *own = pp_arena_at(p->arena, i);
    pp_tensor_bytes bytes = pp_tensor_bytes_of(p->program, p->costs, op);
    uint32_t at = p->index->position[i];
    uint32_t backward = pp_program_index_get(p->index, PP_PASS_BACKWARD, op.stage, op.microbatch);
    uint32_t weight = pp_program_index_get(p->index, PP_PASS_WEIGHT, op.stage, op.microbatch);
    *own = (pp_op_places){ .in = PP_NOWHERE,
                           .out = PP_NOWHERE,
                           .saved = PP_NOWHERE,
                           .stash = PP_NOWHERE,
                           .logits = PP_NOWHERE,
                           .scratch = PP_NOWHERE,
                           .forward = pp_program_index_get(p->index, PP_PASS_FORWARD, op.stage,
                                                           op.microbatch) };
    if (op.kind == PP_OP_F) {
        uint32_t last = backward == NONE ? at : p->index->position[backward];
        if (p->limit_bytes < 0 && bytes.saved < 0)
            return pp_err_set(err, PP_INPUT, NULL,
                              "the activations of stage %d are %" PRId64
                              " B smaller than its input and its stash; give "
                              "memory costs that contain both",
                              op.stage, -bytes.saved);
        add_input(p, i, bytes.in, last);
        add(p, &own->saved, bytes.saved, false, at, last);
        add(p, &own->logits, bytes.logits, false, at, last);
        add(p, &own->stash, bytes.stash, false, at,
            weight == NONE ? last : p->index->position[weight]);
    } else if (is_backward(op)) {
        add_input(p, i, bytes.in, at);
        add(p, &own->scratch, bytes.scratch, false, at, at);
    }
    if (op.kind != PP_OP_W)
        add_output(p, i, bytes.out);
    return PP_OK;
}

static int compare_tensors(const void *left, const void *right)
{
    const tensor *a = left;
    const tensor *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Places each tensor, in the order of first positions, at the lowest address that is free
 * throughout its life. */
static pp_status settle(planning *p, pp_err *err)
{
    tensor **alive = pp_alloc_array(p->count, sizeof(tensor *));
    size_t count = 0;
    if (!alive)
        return pp_err_nomem(err);
    qsort(p->tensor, p->count, sizeof *p->tensor, compare_tensors);
    for (size_t k = 0; k < p->count; k++) {
        tensor *t = &p->tensor[k];
        size_t kept = 0;
        size_t at = 0;
        size_t after = SIZE_MAX; /* index of the gap */
        for (size_t a = 0; a < count; a++) {
            if (alive[a]->last < t->first)
                continue;
            if (after == SIZE_MAX && *alive[a]->place >= at + t->bytes)
                after = kept;
            else if (after == SIZE_MAX)
                at = *alive[a]->place + alive[a]->bytes;
            alive[kept++] = alive[a];
        }
        count = kept;
        after = after == SIZE_MAX ? count : after;
        memmove(&alive[after + 1], &alive[after], (count - after) * sizeof *alive);
        alive[after] = t;
        count++;
        *t->place = at;
        p->arena->bytes = at + t->bytes > p->arena->bytes ? at + t->bytes : p->arena->bytes;
    }
    free(alive);
    return PP_OK;
}

pp_status pp_arena_plan(const pp_program_index *index, const pp_costs *costs, uint32_t rank,
                        int64_t limit_bytes, pp_arena *arena_out, pp_err *err)
{
    const pp_program *program = index->program;
    const pp_comm *comm = program->comm;
    size_t ops = program->rank_begin[rank + 1] - program->rank_begin[rank];
    pp_arena arena PP_CLEANUP(pp_arena_free) = { .program = program, .rank = rank };
    planning p PP_CLEANUP(planning_free) = { .index = index,
                                             .program = program,
                                             .costs = costs,
                                             .arena = &arena,
                                             .limit_bytes = limit_bytes };
    size_t steps = comm->step_begin[rank + 1] - comm->step_begin[rank];
    p.end = steps ? (uint32_t)steps - 1 : 0;
    arena.place = pp_alloc_array(ops, sizeof *arena.place);
    p.arrival = pp_alloc_array(ops, sizeof *p.arrival);
    p.tensor = pp_alloc_array(5 * ops, sizeof *p.tensor);
    if (!arena.place || !p.arrival || !p.tensor)
        return pp_err_nomem(err);
    collect_arrivals(&p);
    pp_status status = PP_OK;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1] && !status; i++)
        status = add_op(&p, i, err);
    if (status)
        return status;
    if ((status = settle(&p, err)))
        return status;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        uint32_t consumer = index->consumer[i]; /* on this rank: made where it is used */
        if (consumer != NONE && rank_of(&p, consumer) == rank)
            pp_arena_at(&arena, i)->out = pp_arena_at(&arena, consumer)->in;
    }
    *arena_out = arena;
    arena.place = NULL; /* the caller owns it now */
    return PP_OK;
}

static pp_status take_on_device(pp_arena *arena, const pp_device_memory *memory, size_t bytes,
                                pp_err *err)
{
    void *at = NULL;
    pp_status status = memory->take(memory, arena->rank, bytes, &at, err);
    if (status)
        return status;
    arena->memory = memory;
    arena->base = at;
    return memory->fill(memory, at, 0xff, bytes, err);
}

pp_status pp_arena_take(pp_arena *arena, pp_arena_block *block, const pp_device_memory *memory,
                        bool fresh, pp_err *err)
{
    size_t bytes = arena->bytes ? arena->bytes : PP_ARENA_ALIGN;
    if (memory)
        return take_on_device(arena, memory, bytes, err);
    arena->block = block;
    if (block && block->bytes >= bytes) {
        arena->base = block->base;
        if (fresh)
            memset(arena->base, 0xff, bytes);
        return PP_OK;
    }
    if (block) {
        free(block->base);
        *block = (pp_arena_block){ 0 };
    }
    arena->base = aligned_alloc(PP_ARENA_ALIGN, bytes);
    if (!arena->base)
        return pp_err_set(err, PP_NOMEM, NULL,
                          "rank %" PRIu32 " needs %zu MiB for its tensors, which this machine does "
                          "not have; try fewer tokens, or %s with a smaller size",
                          arena->rank, bytes >> 20, pp_err_name(err, PP_FIELD_PAYLOAD));
    memset(arena->base, 0xff, bytes); /* every double and float in it is a NaN */
    if (block)
        *block = (pp_arena_block){ .base = arena->base, .bytes = bytes };
    return PP_OK;
}

void pp_arena_free(pp_arena *arena)
{
    free(arena->place);
    if (arena->memory)
        arena->memory->give(arena->memory, arena->base);
    else if (!arena->block)
        free(arena->base);
    arena->place = NULL;
    arena->base = NULL;
}
