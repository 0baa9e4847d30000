/* What the commands share: option tables, values, output. The only folder that prints or exits. */
#ifndef PPSIM_TOOLS_PPSIM_TOOL_H
#define PPSIM_TOOLS_PPSIM_TOOL_H

#include "calib/profile/profile.h"
#include "planner/study/cluster.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/cost/rank_overrides.h"
#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/plan/plan.h"
#include "traces/format/registry.h"
#include "traces/read/data.h"

#include <stdbool.h>

/* The parsed command line of one command. */
typedef struct pp_args pp_args;

/* One row makes parsing, --help and the completion. */
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
    const pp_option *options; /* ends with a NULL name; --json -o --help come by themselves */
    const pp_command *const *borrowed; /* ends with NULL: commands whose options it takes too, each
                                          any number of times; NULL: none */
    const pp_option_alias
        *aliases;        /* ends with a NULL flag; the flags are rows of `options`, too */
    const char *details; /* printed below the options; may be NULL */
    pp_status (*run)(const pp_args *args, pp_err *err);
};

/* Words that are no options, in order; NULL beyond the last. */
const char *pp_args_word(const pp_args *args, size_t index);
/* Was the option given? */
bool pp_args_has(const pp_args *args, const char *option);
/* The (last) value, or NULL. */
const char *pp_args_text(const pp_args *args, const char *option);
/* The index-th value of a repeated option, or NULL. */
const char *pp_args_each(const pp_args *args, const char *option, size_t index);
/* The index-th option of the command line with its value (NULL: a flag); NULL beyond the last. */
const pp_option *pp_args_given(const pp_args *args, size_t index, const char **value_out);
/* The option of `options` that is spelt or aliased so, or NULL. */
const pp_option *pp_option_find(const pp_option *options, const char *name, size_t bytes);
/* When the option was not given, *out keeps its value. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_args_int(const pp_args *args, const char *option, int64_t low,
                                    int64_t high, int64_t *out, pp_err *err);
PP_MUST_CHECK pp_status pp_args_bytes(const pp_args *args, const char *option, int64_t *out,
                                      pp_err *err);
PP_MUST_CHECK pp_status pp_args_duration(const pp_args *args, const char *option, pp_ns *out,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_args_rate(const pp_args *args, const char *option, double *out,
                                     pp_err *err);
/* --rank-speed, --rank-memory, --rank-link, as far as given. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_args_rank_overrides(const pp_args *args, pp_rank_overrides *overrides,
                                               pp_err *err);
/* "3" or "0-3". */
PP_MUST_CHECK pp_status pp_args_range(const pp_args *args, const char *option, int64_t *low,
                                      int64_t *high, pp_err *err);
/* on | off. */
PP_MUST_CHECK pp_status pp_args_switch(const pp_args *args, const char *option, bool *out,
                                       pp_err *err);
/* One of `names` (ends with NULL); *out is its index. */
PP_MUST_CHECK pp_status pp_args_choice(const pp_args *args, const char *option,
                                       const char *const names[], int *out, pp_err *err);
/* The whole command line, quoted for a shell: for provenance. Caller frees. NULL: no memory. */
char *pp_args_command(const pp_args *args);

/* --shapes, --host, --shape-message, --tensors-per-boundary over what *exchange has.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_args_exchange(const pp_args *args, pp_exchange_options *exchange,
                                         pp_err *err);
/* The same, and --shapes may be auto: *auto_out says so, and *exchange keeps its protocol. */
PP_MUST_CHECK pp_status pp_args_exchange_or_auto(const pp_args *args, pp_exchange_options *exchange,
                                                 bool *auto_out, pp_err *err);
/* Is "auto" given for it? */
bool pp_args_is_auto(const pp_args *args, const char *option);

