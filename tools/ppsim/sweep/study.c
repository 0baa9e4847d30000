/* Defines the two studies of a sweep. They use the option tables of the commands plan and simulate,
 * but not the commands, because those are in a higher layer than this folder. */
#include "tools/ppsim/sweep/study.h"

#include "tools/ppsim/plan/options.h"
#include "tools/ppsim/scenario/simulate_options.h"

#include <string.h>

const pp_command pp_sweep_plan = {
    .name = "plan",
    .options = pp_plan_options,
    .aliases = pp_plan_option_aliases,
};
const pp_command pp_sweep_simulate = { .name = "simulate", .options = pp_simulate_options };

const pp_command *pp_sweep_study(const char *name)
{
    if (strcmp(name, pp_sweep_plan.name) == 0)
        return &pp_sweep_plan;
    return strcmp(name, pp_sweep_simulate.name) == 0 ? &pp_sweep_simulate : NULL;
}
