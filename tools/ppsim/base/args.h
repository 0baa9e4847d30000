/* The command line of a command, parsed against its option table. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_ARGS_H
#define PPSIM_TOOLS_PPSIM_BASE_ARGS_H

#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/cost/rank_overrides.h"
#include "tools/ppsim/base/command.h"

#include <stddef.h>
#include <stdint.h>

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

/* argv[1] is the command's name; argv must outlive args. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_args_parse(const pp_command *command, int argc, char **argv,
                                      pp_args **args_out, pp_err *err);
void pp_args_free(pp_args **args); /* for PP_CLEANUP */

/* Its own options, then those of every command; NULL beyond the last. */
const pp_option *pp_command_option(const pp_command *command, size_t index);

/* Usage line, options, details. */
void pp_command_help(const pp_command *command, pp_text *text);

#endif
