/* Carries out one rank's steps in the order of its program: run an op, post a group of
 * transfers, wait for a group, check sizes that messages brought.
 *
 * Everything that a step needs was prepared before: places of tensors (arena), rows of the
 * record, messages of the transport. While a step runs the interpreter allocates nothing and
 * takes no lock but that of its progress. It keeps its own account of memory, component by
 * component and in the order in which things happen, which the memory check compares with the
 * simulator's. Sends stay open after their post; they are looked at before every post, and
 * awaited when the memory of their tensor is needed again. */
#include "runtime/core/interpreter.h"

#include "runtime/core/clock.h"
#include "runtime/core/sharding.h"
#include "sim/analysis/memory_comm.h"
#include "sim/base/alloc.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE
#define LOOK_UP_NS 20000000

/* Returns the current time, or one nanosecond after the previous stamp if that is later, so that
 * stamps order the events of a rank. */
static pp_ns stamp(pp_interpreter *in)
{
    pp_ns now_ns = pp_clock_now_ns();
    in->last_ns = now_ns > in->last_ns ? now_ns : in->last_ns + 1;
    return in->last_ns;
}

void pp_interpreter_free(pp_interpreter *in)
{
    pp_arena_free(&in->arena);
    free(in->sent);
    free(in->came);
    free(in->open_send);
    free(in->stuck);
    free(in->shape);
    in->sent = in->came = in->open_send = NULL;
    in->stuck = NULL;
    in->shape = NULL;
}

static bool has_shape_messages(const pp_comm *comm)
{
    for (size_t t = 0; t < comm->transfer_count; t++) {
        if (pp_transfer_is_shape((pp_transfer_kind)comm->transfer[t].kind))
            return true;
    }
    return false;
}

pp_status pp_interpreter_prepare(pp_interpreter *in, pp_err *err)
{
    const pp_comm *comm = in->program->comm;
    pp_status status =
        pp_arena_plan(in->cells, in->costs, in->rank, in->limit_bytes, &in->arena, err);
    if (!status)
        status = pp_arena_take(&in->arena, in->block, in->memory, in->poison, err);
    if (status)
        return status;
    in->sent = pp_alloc_array(in->program->ranks, sizeof *in->sent);
    in->came = pp_alloc_array(in->program->ranks, sizeof *in->came);
    in->stuck = pp_alloc_array(in->program->ranks, sizeof *in->stuck);
    in->open_send = pp_alloc_array(comm->transfer_count, sizeof *in->open_send);
    bool shapes = has_shape_messages(comm);
    in->shape = shapes ? pp_alloc_array(comm->transfer_count, sizeof *in->shape) : NULL;
    if (!in->sent || !in->came || !in->stuck || !in->open_send || (shapes && !in->shape))
        return pp_err_nomem(err);
    return PP_OK;
}

static void count(pp_interpreter *in, pp_memory_component component, int64_t bytes)
{
    in->bytes[component] += bytes;
}

static void poison(const pp_interpreter *in, size_t place, int64_t bytes)
{
    void *at = pp_arena_address(&in->arena, place);
    pp_err unimportant = { 0 };           /* a failure only makes errors harder to find */
    if (!in->poison || !at || bytes <= 0) /* poison needs tensors that are carried whole */
        return;
    if (in->memory)
        (void)!in->memory->fill(in->memory, at, 0xff, (size_t)bytes, &unimportant);
    else
        memset(at, 0xff, (size_t)bytes);
}

/* Returns the op that makes the tensor of transfer t (a send) or uses it (a receive). */
static uint32_t op_of(const pp_interpreter *in, const pp_transfer *t)
{
    bool forward = t->kind == PP_SEND_F || t->kind == PP_RECV_F;
    return pp_program_index_get(in->cells, forward ? PP_PASS_FORWARD : PP_PASS_BACKWARD, t->stage,
                                t->microbatch);
}

/* Releases the tensors of sends that are done. Waits for those sends whose memory a step at
 * `position` may reuse; their receivers already have the tensors, so the wait is short. */
