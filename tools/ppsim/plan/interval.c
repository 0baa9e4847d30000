/* Asks for the interval of the chosen plan, and says where it comes from. */
#include "tools/ppsim/plan/interval.h"

#include "sim/base/units.h"
#include "tools/ppsim/report/shares.h"

#include <math.h>
#include <string.h>

void pp_plan_find_interval(const char *hardware, pp_search_result *result)
{
    pp_plan *plan = result->plan;
    const pp_shares shares = pp_shares_of(&result->why);
    const int exchange = shares.tenths[PP_SHARE_TP] + shares.tenths[PP_SHARE_CP] +
                         shares.tenths[PP_SHARE_EP] + shares.tenths[PP_SHARE_PP] +
                         shares.tenths[PP_SHARE_DP];
    const pp_interval_question question = { .hardware = result->context.hardware,
                                            .hardware_name = hardware ? hardware : "",
                                            .stack = pp_stack_meant(result->assumed.stack),
                                            .model = result->context.model,
                                            .parallel = plan->parallel,
                                            .precision = plan->precision,
                                            .lengths = result->assumed.lengths,
                                            .exchange = exchange / 1000.0 };
    plan->interval = pp_step_interval_of(&question);
}

static void add_source(const pp_step_interval *interval, pp_text *words)
{
    const pp_published_steps *row = interval->nearest;
    if (interval->own)
        pp_text_add(words, "%d published steps", row->steps);
    else
        pp_text_add(words, "no such step of it is published; nearest: %d of %s on %s", row->steps,
                    row->stack ? row->stack : "megatron-2021 and 2022", row->hardware);
    pp_text_add(words, ", mean error %d %%, at most %d %%", row->mean_percent, row->most_percent);
}

void pp_plan_interval_say(const pp_search_result *result, pp_text *words)
{
    const pp_step_interval *interval = &result->plan->interval;
    const double step = (double)result->plan->prediction->step_ns;
    char cell[2][32];
    if (!interval->nearest)
        return;
    pp_text_add(
        words, "; 80 %% interval %s to %s (+/- %.1f %%): ",
        pp_format_duration(cell[0], sizeof cell[0],
                           (pp_ns)llround(step * fmax(0, 1 - interval->half))),
        pp_format_duration(cell[1], sizeof cell[1], (pp_ns)llround(step * (1 + interval->half))),
        100 * interval->half);
    for (int k = 0; k < PP_INTERVAL_PARTS; k++) {
        if (interval->part[k] < 0.0005)
            continue;
        pp_text_add(words, "%s%s %.1f", k ? ", " : "", pp_interval_part_name((pp_interval_part)k),
                    100 * interval->part[k]);
        if (k == PP_INTERVAL_STACK) {
            pp_text_add(words, " (");
            add_source(interval, words);
            pp_text_add(words, ")");
        }
    }
}
