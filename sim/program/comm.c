/* Builds the communication of a program: collects the steps of all ranks, sorts groups and
 * transfers in the order in which they are posted, and matches the i-th send from a to b with the
 * i-th receive that b posts from a. Linear in steps and transfers: the pairs of ranks are in a hash
 * table. */
#include "sim/program/comm.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *token;
    bool sends, forward;
} kinds[] = {
#define PP_TRANSFER_ROW(name, token, sends, forward) { token, sends, forward },
    PP_TRANSFER_MAP(PP_TRANSFER_ROW)
#undef PP_TRANSFER_ROW
};

const char *pp_mark_token(pp_mark mark)
{
    static const char *const tokens[] = {
#define PP_MARK_TOKEN(name) #name,
        PP_MARK_MAP(PP_MARK_TOKEN)
#undef PP_MARK_TOKEN
    };
    return tokens[mark];
}

const char *pp_transfer_token(pp_transfer_kind kind)
{
    return kinds[kind].token;
}

const char *pp_transfer_print(const pp_transfer *transfer, char *buffer, size_t size)
{
    snprintf(buffer, size, "%u%s%" PRIu32, transfer->stage, kinds[transfer->kind].token,
             transfer->microbatch);
    return buffer;
}

/* [pp_lanes] */
static const char *const lane_names[] = { "single", "per-direction", "per-peer", "per-edge" };

const char *pp_lanes_name(pp_lanes lanes)
{
    return lane_names[lanes];
}

pp_lanes pp_communicators_lanes(pp_communicators communicators)
{
    return communicators == PP_COMMUNICATORS_PER_EDGE ? PP_LANES_PER_EDGE : PP_LANES_SINGLE;
}

/* How PyTorch's process groups carry a send or receive that is not in a batch (ProcessGroupNCCL,
 * torch/distributed/pipelining/_p2p.py and torch/distributed/config.py of 2.15, gloo's pairs): nccl
 * on the communicator of the group, nccl-lazy on one per pair of ranks, nccl-per-edge on one per
 * directed pair (pipeline_per_edge_p2p); gloo in pairs whose sends do not wait for a receive. */
static const struct {
    const char *name;
    pp_comm_mode mode;
    int64_t eager_bytes;
    pp_lanes lanes;
} transports[] = {
    { "nccl", PP_COMM_RENDEZVOUS, 0, PP_LANES_SINGLE },
    { "nccl-lazy", PP_COMM_RENDEZVOUS, 0, PP_LANES_PER_EDGE },
    { "nccl-per-edge", PP_COMM_RENDEZVOUS, 0, PP_LANES_PER_PEER },
    { "gloo", PP_COMM_EAGER, (int64_t)1 << 40, PP_LANES_PER_PEER },
};

bool pp_comm_is_transport(const char *text)
{
    for (size_t i = 0; text && i < sizeof transports / sizeof transports[0]; i++) {
        if (strcmp(text, transports[i].name) == 0)
            return true;
    }
    return false;
}

static pp_status parse_mode(const char *text, pp_comm_settings *settings, pp_err *err)
{
    static const char eager[] = "eager:";
    for (size_t i = 0; i < sizeof transports / sizeof transports[0]; i++) {
        if (strcmp(text, transports[i].name) != 0)
            continue;
        *settings = (pp_comm_settings){ .has_mode = true,
                                        .has_lanes = true,
                                        .mode = transports[i].mode,
                                        .eager_bytes = transports[i].eager_bytes,
                                        .lanes = transports[i].lanes };
        return PP_OK;
    }
    if (strncmp(text, eager, sizeof eager - 1) == 0) {
        pp_err inner = pp_err_like(err);
        settings->mode = PP_COMM_EAGER;
        if (pp_parse_bytes(text + sizeof eager - 1, pp_err_name(err, PP_FIELD_COMM),
                           &settings->eager_bytes, &inner))
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMM), "%s", inner.text);
    } else if (strcmp(text, "rendezvous") == 0) {
        settings->mode = PP_COMM_RENDEZVOUS;
    } else if (strcmp(text, "batched") == 0) {
        settings->mode = PP_COMM_BATCHED_SHAPES;
    } else {
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_COMM),
            "'%.40s' is not one of rendezvous, batched, eager:BYTES, nccl, nccl-lazy, "
            "nccl-per-edge, gloo",
            text);
    }
    settings->has_mode = true;
    return PP_OK;
}