static pp_status reap(pp_interpreter *in, pp_ns now_ns, uint32_t position, pp_err *err)
{
    size_t kept = 0;
    pp_status status = PP_OK;
    in->look_around++;
    for (size_t k = 0; k < in->open_count; k++) {
        uint32_t t = in->open_send[k];
        const pp_transfer *own = &in->program->comm->transfer[t];
        bool done = false;
        bool tensor = !pp_transfer_is_shape((pp_transfer_kind)own->kind);
        bool last = own->part + 1u >= in->program->comm->parts; /* the last part of a tensor */
        const pp_op_places *place = tensor ? pp_arena_at(&in->arena, op_of(in, own)) : NULL;
        if (!status && place &&
            place->out_until < position) { /* its memory is about to be reused */
            status = in->transport->wait(in->world, in->rank, t, &in->record->done_ns[t], err);
            done = !status;
        } else if (!status && in->stuck[own->peer] != in->look_around) {
            status = in->transport->poll(in->world, in->rank, t, now_ns, &done,
                                         &in->record->done_ns[t], err);
        }
        if (done && tensor && last) {
            count(in, PP_MEMORY_SEND_BUFFERS, -pp_transfer_bytes(in->costs, own));
            poison(in, place->out, pp_transfer_bytes(in->costs, own));
        }
        if (done)
            continue;
        in->stuck[own->peer] = in->look_around;
        in->open_send[kept++] = t;
    }
    in->open_count = kept;
    return status;
}

/* Returns the header that both ends of transfer t must have. */
static pp_message message_of(const pp_interpreter *in, uint32_t t, uint32_t sequence)
{
    const pp_transfer *own = &in->program->comm->transfer[t];
    bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
    const pp_transfer *send = sends ? own : &in->program->comm->transfer[own->match];
    return (pp_message){ .program = in->program_hash,
                         .bytes = pp_comm_bytes(in->program->comm, in->costs, send),
                         .step = in->run_step,
                         .from = send->rank,
                         .to = send->peer,
                         .sequence = sequence,
                         .microbatch = send->microbatch,
                         .stage = send->stage,
                         .kind = send->kind,
                         .part = send->part };
}

/* Finds the part of the tensor that transfer t carries. */
static void find_payload(const pp_interpreter *in, const pp_transfer *t, pp_post *post)
{
    const pp_op_places *place = pp_arena_at(&in->arena, op_of(in, t));
    bool sends = pp_transfer_sends((pp_transfer_kind)t->kind);
    char *tensor = pp_arena_address(&in->arena, sends ? place->out : place->in);
    int64_t offset = 0;
    pp_transfer before = *t;
    for (before.part = 0; before.part < t->part; before.part++)
        offset += pp_comm_bytes(in->program->comm, in->costs, &before);
    int64_t end = offset + post->message.bytes;
    if (in->limit_bytes >= 0 && end > in->limit_bytes)
        end = in->limit_bytes;
    if (!tensor || end <= offset)
        return;
    post->payload = tensor + offset;
    post->payload_bytes = (size_t)(end - offset);
}

/* Writes the contents of a size message: tokens, sequences, and the bytes of the tensor that
 * follows. */
static void write_shape(const pp_interpreter *in, const pp_transfer *t, int64_t *shape)
{
    const pp_workload *data = in->work->workload;
    shape[0] = data ? data->microbatch[t->microbatch].tokens : 0;
    shape[1] = data ? (int64_t)data->microbatch[t->microbatch].count : 0;
    shape[2] = in->costs->has_memory
                   ? in->costs->message_bytes[pp_cost_index(in->costs, t->stage, t->microbatch)]
                   : 0;
}

/* Returns the duration of transfer `own` from the end of its predecessor on the edge. Within a
 * group costs are cumulative, so the cost of the predecessor is subtracted. */
static pp_ns takes_ns(const pp_interpreter *in, const pp_transfer *own, bool buffered)
{
    const pp_comm *comm = in->program->comm;
    pp_transfer before = *own;
    pp_ns until_ns = pp_comm_ns(comm, in->costs, own);
    bool follows = own->part && comm->parts_grouped && !buffered &&
                   !pp_transfer_is_shape((pp_transfer_kind)own->kind);
    before.part--;
    return follows ? until_ns - pp_comm_ns(comm, in->costs, &before) : until_ns;
}

