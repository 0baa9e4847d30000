/* The architectures of Hugging Face transformers that are modelled. */
#ifndef PPSIM_SIM_JOB_MODEL_HF_FAMILY_JSON_H
#define PPSIM_SIM_JOB_MODEL_HF_FAMILY_JSON_H

#include "sim/job/model_hf_keys_json.h"

typedef struct pp_hf_family pp_hf_family;

/* The number of families, and one of them; index: from 0 on. */
size_t pp_hf_family_count(void);
const pp_hf_family *pp_hf_family_at(size_t index);
/* Its model_type. */
const char *pp_hf_family_type(const pp_hf_family *family);
/* The family of a model_type, or of an entry of "architectures"; NULL: it is not modelled. */
const pp_hf_family *pp_hf_family_find(const char *name);
/* The family of a file that names none, by a key that only one of them has; NULL: none. */
const pp_hf_family *pp_hf_family_of_keys(const pp_json_at *root);

/* Reads all sizes of a model. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_hf_family_read(const pp_hf_family *family, pp_hf_file *file,
                                          pp_model *model, pp_err *err);

#endif
