/* Divides the time of a step in one line: shares in tenths of a percent that sum to 100 %. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_SHARES_H
#define PPSIM_TOOLS_PPSIM_REPORT_SHARES_H

#include "sim/analysis/time_breakdown.h"
#include "sim/base/text.h"
#include "sim/job/parallel.h"

#include <stdbool.h>

typedef enum pp_share {
    PP_SHARE_COMPUTE,
    PP_SHARE_TP, /* exchange that the ops wait for, by group */
    PP_SHARE_CP,
    PP_SHARE_EP,
    PP_SHARE_PP,     /* transfers between stages that a rank waits for */
    PP_SHARE_DP,     /* parameters that are gathered and gradients that are reduced, likewise */
    PP_SHARE_BUBBLE, /* ranks wait for one another */
    PP_SHARE_HOST,   /* they wait for the host or a synchronisation of the device */
    PP_SHARE_END,    /* after the last op: gradient reduction, tied embedding, optimizer */
    PP_SHARES,
} pp_share;

typedef struct pp_shares {
    int tenths[PP_SHARES]; /* of a percent of the step, the mean over the ranks; sum to 1000 */
} pp_shares;

/* Rounds the parts so that they sum to the whole: the parts with the largest remainders are rounded
 * up. */
pp_shares pp_shares_of(const pp_why *why);

/* Appends "71.3 % compute, 20.1 % exchange (tp 18.0, pp 2.1), 7.4 % bubble, 1.1 % end of step".
 * Parts of 0.0 % are left out, except exchange in a group of more than one GPU, which is hidden
 * then. together: compute contains exchange that is not known separately. */
void pp_shares_print(const pp_shares *shares, const pp_parallel *parallel, bool together,
                     pp_text *words);

#endif
