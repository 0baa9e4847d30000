/* Reads files of the tokens that experts get. */
#ifndef PPSIM_SIM_JOB_EXPERT_TOKENS_H
#define PPSIM_SIM_JOB_EXPERT_TOKENS_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define PP_EXPERT_TOKENS_MICROBATCHES_MAX 65536

/* How unequal the ranks of an expert-parallel group are, microbatch by microbatch: the tokens of
 * the busiest rank's experts over the mean, 1 or more. Owner frees with pp_expert_tokens_free. */
typedef struct pp_expert_tokens {
    uint32_t microbatches; /* of the file; a step with more begins again */
    int64_t experts;       /* 0: not known */
    size_t degrees;        /* of expert parallelism that are known: all that divide the experts */
    int64_t *ep;           /* [degrees] */
    double *imbalance;     /* [degrees * microbatches] */
    double capacity;       /* the most tokens of an expert over the mean of all; 0: no limit */
    double kept;           /* of all tokens those that no expert drops, in the mean over layers */
} pp_expert_tokens;

/* Parses a JSON array of microbatches. Each is an array of counts, one per expert, or an array of
 * layers, each such an array; the imbalance of a microbatch is the mean over its layers. Ranks hold
 * equal ranges of experts, in order. capacity: the most tokens of an expert over the mean of all,
 * after which it drops them; 0: none. name: what messages call the file.
 * Fails: INPUT with JSON Pointer (no microbatch, none or different numbers of experts, a layer
 * without tokens), NOMEM. */
PP_MUST_CHECK pp_status pp_expert_tokens_parse(const char *text, size_t bytes, const char *name,
                                               double capacity, pp_expert_tokens *tokens_out,
                                               pp_err *err);
/* microbatch: of the step, 0-based. ep: one of the degrees, or 1. */
double pp_expert_tokens_imbalance(const pp_expert_tokens *tokens, uint32_t microbatch, int64_t ep);
/* The mean over all microbatches of the file. */
double pp_expert_tokens_mean(const pp_expert_tokens *tokens, int64_t ep);
void pp_expert_tokens_free(pp_expert_tokens *tokens); /* for PP_CLEANUP; all zero is fine */

#endif
