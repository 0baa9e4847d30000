/* What transfers and compute do to each other: links shared by the transfers on one NIC, and the
 * slow-down of compute during communication. All zero: nothing is shared or slowed down. */
#ifndef PPSIM_SIM_JOB_SHARING_H
#define PPSIM_SIM_JOB_SHARING_H

#include "sim/base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_SLOWDOWN_MAX 100.0

typedef struct pp_sharing {
    int64_t ranks_per_nic; /* so many consecutive pipeline ranks use one NIC; 0: a link per pair */
    double compute_slowdown; /* of compute while its rank has a transfer under way; 0 means 1 */
    double comm_slowdown;    /* of a transfer while a rank at one of its ends computes; 0 means 1 */
    pp_ns latency_ns; /* the part of every transfer that moves no bytes: not shared, no slow-down */
} pp_sharing;

/* Does it change anything? */
bool pp_sharing_is_on(const pp_sharing *sharing);

/* "compute=1.1,comm=1.3", either one alone too; factors from 1 to PP_SLOWDOWN_MAX. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_slowdown_parse(const char *text, pp_sharing *sharing, pp_err *err);

/* "4 ranks share a NIC, ...", for assumptions. Returns buffer. */
const char *pp_sharing_print(const pp_sharing *sharing, char *buffer, size_t size);

#endif
