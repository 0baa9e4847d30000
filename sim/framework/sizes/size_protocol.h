/* Size protocols: how a receiver learns the size of a tensor. They cost messages, device syncs and
 * reads of the host, or padding of the data. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_SIZE_PROTOCOL_H
#define PPSIM_SIM_FRAMEWORK_SIZES_SIZE_PROTOCOL_H

#include "sim/cost/costs.h"
#include "sim/framework/lowering/pytorch_settings.h"
#include "sim/job/workload.h"
#include "sim/program/comm.h"

typedef enum pp_size_protocol_kind {
    PP_SIZES_PLAN,    /* all sizes are known before the step */
    PP_SIZES_LOCAL,   /* every stage reads them from its own copy of the data */
    PP_SIZES_MESSAGE, /* a message precedes every tensor */
    PP_SIZES_CACHED,  /* a message precedes the first tensor of each edge, direction and chunk; a
                         framework that resends also sends one when the size changes */
    PP_SIZES_PADDED,  /* all microbatches are padded to the longest one, or to `tokens` */
    PP_SIZES_BUCKET,  /* microbatches are padded to a multiple of `tokens` */
    PP_SIZES_PADDED_WIRE, /* like PADDED, but tensors only while they are sent: a stage removes the
                             padding before it computes, and pads again what it sends */
} pp_size_protocol_kind;

typedef struct pp_size_protocol {
    pp_size_protocol_kind kind;
    int64_t tokens; /* 0: padded to the longest */
} pp_size_protocol;

/* Parses "plan", "local", "message", "cached", "padded[:MAX]", "bucket:N" or
 * "padded-wire[:MAX]"; "" is plan.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_size_protocol_parse(const char *text, pp_size_protocol *shapes_out,
                                               pp_err *err);

/* The inverse of pp_size_protocol_parse. Returns buffer. */
const char *pp_size_protocol_print(const pp_size_protocol *shapes, char *buffer, size_t size);

/* How a framework learns sizes; a member of its pp_framework. */
typedef struct pp_size_protocol_support {
    const char *no_message; /* why sizes cannot change within a step; NULL: they can */
    const char *no_cache;   /* why there are no size messages; NULL: there may be */
    uint8_t rounds;         /* messages per tensor; each is read before the next is sent */
    int64_t bytes[PP_SIZE_ROUNDS_MAX]; /* of each of those messages */
    bool gradients;        /* sizes of gradients are sent, too, although they are known */
    bool sync;             /* a device sync between message and read */
    bool sync_calls;       /* a device sync after every exchange of tensors */
    bool tensor_by_tensor; /* several tensors are exchanged one after the other */
    bool late_receive; /* a tensor's receive is posted right before its op, after its message was
                          read; sim/framework/sizes/late_receives.c, which uses only `bytes` and
                          `resends` */
    bool resends;      /* cached: a size that changes is sent again; otherwise it is an error */
    const struct pp_size_protocol_support *single; /* of programs with one stage per rank; NULL: the
                                                      same */
    bool one_chunk; /* its messages with several stages per rank are not known */
    /* [2], for even and odd ranks: the order of the messages of one call; NULL: as their tensors.
     */
    const pp_transfer_kind (*order)[PP_TENSOR_KINDS];
} pp_size_protocol_support;

/* Megatron-LM's variable_seq_lengths sends int64[3] in each direction on every call, in one order
 * on all ranks or in the order of a rank's parity (p2p_communication.py, _communicate_shapes;
 * Megatron-LM#5100). */
extern const pp_size_protocol_support pp_size_protocols_megatron;
/* The same for overlap_p2p_comm, which has no batch_p2p_sync and applies to interleaved orders. */
extern const pp_size_protocol_support pp_size_protocols_megatron_overlap;
extern const pp_size_protocol_support pp_size_protocols_megatron_parity;
/* PyTorch's pipelining infers sizes once per schedule object: each stage sends pickled objects to
 * the next, preceded by their length (stage.py). 512 bytes are assumed for an object. Sizes of
 * gradients follow from those of activations. */
extern const pp_size_protocol_support pp_size_protocols_torch;
/* Frameworks whose sizes cannot change: they are set in a configuration, or compiled into graphs,
 * which run one transfer at a time. */
extern const pp_size_protocol_support pp_size_protocols_fixed;
extern const pp_size_protocol_support pp_size_protocols_graphs;
/* ppsim's runtime sends int64[2], tokens and sequences, before an activation. Both ends know from
 * the plan when a message is sent, so that a cached size can be replaced; without a plan, each
 * tensor would need a flag that announces it. */
extern const pp_size_protocol_support pp_size_protocols_ppsim;

/* Size protocol, tensors per boundary and host costs of a step. All zero changes nothing. */
typedef struct pp_exchange_options {
    pp_size_protocol shapes;
    int64_t tensors;        /* per stage boundary; 0 means 1 */
    pp_ns shape_message_ns; /* duration of a size message */
    pp_host_costs host;
    bool ungrouped; /* the size messages of one call are posted one by one instead of as a group */
    pp_pytorch_settings pytorch; /* for pp_framework_lower */
    int64_t runs;                /* of the schedule per step, for pp_framework_repeat; 0 means 1 */
} pp_exchange_options;

#define PP_TENSORS_MAX 64
#define PP_RUNS_MAX 1000000
/* The longest launch, sync, read or size message. */
#define PP_HOST_NS_MAX ((pp_ns)1000 * 1000 * 1000 * 1000)

/* Parses "launch=5us,sync=10us,read=8us"; each item may be left out. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_host_costs_parse(const char *text, pp_host_costs *host_out, pp_err *err);

/* Returns true if nothing in `exchange` needs a program with sends and receives. */
bool pp_exchange_is_plain(const pp_exchange_options *exchange);

/* Makes the padded data: for `padded` and `bucket`, the last sequence of a microbatch of `from` is
 * extended; for `padded-wire` the result is a copy with wire_tokens, and for other protocols a
 * copy. shapes_out: the number of distinct token counts; may be NULL. Fails: INPUT when a
 * microbatch is longer than MAX (err names it) or would exceed the limits of sim/job/workload.h;
 * NOMEM. */
PP_MUST_CHECK pp_status pp_workload_pad(const pp_size_protocol *shapes, const pp_workload *from,
                                        pp_workload *workload_out, uint32_t *shapes_out,
                                        pp_err *err);
/* Pads if only costs are known: every microbatch gets the costs of the one whose forwards and
 * backwards take longest in total; with `padded-wire`, only the transfers of every stage become its
 * longest and largest, and pad and unpad kernels, whose cost is not known, cost nothing.
 * Fails: USAGE for padded:MAX, padded-wire:MAX and bucket, NOMEM. */
PP_MUST_CHECK pp_status pp_costs_pad(const pp_size_protocol *shapes, pp_costs *costs, pp_err *err);

#endif
