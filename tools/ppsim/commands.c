/* The table of commands, made from tools/ppsim/commands.def. */
#include "tools/ppsim/commands.h"

#include <stddef.h>

static const pp_command *const commands[] = {
#define PP_COMMAND(id) &pp_command_##id,
#include "tools/ppsim/commands.def"
#undef PP_COMMAND
    NULL,
};

const pp_command *const *pp_commands(void)
{
    return commands;
}
