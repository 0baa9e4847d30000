/* Input files that the points of a sweep share. They are read and parsed once; any number of
 * threads may look them up afterwards. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_INPUTS_H
#define PPSIM_TOOLS_PPSIM_INPUT_INPUTS_H

#include "calib/profile/profile.h"
#include "sim/job/hardware.h"
#include "sim/job/lengths.h"
#include "sim/job/model.h"

#include <stddef.h>
#include <stdint.h>

typedef enum pp_input_kind {
    PP_INPUT_MODEL,
    PP_INPUT_HARDWARE,
    PP_INPUT_LENGTHS,
    PP_INPUT_PROFILE,
    PP_INPUT_STACK, /* which is checked, and of which only the hash is kept */
    PP_INPUT_OTHER, /* a file of which only the hash is kept */
} pp_input_kind;

typedef struct pp_input {
    pp_input_kind kind;
    const char *name; /* name or path as given; borrowed */
    uint64_t content; /* FNV-1a of its bytes */
    pp_model model;   /* of these four fields, only the one of its kind is set */
    pp_hardware hardware;
    pp_lengths lengths;
    pp_profile *profile; /* owned */
} pp_input;

/* A list of inputs. All zero is an empty one. The owner frees it with pp_inputs_free. */
typedef struct pp_inputs {
    pp_input *input;
    size_t count, capacity;
} pp_inputs;

/* Reads, parses and adds an input. `name` is borrowed. Fails: USAGE (unknown name), IO, INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_inputs_add(pp_inputs *inputs, pp_input_kind kind, const char *name,
                                      pp_err *err);
/* Returns the input of this kind and name, or NULL when it was not added or `inputs` is NULL. */
const pp_input *pp_inputs_find(const pp_inputs *inputs, pp_input_kind kind, const char *name);
void pp_inputs_free(pp_inputs *inputs); /* for PP_CLEANUP */

#endif
