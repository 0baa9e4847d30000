/* Holds the files that many points of a sweep share. Each is read and parsed once and is constant
 * afterwards, so that any thread may read it. The hash of its content shows whether a sweep that is
 * continued still refers to the same files. */
#include "tools/ppsim/input/inputs.h"

#include "calib/profile/profile_read.h"
#include "sim/base/alloc.h"
#include "sim/base/hash.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/input/load.h"
#include "traces/read/gzip.h"

#include <stdlib.h>
#include <string.h>

static pp_status load_text(pp_input_kind kind, const char *name, pp_loaded_text *text, pp_err *err)
{
    if (kind == PP_INPUT_MODEL)
        return pp_load_text(PP_DATA_MODEL, name, text, err);
    if (kind == PP_INPUT_HARDWARE)
        return pp_load_text(PP_DATA_HARDWARE, name, text, err);
    if (kind == PP_INPUT_PROFILE)
        return pp_load_text(PP_DATA_PROFILE, name, text, err);
    if (kind == PP_INPUT_STACK)
        return pp_load_text(PP_DATA_STACK, name, text, err);
    text->name = name;
    pp_status status = pp_gzip_read(name, &text->owned, &text->bytes, err);
    text->data = text->owned;
    return status;
}

static pp_status parse(const pp_loaded_text *text, pp_input *input, pp_err *err)
{
    pp_stack stack;
    switch (input->kind) {
    case PP_INPUT_MODEL:
        return pp_model_parse(text->data, text->bytes, pp_console_name(text->name), &input->model,
                              err);
    case PP_INPUT_HARDWARE:
        return pp_hardware_parse(text->data, text->bytes, text->name, &input->hardware, err);
    case PP_INPUT_LENGTHS:
        return pp_lengths_parse(text->data, text->bytes, text->name, &input->lengths, err);
    case PP_INPUT_PROFILE:
        return pp_profile_parse(text->data, text->bytes, text->name, &input->profile, err);
    case PP_INPUT_STACK:
        return pp_stack_parse(text->data, text->bytes, text->name, &stack, err);
    case PP_INPUT_OTHER:
        break;
    }
    return PP_OK;
}

pp_status pp_inputs_add(pp_inputs *inputs, pp_input_kind kind, const char *name, pp_err *err)
{
    pp_loaded_text text PP_CLEANUP(pp_loaded_text_free) = { 0 };
    void *grown = inputs->input;
    pp_status status = load_text(kind, name, &text, err);
    if (status || (status = pp_grow(&grown, &inputs->capacity, inputs->count + 1,
                                    sizeof *inputs->input, err)))
        return status;
    inputs->input = grown;
    pp_input *input = &inputs->input[inputs->count];
    *input = (pp_input){ .kind = kind,
                         .name = name,
                         .content = pp_hash_bytes(PP_HASH_START, text.data, text.bytes) };
    if ((status = parse(&text, input, err)))
        return status;
    inputs->count++;
    return PP_OK;
}

const pp_input *pp_inputs_find(const pp_inputs *inputs, pp_input_kind kind, const char *name)
{
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        if (inputs->input[i].kind == kind && strcmp(inputs->input[i].name, name) == 0)
            return &inputs->input[i];
    }
    return NULL;
}

void pp_inputs_free(pp_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        pp_lengths_free(&inputs->input[i].lengths);
        pp_profile_free(&inputs->input[i].profile);
    }
    free(inputs->input);
    *inputs = (pp_inputs){ 0 };
}
