/* Words for the arguments of PyTorch's pipeline schedules, as PyTorch 2.15 names them
 * (_resolve_unshard_lookahead of torch/distributed/pipelining/schedules.py). */
#include "sim/framework/lowering/pytorch_settings.h"

#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *pp_unshard_lookahead_print(int32_t lookahead, char *buffer, size_t size)
{
    if (lookahead > 0)
        snprintf(buffer, size, "%" PRId32, lookahead);
    else
        snprintf(buffer, size, "%s", lookahead == PP_LOOKAHEAD_AUTO ? "auto" : "full");
    return buffer;
}

pp_status pp_unshard_lookahead_parse(const char *text, int32_t *lookahead_out, pp_err *err)
{
    if (strcmp(text, "full") == 0 || strcmp(text, "auto") == 0)
        *lookahead_out = *text == 'f' ? PP_LOOKAHEAD_FULL : PP_LOOKAHEAD_AUTO;
    else if (text[0] >= '1' && text[0] <= '0' + PP_LOOKAHEAD_MAX && !text[1])
        *lookahead_out = text[0] - '0';
    else
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_UNSHARD_LOOKAHEAD),
                          "'%.40s' is not one of full, auto, 1, 2, 3", text);
    return PP_OK;
}
