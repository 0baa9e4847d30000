/* Counts the processors in the affinity mask of Linux. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "sim/base/processors.h"

#include <sched.h>
#include <unistd.h>

uint32_t pp_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
