/* The communication of a program: for each rank the steps that it takes, compute ops and groups of
 * sends and receives in one order. A program without it (framework ideal) has dependencies only.
 *
 * A group is what one batch_isend_irecv or one ncclGroup holds: its members progress together and
 * it is done when all of them are. There are no tags: the i-th send from a to b meets the i-th
 * receive that b posts from a (NCCL, p2p.rst). */
#ifndef PPSIM_SIM_PROGRAM_COMM_H
#define PPSIM_SIM_PROGRAM_COMM_H

#include "sim/base/units.h"
#include "sim/job/sharing.h"
#include "sim/job/software.h"
#include "sim/program/buffers.h"
#include "sim/program/program.h"

/* token, does it send?, does it go with an activation? Those with S carry no tensor but its shape;
 * they stand in the order of the tensors' kinds. */
#define PP_TRANSFER_MAP(X)      \
    X(SEND_F, "SEND_F", 1, 1)   \
    X(RECV_F, "RECV_F", 0, 1)   \
    X(SEND_B, "SEND_B", 1, 0)   \
    X(RECV_B, "RECV_B", 0, 0)   \
    X(SEND_FS, "SEND_FS", 1, 1) \
    X(RECV_FS, "RECV_FS", 0, 1) \
    X(SEND_BS, "SEND_BS", 1, 0) \
    X(RECV_BS, "RECV_BS", 0, 0)

#define PP_TENSOR_KINDS 4 /* the first ones */

typedef enum pp_transfer_kind {
#define PP_TRANSFER_ENUM(name, token, sends, forward) PP_##name,
    PP_TRANSFER_MAP(PP_TRANSFER_ENUM)
#undef PP_TRANSFER_ENUM
        PP_TRANSFER_KIND_COUNT,
} pp_transfer_kind;

bool pp_transfer_sends(pp_transfer_kind kind);
bool pp_transfer_is_shape(pp_transfer_kind kind);
const char *pp_transfer_token(pp_transfer_kind kind);

#define PP_SIZE_ROUNDS_MAX 2

/* One send or receive. The stage is the one whose output leaves (SEND) or whose input comes. */
typedef struct pp_transfer {
    uint32_t microbatch;
    uint16_t stage;
    uint8_t kind; /* pp_transfer_kind */
    uint8_t part; /* which tensor of the boundary, or which message about its shape */
    uint32_t rank, peer;
    uint32_t group;
    uint32_t match; /* the transfer at the other end; PP_NO_SOURCE: outside (partial programs) */
} pp_transfer;

/* Messages about shapes have no buffers worth counting; the tensors of one boundary count as one,
 * allocated for the first of them. */
static inline bool pp_transfer_has_buffer(const pp_transfer *t)
{
    return t->kind < PP_TENSOR_KINDS && t->part == 0;
}

/* FSDP and data-parallel marks of PyTorch's rows; they take no time here. */
typedef enum pp_mark { PP_MARK_UNSHARD, PP_MARK_RESHARD, PP_MARK_REDUCE_GRAD } pp_mark;

typedef enum pp_step_kind {
    PP_STEP_RUN,  /* index: of a compute op in program->op */
    PP_STEP_POST, /* index: of a group; the rank goes on at once */
    PP_STEP_WAIT, /* index: of a group; the rank waits until it is done */
    PP_STEP_MARK, /* index: stage; mark says which */
    PP_STEP_SYNC, /* the host waits until the device has done all that was issued */
    PP_STEP_READ, /* index: of the group with the sizes that the host reads, when the device is
                     there; PP_NO_SOURCE: out of the rank's own copy of the data */
} pp_step_kind;

typedef struct pp_step {
    uint32_t index;
    uint8_t kind; /* pp_step_kind */
    uint8_t mark; /* pp_mark */
} pp_step;

typedef struct pp_group {
    uint32_t rank;
    uint32_t first, count; /* into transfer */
} pp_group;

typedef enum pp_comm_mode {
    PP_COMM_RENDEZVOUS, /* a transfer starts when both ends are posted */
    PP_COMM_EAGER,      /* up to eager_bytes a send is done at once, buffered at the other end */
    PP_COMM_BATCHED, /* as rendezvous; the messages of one call about shapes are one group, too */
} pp_comm_mode;

/* A lane is a queue of transfers of one rank: those in it start in the order in which they were
 * posted, and one that cannot start holds up all behind it. It stands for a CUDA stream on which a
 * communicator's kernels run. */
typedef enum pp_lanes {
    PP_LANES_SINGLE,        /* one queue per rank: PyTorch's batched p2p, one communicator */
    PP_LANES_PER_DIRECTION, /* sends and receives apart */
    PP_LANES_PER_PEER,      /* one per peer and direction */
    PP_LANES_PER_EDGE,      /* one per peer, both directions: a communicator per edge */
} pp_lanes;

/* The host (CPU thread) of each device issues steps in order; a compute op or a group costs it
 * `launch` and starts on the device no earlier. */
typedef struct pp_host_costs {
    pp_ns launch_ns, sync_ns, read_ns;
} pp_host_costs;

