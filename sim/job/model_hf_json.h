/* Reads models in the format of Hugging Face. */
#ifndef PPSIM_SIM_JOB_MODEL_HF_JSON_H
#define PPSIM_SIM_JOB_MODEL_HF_JSON_H

#include "sim/base/json.h"
#include "sim/job/model.h"

/* Reads the root of a config.json. file: its path, whose stem names the model. Fails: INPUT. */
PP_MUST_CHECK pp_status pp_model_read_hf(const pp_json_at *root, const char *file,
                                         pp_model *model_out, pp_err *err);

#endif
