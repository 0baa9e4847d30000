/* Which modules of a layer are worth recomputing. */
#ifndef PPSIM_SIM_COST_MODULES_H
#define PPSIM_SIM_COST_MODULES_H

#include "sim/cost/cost_model.h"

/* The set of modules that selective recomputation should have where none is given: the attention
 * core or, in models with experts or MLA, those that save more memory for their time than
 * PP_MODULE_WORTH times what full recomputation does, in a microbatch of 4,096 tokens. */
unsigned pp_modules_worth(const pp_cost_context *context);
#define PP_MODULE_WORTH 4

#endif
