/* Reads keys of a Hugging Face config.json, and remembers them, so that those that nothing reads
 * can be named. */
#ifndef PPSIM_SIM_JOB_MODEL_HF_KEYS_JSON_H
#define PPSIM_SIM_JOB_MODEL_HF_KEYS_JSON_H

#include "sim/base/json.h"
#include "sim/job/model.h"

#define PP_HF_KEYS_MAX 128

typedef struct pp_hf_file {
    const pp_json_at *root; /* the object with the sizes of the text model */
    size_t count;
    const char *used[PP_HF_KEYS_MAX]; /* static texts */
} pp_hf_file;

/* Returns true if the file has the key and it is not null; remembers the key. */
bool pp_hf_has(pp_hf_file *file, const char *key);
/* Returns true if the file has the key, even if it is null. */
bool pp_hf_present(const pp_hf_file *file, const char *key);
/* Reads a size. The result is `absent` if the key is absent, and `null` if its value is null.
 * Fails: INPUT, also when it is absent and `absent` is negative. */
PP_MUST_CHECK pp_status pp_hf_size(pp_hf_file *file, const char *key, int64_t low, int64_t absent,
                                   int64_t null, int64_t *out, pp_err *err);
/* Reads a size that must be there and positive. Fails: INPUT. */
PP_MUST_CHECK pp_status pp_hf_need(pp_hf_file *file, const char *key, int64_t *out, pp_err *err);
/* Fails: INPUT. */
PP_MUST_CHECK pp_status pp_hf_flag(pp_hf_file *file, const char *key, bool absent, bool *out,
                                   pp_err *err);
/* Returns in *list_out the array `key` if it is there, and else an array of 0 items.
 * Fails: INPUT. */
PP_MUST_CHECK pp_status pp_hf_list(pp_hf_file *file, const char *key, pp_json_at *list_out,
                                   size_t *count_out, pp_err *err);
/* Like pp_hf_size; the value may also be a list of equal sizes, one for each layer. */
PP_MUST_CHECK pp_status pp_hf_equal(pp_hf_file *file, const char *key, int64_t low, int64_t absent,
                                    int64_t *out, pp_err *err);
/* Reports INPUT at a key, or at the root if it is absent. */
pp_status pp_hf_fail(const pp_hf_file *file, const char *key, const char *text, pp_err *err);

/* Names the keys that were not read and that are not known to change neither size nor cost.
 * names_out: [size], "" if there are none.
 * Fails: INPUT at a key that changes the sizes of other families, or of this one in a way that is
 * not modelled. */
PP_MUST_CHECK pp_status pp_hf_check_keys(const pp_hf_file *file, const char *type, char *names_out,
                                         size_t size, pp_err *err);

#endif
