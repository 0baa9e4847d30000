/* Megatron's notation of a partition: --pipeline-model-parallel-layout. */
#ifndef PPSIM_SIM_ORDER_LAYOUT_H
#define PPSIM_SIM_ORDER_LAYOUT_H

#include "sim/base/text.h"
#include "sim/job/stage.h"

/* "Et*3|t*4|...|t*2L" (Megatron's --pipeline-model-parallel-layout). Appends to `text`. */
void pp_layout_print(const pp_stage *stages, uint32_t count, pp_text *text);
/* The inverse. stages_out: the caller's to free().
 * Fails: USAGE with the position; every layer, MTP module, E and L must be placed exactly once. */
PP_MUST_CHECK pp_status pp_layout_parse(const char *layout, int64_t layers, int64_t mtp,
                                        pp_stage **stages_out, uint32_t *count_out, pp_err *err);

#endif
