/* The communication of a program: for each rank the order of its steps, which are compute ops and
 * groups of sends and receives. A program without it (framework ideal) has only dependencies.
 *
 * A group contains the transfers of one batch_isend_irecv or one ncclGroup: they progress together,
 * and the group is done when all of them are. There are no tags: the i-th send from a to b meets
 * the i-th receive that b posts from a (NCCL, p2p.rst). */
#ifndef PPSIM_SIM_PROGRAM_COMM_H
#define PPSIM_SIM_PROGRAM_COMM_H

#include "sim/base/units.h"
#include "sim/job/sharing.h"
#include "sim/job/software.h"
#include "sim/program/buffers.h"
#include "sim/program/program.h"

/* X(name, token, 1 if it sends, 1 if it belongs to an activation). Kinds that end in S carry the
 * size of a tensor; they are in the order of the kinds that carry tensors. */
#define PP_TRANSFER_MAP(X)      \
    X(SEND_F, "SEND_F", 1, 1)   \
    X(RECV_F, "RECV_F", 0, 1)   \
    X(SEND_B, "SEND_B", 1, 0)   \
    X(RECV_B, "RECV_B", 0, 0)   \
    X(SEND_FS, "SEND_FS", 1, 1) \
    X(RECV_FS, "RECV_FS", 0, 1) \
    X(SEND_BS, "SEND_BS", 1, 0) \
    X(RECV_BS, "RECV_BS", 0, 0)

#define PP_TENSOR_KINDS 4 /* the first kinds carry tensors */

typedef enum pp_transfer_kind {
#define PP_TRANSFER_ENUM(name, token, sends, forward) PP_##name,
    PP_TRANSFER_MAP(PP_TRANSFER_ENUM)
#undef PP_TRANSFER_ENUM
        PP_TRANSFER_KIND_COUNT,
} pp_transfer_kind;

static inline bool pp_transfer_sends(pp_transfer_kind kind)
{
#define PP_TRANSFER_SENDS(name, token, sends, forward) | (sends##u << PP_##name)
    return (0u PP_TRANSFER_MAP(PP_TRANSFER_SENDS)) >> kind & 1;
#undef PP_TRANSFER_SENDS
}

static inline bool pp_transfer_is_shape(pp_transfer_kind kind)
{
    return kind >= PP_TENSOR_KINDS;
}

const char *pp_transfer_token(pp_transfer_kind kind);

#define PP_SIZE_ROUNDS_MAX 2

/* One send or receive. The stage is the one whose output is sent or whose input is received. */
typedef struct pp_transfer {
    uint32_t microbatch;
    uint16_t stage;
    uint8_t kind; /* pp_transfer_kind */
    uint8_t part; /* index of the tensor at its boundary, or of the message about its size */
    uint32_t rank, peer;
    uint32_t group;
    uint32_t match; /* the transfer at the other end; PP_NO_SOURCE: outside a partial program */
} pp_transfer;

/* Returns true if the buffer of the transfer is counted. The buffers of size messages are
 * neglected, and the first tensor of a boundary stands for all of them. */
static inline bool pp_transfer_has_buffer(const pp_transfer *t)
{
    return t->kind < PP_TENSOR_KINDS && t->part == 0;
}

/* FSDP and data-parallel actions in PyTorch's rows. They take time if parameters are sharded
 * (pp_costs.sharded). X(name) */
#define PP_MARK_MAP(X) X(UNSHARD) X(RESHARD) X(REDUCE_GRAD) X(WAIT_REDUCE_GRAD)

typedef enum pp_mark {
#define PP_MARK_ENUM(name) PP_MARK_##name,
    PP_MARK_MAP(PP_MARK_ENUM)
#undef PP_MARK_ENUM
        PP_MARK_COUNT,
} pp_mark;

/* "WAIT_REDUCE_GRAD". */
const char *pp_mark_token(pp_mark mark);

