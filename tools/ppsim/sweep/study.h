/* The studies of a sweep: each point is a plan or a simulation, with the options of that
 * command. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_STUDY_H
#define PPSIM_TOOLS_PPSIM_SWEEP_STUDY_H

#include "tools/ppsim/base/command.h"

/* The names and options of the commands plan and simulate, with which points are parsed. They have
 * no `run`. */
extern const pp_command pp_sweep_plan, pp_sweep_simulate;

/* Returns the study of this name, the value of --study or of "study" in a file, or NULL when there
 * is none. */
const pp_command *pp_sweep_study(const char *name);

#endif