/* How transfers meet. Inputs of the engine, not of the lowering. */
typedef struct pp_comm_semantics {
    pp_comm_mode mode;
    int64_t eager_bytes;
    pp_lanes lanes;
    pp_host_costs host;
    pp_ns shape_message_ns; /* a message about a shape takes; also the fixed part of a tensor's */
    pp_sharing sharing;
} pp_comm_semantics;

/* What a plan or a command line says of this; what it does not say is the framework's. All zero:
 * nothing is said. */
typedef struct pp_comm_settings {
    bool has_mode, has_lanes;
    pp_comm_mode mode;
    int64_t eager_bytes; /* with PP_COMM_EAGER */
    pp_lanes lanes;
} pp_comm_settings;

/* comm: "rendezvous", "batched" or "eager:BYTES"; lanes: a pp_lanes_name. NULL and "" leave what
 * *settings says. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_comm_settings_parse(const char *comm, const char *lanes,
                                               pp_comm_settings *settings, pp_err *err);
/* The inverse for comm, which must be said. Returns buffer. */
const char *pp_comm_mode_print(const pp_comm_settings *settings, char *buffer, size_t size);
/* "single", "per-direction", "per-peer", "per-edge". */
const char *pp_lanes_name(pp_lanes lanes);
/* The lanes that communicators make: each is one queue on every rank of it. */
pp_lanes pp_communicators_lanes(pp_communicators communicators);
void pp_comm_settings_apply(const pp_comm_settings *settings, pp_comm_semantics *semantics);
/* Both at once. */
PP_MUST_CHECK pp_status pp_comm_semantics_parse(const char *comm, const char *lanes,
                                                pp_comm_semantics *semantics, pp_err *err);

/* Owned by its program. */
typedef struct pp_comm {
    pp_comm_semantics semantics;
    pp_buffers buffers; /* all zero unless pp_framework_lower made the program */
    bool collective;    /* a transfer is a collective of two ranks: never buffered, never eager */
    bool observed; /* timelines keep the clocks of hosts and devices (sim/analysis/critical_path.h)
                    */
    uint8_t parts; /* tensors per boundary; 0 is 1 */
    bool parts_grouped;                      /* all of them in one group */
    int64_t shape_bytes[PP_SIZE_ROUNDS_MAX]; /* of the messages about one shape */
    size_t *step_begin;                      /* [ranks + 1] */
    pp_step *step;
    pp_group *group;
    pp_transfer *transfer;
    size_t step_count, group_count, transfer_count;
    uint32_t *needs; /* [program->count]: the receive that the op waits for, or PP_NO_SOURCE */
} pp_comm;

void pp_comm_free(pp_comm **comm);

/* Collects the steps of all ranks, each rank in its order; ranks may take turns. */
typedef struct pp_comm_builder pp_comm_builder;

PP_MUST_CHECK pp_status pp_comm_builder_new(const pp_program *program,
                                            pp_comm_builder **builder_out, pp_err *err);
void pp_comm_builder_free(pp_comm_builder **builder);
/* After a failed allocation all calls are harmless and pp_comm_finish says NOMEM. */
void pp_comm_run(pp_comm_builder *builder, uint32_t rank, uint32_t op);
void pp_comm_mark(pp_comm_builder *builder, uint32_t rank, pp_mark mark, uint32_t stage);
/* Opens a group on `rank`; transfers added by pp_comm_add belong to it until the next one opens.
 * A group without transfers is dropped. Returns its number. */
uint32_t pp_comm_open(pp_comm_builder *builder, uint32_t rank);
void pp_comm_add(pp_comm_builder *builder, uint32_t group, pp_transfer_kind kind, uint32_t stage,
                 uint32_t microbatch);
void pp_comm_add_part(pp_comm_builder *builder, uint32_t group, pp_transfer_kind kind,
                      uint32_t stage, uint32_t microbatch, uint8_t part);
void pp_comm_sync(pp_comm_builder *builder, uint32_t rank);
void pp_comm_read(pp_comm_builder *builder, uint32_t rank, uint32_t group);
/* The rank goes on; or waits for the group. */
void pp_comm_post(pp_comm_builder *builder, uint32_t group);
void pp_comm_wait(pp_comm_builder *builder, uint32_t group);
/* Post and wait. */
void pp_comm_exchange(pp_comm_builder *builder, uint32_t group);

/* Matches every send with its receive and gives the program its communication.
 * partial: ends outside the program are fine (excerpts).
 * Fails: INFEASIBLE when sends and receives of two ranks do not pair up: a different number of
 * them, or another tensor at the same place (it would be delivered wrongly); NOMEM. */
PP_MUST_CHECK pp_status pp_comm_finish(pp_comm_builder *builder, bool partial, pp_program *program,
                                       pp_err *err);

/* The same for a communication whose steps or groups were changed. */
PP_MUST_CHECK pp_status pp_comm_match(pp_comm *comm, uint32_t ranks, bool partial, pp_err *err);

/* "3SEND_F7". Returns buffer. */
const char *pp_transfer_print(const pp_transfer *transfer, char *buffer, size_t size);

#endif
