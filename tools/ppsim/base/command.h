/* A command: its name, its options and its function. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_COMMAND_H
#define PPSIM_TOOLS_PPSIM_BASE_COMMAND_H

#include "sim/base/status.h"

#include <stdbool.h>

/* The parsed command line of one command. */
typedef struct pp_args pp_args;

/* One option. Parsing, --help and the completion of shells are made from it. */
typedef struct pp_option {
    const char *name;     /* "--pp" */
    const char *argument; /* "P"; NULL: a flag */
    const char *help;     /* one line; default and unit included */
    const char *alias;    /* Megatron's spelling, or a short form; NULL: none */
    bool repeated;
} pp_option;

/* A flag that stands for an option with a value: Megatron's --use-distributed-optimizer for
 * --zero 1.
 */
typedef struct pp_option_alias {
    const char *flag, *option, *value;
} pp_option_alias;

typedef struct pp_command pp_command;
struct pp_command {
    const char *name;
    const char *arguments; /* for the usage line */
    const char *summary;
    const pp_option
        *options; /* ends with a NULL name; every command also has --json, -o and --help */
    const pp_command *const *borrowed; /* commands whose options it also takes, each any number of
                                          times; ends with NULL; NULL: none */
    const pp_option_alias
        *aliases;        /* ends with a NULL flag; each flag is a row of `options`, too */
    const char *details; /* printed below the options; may be NULL */
    pp_status (*run)(const pp_args *args, pp_err *err);
};

#endif
