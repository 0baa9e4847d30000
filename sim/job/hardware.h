/* A GPU in a node in a network: peaks, measured efficiency curves, links. Read from a file of ours
 * ("format":"ppsim.hardware"); traces/data/hardware/ has the known ones, each number with its
 * source. SI units: seconds, bytes, flop/s, byte/s. Formulas: docs/cost-model.md. */
#ifndef PPSIM_SIM_JOB_HARDWARE_H
#define PPSIM_SIM_JOB_HARDWARE_H

#include "sim/base/status.h"
#include "sim/job/measured.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_HARDWARE_CURVES_MAX 32

/* t = t0 + F/(ee P) (1 + k0/k) Q^a, ee = e2 + (e1 - e2)/(1 + F/Fd); Q: wave quantisation. */
typedef struct pp_gemm_curve {
    double t0_s, e1, k0, e2, fd_flops, a;
    double weight_gradient; /* wgrad speed over forward speed */
    double scale;           /* e: fitted to step times (1: kernels as measured) */
} pp_gemm_curve;

/* eff(s) = e s/(s + s0) B/(B + b0) of the dense peak, B = heads tokens / 128 blocks; causal flops
 * are halved. The curve of the nearest head_dim is used. */
typedef struct pp_attention_curve {
    int head_dim;
    bool causal;
    bool backward; /* otherwise forward */
    double e, s0, b0;
} pp_attention_curve;

/* t = a + bytes f/bw (1 + sqrt(b0/bytes)), f = (n-1)/n (twice for all-reduce). */
typedef enum pp_collective { PP_ALL_REDUCE, PP_ALL_GATHER, PP_REDUCE_SCATTER } pp_collective;
typedef struct pp_collective_curve {
    pp_collective kind;
    int ranks;
    double a_s, bytes_per_s, b0_bytes;
} pp_collective_curve;

/* NCCL send/recv: alpha + bytes / min(n channel, link), n channels for one peer. */
typedef struct pp_p2p_curve {
    bool published; /* false: latency + bytes / link, marked so in assumptions */
    double alpha_s, channel_bytes_per_s, link_bytes_per_s;
    int channels;     /* n in a communicator of one node; halves as it grows */
    int channels_max; /* p2p channels of a communicator */
} pp_p2p_curve;

typedef struct pp_hardware {
    char name[64];
    char summary[160];
    double peak_flops_per_s; /* dense bf16 (fp16 where the GPU has no bf16) */
    double fp32_ratio;       /* peak of fp32 training (TF32 where there is one) over the above */
    int64_t memory_bytes;
    double memory_bytes_per_s;
    int sm_count;
    double elementwise;  /* hb: share of memory_bytes_per_s that elementwise kernels reach */
    double kernel_s;     /* fixed time of an elementwise kernel */
    double launch_s;     /* host time to launch a kernel */
    double host_gap_s;   /* per F or B of a stage, where the framework synchronises */
    double step_fixed_s; /* per step */
    double optimizer_bytes_per_parameter;
    /* The share of all kernel speeds that remains in a whole step, after the power limit, jitter
     * and NCCL's kernels have taken theirs; 1 where the other numbers were fitted to steps. */
    double sustained;
    double tp_overlap; /* part of hideable tensor-parallel communication that is hidden */
    pp_gemm_curve gemm;
    pp_attention_curve attention[PP_HARDWARE_CURVES_MAX];
    size_t attention_count;
    pp_collective_curve collective[PP_HARDWARE_CURVES_MAX];
    size_t collective_count;
    int gpus_per_node;
    pp_p2p_curve node_p2p;       /* inside a node */
    pp_p2p_curve network_p2p;    /* between nodes, per GPU */
    double network_bytes_per_s;  /* of a node, all NICs, one direction (--node-network) */
    double network_efficiency;   /* ib: share of it that training reaches */
    double network_hop_s;        /* collectives: per node of the ring */
    const pp_measured *measured; /* asked first; borrowed; NULL: nothing was measured */
} pp_hardware;

/* A machine of which nothing is known: what is not measured takes no time there, everything
 * is in one node, memory (0) and peak (infinite) are not known. */
void pp_hardware_unknown(const char *name, pp_hardware *hardware_out);

/* Fails: INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_hardware_parse(const char *text, size_t bytes, const char *file,
                                          pp_hardware *hardware_out, pp_err *err);

#endif