static pp_status parse_lanes(const char *text, pp_comm_settings *settings, pp_err *err)
{
    const size_t count = sizeof lane_names / sizeof lane_names[0];
    size_t lanes = 0;
    while (lanes < count && strcmp(text, lane_names[lanes]) != 0)
        lanes++;
    if (lanes == count)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_LANES),
                          "'%.40s' is not one of single, per-direction, per-peer, per-edge", text);
    settings->lanes = (pp_lanes)lanes;
    settings->has_lanes = true;
    return PP_OK;
}

pp_status pp_comm_settings_parse(const char *comm, const char *lanes, pp_comm_settings *settings,
                                 pp_err *err)
{
    pp_comm_settings parsed = *settings;
    pp_status status = comm && *comm ? parse_mode(comm, &parsed, err) : PP_OK;
    if (!status && lanes && *lanes)
        status = parse_lanes(lanes, &parsed, err);
    if (!status)
        *settings = parsed;
    return status;
}

/* An eager limit is printed in the largest unit that divides it. kB is not used, since limits that
 * small usually come from sizes of messages, which are in bytes. */
const char *pp_comm_mode_print(const pp_comm_settings *settings, char *buffer, size_t size)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = { { "GiB", (int64_t)1 << 30 }, { "GB", 1000000000 }, { "MiB", 1 << 20 },
                  { "MB", 1000000 },           { "KiB", 1 << 10 },   { "B", 1 } };
    const int64_t bytes = settings->eager_bytes;
    size_t unit = 0;
    if (settings->mode != PP_COMM_EAGER) {
        snprintf(buffer, size, "%s",
                 settings->mode == PP_COMM_BATCHED_SHAPES ? "batched" : "rendezvous");
        return buffer;
    }
    while (bytes % units[unit].bytes || (!bytes && units[unit].bytes > 1))
        unit++;
    snprintf(buffer, size, "eager:%" PRId64 "%s", bytes / units[unit].bytes,
             bytes ? units[unit].name : "");
    return buffer;
}

void pp_comm_settings_apply(const pp_comm_settings *settings, pp_comm_semantics *semantics)
{
    if (settings->has_mode) {
        semantics->mode = settings->mode;
        semantics->eager_bytes = settings->eager_bytes;
    }
    if (settings->has_lanes)
        semantics->lanes = settings->lanes;
}

void pp_comm_free(pp_comm **comm)
{
    if (!*comm)
        return;
    free((*comm)->step_begin);
    free((*comm)->step);
    free((*comm)->group);
    free((*comm)->transfer);
    free((*comm)->needs);
    free(*comm);
    *comm = NULL;
}

/* The steps of one rank while they are collected. */
typedef struct step_list {
    pp_comm_step *step;
    size_t count, capacity;
} step_list;

struct pp_comm_builder {
    const pp_program *program;
    step_list *list; /* [ranks] */
    pp_group *group;
    size_t group_count, group_capacity;
    pp_transfer *transfer; /* in the order in which they were added */
    size_t transfer_count, transfer_capacity;
    bool failed;
};

/* Allocates for one send and one receive per op, which most frameworks need. */
static pp_status reserve(pp_comm_builder *b, pp_err *err)
{
    const pp_program *program = b->program;
    void *groups = NULL;
    void *transfers = NULL;
    pp_status status =
        pp_reserve(&groups, &b->group_capacity, 2 * program->count, sizeof *b->group, err);
    b->group = groups;
    if (!status)
        status = pp_reserve(&transfers, &b->transfer_capacity, 2 * program->count,
                            sizeof *b->transfer, err);
    b->transfer = transfers;
    for (uint32_t r = 0; r < program->ranks && !status; r++) {
        void *steps = NULL;
        size_t ops = program->rank_begin[r + 1] - program->rank_begin[r];
        status = pp_reserve(&steps, &b->list[r].capacity, 3 * ops + 4, sizeof(pp_comm_step), err);
        b->list[r].step = steps;
    }
    return status;
}

pp_status pp_comm_builder_new(const pp_program *program, pp_comm_builder **builder_out, pp_err *err)
{
    pp_comm_builder *builder = pp_alloc_array(1, sizeof *builder);
    if (builder)
        builder->list = pp_alloc_array(program->ranks, sizeof *builder->list);
    if (!builder || !builder->list) {
        free(builder);
        return pp_err_nomem(err);
    }
    builder->program = program;
    pp_status status = reserve(builder, err);
    if (status)
        pp_comm_builder_free(&builder);
    else
        *builder_out = builder;
    return status;
}

