/* Causal attention within one sequence of a microbatch, over all heads. Scores are computed in
 * tiles of queries and never kept (Dao et al. 2022). */
#ifndef PPSIM_RUNTIME_CPU_ATTENTION_H
#define PPSIM_RUNTIME_CPU_ATTENTION_H

#include "runtime/cpu/matmul.h"

#include <stdint.h>

typedef struct pp_cpu_sequence {
    const pp_cpu_blas *blas;
    int64_t length, heads, hidden;
    int64_t tile; /* queries of a tile */
    pp_real *qkv; /* [length][3 hidden]; backward replaces it by its gradient */
    pp_real *out; /* [length][hidden] */
    pp_real *lse; /* [length][heads] */
} pp_cpu_sequence;

/* Writes out and lse. scores: scratch, [tile][length]. */
void pp_cpu_attention_forward(const pp_cpu_sequence *sequence, pp_real *scores);

typedef struct pp_cpu_attention_scratch {
    pp_real *scores, *slopes; /* [tile][length] */
    pp_real *dk, *dv;         /* [length][hidden / heads] */
} pp_cpu_attention_scratch;

/* Replaces qkv by its gradient. d: gradient of out, [length][hidden]. */
void pp_cpu_attention_backward(const pp_cpu_sequence *sequence, const pp_real *d,
                               const pp_cpu_attention_scratch *scratch);

#endif
