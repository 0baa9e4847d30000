/* Published rules on an instance: 1F1B and ZB-H1, replayed by tests/support/instance_replay.h. */
#ifndef PPSIM_TESTS_BENCH_RULES_H
#define PPSIM_TESTS_BENCH_RULES_H

#include "sim/base/text.h"
#include "tests/support/instance_replay.h"

/* 1F1B of rank r with `ahead` forwards before the first B, and each W `late` backwards after its B:
 * late 0 is 1F1B (Narayanan 2021), ahead p - r and late r ZB-H1 (Qi 2024). */
static void rule_add_rank(const replay *x, uint32_t r, const uint32_t *order, uint32_t ahead,
                          uint32_t late, pp_text *text)
{
    uint32_t f = 0;
    uint32_t w = 0;
    for (uint32_t b = 0; b < x->m; b++) {
        for (; f < x->m && f < b + ahead; f++)
            pp_text_add(text, "F%u.%u ", r, order[f]);
        pp_text_add(text, "B%u.%u ", r, order[b]);
        if (b >= late)
            pp_text_add(text, "W%u.%u ", r, order[w++]);
    }
    for (; w < x->m; w++)
        pp_text_add(text, "W%u.%u ", r, order[w]);
    pp_text_add(text, "\n");
}

/* The makespan of a rule, without a memory limit. fits: whether it stays within the caps of x. */
static int64_t rule_makespan(replay *x, const uint32_t *order, bool delayed, bool fused, bool *fits)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    int64_t *cap = x->cap;
    int64_t *open = pp_alloc_array(x->p, sizeof *open);
    for (uint32_t r = 0; r < x->p; r++) {
        rule_add_rank(x, r, order, x->p - r, delayed ? r : 0, &text);
        open[r] = INT64_MAX / 4;
    }
    *fits = replay_run(x, text.data, false) >= 0;
    x->cap = open;
    int64_t makespan = replay_run(x, text.data, fused);
    x->cap = cap;
    free(open);
    return makespan;
}

#endif
