/* Parsing of a command line against a command's option table. */
#ifndef PPSIM_TOOLS_PPSIM_ARGS_H
#define PPSIM_TOOLS_PPSIM_ARGS_H

#include "tools/ppsim/tool.h"

/* argv[1] is the command's name; argv must outlive args. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_args_parse(const pp_command *command, int argc, char **argv,
                                      pp_args **args_out, pp_err *err);
void pp_args_free(pp_args **args); /* for PP_CLEANUP */

/* Its own options, then those of every command; NULL beyond the last. */
const pp_option *pp_command_option(const pp_command *command, size_t index);

/* Usage line, options, details. */
void pp_command_help(const pp_command *command, pp_text *text);

#endif