void pp_comm_builder_free(pp_comm_builder **builder)
{
    pp_comm_builder *b = *builder;
    if (!b)
        return;
    for (uint32_t r = 0; r < b->program->ranks; r++)
        free(b->list[r].step);
    free(b->list);
    free(b->group);
    free(b->transfer);
    free(b);
    *builder = NULL;
}

/* Makes room for one more element. Returns false and sets `failed` if that is not possible. */
static bool grow_one(pp_comm_builder *b, void **array, size_t *capacity, size_t count, size_t size)
{
    b->failed = b->failed || pp_reserve(array, capacity, count + 1, size, NULL) != PP_OK;
    return !b->failed;
}

static void add_step(pp_comm_builder *b, uint32_t rank, pp_comm_step step)
{
    step_list *list = &b->list[rank];
    if (list->count == list->capacity || b->failed) {
        void *grown = list->step;
        if (!grow_one(b, &grown, &list->capacity, list->count, sizeof step))
            return;
        list->step = grown;
    }
    list->step[list->count++] = step;
}

void pp_comm_run(pp_comm_builder *builder, uint32_t rank, uint32_t op)
{
    add_step(builder, rank, (pp_comm_step){ .index = op, .kind = PP_COMM_STEP_RUN });
}

void pp_comm_mark(pp_comm_builder *builder, uint32_t rank, pp_mark mark, uint32_t stage)
{
    add_step(builder, rank,
             (pp_comm_step){ .index = stage, .kind = PP_COMM_STEP_MARK, .mark = (uint8_t)mark });
}

void pp_comm_sync(pp_comm_builder *builder, uint32_t rank)
{
    add_step(builder, rank, (pp_comm_step){ .kind = PP_COMM_STEP_SYNC });
}

void pp_comm_read(pp_comm_builder *builder, uint32_t rank, uint32_t group)
{
    add_step(builder, rank, (pp_comm_step){ .index = group, .kind = PP_COMM_STEP_READ });
}

uint32_t pp_comm_open(pp_comm_builder *b, uint32_t rank)
{
    if (b->group_count == b->group_capacity || b->failed) {
        void *grown = b->group;
        if (!grow_one(b, &grown, &b->group_capacity, b->group_count, sizeof *b->group))
            return 0;
        b->group = grown;
    }
    b->group[b->group_count] = (pp_group){ .rank = rank };
    return (uint32_t)b->group_count++;
}

/* The rank at the other end, or that of the stage itself if there is none. */
static uint32_t peer_of(const pp_program *program, pp_transfer_kind kind, uint32_t stage,
                        uint32_t microbatch)
{
    bool next = kinds[kind].sends == kinds[kind].forward; /* otherwise the other end is the previous
                                                             stage */
    uint32_t other = next ? stage + 1 : stage - 1;
    return pp_program_stage_rank(program, other < program->stages ? other : stage, microbatch);
}

void pp_comm_add(pp_comm_builder *builder, uint32_t group, pp_transfer_kind kind, uint32_t stage,
                 uint32_t microbatch)
{
    pp_comm_add_part(builder, group, kind, stage, microbatch, 0);
}

void pp_comm_add_part(pp_comm_builder *b, uint32_t group, pp_transfer_kind kind, uint32_t stage,
                      uint32_t microbatch, uint8_t part)
{
    if (b->transfer_count == b->transfer_capacity || b->failed) {
        void *grown = b->transfer;
        if (!grow_one(b, &grown, &b->transfer_capacity, b->transfer_count, sizeof *b->transfer))
            return;
        b->transfer = grown;
    }
    b->transfer[b->transfer_count++] = (pp_transfer){
        .microbatch = microbatch,
        .stage = (uint16_t)stage,
        .kind = (uint8_t)kind,
        .part = part,
        .rank = b->group[group].rank,
        .peer = peer_of(b->program, kind, stage, microbatch),
        .group = group,
        .match = PP_NO_SOURCE,
    };
    b->group[group].count++;
}

void pp_comm_post(pp_comm_builder *b, uint32_t group)
{
    if (b->failed || !b->group[group].count)
        return;
    add_step(b, b->group[group].rank, (pp_comm_step){ .index = group, .kind = PP_COMM_STEP_POST });
}