typedef enum pp_comm_step_kind {
    PP_COMM_STEP_RUN,  /* runs a compute op */
    PP_COMM_STEP_POST, /* posts a group; the rank continues at once */
    PP_COMM_STEP_WAIT, /* waits until a group is done */
    PP_COMM_STEP_MARK, /* marks an action of `mark` on a stage */
    PP_COMM_STEP_SYNC, /* the host waits until the device has finished all that was issued */
    PP_COMM_STEP_READ, /* the host reads the sizes that a group received, once the device has them
                        */
} pp_comm_step_kind;

typedef struct pp_comm_step {
    uint32_t index; /* RUN: into program->op; MARK: the stage; POST, WAIT, READ: the group, which is
                       PP_NO_SOURCE for sizes from the rank's own copy of the data */
    uint8_t kind;   /* pp_comm_step_kind */
    uint8_t mark;   /* pp_mark */
} pp_comm_step;

typedef struct pp_group {
    uint32_t rank;
    uint32_t first, count; /* into transfer */
} pp_group;

typedef enum pp_comm_mode {
    PP_COMM_RENDEZVOUS, /* a transfer starts when both ends are posted */
    PP_COMM_EAGER,      /* a send of up to eager_bytes is done at once, buffered at the other end */
    PP_COMM_BATCHED_SHAPES, /* like rendezvous; in addition, the size messages of one call form a
                               group */
} pp_comm_mode;

/* A lane is a queue of transfers of one rank. Its transfers start in the order in which they were
 * posted, and one that cannot start blocks all behind it. It models the CUDA stream on which a
 * communicator's kernels run. */
typedef enum pp_lanes {
    PP_LANES_SINGLE,        /* one per rank, as in PyTorch's batched p2p on one communicator */
    PP_LANES_PER_DIRECTION, /* one for sends and one for receives */
    PP_LANES_PER_PEER,      /* one per peer and direction */
    PP_LANES_PER_EDGE,      /* one per peer for both directions: a communicator per edge */
} pp_lanes;

/* The host (CPU thread) of each device issues steps in order; a compute op or a group costs it
 * `launch` and starts on the device no earlier. */
typedef struct pp_host_costs {
    pp_ns launch_ns, sync_ns, read_ns;
} pp_host_costs;

/* How transfers proceed: inputs of the engine, which the lowering does not use. */
typedef struct pp_comm_semantics {
    pp_comm_mode mode;
    int64_t eager_bytes;
    pp_lanes lanes;
    pp_host_costs host;
    pp_ns shape_message_ns; /* duration of a size message, and fixed part of a tensor's transfer */
    pp_sharing sharing;
} pp_comm_semantics;

/* Settings that override those of the framework. All zero overrides nothing. */
typedef struct pp_comm_settings {
    bool has_mode, has_lanes;
    pp_comm_mode mode;
    int64_t eager_bytes; /* with PP_COMM_EAGER */
    pp_lanes lanes;
} pp_comm_settings;

/* Parses the settings. comm: "rendezvous", "batched" or "eager:BYTES", or a transport, which sets
 * both: "nccl", "nccl-lazy", "nccl-per-edge" or "gloo"; lanes: a pp_lanes_name. NULL and "" leave a
 * setting as it is.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_comm_settings_parse(const char *comm, const char *lanes,
                                               pp_comm_settings *settings, pp_err *err);
/* Whether `text`, which may be NULL, is a transport. */
bool pp_comm_is_transport(const char *text);
/* Prints the mode as pp_comm_settings_parse reads it; has_mode must be set. Returns buffer. */
const char *pp_comm_mode_print(const pp_comm_settings *settings, char *buffer, size_t size);
/* "single", "per-direction", "per-peer" or "per-edge". */
const char *pp_lanes_name(pp_lanes lanes);
/* The lanes that follow from communicators, each of which is one queue on each of its ranks. */
pp_lanes pp_communicators_lanes(pp_communicators communicators);
void pp_comm_settings_apply(const pp_comm_settings *settings, pp_comm_semantics *semantics);

