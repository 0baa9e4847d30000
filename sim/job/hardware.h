/* A GPU in a node in a network: peaks, measured efficiency curves, links. It is read from a file
 * ("format":"ppsim.hardware"); traces/data/hardware/ has those of known machines, each number with
 * its source. Units are SI: seconds, bytes, flop/s, byte/s. docs/explanation/cost-model.md has the
 * formulas. */
#ifndef PPSIM_SIM_JOB_HARDWARE_H
#define PPSIM_SIM_JOB_HARDWARE_H

#include "sim/base/status.h"
#include "sim/job/measured.h"
#include "sim/job/parallel.h"
#include "sim/job/precision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_HARDWARE_CURVES_MAX 32

/* t = t0 + F/(ee P) (1 + k0/k) Q^a, ee = e2 + (e1 - e2)/(1 + F/Fd); Q: wave quantisation. */
typedef struct pp_gemm_curve {
    double t0_s, e1, k0, e2, fd_flops, a;
    double weight_gradient; /* speed of the weight gradient's GEMM relative to the forward's */
    double scale;           /* e: fitted to step times; 1: kernels run as measured */
    /* Of 8 and 4 bits: the peak relative to peak_flops_per_s (0: the GPU lacks the format), and
     * memory traffic per element of the result, which does not overlap with the products. */
    double peak_ratio, output_bytes;
} pp_gemm_curve;

/* Attention reaches eff(s) = e s/(s + s0) B/(B + b0) of the dense peak at length s, where B = heads
 * tokens / 128 is the number of blocks; causal FLOPs are halved. The curve of the nearest head_dim
 * is used. */
typedef struct pp_attention_curve {
    int head_dim;
    bool causal;
    bool backward; /* false: forward */
    double e, s0, b0;
} pp_attention_curve;

/* A collective of n ranks takes t = a + bytes f/bw (1 + sqrt(b0/bytes)), where f = (n-1)/n, or
 * twice that for all-reduce. Files need not have all-to-all: it then takes the time of the link. */
typedef enum pp_collective {
    PP_ALL_REDUCE,
    PP_ALL_GATHER,
    PP_REDUCE_SCATTER,
    PP_ALL_TO_ALL, /* bytes: that a rank sends, its own part included */
    PP_COLLECTIVES,
} pp_collective;
typedef struct pp_collective_curve {
    pp_collective kind;
    int ranks;
    double a_s, bytes_per_s, b0_bytes;
} pp_collective_curve;

/* An NCCL send/recv takes alpha + bytes / min(n channel, link) with n channels for one peer. */
typedef struct pp_p2p_curve {
    bool published; /* false: latency + bytes / link is used, and noted in the assumptions */
    double alpha_s, channel_bytes_per_s, link_bytes_per_s;
    int channels;     /* n in a communicator of one node; larger communicators halve it */
    int channels_max; /* all p2p channels of a communicator */
} pp_p2p_curve;

/* What was fitted to measurements of this machine, by the statuses in the file. Links: see
 * pp_p2p_curve. */
typedef struct pp_hardware_evidence {
    bool gemm;
    bool attention[2];               /* forward, backward; some head size */
    bool collective[PP_COLLECTIVES]; /* some number of ranks */
    bool steps;                      /* whole layers or steps */
} pp_hardware_evidence;

/* The parts of a machine that were measured or not. */
typedef enum pp_hardware_part {
    PP_PART_GEMM,
    PP_PART_ATTENTION,
    PP_PART_COLLECTIVES,
    PP_PART_MESSAGES,
    PP_PART_STEPS,
    PP_PART_COUNT,
} pp_hardware_part;

typedef struct pp_hardware {
    char name[64];
    char summary[160];
    char architecture[32];   /* of the GPU, as stacks name it; "": not known */
    double peak_flops_per_s; /* dense bf16 (fp16 if the GPU has no bf16) */
    double fp32_ratio; /* peak of fp32 training (TF32 if the GPU has it) over peak_flops_per_s */
    int64_t memory_bytes;
    double memory_bytes_per_s;
    int sm_count;
    double elementwise;  /* hb: share of memory_bytes_per_s that elementwise kernels reach */
    double kernel_s;     /* fixed time of an elementwise kernel */
    double launch_s;     /* host time to launch a kernel */
    double host_gap_s;   /* host time per F or B of a stage if the framework synchronises */
    double step_fixed_s; /* fixed time per step */
    double optimizer_bytes_per_parameter;
    /* The share of all kernel speeds that remains in a whole step, after the power limit, jitter
     * and NCCL's kernels have taken theirs; 1 if the other numbers were fitted to steps. */
    double sustained;
    double tp_overlap;  /* hidden fraction of the tensor-parallel communication that can overlap */
    pp_gemm_curve gemm; /* of 16-bit operands */
    pp_gemm_curve low[PP_GEMM_FORMATS]; /* of the other formats */
    pp_attention_curve attention[PP_HARDWARE_CURVES_MAX];
    size_t attention_count;
    pp_collective_curve collective[PP_HARDWARE_CURVES_MAX];
    size_t collective_count;
    int gpus_per_node; /* that reach each other without the network: of a server, or of a rack */
    int gpus_per_tray; /* a rack is given to jobs in trays of so many; gpus_per_node: in one piece
                        */
    pp_p2p_curve node_p2p;      /* inside a node */
    pp_p2p_curve network_p2p;   /* between nodes, per GPU */
    double network_bytes_per_s; /* of a node, all NICs, one direction (--node-network) */
    double network_efficiency;  /* ib: share of network_bytes_per_s that training reaches */
    double network_hop_s;       /* added to a collective for each node of its ring */
    pp_hardware_evidence evidence;
    const pp_measured *measured; /* takes precedence; borrowed; NULL: nothing was measured */
} pp_hardware;

/* How many GPUs a job has on each of its nodes but the last one. A node in one piece is filled. Of
 * racks of trays, a job of several takes equal parts (64 of 72 GPUs) if these need at most a third
 * more racks than filled ones, and else all GPUs; in whole groups of tensor and context
 * parallelism, or of tensor parallelism if that is not possible, so that these straddle no racks.
 */
int64_t pp_hardware_node_part(const pp_hardware *hardware, const pp_parallel *parallel);

/* True if this part follows measurements of the machine; else it is prior. */
bool pp_hardware_is_measured(const pp_hardware *hardware, pp_hardware_part part);
const char *pp_hardware_part_name(pp_hardware_part part);

/* True if some tensor-parallel group of the job is on two nodes. Degrees other than tp may be 0,
 * not known yet. */
bool pp_hardware_tp_straddles(const pp_hardware *hardware, const pp_parallel *parallel);

/* A machine about which nothing is known: whatever was not measured takes no time, all GPUs are in
 * one node, the memory is 0 (not known) and the peak is infinite. */
void pp_hardware_unknown(const char *name, pp_hardware *hardware_out);

/* Parses a hardware file. file: what messages call it.
 * Fails: INPUT with file and JSON Pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_hardware_parse(const char *text, size_t bytes, const char *file,
                                          pp_hardware *hardware_out, pp_err *err);

#endif
