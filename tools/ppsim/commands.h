/* The table of commands. A command is one file, tools/ppsim/cmd_<name>.c, and one line of
 * tools/ppsim/commands.def. */
#ifndef PPSIM_TOOLS_PPSIM_COMMANDS_H
#define PPSIM_TOOLS_PPSIM_COMMANDS_H

#include "tools/ppsim/base/command.h"

#define PP_COMMAND(id) extern const pp_command pp_command_##id;
#include "tools/ppsim/commands.def"
#undef PP_COMMAND

#endif
