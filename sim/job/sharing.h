/* How transfers and compute affect each other: transfers share NICs, and compute and transfers that
 * overlap slow each other down. */
#ifndef PPSIM_SIM_JOB_SHARING_H
#define PPSIM_SIM_JOB_SHARING_H

#include "sim/base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_SLOWDOWN_MAX 100.0

/* All zero: nothing is shared or slowed down. */
typedef struct pp_sharing {
    int64_t ranks_per_nic;   /* consecutive pipeline ranks that share a NIC; 0: a link per pair */
    double compute_slowdown; /* factor of compute while a transfer of its rank runs; 0 means 1 */
    double comm_slowdown;    /* factor of a transfer while one of its ranks computes; 0 means 1 */
    pp_ns latency_ns; /* part of every transfer that moves no bytes: neither shared nor slowed */
} pp_sharing;

/* Returns true if anything is shared or slowed down. */
bool pp_sharing_is_on(const pp_sharing *sharing);

/* Parses "compute=1.1,comm=1.3", or either one alone; factors are from 1 to PP_SLOWDOWN_MAX.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_slowdown_parse(const char *text, pp_sharing *sharing, pp_err *err);

/* Prints "4 ranks share a NIC, ..." for the assumptions of a report. Returns buffer. */
const char *pp_sharing_print(const pp_sharing *sharing, char *buffer, size_t size);

#endif
