/* Loads models, hardware, profiles, lengths and tokens of experts by name or from a file. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_LOAD_H
#define PPSIM_TOOLS_PPSIM_INPUT_LOAD_H

#include "calib/profile/profile.h"
#include "planner/study/cluster.h"
#include "sim/job/expert_tokens.h"
#include "sim/job/hardware.h"
#include "sim/job/lengths.h"
#include "sim/job/model.h"
#include "sim/job/stack.h"
#include "traces/read/data.h"

/* The text of a model, hardware or profile. `data` is either embedded in the program or held by
 * `owned`. The owner frees it with pp_loaded_text_free. */
typedef struct pp_loaded_text {
    const char *data;
    size_t bytes;
    const char *name; /* for messages */
    char *owned;
} pp_loaded_text;

/* Finds the text of an embedded model, hardware or profile by its name, or reads a file, which may
 * be compressed. Fails: USAGE (unknown name; the message names the nearest one), IO, INPUT (a
 * damaged gzip file), NOMEM. */
PP_MUST_CHECK pp_status pp_load_text(pp_data_kind kind, const char *name_or_file,
                                     pp_loaded_text *text_out, pp_err *err);
/* Returns what is meant by another name for it: hardware h100-80g by "H100", model llama3-70b by
 * "Llama3-70B". NULL if `name` is the name itself or that of a file, or is not known, or could be
 * several. */
const pp_data_file *pp_load_alias(pp_data_kind kind, const char *name);
void pp_loaded_text_free(pp_loaded_text *text); /* for PP_CLEANUP */

/* Each of these functions finds the text as pp_load_text does, or reads the file `path`, and parses
 * it. The caller frees lengths, tokens and profiles. Fails: as pp_load_text, INPUT. */
PP_MUST_CHECK pp_status pp_load_model(const char *name_or_file, pp_model *model_out, pp_err *err);
/* The stack that is meant if none is named. */
#define PP_DEFAULT_STACK "current"

/* The path of a file becomes the name of the stack; an alias has what it stands for on the hardware
 * (NULL: where nothing else is said). */
PP_MUST_CHECK pp_status pp_load_stack(const char *name_or_file, const pp_hardware *hardware,
                                      pp_stack *stack_out, pp_err *err);
PP_MUST_CHECK pp_status pp_load_hardware(const char *name_or_file, pp_hardware *hardware_out,
                                         pp_err *err);
PP_MUST_CHECK pp_status pp_load_expert_tokens(const char *path, double capacity,
                                              pp_expert_tokens *tokens_out, pp_err *err);
PP_MUST_CHECK pp_status pp_load_lengths(const char *path, pp_lengths *lengths_out, pp_err *err);
/* Loads a cluster and the hardware of each of its classes into
 * hardware_out[PP_CLUSTER_CLASSES_MAX]. For a file that describes one machine, the cluster has no
 * classes and the hardware is hardware_out[0]. Fails: as pp_load_hardware. */
PP_MUST_CHECK pp_status pp_load_cluster(const char *name_or_file, pp_cluster *cluster_out,
                                        pp_hardware *hardware_out, pp_err *err);
PP_MUST_CHECK pp_status pp_load_profile(const char *name_or_file, pp_profile **profile_out,
                                        pp_err *err);

#endif
