/* Times of single kernels and transfers on one GPU, in seconds. docs/explanation/cost-model.md has
 * the formulas. Sizes are doubles, since degrees of parallelism need not divide them. No work takes
 * no time. */
#ifndef PPSIM_SIM_COST_KERNEL_H
#define PPSIM_SIM_COST_KERNEL_H

#include "sim/job/hardware.h"

/* The pass of a linear layer to which a product belongs. */
typedef enum pp_gemm_pass {
    PP_GEMM_OTHER, /* not of a linear layer */
    PP_GEMM_FORWARD,
    PP_GEMM_INPUT,  /* gradient of the input */
    PP_GEMM_WEIGHT, /* gradient of the weight */
} pp_gemm_pass;

typedef struct pp_gemm {
    double m, n, k;
    double batch;        /* independent products in one kernel */
    double output_bytes; /* moved per output element: 2, or 8 to accumulate fp32 gradients */
    pp_gemm_pass pass;
    pp_gemm_format format; /* of the operands; the machine must have it */
    bool fp32;
    bool expert; /* one of several small products in a row, each in a kernel of its own */
} pp_gemm;

double pp_gemm_seconds(const pp_hardware *hw, const pp_gemm *gemm);
/* The time of a GEMM of this size for each of so many experts, one after the other unless they were
 * measured together. */
double pp_expert_gemms_seconds(const pp_hardware *hw, const pp_gemm *gemm, double experts);
/* The time of a quantization that reads and writes so many bytes. */
double pp_quantize_seconds(const pp_hardware *hw, const pp_recipe *recipe, double bytes);

/* The curve without the bound by memory bandwidth, for comparison with published samples.
 * peak_flops_per_s and sm_count: of the GPU. */
double pp_gemm_curve_seconds(const pp_gemm_curve *curve, double peak_flops_per_s, int sm_count,
                             double m, double n, double k, double batch);

typedef struct pp_attention {
    double heads; /* on this GPU */
    double qk_dim, v_dim;
    double tokens, square_sum; /* of the microbatch; square_sum: sum of squared lengths */
    double longest, tiles;     /* for measured attention: the longest sequence, and the sum of
                                  ceil(length / 128)^2 */
    bool causal, backward;
} pp_attention;

/* Fused (flash) attention over sequences of any lengths. */
double pp_attention_seconds(const pp_hardware *hw, const pp_attention *attention);

double pp_elementwise_seconds(const pp_hardware *hw, double bytes);

/* A group of ranks, `members` of them on each node. */
typedef struct pp_collective_group {
    int64_t ranks;
    int64_t members;
} pp_collective_group;

/* The group of `ranks` GPUs that are `stride` apart in the numbering of the job's GPUs. node_part:
 * the job's GPUs on a node (pp_hardware_node_part). */
pp_collective_group pp_group_of(int64_t node_part, int64_t ranks, int64_t stride);

/* bytes: size of the whole tensor (before a reduce-scatter, after an all-gather). */
double pp_collective_seconds(const pp_hardware *hw, pp_collective kind, pp_collective_group group,
                             double bytes);

/* What a rank sends to other ranks at the same time. */
typedef struct pp_exchange_load {
    double inside_bytes; /* to the ranks of its node, with its part of them to itself */
    double network_bytes;
    double part;              /* of the rate of rings, on the network */
    double links_bytes_per_s; /* at most, of what leaves the GPU inside its node; 0: its link's */
} pp_exchange_load;

double pp_exchange_seconds(const pp_hardware *hw, pp_collective_group group,
                           const pp_exchange_load *load);

/* The time of an all-to-all in which every rank sends `bytes`, if the machine was measured. */
bool pp_all_to_all_measured(const pp_hardware *hw, pp_collective_group group, double bytes,
                            double *seconds_out);
/* Every rank sends `bytes`, the same part to each rank of the group. */
double pp_all_to_all_seconds(const pp_hardware *hw, pp_collective_group group, double bytes);

/* The communicator that carries a message. */
typedef struct pp_communicator {
    int64_t ranks;
    bool spans; /* it spans nodes, so that its network peers limit the others too */
} pp_communicator;

/* The number of NCCL channels for one peer in a communicator of `ranks` ranks and `channels`
 * channels, over a link that could use `per_peer` (NCCL 2.29 halves that until all peers fit). */
int64_t pp_nccl_channels_per_peer(int64_t channels, int64_t per_peer, int64_t ranks);

/* The number of channels of one message in a communicator of `channels` channels, `per_peer` of
 * which one peer may use. Like addP2pToPlan of NCCL 2.29, it starts with the number that all peers
 * may use at once, and takes fewer channels for few bytes, and more if the part of one channel
 * would be too large. Chunks are 512 KiB inside a node and 128 KiB if the communicator spans
 * nodes. */
int64_t pp_nccl_channels(int64_t channels, int64_t per_peer, pp_communicator communicator,
                         double bytes);

/* The number of channels of one message between two ranks of this hardware. */
int64_t pp_p2p_channels(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                        double bytes);
/* The time of one message with pp_p2p_channels channels. */
double pp_message_seconds(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                          double bytes);

/* The time of one message with all channels that a peer has in a communicator of `communicator`
 * ranks. */
double pp_p2p_seconds(const pp_hardware *hw, bool same_node, int64_t communicator, double bytes);

#endif
