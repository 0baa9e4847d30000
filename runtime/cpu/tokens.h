/* Operations on tokens: inputs, losses, the gradient of the embedding. */
#ifndef PPSIM_RUNTIME_CPU_TOKENS_H
#define PPSIM_RUNTIME_CPU_TOKENS_H

#include "runtime/cpu/model.h"
#include "runtime/cpu/real.h"

/* Writes the input of the first stage to x. embedding: NULL: pseudo-random numbers. */
void pp_cpu_token_input(const pp_cpu_model *model, const pp_cpu_batch *batch,
                        const pp_real *embedding, pp_real *x);
/* Returns the loss. rows: the logits, [tokens][vocab], or without a vocabulary the outputs,
 * [tokens][hidden]; they are replaced by their gradient. */
pp_real pp_cpu_token_loss(const pp_cpu_model *model, const pp_cpu_batch *batch, pp_real *rows);
void pp_cpu_token_gradient(const pp_cpu_model *model, const pp_cpu_batch *batch, const pp_real *d,
                           pp_real *gradient);

#endif
