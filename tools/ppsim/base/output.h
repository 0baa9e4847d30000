/* Prints a command's result and its notes. Only tools/ prints. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_OUTPUT_H
#define PPSIM_TOOLS_PPSIM_BASE_OUTPUT_H

#include "sim/base/file.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/ppsim/base/command.h"

/* Returns whether the answer for people is wanted: without --json, or in addition to it where a
 * program that calls ppsim as a library collects both (console.h). */
bool pp_prints_words(const pp_args *args);
/* Writes the product to -o FILE, or to stdout when that is "-" or absent. Writes nothing when -o is
 * absent and --emit or --trace goes to stdout, unless that is the timeline for people, which stands
 * above a product for people. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_print_product(const pp_args *args, const char *text, size_t bytes,
                                         pp_err *err);
/* Prints a text for people as the product, with its colour if stdout is a terminal that wants it.
 * Fails: IO, NOMEM, the latter also when the text is incomplete. */
PP_MUST_CHECK pp_status pp_print_answer(const pp_args *args, pp_text *text, pp_err *err);
/* Writes to stdout, with control characters as \u001b. A pipe whose reader has closed it, as `head`
 * does, is not a failure: the reader has what it wanted. Fails: IO. */
PP_MUST_CHECK pp_status pp_print_stdout(const char *text, size_t bytes, pp_err *err);
/* Prints the answer of a command whose -o receives something else: JSON, or words for people.
 * Fails: IO, NOMEM, the latter also when the text is incomplete. */
PP_MUST_CHECK pp_status pp_print_beside(bool is_json, const pp_text *text, pp_err *err);
/* Prints `json` as the product. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_print_json(const pp_args *args, const pp_json_build *build,
                                      const pp_json *json, pp_err *err);
/* Writes to a file, compressed if its name ends in .gz, or to stdout if `path` is "-". Fails: IO,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_write_text(const char *path, const char *text, size_t bytes,
                                      pp_err *err);
/* Do what the functions of sim/base/file.h do for a file that the command line names, or keep it in
 * memory where the program that calls ppsim wants that. */
PP_MUST_CHECK pp_status pp_output_write(const char *path, const char *text, size_t bytes,
                                        pp_err *err);
PP_MUST_CHECK pp_status pp_output_stage(const char *path, const char *text, size_t bytes,
                                        pp_staged_file *staged_out, pp_err *err);
PP_MUST_CHECK pp_status pp_output_commit(pp_staged_file *staged, const char *text, size_t bytes,
                                         pp_err *err);
/* Prints an error to stderr, as one line with control characters as \u001b. */
void pp_complain(const pp_err *err);
/* Prints a warning or remark to stderr, with control characters other than
 * newlines as \u001b. */
void pp_remark(const char *format, ...) PP_PRINTF(1, 2);

#endif
