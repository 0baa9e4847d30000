/* Makes the pattern of a model's layers. */
#ifndef PPSIM_SIM_JOB_MODEL_LAYERS_H
#define PPSIM_SIM_JOB_MODEL_LAYERS_H

#include "sim/job/model.h"

/* Sets the pattern from the type of each layer, as short as it can be, or only dense_layers if that
 * says it all. type_of: [model->layers]; sliding_window and experts must have been set.
 * Returns NULL, or what is wrong: there are too many types, or they change too often. */
const char *pp_model_set_layers(pp_model *model, const pp_layer_type *type_of);

#endif
