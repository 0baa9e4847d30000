/* Causal attention inside one sequence of a microbatch, all heads; scores are made in tiles of
 * queries and never kept (Dao 2022). */
#ifndef PPSIM_RUNTIME_CPU_ATTENTION_H
#define PPSIM_RUNTIME_CPU_ATTENTION_H

#include "runtime/cpu/matmul.h"

#include <stdint.h>

typedef struct pp_cpu_sequence {
    const pp_cpu_blas *blas;
    int64_t length, heads, hidden;
    int64_t tile; /* queries at a time */
    pp_real *qkv; /* [length][3 hidden]; becomes its gradient */
    pp_real *out; /* [length][hidden] */
    pp_real *lse; /* [length][heads] */
} pp_cpu_sequence;

/* scores: [tile][length] */
void pp_cpu_attention_forward(const pp_cpu_sequence *sequence, pp_real *scores);

typedef struct pp_cpu_attention_scratch {
    pp_real *scores, *slopes; /* [tile][length] */
    pp_real *dk, *dv;         /* [length][hidden / heads] */
} pp_cpu_attention_scratch;

/* d: gradient of out. */
void pp_cpu_attention_backward(const pp_cpu_sequence *sequence, const pp_real *d,
                               const pp_cpu_attention_scratch *scratch);

#endif
