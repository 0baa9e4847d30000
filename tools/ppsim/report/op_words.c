/* Explains op tokens in words. */
#include "tools/ppsim/report/op_words.h"

#include <inttypes.h>
#include <stdio.h>

const char *pp_op_words(pp_op op, char buffer[PP_OP_WORDS_BYTES])
{
    static const char *const kinds[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = "forward",
        [PP_OP_I] = "backward for the input",
        [PP_OP_W] = "backward for the weights",
        [PP_OP_B] = "backward",
    };
    char token[32];
    snprintf(buffer, PP_OP_WORDS_BYTES, "%s (%s, stage %d, microbatch %" PRIu32 ")",
             pp_op_print(op, token, sizeof token), kinds[op.kind], op.stage, op.microbatch);
    return buffer;
}