static pp_status post_transfer(pp_interpreter *in, uint32_t t, pp_err *err)
{
    const pp_comm *comm = in->program->comm;
    const pp_transfer *own = &comm->transfer[t];
    bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
    uint32_t *counter = sends ? &in->sent[own->peer] : &in->came[own->peer];
    bool buffered = sends && pp_comm_is_buffered(comm, in->costs, own);
    pp_post post = { .transfer = t,
                     .message = message_of(in, t, (*counter)++),
                     .takes_ns = takes_ns(in, own, buffered),
                     .buffered = buffered };
    if (pp_transfer_is_shape((pp_transfer_kind)own->kind)) {
        post.payload = in->shape[t];
        post.payload_bytes = sizeof in->shape[t];
        if (sends)
            write_shape(in, own, in->shape[t]);
    } else {
        find_payload(in, own, &post);
        if (!sends && own->part == 0)
            poison(in, pp_arena_at(&in->arena, op_of(in, own))->in,
                   pp_transfer_bytes(in->costs, own));
        if (!sends && pp_transfer_has_buffer(own))
            count(in, PP_MEMORY_RECV_BUFFERS, pp_transfer_bytes(in->costs, own));
    }
    in->record->post_ns[t] = stamp(in);
    if (sends)
        in->open_send[in->open_count++] = t;
    return in->transport->post(in->world, in->rank, &post, err);
}

/* Sends stay in the list of open ones until `reap` sees that they are done and frees their memory.
 */
static pp_status wait_group(pp_interpreter *in, uint32_t g, pp_err *err)
{
    const pp_group *group = &in->program->comm->group[g];
    pp_status status = PP_OK;
    for (uint32_t t = group->first; t < group->first + group->count && !status; t++) {
        pp_progress_set(in->progress, PP_DOING_WAITING, t, pp_clock_now_ns());
        status = in->transport->wait(in->world, in->rank, t, &in->record->done_ns[t], err);
    }
    return status;
}

static pp_status post_group(pp_interpreter *in, uint32_t g, uint32_t position, pp_err *err)
{
    const pp_group *group = &in->program->comm->group[g];
    pp_status status = PP_OK;
    if (in->single_lane && in->last_group != NONE)
        status = wait_group(in, in->last_group, err);
    in->last_group = g;
    pp_ns now_ns = stamp(in);
    if (!status)
        status = reap(in, now_ns, position, err);
    pp_progress_set(in->progress, PP_DOING_POSTING, group->first, now_ns);
    for (uint32_t t = group->first; t < group->first + group->count && !status; t++)
        status = post_transfer(in, t, err);
    return status;
}

/* Checks that the sizes in the messages of a group are those that the receives were planned for. */
static pp_status read_shapes(pp_interpreter *in, uint32_t g, pp_err *err)
{
    if (g == NONE) /* protocol local: sizes come from the rank's own copy of the data */
        return PP_OK;
    const pp_group *group = &in->program->comm->group[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        const pp_transfer *own = &in->program->comm->transfer[t];
        int64_t expected[4] = { 0 };
        if (!pp_transfer_is_shape((pp_transfer_kind)own->kind) ||
            pp_transfer_sends((pp_transfer_kind)own->kind))
            continue;
        write_shape(in, &in->program->comm->transfer[own->match], expected);
        if (memcmp(expected, in->shape[t], sizeof expected) != 0)
            return pp_err_set(err, PP_INPUT, NULL,
                              "rank %" PRIu32 " received the sizes %" PRId64 " tokens and %" PRId64
                              " B for microbatch %" PRIu32 ", but expects %" PRId64
                              " tokens and %" PRId64 " B; the ranks have different data",
                              in->rank, in->shape[t][0], in->shape[t][2], own->microbatch,
                              expected[0], expected[2]);
    }
    return PP_OK;
}

