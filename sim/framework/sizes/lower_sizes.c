/* Applies a size protocol as a pass over a lowered program: it copies the steps and adds messages,
 * device syncs and reads before the exchanges that need them. */
#include "sim/framework/sizes/lower_sizes.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/framework/sizes/late_receives.h"
#include "sim/framework/sizes/size_above.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct pass {
    const pp_program *program;
    const pp_comm *from;
    const pp_exchange_options *exchange;
    const pp_size_protocol_support *setting;
    pp_comm_builder *builder;
    uint32_t parts;
    uint32_t *group_of; /* [groups]: the new number of each old group */
    bool *known;        /* [stages * microbatches]: with `local`, the size was read */
    bool *met;          /* [PP_TENSOR_KINDS * stages]: with `cached`, the first tensor has passed */
    const pp_transfer **call; /* [transfers]: transfers of the current call that have a message */
} pass;

static void pass_free(pass *p)
{
    pp_comm_builder_free(&p->builder);
    free(p->group_of);
    free(p->known);
    free(p->met);
    free(p->call);
}

static pp_status pass_new(pass *p, pp_err *err)
{
    const pp_program *program = p->program;
    size_t cells = (size_t)program->stages * program->microbatches;
    p->group_of = pp_alloc_array(p->from->group_count, sizeof *p->group_of);
    p->known = pp_alloc_array(cells, sizeof *p->known);
    p->met = pp_alloc_array((size_t)PP_TENSOR_KINDS * program->stages, sizeof *p->met);
    p->call = pp_alloc_array(p->from->transfer_count, sizeof *p->call);
    if (!p->group_of || !p->known || !p->met || !p->call)
        return pp_err_nomem(err);
    return pp_comm_builder_new(program, &p->builder, err);
}

/* With `local`, reads the lengths of (stage, microbatch) once, before they are first needed. */
static void learn(pass *p, uint32_t rank, uint32_t stage, uint32_t microbatch)
{
    bool *known = &p->known[(size_t)stage * p->program->microbatches + microbatch];
    if (!*known)
        pp_comm_read(p->builder, rank, PP_NO_SOURCE);
    *known = true;
}

static bool carries_activation(const pp_transfer *t)
{
    return t->kind == PP_SEND_F || t->kind == PP_RECV_F;
}

static bool has_message(pass *p, const pp_transfer *t)
{
    if (!p->setting->gradients && !carries_activation(t))
        return false;
    bool *met = &p->met[(size_t)t->kind * p->program->stages + t->stage];
    bool first = !*met;
    *met = true;
    return first || p->exchange->shapes.kind == PP_SIZES_MESSAGE;
}

static size_t place(const pp_transfer_kind order[PP_TENSOR_KINDS], const pp_transfer *t)
{
    size_t k = 0;
    while (k < PP_TENSOR_KINDS && order[k] != (pp_transfer_kind)t->kind)
        k++;
    return k;
}

/* Sorts the transfers of a call by insertion, which is stable; calls are short. */
static void sort_call(const pass *p, uint32_t rank, size_t count)
{
    if (!p->setting->order)
        return;
    const pp_transfer_kind *order = p->setting->order[rank % 2];
    for (size_t i = 1; i < count; i++) {
        const pp_transfer *t = p->call[i];
        size_t k = i;
        for (; k > 0 && place(order, p->call[k - 1]) > place(order, t); k--)
            p->call[k] = p->call[k - 1];
        p->call[k] = t;
    }
}

static void add_message(const pass *p, uint32_t group, const pp_transfer *t, uint8_t round)
{
    pp_comm_add_part(p->builder, group, (pp_transfer_kind)(t->kind + PP_TENSOR_KINDS), t->stage,
                     t->microbatch, round);
}

/* Adds one round of messages and a wait for them; then the host reads the sizes. */
static void send_messages(const pass *p, uint32_t rank, size_t count, uint8_t round)
{
    bool single = p->exchange->ungrouped;
    uint32_t first = NONE;
    uint32_t group = NONE;
    for (size_t i = 0; i < count; i++) {
        if (single || group == NONE) {
            if (group != NONE)
                pp_comm_post(p->builder, group);
            group = pp_comm_open(p->builder, rank);
            first = first == NONE ? group : first;
        }
        add_message(p, group, p->call[i], round);
    }
    pp_comm_post(p->builder, group);
    for (uint32_t g = first; g <= group; g++)
        pp_comm_wait(p->builder, g);
    if (p->setting->sync)
        pp_comm_sync(p->builder, rank);
    for (size_t i = 0; i < count; i++) {
        if (!pp_transfer_sends((pp_transfer_kind)p->call[i]->kind))
            pp_comm_read(p->builder, rank, single ? first + (uint32_t)i : group);
    }
}

/* Adds the messages, syncs and reads that precede the posts [begin, end) of one communicate
 * call. */
