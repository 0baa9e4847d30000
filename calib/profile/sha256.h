/* SHA-256 of a text, as profiles and plans state it. */
#ifndef PPSIM_CALIB_PROFILE_SHA256_H
#define PPSIM_CALIB_PROFILE_SHA256_H

#include <stddef.h>

/* Writes 64 hexadecimal digits. */
void pp_sha256(const char *text, size_t bytes, char digits_out[65]);

#endif
