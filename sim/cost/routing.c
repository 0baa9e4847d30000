/* Counts what a token reaches by exact expectation. A token has k different experts. They come from
 * g of G groups, which are equally likely, as the experts of these are (DeepSeek-V2 and V3, arXiv
 * 2412.19437 section 2.1.2; group_limited_topk of Megatron-Core). Without groups, all experts are
 * one group.
 *
 * A range of experts has parts of two groups at its ends and c whole ones between. Which of them
 * are among the g chosen is hypergeometric; if the chosen groups have P experts, a of them in the
 * range, the range is missed with probability C(P - a, k) / C(P, k). The mean is the sum over the
 * ranges of what is not missed. */
#include "sim/cost/routing.h"

#define NOTHING 1e-30

static double choose(int64_t n, int64_t k)
{
    double ways = k < 0 || k > n ? 0 : 1;
    for (int64_t i = 0; i < k && ways > 0; i++)
        ways *= (double)(n - i) / (double)(i + 1);
    return ways;
}

/* The probability that k of `all` are none of `own`: the same if own of all are none of k. */
static double none_of(int64_t all, int64_t own, int64_t k)
{
    const int64_t less = own < k ? own : k, more = own < k ? k : own;
    double part = all - more < less ? 0 : 1;
    for (int64_t i = 0; i < less && part > NOTHING; i++)
        part *= (double)(all - more - i) / (double)(all - i);
    return part;
}

/* The probability that a token has no expert from `first` to before `end`. */
static double missed(const pp_model *m, int64_t first, int64_t end)
{
    const int64_t groups = m->expert_groups > 0 ? m->expert_groups : 1;
    const int64_t chosen = m->expert_groups > 0 ? m->groups_per_token : 1;
    const int64_t size = m->experts / groups, left = first / size, right = (end - 1) / size;
    const int64_t head = (right > left ? (left + 1) * size : end) - first;
    const int64_t tail = right > left ? end - right * size : 0;
    const int64_t ends = right > left ? 2 : 1, whole = right - left + 1 - ends;
    const double ways = choose(groups, chosen);
    double sum = 0;
    for (int64_t a = 0; a <= 1; a++) {
        for (int64_t b = 0; b < ends; b++) {
            for (int64_t c = 0; c <= whole && a + b + c <= chosen; c++) {
                const int64_t own = a * head + b * tail + c * size;
                const double part =
                    choose(whole, c) * choose(groups - ends - whole, chosen - a - b - c) / ways;
                sum += part * none_of(chosen * size, own, m->experts_per_token);
            }
        }
    }
    return sum;
}

double pp_routing_reached(const pp_model *model, int64_t width)
{
    const int64_t all = model->experts;
    const int64_t size = all / (model->expert_groups > 0 ? model->expert_groups : 1);
    const bool alike = all % width == 0 && (size % width == 0 || width % size == 0);
    double sum = 0;
    if (alike)
        return (double)(all / width) * (1 - missed(model, 0, width));
    for (int64_t first = 0; first < all; first += width)
        sum += 1 - missed(model, first, first + width < all ? first + width : all);
    return sum;
}