static void shake_hands(pass *p, uint32_t rank, size_t begin, size_t end)
{
    pp_size_protocol_kind kind = p->exchange->shapes.kind;
    size_t count = 0;
    for (size_t s = begin; s < end; s++) {
        const pp_group *group = &p->from->group[p->from->step[s].index];
        for (uint32_t t = group->first; t < group->first + group->count; t++) {
            const pp_transfer *own = &p->from->transfer[t];
            if (kind == PP_SIZES_LOCAL && own->kind == PP_RECV_F)
                learn(p, rank, own->stage, own->microbatch);
            else if ((kind == PP_SIZES_MESSAGE || kind == PP_SIZES_CACHED) && has_message(p, own))
                p->call[count++] = own;
        }
    }
    sort_call(p, rank, count);
    for (uint8_t round = 0; count && round < p->setting->rounds; round++)
        send_messages(p, rank, count, round);
}

static void add_tensors(pass *p, uint32_t group, uint32_t old, uint32_t first, uint32_t parts)
{
    const pp_group *from = &p->from->group[old];
    for (uint32_t t = from->first; t < from->first + from->count; t++) {
        const pp_transfer *own = &p->from->transfer[t];
        for (uint32_t k = first; k < first + parts; k++)
            pp_comm_add_part(p->builder, group, (pp_transfer_kind)own->kind, own->stage,
                             own->microbatch, (uint8_t)k);
    }
}

static void post(pass *p, uint32_t rank, uint32_t old)
{
    uint32_t at_once = p->setting->tensor_by_tensor ? 1 : p->parts;
    uint32_t group = NONE;
    for (uint32_t k = 0; k < p->parts; k += at_once) {
        if (group != NONE)
            pp_comm_wait(p->builder, group);
        group = pp_comm_open(p->builder, rank);
        add_tensors(p, group, old, k, at_once);
        pp_comm_post(p->builder, group);
    }
    p->group_of[old] = group;
}

/* Returns true at the end of a call: Megatron's batch_p2p_sync follows each wait that comes right
 * after its post. */
static bool ends_call(const pass *p, size_t s, size_t begin)
{
    return p->setting->sync_calls && s > begin && p->from->step[s - 1].kind == PP_COMM_STEP_POST;
}

static void rewrite_rank(pass *p, uint32_t rank)
{
    const pp_comm *from = p->from;
    size_t begin = from->step_begin[rank];
    size_t end = from->step_begin[rank + 1];
    for (size_t s = begin; s < end; s++) {
        pp_comm_step step = from->step[s];
        if (step.kind == PP_COMM_STEP_RUN) {
            pp_op op = p->program->op[step.index];
            if (p->exchange->shapes.kind == PP_SIZES_LOCAL)
                learn(p, rank, op.stage, op.microbatch);
            pp_comm_run(p->builder, rank, step.index);
        } else if (step.kind == PP_COMM_STEP_MARK) {
            pp_comm_mark(p->builder, rank, (pp_mark)step.mark, step.index);
        } else if (step.kind == PP_COMM_STEP_WAIT) {
            pp_comm_wait(p->builder, p->group_of[step.index]);
            if (ends_call(p, s, begin))
                pp_comm_sync(p->builder, rank);
        } else if (step.kind == PP_COMM_STEP_POST) {
            bool opens = s == begin || from->step[s - 1].kind != PP_COMM_STEP_POST;
            size_t last = s + 1;
            while (opens && last < end && from->step[last].kind == PP_COMM_STEP_POST)
                last++;
            if (opens)
                shake_hands(p, rank, s, last);
            post(p, rank, step.index);
        }
    }
}

static pp_status check_cached(const pp_program *program, const pp_costs *costs, pp_err *err)
{
    for (uint32_t j = 1; j < program->microbatches; j++) {
        for (uint32_t s = 0; s + 1 < program->stages; s++) {
            int64_t first = pp_size_above(costs, s, 0);
            int64_t now = pp_size_above(costs, s, j);
            if (now == first || program->stage_rank[s] == program->stage_rank[s + 1])
                continue;
            const char *unit =
                costs->has_memory && costs->message_bytes[pp_cost_index(costs, s, j)] ? " B" : "";
            return pp_err_set(err, PP_INFEASIBLE, NULL,
                              "mismatched sizes: microbatch %" PRIu32 " arrives at stage %" PRIu32
                              " with %" PRId64 "%s, and microbatch 0 left a buffer for %" PRId64
                              "%s; a cached shape that changes causes a hang or wrong data, so use "
                              "%s message, padded, padded-wire or plan",
                              j, s + 1, now, unit, first, unit, pp_err_name(err, PP_FIELD_SHAPES));
        }
    }
    return PP_OK;
}

