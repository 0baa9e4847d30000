/* Times of single kernels and transfers on one GPU, in seconds. Formulas: docs/cost-model.md.
 * Sizes are doubles since splits need not divide them; zero work takes zero time. */
#ifndef PPSIM_SIM_COST_KERNEL_H
#define PPSIM_SIM_COST_KERNEL_H

#include "sim/job/hardware.h"

/* Of a linear layer, or another product. */
typedef enum pp_gemm_pass {
    PP_GEMM_OTHER,
    PP_GEMM_FORWARD,
    PP_GEMM_INPUT, /* gradient of the input */
    PP_GEMM_WEIGHT,
} pp_gemm_pass;

typedef struct pp_gemm {
    double m, n, k;
    double batch;        /* independent products of one kernel */
    double output_bytes; /* of one element: 2, or 8 where fp32 gradients are added to */
    pp_gemm_pass pass;
    bool fp32;
} pp_gemm;

double pp_gemm_seconds(const pp_hardware *hw, const pp_gemm *gemm);

/* The curve alone, without the memory floor: what the published samples are compared with.
 * sm_count, peak: of the GPU. */
double pp_gemm_curve_seconds(const pp_gemm_curve *curve, double peak_flops_per_s, int sm_count,
                             double m, double n, double k, double batch);

typedef struct pp_attention {
    double heads; /* on this GPU */
    double qk_dim, v_dim;
    double tokens, square_sum; /* of the microbatch; square_sum: sum of squared lengths */
    double longest, tiles;     /* where it was measured: the longest sequence, and the sum of
                                  ceil(length / 128)^2 */
    bool causal, backward;
} pp_attention;

/* Fused (flash) attention over sequences of any lengths. */
double pp_attention_seconds(const pp_hardware *hw, const pp_attention *attention);

double pp_elementwise_seconds(const pp_hardware *hw, double bytes);

/* Where the ranks of a group live: `members` of them on each node. */
typedef struct pp_collective_group {
    int64_t ranks;
    int64_t members;
} pp_collective_group;

/* `ranks` GPUs, every `stride`-th one of the job. */
pp_collective_group pp_group_of(const pp_hardware *hw, int64_t ranks, int64_t stride);

/* bytes: of the whole tensor (before reduce-scatter, after all-gather). */
double pp_collective_seconds(const pp_hardware *hw, pp_collective kind, pp_collective_group group,
                             double bytes);

/* All-to-all: every rank sends bytes / ranks to each. */
double pp_all_to_all_seconds(const pp_hardware *hw, pp_collective_group group, double bytes);

/* The communicator that carries a message. */
typedef struct pp_communicator {
    int64_t ranks;
    bool spans; /* more than one node: its network peers limit the others too */
} pp_communicator;

/* Channels for a peer in a communicator of so many ranks, where the link could use `per_peer` and
 * the communicator has `channels` (NCCL 2.29: halved until a node's share fits). */
int64_t pp_nccl_channels_per_peer(int64_t channels, int64_t per_peer, int64_t ranks);

/* Channels of one message where a communicator has so many and a peer may use so many of them
 * (addP2pToPlan): what all peers may use at once, less for few bytes, more where a channel's part
 * is too large. Chunks are 512 KiB inside a node, 128 KiB with a network. */
int64_t pp_nccl_channels(int64_t channels, int64_t per_peer, pp_communicator communicator,
                         double bytes);

/* Channels of one message between two ranks (NCCL 2.29: channels per peer, then those that `bytes`
 * are worth). */
int64_t pp_p2p_channels(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                        double bytes);
/* One message with these channels. */
double pp_message_seconds(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                          double bytes);

/* One message with all channels that a peer has in a communicator of so many ranks. */
double pp_p2p_seconds(const pp_hardware *hw, bool same_node, int64_t communicator, double bytes);

#endif
