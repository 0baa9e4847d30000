/* The help of a command and the part of its manual page that is made from the same tables. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_HELP_H
#define PPSIM_TOOLS_PPSIM_BASE_HELP_H

#include "sim/base/text.h"
#include "tools/ppsim/base/command.h"

typedef enum pp_help_topic {
    PP_HELP_EVERYDAY, /* the options that people use */
    PP_HELP_ALL,      /* all options */
    PP_HELP_MEGATRON, /* the spellings of Megatron-LM */
    PP_HELP_MANUAL,   /* the sections of a manual page, as roff */
    PP_HELP_TOPIC_COUNT,
} pp_help_topic;

/* Appends the help of a command, in lines of at most PP_COLUMNS. */
void pp_help_print(const pp_command *command, pp_help_topic topic, pp_text *text);
/* Finds a topic by its name: "all", "megatron", "man". Returns false if there is none. */
bool pp_help_topic_find(const char *name, pp_help_topic *topic_out);
/* Returns whether a command line asks for help, with --help or -h in any place. argv[1] is the name
 * of the command. */
bool pp_help_requested(int argc, char **argv, pp_help_topic *topic_out);

#endif
