#ifndef PPSIM_SIM_BASE_PROCESSORS_H
#define PPSIM_SIM_BASE_PROCESSORS_H

#include <stdint.h>

/* Processors that the calling thread may run on (its affinity mask), at least 1; where Linux does
 * not say, those that are online. */
uint32_t pp_processors(void);

#endif