/* Writes to -o FILE ("-" or absent: stdout). Data only. Fails: IO. */
PP_MUST_CHECK pp_status pp_print_product(const pp_args *args, const char *text, size_t bytes,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_print_stdout(const char *text, size_t bytes, pp_err *err);
/* --json: prints `json` as the product. */
PP_MUST_CHECK pp_status pp_print_json(const pp_args *args, const pp_json_build *build,
                                      const pp_json *json, pp_err *err);
/* To a file, compressed where its name ends in .gz, or "-". Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_write_text(const char *path, const char *text, size_t bytes,
                                      pp_err *err);
/* Carries out every --emit FORMAT=FILE and --trace FORMAT=FILE. Formats "plan" and "report" are
 * known beside traces/formats.def. Writes nothing before all texts are made. */
PP_MUST_CHECK pp_status pp_write_exports(const pp_args *args, const pp_export *data, pp_err *err);
/* One of them: option is --emit or --trace, request FORMAT=FILE. */
PP_MUST_CHECK pp_status pp_write_export(const char *option, const char *request,
                                        const pp_export *data, pp_err *err);
/* A target refused the order: adds to *err the fastest schedule on the same stages that it runs,
 * and how much slower that is, as far as both are known. */
void pp_add_nearest(const pp_format *format, const pp_export *data, pp_err *err);
/* --p2p, --communicators, --nic, --overlap-slowdown and --transfer-latency go over what the plan
 * says. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_apply_transfer_options(const pp_args *args, pp_plan *plan, pp_err *err);
/* Shows on a terminal how far long work is, at what rate, and the time left; on pipes nothing. */
typedef struct pp_ticker {
    const char *unit; /* "points" */
    size_t before;    /* were done before it began */
    bool shows;
    int64_t begin_ns, shown_ns;
} pp_ticker;

pp_ticker pp_ticker_begin(const char *unit, size_t before);
/* "what: 3 of 10 points, 1.2 points/s, 6 s left", a few times per second; what: may be "". */
void pp_ticker_show(pp_ticker *ticker, const char *what, size_t done, size_t total);
void pp_ticker_end(const pp_ticker *ticker); /* takes the line away */

/* A warning or remark for people: stderr. */
void pp_remark(const char *format, ...) PP_PRINTF(1, 2);

#define PP_COLUMNS 80
/* Words broken at blanks before PP_COLUMNS; the first line begins at `column`, later ones at
 * `indent`. */
void pp_print_words(pp_text *text, const char *words, size_t column, size_t indent);

/* Bytes of what a reason says before it advises or explains; --json has all of it. */
int pp_first_clause(const char *reason);

/* "7", or "1 to 7" */
void pp_range_print(char *buffer, size_t size, int64_t least, int64_t most);

/* "recompute": a word for all stages; their layers, stage by stage; a table where microbatches have
 * their own. */
void pp_recompute_print(const pp_plan *plan, pp_text *text);

/* The report as people read it. columns: 80 by default. */
void pp_report_print(const pp_report *report, pp_text *text);
/* "over limit   first by rank 0 while 4F0 runs, at 3.2 ms: ..."; nothing where all fit. */
void pp_over_limit_print(const pp_report *report, pp_text *text);
/* Where a step of `step_ns` goes: a table. */
void pp_why_print(const pp_why *why, pp_ns step_ns, pp_text *text);
/* Its end: jitter and sensitivity, where asked for. */
void pp_robustness_print(const pp_robustness *robustness, pp_text *text);

/* --framework all: the plan under every framework. */
PP_MUST_CHECK pp_status pp_print_executor_table(const pp_args *args, pp_plan *plan, pp_err *err);

#define PP_COMMAND(id) extern const pp_command pp_command_##id;
#include "tools/ppsim/commands.def"
#undef PP_COMMAND

/* In the order of tools/ppsim/commands.def; ends with NULL. */
const pp_command *const *pp_commands(void);

/* What this build is: parts, versions, licences. */
void pp_version_print(pp_text *text);

/* The text of a model, hardware or profile by name (traces/data) or file. Fails: USAGE (unknown
 * name, nearest given), IO, NOMEM. */
typedef struct pp_loaded_text {
    const char *data;
    size_t bytes;
    const char *name; /* for messages */
    char *owned;
} pp_loaded_text;

PP_MUST_CHECK pp_status pp_load_text(pp_data_kind kind, const char *name_or_file,
                                     pp_loaded_text *text_out, pp_err *err);
void pp_loaded_text_free(pp_loaded_text *text); /* for PP_CLEANUP */

/* The same, parsed. Fails also: INPUT. */
PP_MUST_CHECK pp_status pp_load_model(const char *name_or_file, pp_model *model_out, pp_err *err);
PP_MUST_CHECK pp_status pp_load_hardware(const char *name_or_file, pp_hardware *hardware_out,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_load_lengths(const char *path, pp_lengths *lengths_out, pp_err *err);
/* A cluster with the hardware of its classes, or one machine: no class, hardware_out[0].
 * hardware_out: [PP_CLUSTER_CLASSES_MAX]. */
PP_MUST_CHECK pp_status pp_load_cluster(const char *name_or_file, pp_cluster *cluster_out,
                                        pp_hardware *hardware_out, pp_err *err);
PP_MUST_CHECK pp_status pp_load_profile(const char *name_or_file, pp_profile **profile_out,
                                        pp_err *err);

#endif
