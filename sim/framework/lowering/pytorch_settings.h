/* Arguments of PyTorch's pipeline schedules that change what is exchanged. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_PYTORCH_SETTINGS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_PYTORCH_SETTINGS_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Arguments of PyTorch 2.15's pipeline schedules. All zero: its defaults. */
typedef struct pp_pytorch_settings {
    int32_t unshard_lookahead;     /* of how many stages parameters are gathered ahead, 1 to 3;
                                      PP_LOOKAHEAD_FULL: 3; PP_LOOKAHEAD_AUTO: rank + 2, at most 3 */
    int64_t max_outstanding_sends; /* of a rank; 0: no limit */
} pp_pytorch_settings;

#define PP_LOOKAHEAD_FULL 0
#define PP_LOOKAHEAD_AUTO (-1)
#define PP_LOOKAHEAD_MAX 3
#define PP_SENDS_MAX 1000000

/* "full", "auto" or a number. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_unshard_lookahead_parse(const char *text, int32_t *lookahead_out,
                                                   pp_err *err);
const char *pp_unshard_lookahead_print(int32_t lookahead, char *buffer, size_t size);

#endif