void pp_comm_wait(pp_comm_builder *b, uint32_t group)
{
    if (!b->failed && b->group[group].count)
        add_step(b, b->group[group].rank,
                 (pp_comm_step){ .index = group, .kind = PP_COMM_STEP_WAIT });
}

void pp_comm_exchange(pp_comm_builder *builder, uint32_t group)
{
    pp_comm_post(builder, group);
    pp_comm_wait(builder, group);
}

/* Numbers the groups anew, rank by rank in the order in which they are posted; groups that nobody
 * posts come last. Steps get the new numbers.
 * group: [group_count], set; number: [group_count], set to the new numbers of the old ones. */
static void number_groups(const pp_comm_builder *b, pp_comm *comm, pp_group *group,
                          uint32_t *number)
{
    uint32_t next = 0;
    uint32_t first = 0;
    memset(number, 0xff, b->group_count * sizeof *number);
    for (size_t s = 0; s < comm->step_count; s++) {
        if (comm->step[s].kind == PP_COMM_STEP_POST && number[comm->step[s].index] == PP_NO_SOURCE)
            number[comm->step[s].index] = next++;
    }
    for (size_t g = 0; g < b->group_count; g++) {
        if (number[g] == PP_NO_SOURCE)
            number[g] = next++;
        group[number[g]] = b->group[g];
    }
    for (size_t g = 0; g < b->group_count; g++) {
        group[g].first = first;
        first += group[g].count;
    }
    for (size_t s = 0; s < comm->step_count; s++) {
        pp_comm_step *step = &comm->step[s];
        if (step->kind == PP_COMM_STEP_POST || step->kind == PP_COMM_STEP_WAIT ||
            (step->kind == PP_COMM_STEP_READ && step->index != PP_NO_SOURCE))
            step->index = number[step->index];
    }
}

/* Sorts groups and transfers in the order in which the ranks post them, rank by rank, so that what
 * goes through the steps of a rank reads memory in its order. The transfers of a group stay in the
 * order in which they were added. */
static pp_status sort_transfers(pp_comm_builder *b, pp_comm *comm, pp_err *err)
{
    uint32_t *number PP_CLEANUP(pp_free_array) = pp_alloc_large(b->group_count, sizeof *number);
    comm->group = pp_alloc_large(b->group_count, sizeof *comm->group);
    comm->transfer = pp_alloc_large(b->transfer_count, sizeof *comm->transfer);
    if (!number || !comm->group || !comm->transfer)
        return pp_err_nomem(err);
    number_groups(b, comm, comm->group, number);
    for (size_t g = 0; g < b->group_count; g++)
        b->group[g].count = 0;
    for (size_t t = 0; t < b->transfer_count; t++) {
        pp_transfer transfer = b->transfer[t];
        const uint32_t nth = b->group[transfer.group].count++;
        transfer.group = number[transfer.group];
        comm->transfer[comm->group[transfer.group].first + nth] = transfer;
    }
    comm->transfer_count = b->transfer_count;
    comm->group_count = b->group_count;
    return PP_OK;
}

static pp_status join_steps(const pp_comm_builder *b, pp_comm *comm, pp_err *err)
{
    uint32_t ranks = b->program->ranks;
    for (uint32_t r = 0; r < ranks; r++)
        comm->step_count += b->list[r].count;
    comm->step = pp_alloc_large(comm->step_count, sizeof *comm->step);
    comm->step_begin = pp_alloc_array((size_t)ranks + 1, sizeof *comm->step_begin);
    if (!comm->step || !comm->step_begin)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < ranks; r++) {
        size_t begin = comm->step_begin[r];
        if (b->list[r].count)
            memcpy(comm->step + begin, b->list[r].step, b->list[r].count * sizeof *comm->step);
        comm->step_begin[r + 1] = begin + b->list[r].count;
    }
    return PP_OK;
}

/* The transfers of one directed edge that wait for their partners: either all sends or all
 * receives, in the order in which they were posted. While a transfer waits, its `match` is the next
 * one. */
typedef struct queue {
    uint32_t head, tail; /* PP_NO_SOURCE: empty */
} queue;

static bool same_tensor(const pp_transfer *send, const pp_transfer *receive)
{
    bool forward = kinds[send->kind].forward;
    return forward == kinds[receive->kind].forward && send->part == receive->part &&
           pp_transfer_is_shape((pp_transfer_kind)send->kind) ==
               pp_transfer_is_shape((pp_transfer_kind)receive->kind) &&
           send->microbatch == receive->microbatch &&
           (forward ? send->stage + 1 == receive->stage : send->stage == receive->stage + 1);
}

