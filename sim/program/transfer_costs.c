/* Looks up the duration and the bytes of a transfer in the costs, and divides them among the
 * tensors of a boundary. */
#include "sim/program/transfer_costs.h"

pp_ns pp_arrival_latency(const pp_program *program, const pp_costs *costs, pp_op op)
{
    size_t class = (size_t)costs->class_of[op.microbatch] * costs->stages;
    uint32_t rank = program->stage_rank[op.stage]; /* if these ranks are equal, so are their
                                                      mirrored ranks */
    if (op.kind == PP_OP_F && op.stage > 0 && program->stage_rank[op.stage - 1] != rank)
        return costs->send_f_ns[class + op.stage - 1];
    if ((op.kind == PP_OP_B || op.kind == PP_OP_I) && op.stage + 1u < program->stages &&
        program->stage_rank[op.stage + 1] != rank)
        return costs->send_b_ns[class + op.stage + 1];
    return 0;
}

pp_ns pp_edge_latency(const pp_program *program, const pp_costs *costs, size_t i)
{
    return program->source[i] == PP_NO_SOURCE ? 0
                                              : pp_arrival_latency(program, costs, program->op[i]);
}

static pp_ns boundary_ns(const pp_costs *costs, const pp_transfer *t)
{
    size_t row = (size_t)costs->class_of[t->microbatch] * costs->stages;
    switch ((pp_transfer_kind)t->kind) {
    case PP_SEND_F:
        return costs->send_f_ns[row + t->stage];
    case PP_RECV_F:
        return t->stage ? costs->send_f_ns[row + t->stage - 1] : 0;
    case PP_SEND_B:
        return costs->send_b_ns[row + t->stage];
    case PP_RECV_B:
        return t->stage + 1u < costs->stages ? costs->send_b_ns[row + t->stage + 1] : 0;
    case PP_SEND_FS:
    case PP_RECV_FS:
    case PP_SEND_BS:
    case PP_RECV_BS:
    case PP_TRANSFER_KIND_COUNT:
        break;
    }
    return 0;
}

/* The part-th of `parts` shares that sum to `whole`. */
static int64_t share(int64_t whole, const pp_comm *comm, uint8_t part)
{
    int64_t parts = comm->parts ? comm->parts : 1;
    return whole / parts + (part < whole % parts);
}

int64_t pp_comm_bytes(const pp_comm *comm, const pp_costs *costs, const pp_transfer *t)
{
    if (pp_transfer_is_shape((pp_transfer_kind)t->kind))
        return comm->shape_bytes[t->part];
    bool downward = t->kind == PP_RECV_F || t->kind == PP_SEND_B; /* the previous boundary */
    uint32_t stage = downward && t->stage ? t->stage - 1u : t->stage;
    int64_t bytes =
        costs->has_memory ? costs->message_bytes[pp_cost_index(costs, stage, t->microbatch)] : 0;
    return share(bytes, comm, t->part);
}

bool pp_comm_is_buffered(const pp_comm *comm, const pp_costs *costs, const pp_transfer *t)
{
    if (comm->semantics.mode != PP_COMM_EAGER || comm->collective)
        return false;
    pp_transfer largest = *t;
    if (comm->parts_grouped && !pp_transfer_is_shape((pp_transfer_kind)t->kind))
        largest.part = 0; /* a group ends as a unit */
    int64_t bytes = pp_comm_bytes(comm, costs, &largest);
    return (bytes ? bytes : 1) <= comm->semantics.eager_bytes;
}

/* Returns the index of the first tensor of t's boundary that is buffered whenever t is. Tensors are
 * sorted by decreasing size. */
static uint8_t first_buffered(const pp_comm *comm, const pp_costs *costs, const pp_transfer *t)
{
    pp_transfer first = *t;
    for (first.part = 0; !pp_comm_is_buffered(comm, costs, &first);)
        first.part++;
    return first.part;
}

/* Each of several tensors takes the fixed part of a transfer. Tensors of one group, however, follow
 * each other to their peer and take it once (NCCL, p2p.rst). Buffered tensors are sent together and
 * follow each other, too. Tensors that were waited for arrived before. */
pp_ns pp_comm_ns(const pp_comm *comm, const pp_costs *costs, const pp_transfer *t)
{
    pp_ns fixed_ns = comm->semantics.shape_message_ns;
    if (pp_transfer_is_shape((pp_transfer_kind)t->kind))
        return fixed_ns;
    pp_ns whole_ns = boundary_ns(costs, t);
    if (comm->parts < 2)
        return whole_ns;
    fixed_ns = fixed_ns < whole_ns ? fixed_ns : whole_ns;
    uint8_t first = t->part; /* the tensor at whose start the duration begins */
    if (comm->parts_grouped)
        first = 0;
    else if (pp_comm_is_buffered(comm, costs, t))
        first = first_buffered(comm, costs, t);
    pp_ns takes_ns = comm->parts_grouped ? fixed_ns : fixed_ns * (t->part - first + 1);
    for (uint8_t k = first; k <= t->part; k++)
        takes_ns += share(whole_ns - fixed_ns, comm, k);
    return takes_ns;
}
