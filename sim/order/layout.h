/* Megatron-LM's notation of a partition (its option --pipeline-model-parallel-layout): "|"
 * separates stages, E is the embedding, t a layer, m a multi-token prediction module and L the
 * loss. */
#ifndef PPSIM_SIM_ORDER_LAYOUT_H
#define PPSIM_SIM_ORDER_LAYOUT_H

#include "sim/base/text.h"
#include "sim/job/stage.h"

/* Appends "Et*3|t*4|...|t*2L" to `text`. */
void pp_layout_print(const pp_stage *stages, uint32_t count, pp_text *text);
/* Parses a layout that places every layer and MTP module, E and L exactly once. The caller frees
 * *stages_out with free().
 * Fails: USAGE with the position. */
PP_MUST_CHECK pp_status pp_layout_parse(const char *layout, int64_t layers, int64_t mtp,
                                        pp_stage **stages_out, uint32_t *count_out, pp_err *err);

#endif
