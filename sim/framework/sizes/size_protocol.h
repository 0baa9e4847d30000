/* How a receiver learns the size of what comes: the shape protocols, as ops of a program (messages,
 * device syncs, reads of the host) and as padding of the data. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_SIZE_PROTOCOL_H
#define PPSIM_SIM_FRAMEWORK_SIZES_SIZE_PROTOCOL_H

#include "sim/cost/costs.h"
#include "sim/job/workload.h"
#include "sim/program/comm.h"

typedef enum pp_size_protocol_kind {
    PP_SIZES_PLAN,    /* all sizes are known before the step */
    PP_SIZES_LOCAL,   /* every stage reads them from its own copy of the data */
    PP_SIZES_MESSAGE, /* a message before every tensor */
    PP_SIZES_CACHED,  /* a message before the first tensor of each edge, direction and chunk; a
                          framework that resends also sends one when the size changes */
    PP_SIZES_PADDED,  /* all microbatches as long as the longest, or as `tokens` */
    PP_SIZES_BUCKET,  /* tokens rounded up to a multiple of `tokens` */
} pp_size_protocol_kind;

typedef struct pp_size_protocol {
    pp_size_protocol_kind kind;
    int64_t tokens; /* 0: padded to the longest */
} pp_size_protocol;

/* "plan", "local", "message", "cached", "padded[:MAX]", "bucket:N"; "" is plan. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_size_protocol_parse(const char *text, pp_size_protocol *shapes_out,
                                               pp_err *err);

/* The inverse. Returns buffer. */
const char *pp_size_protocol_print(const pp_size_protocol *shapes, char *buffer, size_t size);

/* What a framework does about shapes; a field of its pp_framework. */
typedef struct pp_size_protocol_support {
    const char *no_message; /* why shapes cannot change within a step; NULL: they can */
    const char *no_cache;   /* why there is no message at all; NULL: there can be one */
    uint8_t rounds;         /* messages per tensor, each read before the next */
    int64_t bytes[PP_SIZE_ROUNDS_MAX];
    bool gradients;        /* their shapes are sent too, though known */
    bool sync;             /* a device sync between message and read */
    bool sync_calls;       /* a device sync after every exchange of tensors */
    bool tensor_by_tensor; /* several tensors are exchanged one after the other */
    bool late_receive;     /* the tensor's receive is posted right before its op, when its message
                              has been read; sim/framework/sizes/late_receives.c, which obeys bytes,
                              resends */
    bool resends;          /* cached: a size that changes is sent again, it is no error */
    bool one_chunk;        /* where its messages go with several stages per rank is not known */
    const pp_transfer_kind (*order)[PP_TENSOR_KINDS]; /* [2] even and odd ranks: in which order the
                                       messages of one call stand; NULL: as their tensors */
} pp_size_protocol_support;

/* Megatron-LM's variable_seq_lengths: int64[3] each way on every call; in one order on all ranks,
 * or by parity (p2p_communication.py, _communicate_shapes; Megatron-LM#5100). */
extern const pp_size_protocol_support pp_size_protocols_megatron;
extern const pp_size_protocol_support
    pp_size_protocols_megatron_overlap; /* which has no batch_p2p_sync */
extern const pp_size_protocol_support pp_size_protocols_megatron_parity;
/* PyTorch's pipelining infers shapes once for a schedule object, from stage to stage with pickled
 * objects (their length first; 512 bytes are assumed for one); gradients follow from them
 * (stage.py).
 */
extern const pp_size_protocol_support pp_size_protocols_torch;
/* What has no way to change a shape: set in a configuration; compiled into graphs, one transfer at
 * a time. */
extern const pp_size_protocol_support pp_size_protocols_fixed;
extern const pp_size_protocol_support pp_size_protocols_graphs;
/* Our runtime: int64[2], tokens and sequences, in front of an activation. Both ends know from the
 * plan when a message comes, so that a cache can be renewed; without a plan each tensor would need
 * a flag in front that says so. */
extern const pp_size_protocol_support pp_size_protocols_ppsim;

/* What a step does about shapes, tensors and its hosts; all zero is what programs do anyway. */
typedef struct pp_exchange_options {
    pp_size_protocol shapes;
    int64_t tensors; /* per stage boundary; 0 is 1 */
    pp_ns shape_message_ns;
    pp_host_costs host;
    bool ungrouped; /* shape messages of one call are posted one by one: no groups for them */
} pp_exchange_options;

#define PP_TENSORS_MAX 64
#define PP_HOST_NS_MAX ((pp_ns)1000 * 1000 * 1000 * 1000) /* of one launch, sync, read, message */

/* "launch=5us,sync=10us,read=8us", each may be left out. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_host_costs_parse(const char *text, pp_host_costs *host_out, pp_err *err);

/* Is there anything that needs a program with sends and receives? */
bool pp_exchange_is_plain(const pp_exchange_options *exchange);

/* padded, bucket: `from` with longer last sequences; other protocols: a copy.
 * shapes_out: distinct token counts; may be NULL. Fails: INPUT when a microbatch is longer than MAX
 * (names it), or one would leave the limits of sim/job/workload.h; NOMEM. */
PP_MUST_CHECK pp_status pp_workload_pad(const pp_size_protocol *shapes, const pp_workload *from,
                                        pp_workload *workload_out, uint32_t *shapes_out,
                                        pp_err *err);
/* padded, where only costs are known: every microbatch costs what the longest one does, that with
 * the longest forwards and backwards in sum. Fails: USAGE for padded:MAX and bucket, NOMEM. */
PP_MUST_CHECK pp_status pp_costs_pad(const pp_size_protocol *shapes, pp_costs *costs, pp_err *err);

#endif