/* Owned by its program. Groups, and with them transfers, are in the order in which they are posted,
 * rank by rank, unless steps were changed after pp_comm_finish. Those that nobody posts come last.
 */
typedef struct pp_comm {
    pp_comm_semantics semantics;
    pp_buffers buffers;  /* all zero unless pp_framework_lower made the program */
    bool collective;     /* a transfer is a collective of two ranks: neither buffered nor eager */
    bool gathers_in_ops; /* without UNSHARD: sharded parameters are gathered layer by layer in the
                            first op of their stage */
    bool observed;       /* timelines keep the clocks of hosts and devices, for
                            sim/analysis/critical_path.h */
    uint8_t parts;       /* tensors per boundary; 0 means 1 */
    bool parts_grouped;  /* the tensors of a boundary are in one group */
    int64_t shape_bytes[PP_SIZE_ROUNDS_MAX]; /* sizes of the messages about one tensor's size */
    size_t *step_begin;                      /* [ranks + 1] */
    pp_comm_step *step;
    pp_group *group;
    pp_transfer *transfer;
    size_t step_count, group_count, transfer_count;
    uint32_t *needs; /* [program->count]: the receive that the op waits for, or PP_NO_SOURCE */
} pp_comm;

void pp_comm_free(pp_comm **comm);

/* Collects the steps of all ranks. Each rank's steps are added in their order; ranks may alternate.
 */
typedef struct pp_comm_builder pp_comm_builder;

PP_MUST_CHECK pp_status pp_comm_builder_new(const pp_program *program,
                                            pp_comm_builder **builder_out, pp_err *err);
void pp_comm_builder_free(pp_comm_builder **builder);
/* Each of the following adds a step or a transfer. After a failed allocation they do nothing, and
 * pp_comm_finish fails with NOMEM. */
void pp_comm_run(pp_comm_builder *builder, uint32_t rank, uint32_t op);
void pp_comm_mark(pp_comm_builder *builder, uint32_t rank, pp_mark mark, uint32_t stage);
/* Opens a group on `rank` and returns its number, under which transfers are added, posted (once)
 * and waited for. The number is for the builder alone: pp_comm_finish numbers groups anew. A group
 * without transfers has no steps. */
uint32_t pp_comm_open(pp_comm_builder *builder, uint32_t rank);
void pp_comm_add(pp_comm_builder *builder, uint32_t group, pp_transfer_kind kind, uint32_t stage,
                 uint32_t microbatch);
void pp_comm_add_part(pp_comm_builder *builder, uint32_t group, pp_transfer_kind kind,
                      uint32_t stage, uint32_t microbatch, uint8_t part);
void pp_comm_sync(pp_comm_builder *builder, uint32_t rank);
void pp_comm_read(pp_comm_builder *builder, uint32_t rank, uint32_t group);
/* The rank posts the group and continues, or waits for it. */
void pp_comm_post(pp_comm_builder *builder, uint32_t group);
void pp_comm_wait(pp_comm_builder *builder, uint32_t group);
/* Post and wait. */
void pp_comm_exchange(pp_comm_builder *builder, uint32_t group);

/* Matches every send with its receive and gives the program its communication.
 * partial: transfers may have their other ends outside the program (excerpts).
 * Fails: INFEASIBLE when the sends and receives between two ranks differ in number, or a send meets
 * the receive of another tensor; NOMEM. */
PP_MUST_CHECK pp_status pp_comm_finish(pp_comm_builder *builder, bool partial, pp_program *program,
                                       pp_err *err);

/* Matches sends and receives again after steps or groups were changed.
 * Fails: like pp_comm_finish. */
PP_MUST_CHECK pp_status pp_comm_match(pp_comm *comm, bool partial, pp_err *err);

/* Prints "3SEND_F7". Returns buffer. */
const char *pp_transfer_print(const pp_transfer *transfer, char *buffer, size_t size);

#endif
