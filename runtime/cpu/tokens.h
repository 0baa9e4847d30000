/* What is done token by token: inputs, losses, the gradient of the embedding. */
#ifndef PPSIM_RUNTIME_CPU_TOKENS_H
#define PPSIM_RUNTIME_CPU_TOKENS_H

#include "runtime/cpu/model.h"
#include "runtime/cpu/real.h"

/* embedding: NULL: x becomes pseudo-random. */
void pp_cpu_token_input(const pp_cpu_model *model, const pp_cpu_batch *batch,
                        const pp_real *embedding, pp_real *x);
/* rows: [tokens][vocab], the logits, or without a vocabulary [tokens][hidden], the outputs; they
 * become their gradient. */
pp_real pp_cpu_token_loss(const pp_cpu_model *model, const pp_cpu_batch *batch, pp_real *rows);
void pp_cpu_token_gradient(const pp_cpu_model *model, const pp_cpu_batch *batch, const pp_real *d,
                           pp_real *gradient);

#endif