/* Counts the memory that is allocated from the start of op i on. */
static void count_start(pp_interpreter *in, size_t i)
{
    pp_op op = in->program->op[i];
    pp_tensor_bytes bytes = pp_tensor_bytes_of(in->program, in->costs, op);
    const pp_op_places *own = pp_arena_at(&in->arena, i);
    size_t row = pp_cost_index(in->costs, op.stage, op.microbatch);
    if (op.kind == PP_OP_F) {
        count(in, PP_MEMORY_ACTIVATIONS, bytes.in + bytes.saved + bytes.stash);
        count(in, PP_MEMORY_LOGITS, bytes.logits);
        if (in->program->comm->needs[i] != NONE)
            count(in, PP_MEMORY_RECV_BUFFERS, -bytes.in);
        poison(in, own->saved, bytes.saved);
        poison(in, own->stash, bytes.stash);
        poison(in, own->logits, bytes.logits);
        in->live++;
    } else if (op.kind != PP_OP_W) {
        count(in, PP_MEMORY_RECOMPUTE, in->costs->recompute_bytes[row]);
        count(in, PP_MEMORY_TEMPORARIES, bytes.scratch - in->costs->recompute_bytes[row]);
        poison(in, own->scratch, bytes.scratch);
    }
    poison(in, own->out, bytes.out);
    if (in->live > in->record->live[in->rank])
        in->record->live[in->rank] = in->live;
}

/* Counts the activations of a stage and microbatch as freed; keep_stash: all but the stash. */
static void drop_activations(pp_interpreter *in, size_t forward, bool keep_stash)
{
    pp_op op = in->program->op[forward];
    pp_tensor_bytes bytes = pp_tensor_bytes_of(in->program, in->costs, op);
    const pp_op_places *own = pp_arena_at(&in->arena, forward);
    count(in, PP_MEMORY_ACTIVATIONS, -(bytes.in + bytes.saved + bytes.stash));
    count(in, PP_MEMORY_LOGITS, -bytes.logits);
    poison(in, own->saved, bytes.saved);
    poison(in, own->logits, bytes.logits);
    poison(in, own->in, bytes.in);
    if (keep_stash)
        count(in, PP_MEMORY_WEIGHT_STASH, bytes.stash);
    else
        poison(in, own->stash, bytes.stash);
}

static void count_end(pp_interpreter *in, size_t i)
{
    pp_op op = in->program->op[i];
    const pp_op_places *own = pp_arena_at(&in->arena, i);
    pp_tensor_bytes bytes = pp_tensor_bytes_of(in->program, in->costs, op);
    size_t row = pp_cost_index(in->costs, op.stage, op.microbatch);
    uint32_t consumer = in->cells->consumer[i];
    if (op.kind == PP_OP_I || op.kind == PP_OP_B) {
        drop_activations(in, own->forward, op.kind == PP_OP_I);
        count(in, PP_MEMORY_RECOMPUTE, -in->costs->recompute_bytes[row]);
        count(in, PP_MEMORY_TEMPORARIES, in->costs->recompute_bytes[row] - bytes.scratch);
        if (in->program->comm->needs[i] != NONE)
            count(in, PP_MEMORY_RECV_BUFFERS, -bytes.in);
        poison(in, own->scratch, bytes.scratch);
        poison(in, own->in, bytes.in);
    } else if (op.kind == PP_OP_W) {
        int64_t stash = in->costs->stash_bytes[row];
        count(in, PP_MEMORY_WEIGHT_STASH, -stash);
        poison(in, pp_arena_at(&in->arena, own->forward)->stash, stash);
    } else if (in->program->forward_only) {
        drop_activations(in, i, false);
    }
    if (op.kind == PP_OP_B || op.kind == PP_OP_W || in->program->forward_only)
        in->live--;
    if (op.kind != PP_OP_W && consumer != NONE &&
        pp_program_rank(in->program, in->program->op[consumer]) != in->rank)
        count(in, PP_MEMORY_SEND_BUFFERS, bytes.out);
}

