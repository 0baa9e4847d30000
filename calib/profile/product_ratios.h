/* Results of the probes gpu-interference and gpu-power: how many times as long a matrix product
 * takes with fewer SMs, during transfers, or on a hot GPU. */
#ifndef PPSIM_CALIB_PROFILE_PRODUCT_RATIOS_H
#define PPSIM_CALIB_PROFILE_PRODUCT_RATIOS_H

#include "calib/samples/samples.h"

enum { PP_PRODUCT_RATIOS_MAX = 24 };

typedef struct pp_product_ratio {
    const char *class_name; /* the class whose times are divided */
    double taken;           /* SMs that are taken, or channels that NCCL may take; 0: not given */
    double ratio;           /* median over products and passes */
} pp_product_ratio;

/* Computes the ratios that `samples` has measurements for, and returns how many there are. */
size_t pp_product_ratios(const pp_samples *samples,
                         pp_product_ratio ratio_out[PP_PRODUCT_RATIOS_MAX]);

/* Returns true for classes that are measured for these ratios only. */
bool pp_product_class(const char *class_name);

#endif
