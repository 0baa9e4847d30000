/* One command from its command line to its answer. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_EXECUTE_H
#define PPSIM_TOOLS_PPSIM_BASE_EXECUTE_H

#include "tools/ppsim/base/command.h"

/* Parses a command line, whose argv[1] is the command's name, checks the files that it names, and
 * runs the command. On failure err->status is the status, even if there is no message. Fails: as
 * the command, USAGE, IO, NOMEM. */
PP_MUST_CHECK pp_status pp_command_execute(const pp_command *command, int argc, char **argv,
                                           pp_err *err);

#endif