static pp_op_tensors tensors_of(const pp_interpreter *in, size_t i)
{
    const pp_arena *arena = &in->arena;
    pp_op op = in->program->op[i];
    const pp_op_places *own = pp_arena_at(arena, i);
    const pp_op_places *forward = pp_arena_at(arena, own->forward);
    bool f = op.kind == PP_OP_F;
    bool w = op.kind == PP_OP_W;
    return (pp_op_tensors){
        .activation_in = w ? NULL : pp_arena_address(arena, forward->in),
        .activation_out = f ? pp_arena_address(arena, own->out) : NULL,
        .gradient_in = f || w ? NULL : pp_arena_address(arena, own->in),
        .gradient_out = f || w ? NULL : pp_arena_address(arena, own->out),
        .saved = w ? NULL : pp_arena_address(arena, forward->saved),
        .stash = pp_arena_address(arena, forward->stash),
        .scratch = f || w ? NULL : pp_arena_address(arena, own->scratch),
        .logits = w ? NULL : pp_arena_address(arena, forward->logits),
    };
}

/* Carries out the faults that hit op i. */
static pp_status suffer(pp_interpreter *in, size_t i, pp_err *err)
{
    uint32_t at = in->ops_run++;
    const pp_fault *stall = pp_faults_at(in->faults, PP_FAULT_STALL, in->rank, in->run_step, at);
    if (pp_faults_at(in->faults, PP_FAULT_DEATH, in->rank, in->run_step, at)) {
        pp_progress_set(in->progress, PP_DOING_DEAD, (uint32_t)i, pp_clock_now_ns());
        return pp_world_stopped(err);
    }
    pp_ns until_ns = stall ? pp_clock_now_ns() + stall->time_ns : 0;
    if (stall)
        pp_progress_set(in->progress, PP_DOING_COMPUTING, (uint32_t)i, pp_clock_now_ns());
    for (pp_ns now = pp_clock_now_ns(); now < until_ns; now = pp_clock_now_ns()) {
        if (atomic_load(in->ended))
            return pp_world_stopped(err);
        pp_clock_sleep_until(now + LOOK_UP_NS < until_ns ? now + LOOK_UP_NS : until_ns);
    }
    return PP_OK;
}

static void keep_bytes(const pp_interpreter *in, size_t i, int end)
{
    if (in->record->bytes)
        memcpy(in->record->bytes[i][end], in->bytes, sizeof in->bytes);
}

/* Replaces the times of op i by those that the backend measured, if it has any. If bytes are
 * compared, the times of the call stay, because the bytes were counted at these times. */
static void keep_times(const pp_interpreter *in, size_t i)
{
    pp_ns *start_ns = &in->record->start_ns[i];
    pp_ns *end_ns = &in->record->end_ns[i];
    pp_ns began_ns = 0;
    pp_ns over_ns = 0;
    if (!in->compute->times || in->record->bytes)
        return;
    in->compute->times(in->compute_worker, &began_ns, &over_ns);
    if (over_ns > *start_ns && over_ns < *end_ns)
        *end_ns = over_ns;
    if (began_ns > *start_ns && began_ns < *end_ns)
        *start_ns = began_ns;
}

static pp_status compute(pp_interpreter *in, uint32_t i, pp_err *err)
{
    pp_ns start_ns = stamp(in);
    pp_status status = reap(in, start_ns, 0, err);
    if (status)
        return status;
    count_start(in, i);
    keep_bytes(in, i, 0);
    pp_progress_set(in->progress, PP_DOING_COMPUTING, i, start_ns);
    pp_op_tensors tensors = tensors_of(in, i);
    pp_ns cpu_ns = pp_clock_thread_ns();
    in->record->start_ns[i] = start_ns;
    status = in->compute->run(in->compute_worker, in->program->op[i], &tensors, err);
    pp_ns end_ns = stamp(in);
    in->record->cpu_ns[i] = pp_clock_thread_ns() - cpu_ns;
    in->record->end_ns[i] = end_ns;
    if (!status)
        keep_times(in, i);
    if (status || (status = reap(in, end_ns, 0, err)))
        return status;
    count_end(in, i);
    keep_bytes(in, i, 1);
    return PP_OK;
}

