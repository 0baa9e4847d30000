/* Version numbers of NCCL and RCCL. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_VERSION_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_VERSION_H

#include <stddef.h>
#include <stdint.h>

/* 22902 -> "nccl 2.29.2"; unknown codes leave `text` empty. */
void pp_nccl_version_text(const char *library, int64_t code, char *text, size_t size);

#endif
