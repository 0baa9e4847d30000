/* A command: its name, its options and its function. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_COMMAND_H
#define PPSIM_TOOLS_PPSIM_BASE_COMMAND_H

#include "sim/base/status.h"

#include <stdbool.h>

/* The parsed command line of one command. */
typedef struct pp_args pp_args;

/* The headings of --help and of the manual, in their order: GROUP(id, heading). */
#define PP_OPTION_GROUPS(GROUP)            \
    GROUP(EXECUTION, "Execution")          \
    GROUP(MEASUREMENTS, "Measurements")    \
    GROUP(COMPARISON, "Comparison")        \
    GROUP(CONVERSION, "Conversion")        \
    GROUP(PICTURE, "Picture")              \
    GROUP(POINTS, "Points of the sweep")   \
    GROUP(MODEL, "Model and data")         \
    GROUP(HARDWARE, "Hardware")            \
    GROUP(PARALLELISM, "Parallelism")      \
    GROUP(SCHEDULE, "Schedule")            \
    GROUP(COSTS, "Costs")                  \
    GROUP(FRAMEWORK, "Training framework") \
    GROUP(COMMUNICATION, "Communication")  \
    GROUP(SEARCH, "Search and analysis")   \
    GROUP(FAILURES, "Hangs and failures")  \
    GROUP(OUTPUT, "Output")                \
    GROUP(MEGATRON, "Options of Megatron-LM") /* shown by --help megatron only */

typedef enum pp_option_group {
#define PP_OPTION_GROUP(id, heading) PP_GROUP_##id,
    PP_OPTION_GROUPS(PP_OPTION_GROUP)
#undef PP_OPTION_GROUP
        PP_GROUP_COUNT,
} pp_option_group;

/* One option. Parsing, --help, the manual and the completion of shells are made from it. */
typedef struct pp_option {
    const char *name;     /* "--pp" */
    const char *argument; /* "P"; NULL: a flag */
    pp_option_group group;
    const char *help;       /* a phrase, with the unit, without the default */
    const char *by_default; /* printed as "(default: 80)"; NULL: there is none */
    const char *alias;      /* Megatron's spelling, or a short form; NULL: none */
    bool repeated;
} pp_option;

/* The fields of a row of an option table, used as { PP_ROW(...) }, and of one that may be given
 * several times. */
#define PP_ROW(name, argument, group, help, by_default) \
    name, argument, PP_GROUP_##group, help, by_default, NULL, false
#define PP_ROW_REPEATED(name, argument, group, help, by_default) \
    name, argument, PP_GROUP_##group, help, by_default, NULL, true
/* The last row of a table. */
#define PP_ROW_END NULL, NULL, PP_GROUP_COUNT, NULL, NULL, NULL, false

/* A flag that stands for an option with a value: Megatron's --use-distributed-optimizer for
 * --zero 1.
 */
typedef struct pp_option_alias {
    const char *flag, *option, *value;
} pp_option_alias;

typedef struct pp_command pp_command;
struct pp_command {
    const char *name;
    const char *arguments;       /* of the usage lines, one per line */
    const char *summary;         /* "choose ...": one sentence without its full stop */
    const pp_option *options;    /* ends with PP_ROW_END; every command also has --json, -o and
                                    --help */
    const char *const *everyday; /* names of the options that --help shows, in any order; ends with
                                    NULL. NULL: all of them */
    const pp_command *const *borrowed; /* commands whose options it also takes, each any number of
                                          times; ends with NULL; NULL: none */
    const pp_option_alias
        *aliases;         /* ends with a NULL flag; each flag is a row of `options`, too */
    const char *details;  /* paragraphs below the options, one per line; may be NULL */
    const char *examples; /* command lines, one per line, at most 78 columns; one that ends in a
                             backslash continues on the next line; may be NULL */
    pp_status (*run)(const pp_args *args, pp_err *err);
};

#endif