/* A sender and a receiver. */
typedef struct edge {
    uint32_t from, to;
    queue waiting;
} edge;

typedef struct matcher {
    pp_comm *comm;
    edge *edge;
    size_t count, capacity;
    uint32_t *slot; /* [slots]: hash table with open addressing of 1 + an edge; 0: empty */
    size_t slots;   /* a power of two, at least twice the edges */
} matcher;

static void matcher_free(matcher *m)
{
    free(m->edge);
    free(m->slot);
}

/* The slot of an edge, or the empty one where it belongs. */
static uint32_t *slot_of(const matcher *m, uint32_t from, uint32_t to)
{
    const uint64_t key = (uint64_t)from << 32 | to;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (m->slots - 1);
    while (m->slot[at] &&
           (m->edge[m->slot[at] - 1].from != from || m->edge[m->slot[at] - 1].to != to))
        at = (at + 1) & (m->slots - 1);
    return &m->slot[at];
}

/* Makes room for one more edge. */
static pp_status make_room(matcher *m, pp_err *err)
{
    void *edges = m->edge;
    pp_status status = pp_reserve(&edges, &m->capacity, m->count + 1, sizeof *m->edge, err);
    m->edge = edges;
    if (status || 2 * (m->count + 1) <= m->slots)
        return status;
    free(m->slot);
    m->slots = m->slots ? 2 * m->slots : 64;
    m->slot = pp_alloc_array(m->slots, sizeof *m->slot);
    for (uint32_t e = 0; m->slot && e < m->count; e++)
        *slot_of(m, m->edge[e].from, m->edge[e].to) = e + 1;
    return m->slot ? PP_OK : pp_err_nomem(err);
}

/* The queue of an edge, which is empty for a new one; NULL if memory is out. */
static queue *waiting_on(matcher *m, uint32_t from, uint32_t to, pp_err *err)
{
    uint32_t *slot = m->slots ? slot_of(m, from, to) : NULL;
    if (slot && *slot)
        return &m->edge[*slot - 1].waiting;
    if (make_room(m, err))
        return NULL;
    m->edge[m->count] = (edge){ from, to, { PP_NO_SOURCE, PP_NO_SOURCE } };
    *slot_of(m, from, to) = (uint32_t)++m->count;
    return &m->edge[m->count - 1].waiting;
}

/* Returns true if there is a transfer at the other end with the same tensor. */
static bool has_partner(const pp_comm *comm, const pp_transfer *own)
{
    bool sends = kinds[own->kind].sends;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *other = &comm->transfer[t];
        if (other->rank == own->peer && other->peer == own->rank &&
            kinds[other->kind].sends != sends &&
            same_tensor(sends ? own : other, sends ? other : own))
            return true;
    }
    return false;
}

static pp_status never_meets(const pp_transfer *own, pp_err *err)
{
    char token[40];
    bool sends = kinds[own->kind].sends;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "%s of rank %" PRIu32 " never meets a %s on rank %" PRIu32
                      "; every send needs one receive",
                      pp_transfer_print(own, token, sizeof token), own->rank,
                      sends ? "receive" : "send", own->peer);
}

static pp_status wrong_delivery(const pp_comm *comm, const pp_transfer *send,
                                const pp_transfer *receive, pp_err *err)
{
    char a[40];
    char b[40];
    if (!has_partner(comm, send) || !has_partner(comm, receive))
        return never_meets(has_partner(comm, send) ? receive : send, err);
    return pp_err_set(
        err, PP_INFEASIBLE, NULL,
        "rank %" PRIu32 " would receive the wrong tensor: its %s meets %s of rank %" PRIu32
        ", because the i-th receive matches the i-th send; post receives in the order of the sends",
        receive->rank, pp_transfer_print(receive, b, sizeof b),
        pp_transfer_print(send, a, sizeof a), send->rank);
}

