/* The command line of a command, parsed against its option table. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_ARGS_H
#define PPSIM_TOOLS_PPSIM_BASE_ARGS_H

#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/cost/rank_overrides.h"
#include "tools/ppsim/base/command.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the index-th word of the command line that belongs to no option, or NULL after the
 * last. */
const char *pp_args_word(const pp_args *args, size_t index);
/* Returns whether the option was given. */
bool pp_args_has(const pp_args *args, const char *option);
/* Returns the (last) value of an option, or NULL. */
const char *pp_args_text(const pp_args *args, const char *option);
/* Returns the index-th value of a repeated option, or NULL. */
const char *pp_args_each(const pp_args *args, const char *option, size_t index);
/* Returns the index-th option of the command line with its value (NULL: a flag), or NULL after the
 * last. */
const pp_option *pp_args_given(const pp_args *args, size_t index, const char **value_out);
/* Returns the option of `options` with this name or alias, or NULL. */
const pp_option *pp_option_find(const pp_option *options, const char *name, size_t bytes);
/* Each of these functions parses the value of an option into *out, in bytes, ns or units per
 * second. Without the option *out keeps its value. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_args_int(const pp_args *args, const char *option, int64_t low,
                                    int64_t high, int64_t *out, pp_err *err);
PP_MUST_CHECK pp_status pp_args_bytes(const pp_args *args, const char *option, int64_t *out,
                                      pp_err *err);
PP_MUST_CHECK pp_status pp_args_duration(const pp_args *args, const char *option, pp_ns *out,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_args_rate(const pp_args *args, const char *option, double *out,
                                     pp_err *err);
/* Parses --rank-speed, --rank-memory and --rank-link, as far as they are given. Fails: USAGE,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_args_rank_overrides(const pp_args *args, pp_rank_overrides *overrides,
                                               pp_err *err);
/* Parses "3" or "0-3". */
PP_MUST_CHECK pp_status pp_args_range(const pp_args *args, const char *option, int64_t *low,
                                      int64_t *high, pp_err *err);
/* Parses on or off. */
PP_MUST_CHECK pp_status pp_args_switch(const pp_args *args, const char *option, bool *out,
                                       pp_err *err);
/* Finds the value in `names` (which ends with NULL); *out is its index. */
PP_MUST_CHECK pp_status pp_args_choice(const pp_args *args, const char *option,
                                       const char *const names[], int *out, pp_err *err);
/* The time at which the command began, when its arguments were read (runtime/core/clock.h). */
int64_t pp_args_begin_ns(const pp_args *args);

/* Returns the whole command line, quoted for a shell, which plans keep as their origin. The caller
 * frees it. NULL: out of memory. */
char *pp_args_command(const pp_args *args);

/* Parses a command line whose argv[1] is the command's name. `argv` must outlive the result, which
 * the caller frees with pp_args_free. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_args_parse(const pp_command *command, int argc, char **argv,
                                      pp_args **args_out, pp_err *err);
void pp_args_free(pp_args **args); /* for PP_CLEANUP */
/* Puts another name of a file into the index-th word, or into the value of the index-th option,
 * from its byte `at` on. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_args_replace(pp_args *args, bool is_word, size_t index, size_t at,
                                        const char *name, pp_err *err);
/* Returns what was put in the place of a name, or NULL. */
const char *pp_args_replacement(const pp_args *args, const char *name);
/* Closes a descriptor when `args` is freed, or at once on failure. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_args_own(pp_args *args, int descriptor, pp_err *err);
/* Puts the names as they were given into the place and the words of an error. */
void pp_args_restore(const pp_args *args, pp_err *err);
/* Does the same everywhere in a text. */
void pp_args_restore_text(const pp_args *args, pp_text *text);

/* Returns the index-th option of a command, its own first, then those that every command has; NULL
 * after the last. */
const pp_option *pp_command_option(const pp_command *command, size_t index);

#endif
