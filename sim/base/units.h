/* Parses and prints quantities with units. Nothing else does, and nothing else converts a double to
 * a pp_ns. */
#ifndef PPSIM_SIM_BASE_UNITS_H
#define PPSIM_SIM_BASE_UNITS_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef int64_t pp_ns; /* nanoseconds of simulated time */

/* The longest time and the largest size that are accepted. Sums of 2^9 of them fit 64 bits. */
#define PP_NS_MAX ((pp_ns)1 << 53)
#define PP_BYTES_MAX ((int64_t)1 << 53)

/* Parses "18.522ms", "12us", "3s" or "40ns": an exact decimal of whole ns, not negative. Only 0
 * may have no unit. where: the place for err.
 * Fails: INPUT with the text. */
PP_MUST_CHECK pp_status pp_parse_duration(const char *text, const char *where, pp_ns *ns_out,
                                          pp_err *err);
/* Parses "64MiB", "80GB" or "1B" (B kB MB GB TB KiB MiB GiB TiB): not negative, rounded down to
 * whole bytes. Only 0 may have no unit, and no other size may be less than one byte.
 * Fails: INPUT with the text. */
PP_MUST_CHECK pp_status pp_parse_bytes(const char *text, const char *where, int64_t *bytes_out,
                                       pp_err *err);
/* Parses "50GB/s" or "800Gb/s" (also kB MB TB, kb Mb Tb): positive. Fails: INPUT with the text. */
PP_MUST_CHECK pp_status pp_parse_rate(const char *text, const char *where, double *bytes_per_s_out,
                                      pp_err *err);
/* Parses a whole number in [low, high]; nothing may follow it. Fails: INPUT with the text. */
PP_MUST_CHECK pp_status pp_parse_int(const char *text, const char *where, int64_t low, int64_t high,
                                     int64_t *value_out, pp_err *err);

/* Rounds to the nearest nanosecond.
 * Fails: INPUT when seconds is NaN, negative or beyond
 * PP_NS_MAX. */
PP_MUST_CHECK pp_status pp_ns_from_seconds(double seconds, const char *where, pp_ns *ns_out,
                                           pp_err *err);

/* Prints "13.75 s", "1.200 ms" or "12 ns", with four significant digits. Returns buffer. */
const char *pp_format_duration(char *buffer, size_t size, pp_ns ns);
/* Prints "12.35 GiB" or "512 B". Returns buffer. */
const char *pp_format_bytes(char *buffer, size_t size, int64_t bytes);
/* Prints a size that a person chose, as it was probably written: "80GB (74.51 GiB)" where it is
 * whole in decimal and not in binary units, else like pp_format_bytes. Returns buffer. */
const char *pp_format_limit(char *buffer, size_t size, int64_t bytes);

#endif
