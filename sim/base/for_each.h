/* Work on several items at once. */
#ifndef PPSIM_SIM_BASE_FOR_EACH_H
#define PPSIM_SIM_BASE_FOR_EACH_H

#include <stddef.h>
#include <stdint.h>

/* Calls work(context, i) once for every i below `count`, on up to `threads` threads (0 means 1), of
 * which the caller's is one. The calls begin in ascending order of i; they must not depend on each
 * other. Threads that cannot be created are done without. */
void pp_for_each(uint32_t threads, size_t count, void (*work)(void *context, size_t i),
                 void *context);

#endif
