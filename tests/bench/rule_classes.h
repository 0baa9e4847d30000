/* Finds the best order of classes of microbatches, like DynaPipe (Jiang 2024). */
#ifndef PPSIM_TESTS_BENCH_RULE_CLASSES_H
#define PPSIM_TESTS_BENCH_RULE_CLASSES_H

#include "tests/bench/rule_list.h"

#include <math.h>

/* Microbatches by work: light, heavy, light again. */
static inline void rule_tent(const replay *x, uint32_t *order)
{
    uint32_t low = 0;
    uint32_t high = x->m;
    bool *taken = pp_alloc_array(x->m, sizeof *taken);
    for (uint32_t k = 0; k < x->m; k++) {
        uint32_t best = x->m;
        int64_t least = INT64_MAX;
        for (uint32_t i = 0; i < x->m; i++) {
            int64_t work = x->ticks[0][i] + x->ticks[1][i] + x->ticks[2][i];
            if (taken[i] || work >= least)
                continue;
            least = work;
            best = i;
        }
        taken[best] = true;
        order[k % 2 == 0 ? low++ : --high] = best;
    }
    free(taken);
}

static inline int64_t rule_work(const replay *x, uint32_t i)
{
    return x->ticks[0][i] + x->ticks[1][i] + x->ticks[2][i];
}

/* class_out: [m], the class of each microbatch: at most four by work, each with the nearest mean
 * (Lloyd), starting from the quartiles. */
static inline void rule_classify(const replay *x, uint32_t *class_out)
{
    double mean[4] = { 0 };
    double low = 1e300;
    double high = 0;
    for (uint32_t i = 0; i < x->m; i++) {
        low = fmin(low, (double)rule_work(x, i));
        high = fmax(high, (double)rule_work(x, i));
    }
    for (int k = 0; k < 4; k++)
        mean[k] = low + (high - low) * (2 * k + 1) / 8;
    for (int round = 0; round < 20; round++) {
        double sum[4] = { 0 };
        uint32_t count[4] = { 0 };
        for (uint32_t i = 0; i < x->m; i++) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < 4; k++)
                if (fabs(mean[k] - (double)rule_work(x, i)) <
                    fabs(mean[best] - (double)rule_work(x, i)))
                    best = k;
            class_out[i] = best;
            sum[best] += (double)rule_work(x, i);
            count[best]++;
        }
        for (int k = 0; k < 4; k++)
            mean[k] = count[k] ? sum[k] / count[k] : mean[k];
    }
}

static inline void rule_try_list(replay *x, const uint32_t *order, int64_t *best)
{
    for (uint32_t ahead = 0; ahead < 3; ahead++) {
        int64_t makespan = rule_list(x, order, ahead);
        if (makespan >= 0 && makespan < *best)
            *best = makespan;
    }
}

/* Orders microbatches like DynaPipe: all orders of four classes, and in addition the given order
 * and the tent. */
static inline int64_t rule_classes(replay *x)
{
    uint32_t *order = pp_alloc_array(2 * (size_t)x->m, sizeof *order);
    uint32_t *class = order + x->m;
    int64_t best = INT64_MAX;
    rule_classify(x, class);
    for (uint32_t n = 0; n < 256; n++) {
        const uint32_t turn[] = { n % 4, n / 4 % 4, n / 16 % 4, n / 64 };
        uint32_t count = 0;
        if ((1u << turn[0] | 1u << turn[1] | 1u << turn[2] | 1u << turn[3]) != 15)
            continue;
        for (int k = 0; k < 4; k++)
            for (uint32_t i = 0; i < x->m; i++)
                if (class[i] == turn[k])
                    order[count++] = i;
        rule_try_list(x, order, &best);
    }
    for (uint32_t i = 0; i < x->m; i++)
        order[i] = i;
    rule_try_list(x, order, &best);
    rule_tent(x, order);
    rule_try_list(x, order, &best);
    free(order);
    return best;
}

#endif
