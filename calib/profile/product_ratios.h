/* What probes gpu-interference and gpu-power say: how much longer one and the same product takes.
 */
#ifndef PPSIM_CALIB_PROFILE_PRODUCT_RATIOS_H
#define PPSIM_CALIB_PROFILE_PRODUCT_RATIOS_H

#include "calib/samples/samples.h"

enum { PP_PRODUCT_RATIOS_MAX = 24 };

typedef struct pp_product_ratio {
    const char *class_name; /* of the samples */
    double taken;           /* SMs that are, or channels NCCL may take; 0: the class says it */
    double ratio;           /* median over products and passes */
} pp_product_ratio;

/* Returns how many there are. */
size_t pp_product_ratios(const pp_samples *samples,
                         pp_product_ratio ratio_out[PP_PRODUCT_RATIOS_MAX]);

/* Is it a class of which only the ratios count? */
bool pp_product_class(const char *class_name);

#endif