static pp_status check_protocol(const char *framework, const pp_size_protocol_support *setting,
                                pp_size_protocol_kind kind, const pp_program *program, pp_err *err)
{
    bool messages = kind == PP_SIZES_MESSAGE || kind == PP_SIZES_CACHED;
    if (messages && setting->one_chunk && program->stages != program->ranks)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
            "ppsim does not model where %s puts its size messages with several stages per rank; "
            "use plan, local, padded, padded-wire or bucket:N, or one stage per rank",
            framework);
    const char *why = kind == PP_SIZES_MESSAGE  ? setting->no_message
                      : kind == PP_SIZES_CACHED ? setting->no_cache
                                                : NULL;
    if (!why)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
                      "%s cannot do %s: %s; use plan, local, %spadded, padded-wire or bucket:N",
                      framework, kind == PP_SIZES_MESSAGE ? "message" : "cached", why,
                      setting->no_cache ? "" : "cached, ");
}

static bool has_messages(const pp_exchange_options *exchange)
{
    return exchange->shapes.kind == PP_SIZES_MESSAGE || exchange->shapes.kind == PP_SIZES_CACHED;
}

static pp_status rewrite_ranks(pass *p, const pp_costs *costs, pp_err *err)
{
    if (p->setting->late_receive && has_messages(p->exchange))
        return pp_lower_shapes_late(p->program, p->from,
                                    p->exchange->shapes.kind == PP_SIZES_CACHED, p->parts, costs,
                                    p->builder, err);
    for (uint32_t rank = 0; rank < p->program->ranks; rank++)
        rewrite_rank(p, rank);
    return PP_OK;
}

static pp_status rewrite(const pp_size_protocol_support *support,
                         const pp_exchange_options *exchange, const pp_costs *costs,
                         pp_program *program, pp_err *err)
{
    pp_comm *old PP_CLEANUP(pp_comm_free) = program->comm;
    program->comm = NULL;
    if (support->single && program->stages == program->ranks)
        support = support->single;
    pass p PP_CLEANUP(pass_free) = { .program = program,
                                     .from = old,
                                     .exchange = exchange,
                                     .setting = support,
                                     .parts = exchange->tensors ? (uint32_t)exchange->tensors : 1 };
    pp_status status = pass_new(&p, err);
    if (!status)
        status = rewrite_ranks(&p, costs, err);
    if (!status)
        status = pp_comm_finish(p.builder, false, program, err);
    if (status) {
        program->comm = old;
        old = NULL;
        return status;
    }
    program->comm->semantics = old->semantics;
    program->comm->collective = old->collective;
    program->comm->buffers = old->buffers;
    program->comm->gathers_in_ops = old->gathers_in_ops;
    program->comm->parts = (uint8_t)p.parts;
    program->comm->parts_grouped = !p.setting->tensor_by_tensor;
    memcpy(program->comm->shape_bytes, p.setting->bytes, sizeof p.setting->bytes);
    return PP_OK;
}

bool pp_exchange_is_plain(const pp_exchange_options *x)
{
    bool hosts = x->host.launch_ns || x->host.sync_ns || x->host.read_ns;
    bool messages = x->shapes.kind > PP_SIZES_PLAN && x->shapes.kind < PP_SIZES_PADDED;
    return !hosts && !messages && x->tensors < 2;
}

static pp_status refuse_ideal(const char *framework, const pp_exchange_options *x, pp_err *err)
{
    const char *option =
        x->tensors > 1 ? pp_err_name(err, PP_FIELD_TENSORS) : pp_err_name(err, PP_FIELD_HOST);
    if (x->shapes.kind > PP_SIZES_PLAN && x->shapes.kind < PP_SIZES_PADDED)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
                          "executor %s models only dependencies, not messages; use plan or padded, "
                          "or another executor such as megatron",
                          framework);
    return pp_err_set(err, PP_USAGE, option,
                      "executor %s models only dependencies, not hosts and tensors; choose another "
                      "with %s, such as megatron",
                      framework, pp_err_name(err, PP_FIELD_FRAMEWORK));
}

pp_status pp_sizes_lower(const char *framework, const pp_size_protocol_support *support,
                         const pp_exchange_options *exchange, const pp_costs *costs,
                         pp_program *program, pp_err *err)
{
    if (pp_exchange_is_plain(exchange))
        return PP_OK;
    if (!program->comm || !support)
        return refuse_ideal(framework, exchange, err);
    pp_status status = check_protocol(framework, support, exchange->shapes.kind, program, err);
    if (!status && exchange->shapes.kind == PP_SIZES_CACHED && !support->resends)
        status = check_cached(program, costs, err);
    if (status || (status = rewrite(support, exchange, costs, program, err)))
        return status;
    program->comm->semantics.host = exchange->host;
    program->comm->semantics.shape_message_ns = exchange->shape_message_ns;
    program->comm->observed = true;
    return PP_OK;
}
