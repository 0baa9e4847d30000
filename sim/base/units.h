/* Quantities with their units: the only place that reads and prints them, and the only place
 * where a double becomes a pp_ns. */
#ifndef PPSIM_SIM_BASE_UNITS_H
#define PPSIM_SIM_BASE_UNITS_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef int64_t pp_ns; /* nanoseconds of simulated time */

/* Longest time, largest size: sums of 2^20 of them still fit 64 bits. */
#define PP_NS_MAX ((pp_ns)1 << 53)
#define PP_BYTES_MAX ((int64_t)1 << 53)

/* "18.522ms", "12us", "3s", "40ns"; exact decimal, at most ns resolution. Only 0 may stand alone.
 * Fails: INPUT with the text named. `where` is copied into err. Never negative. */
PP_MUST_CHECK pp_status pp_parse_duration(const char *text, const char *where, pp_ns *ns_out,
                                          pp_err *err);
/* "64MiB", "80GB", "1B": B kB MB GB TB KiB MiB GiB TiB. Whole bytes. Only 0 may stand alone. */
PP_MUST_CHECK pp_status pp_parse_bytes(const char *text, const char *where, int64_t *bytes_out,
                                       pp_err *err);
/* "50GB/s", "800Gb/s" (also kB MB TB, kb Mb Tb): bytes per second. Positive. */
PP_MUST_CHECK pp_status pp_parse_rate(const char *text, const char *where, double *bytes_per_s_out,
                                      pp_err *err);
/* A plain whole number in [low, high]; nothing may follow it. */
PP_MUST_CHECK pp_status pp_parse_int(const char *text, const char *where, int64_t low, int64_t high,
                                     int64_t *value_out, pp_err *err);

/* Nearest nanosecond. Fails: INPUT when seconds is NaN, negative or beyond PP_NS_MAX. */
PP_MUST_CHECK pp_status pp_ns_from_seconds(double seconds, const char *where, pp_ns *ns_out,
                                           pp_err *err);

/* "13.75 s", "1.20 ms", "640 us", "12 ns": four significant digits. Returns buffer. */
const char *pp_format_duration(char *buffer, size_t size, pp_ns ns);
/* "12.35 GiB", "512 B". Returns buffer. */
const char *pp_format_bytes(char *buffer, size_t size, int64_t bytes);

#endif
