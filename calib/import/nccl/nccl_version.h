/* Version numbers of NCCL and RCCL. */
#ifndef PPSIM_CALIB_IMPORT_NCCL_NCCL_VERSION_H
#define PPSIM_CALIB_IMPORT_NCCL_NCCL_VERSION_H

#include <stddef.h>
#include <stdint.h>

/* Formats a version code: "nccl 2.29.2" for 22902. An unknown code leaves `text` empty. */
void pp_nccl_version_text(const char *library, int64_t code, char *text, size_t size);

#endif