static pp_status run_op(pp_interpreter *in, uint32_t i, uint32_t position, pp_err *err)
{
    uint32_t receive = in->program->comm->needs[i];
    pp_status status = PP_OK;
    if (in->faults && (status = suffer(in, i, err)))
        return status;
    if (receive != NONE)
        status = wait_group(in, in->program->comm->transfer[receive].group, err);
    if (status)
        return status;
    if ((status = reap(in, stamp(in), position, err))) /* which may wait */
        return status;
    if (in->sharding &&
        (status = pp_sharding_before(in->sharding, in->program->op[i], in->bytes, err)))
        return status;
    if (!in->turn)
        return compute(in, i, err);
    pp_progress_set(in->progress, PP_DOING_TURN, i, pp_clock_now_ns());
    pthread_mutex_lock(in->turn); /* the op that holds the lock does not depend on this rank */
    status = compute(in, i, err);
    pthread_mutex_unlock(in->turn);
    return status;
}

static pp_status take_step(pp_interpreter *in, pp_comm_step step, uint32_t position, pp_err *err)
{
    switch ((pp_comm_step_kind)step.kind) {
    case PP_COMM_STEP_RUN:
        return run_op(in, step.index, position, err);
    case PP_COMM_STEP_POST:
        return post_group(in, step.index, position, err);
    case PP_COMM_STEP_WAIT:
        return wait_group(in, step.index, err);
    case PP_COMM_STEP_READ:
        return read_shapes(in, step.index, err);
    case PP_COMM_STEP_MARK:
        if (in->sharding)
            return pp_sharding_mark(in->sharding, (pp_mark)step.mark, step.index, in->bytes, err);
        break;
    case PP_COMM_STEP_SYNC: /* nothing to do: an op is complete when it returns */
        break;
    }
    return PP_OK;
}

/* Waits until all open sends are done. */
static pp_status drain(pp_interpreter *in, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t k = 0; k < in->open_count && !status; k++) {
        uint32_t t = in->open_send[k];
        pp_progress_set(in->progress, PP_DOING_WAITING, t, pp_clock_now_ns());
        status = in->transport->wait(in->world, in->rank, t, &in->record->done_ns[t], err);
    }
    in->open_count = 0;
    in->record->drained_ns[in->rank] = stamp(in);
    return status;
}

static void begin_step(pp_interpreter *in, uint32_t run_step)
{
    const pp_costs *costs = in->costs;
    uint32_t rank = in->rank;
    memset(in->sent, 0, in->program->ranks * sizeof *in->sent);
    memset(in->came, 0, in->program->ranks * sizeof *in->came);
    memset(in->bytes, 0, sizeof in->bytes);
    in->run_step = run_step;
    in->open_count = 0;
    in->single_lane =
        in->program->comm->semantics.lanes == PP_LANES_SINGLE && !in->transport->has_queues;
    in->last_group = NONE;
    in->live = 0;
    in->ops_run = 0;
    in->record->live[rank] = 0;
    count(in, PP_MEMORY_PARAMETERS, costs->parameter_bytes[rank]);
    count(in, PP_MEMORY_WORKSPACE, costs->workspace_bytes[rank]);
    count(in, PP_MEMORY_COMM_LIBRARY, costs->comm_library_bytes[rank]);
    if (in->program->forward_only)
        return;
    count(in, PP_MEMORY_GRADIENTS, costs->gradient_bytes[rank]);
    count(in, PP_MEMORY_OPTIMIZER, costs->optimizer_bytes[rank]);
}

pp_status pp_interpret(pp_interpreter *in, uint32_t run_step, pp_err *err)
{
    const pp_comm *comm = in->program->comm;
    size_t begin = comm->step_begin[in->rank];
    pp_status status = PP_OK;
    begin_step(in, run_step);
    for (size_t s = begin; s < comm->step_begin[in->rank + 1] && !status; s++) {
        status = take_step(in, comm->step[s], (uint32_t)(s - begin), err);
        pp_progress_step(in->progress);
    }
    return status ? status : drain(in, err);
}