static pp_status match_one(matcher *m, uint32_t t, pp_err *err)
{
    pp_transfer *all = m->comm->transfer;
    bool sends = kinds[all[t].kind].sends;
    uint32_t from = sends ? all[t].rank : all[t].peer;
    uint32_t to = sends ? all[t].peer : all[t].rank;
    queue *waiting = waiting_on(m, from, to, err);
    if (!waiting)
        return PP_NOMEM;
    uint32_t partner = waiting->head;
    if (partner == PP_NO_SOURCE || kinds[all[partner].kind].sends == sends) {
        if (partner == PP_NO_SOURCE)
            waiting->head = t;
        else
            all[waiting->tail].match = t;
        waiting->tail = t;
        return PP_OK;
    }
    waiting->head = all[partner].match;
    if (!same_tensor(&all[sends ? t : partner], &all[sends ? partner : t]))
        return wrong_delivery(m->comm, &all[sends ? t : partner], &all[sends ? partner : t], err);
    all[t].match = partner;
    all[partner].match = t;
    return PP_OK;
}

static pp_status report_unmatched(const matcher *m, pp_err *err)
{
    for (size_t t = 0; t < m->comm->transfer_count; t++) {
        if (m->comm->transfer[t].match == PP_NO_SOURCE)
            return never_meets(&m->comm->transfer[t], err);
    }
    return PP_OK;
}

/* Matches transfers in the order in which every rank posts. */
static pp_status match_by_steps(matcher *m, pp_err *err)
{
    const pp_comm *comm = m->comm;
    for (size_t s = 0; s < comm->step_count; s++) {
        if (comm->step[s].kind != PP_COMM_STEP_POST)
            continue;
        const pp_group *group = &comm->group[comm->step[s].index];
        for (uint32_t t = group->first; t < group->first + group->count; t++) {
            pp_status status = match_one(m, t, err);
            if (status)
                return status;
        }
    }
    return PP_OK;
}

/* Sets the transfers that still wait to have no match. */
static void part_unmatched(const matcher *m)
{
    for (size_t e = 0; e < m->count; e++) {
        for (uint32_t t = m->edge[e].waiting.head; t != PP_NO_SOURCE;) {
            uint32_t next = m->comm->transfer[t].match;
            m->comm->transfer[t].match = PP_NO_SOURCE;
            t = next;
        }
    }
}

static pp_status match_all(pp_comm *comm, bool partial, pp_err *err)
{
    matcher m PP_CLEANUP(matcher_free) = { .comm = comm };
    pp_status status = match_by_steps(&m, err);
    part_unmatched(&m);
    return status || partial ? status : report_unmatched(&m, err);
}

pp_status pp_comm_match(pp_comm *comm, bool partial, pp_err *err)
{
    for (size_t t = 0; t < comm->transfer_count; t++)
        comm->transfer[t].match = PP_NO_SOURCE;
    return match_all(comm, partial, err);
}

/* Finds the receive that each compute op waits for: that of its stage, microbatch and direction. */
static pp_status find_needs(const pp_program *program, pp_comm *comm, pp_err *err)
{
    size_t m = program->microbatches;
    size_t cells = program->stages * m;
    uint32_t *receive = pp_alloc_large(2 * cells, sizeof *receive);
    comm->needs = pp_alloc_large(program->count, sizeof *comm->needs);
    if (!receive || !comm->needs) {
        free(receive);
        return pp_err_nomem(err);
    }
    memset(receive, 0xff, 2 * cells * sizeof *receive);
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *transfer = &comm->transfer[t];
        if (!kinds[transfer->kind].sends && !pp_transfer_is_shape((pp_transfer_kind)transfer->kind))
            receive[(kinds[transfer->kind].forward ? 0 : cells) + transfer->stage * m +
                    transfer->microbatch] = (uint32_t)t;
    }
    for (size_t i = 0; i < program->count; i++) {
        pp_op op = program->op[i];
        size_t at = op.stage * m + op.microbatch;
        comm->needs[i] = op.kind == PP_OP_F   ? receive[at]
                         : op.kind == PP_OP_W ? PP_NO_SOURCE
                                              : receive[cells + at];
    }
    free(receive);
    return PP_OK;
}

pp_status pp_comm_finish(pp_comm_builder *builder, bool partial, pp_program *program, pp_err *err)
{
    pp_comm *comm PP_CLEANUP(pp_comm_free) = pp_alloc_array(1, sizeof *comm);
    if (!comm || builder->failed)
        return pp_err_nomem(err);
    pp_status status = join_steps(builder, comm, err);
    if (status || (status = sort_transfers(builder, comm, err)) ||
        (status = match_all(comm, partial, err)) || (status = find_needs(program, comm, err)))
        return status;
    program->comm = comm;
    comm = NULL; /* the program's now */
    return PP_OK;
}
