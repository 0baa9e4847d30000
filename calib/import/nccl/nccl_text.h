/* Reads what nccl-tests and rccl-tests print, as text or JSON. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_TEXT_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_TEXT_H

#include "calib/samples/samples.h"

/* Like pp_import.read. library: "nccl" or "rccl", used if the file does not name it. */
PP_MUST_CHECK pp_status pp_nccl_read(const char *text, size_t bytes, const char *file,
                                     const char *library, pp_samples *samples, pp_err *err);

#endif
