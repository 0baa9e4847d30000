/* Where products and remarks go. Only tools/ prints. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_OUTPUT_H
#define PPSIM_TOOLS_PPSIM_BASE_OUTPUT_H

#include "sim/base/json.h"
#include "tools/ppsim/base/command.h"

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
/* A warning or remark for people: stderr. */
void pp_remark(const char *format, ...) PP_PRINTF(1, 2);

#endif
