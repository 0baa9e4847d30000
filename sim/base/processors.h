/* How many processors a program may use. */
#ifndef PPSIM_SIM_BASE_PROCESSORS_H
#define PPSIM_SIM_BASE_PROCESSORS_H

#include <stdint.h>

/* The number of processors in the affinity mask of the calling thread; if Linux does not provide
 * the mask, the number of processors that are online. At least 1. */
uint32_t pp_processors(void);

#endif
