/* Reads the JSON that nccl-tests writes with its option -J. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_JSON_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_JSON_H

#include "calib/samples/samples.h"

/* Like pp_import.read. library: "nccl" or "rccl", used if the file does not name it. */
PP_MUST_CHECK pp_status pp_nccl_json_read(const char *text, size_t bytes, const char *file,
                                          const char *library, pp_samples *samples, pp_err *err);

#endif
