/* Times layers whose forward and backward are issued together, on one stream for compute and one
 * for exchange. Each stream runs its parts in the order in which they were issued; a part waits for
 * those that it needs. Compute is slower while an exchange runs, which holds some of the SMs. The
 * parts of a layer are issued as by Megatron-Core (model_chunk_schedule_plan.py,
 * TransformerLayerSchedulePlan.run, with delay_wgrad_compute), which is the order of DeepSeek's
 * DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1), too:
 *
 * - compute: attention of F; experts of B, for their input; experts of B, for their weights;
 * experts of F; attention of B, for its input; attention of B, for its weights;
 * - exchange: combine of B; dispatch of F; dispatch of B; combine of F.
 *
 * The mean over a few layers in a row stands for all, since one layer's end overlaps with the next
 * one's beginning. */
#include "sim/cost/pair.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define LAYERS 4

enum { F_ATTENTION, B_EXPERTS, B_EXPERTS_W, F_EXPERTS, B_ATTENTION, B_ATTENTION_W, COMPUTES };
enum { B_COMBINE, F_DISPATCH, B_DISPATCH, F_COMBINE, EXCHANGES };

/* What a part needs on the other stream: the index of a part, of this layer or of the one before;
 * -1: nothing. */
typedef struct need {
    int part;
    bool before;
} need;

static const need compute_needs[COMPUTES] = {
    [F_ATTENTION] = { F_COMBINE, true },   [B_EXPERTS] = { B_COMBINE, false },
    [B_EXPERTS_W] = { -1, false },         [F_EXPERTS] = { F_DISPATCH, false },
    [B_ATTENTION] = { B_DISPATCH, false }, [B_ATTENTION_W] = { -1, false },
};
static const need exchange_needs[EXCHANGES] = {
    [B_COMBINE] = { B_ATTENTION, true },
    [F_DISPATCH] = { F_ATTENTION, false },
    [B_DISPATCH] = { B_EXPERTS, false },
    [F_COMBINE] = { F_EXPERTS, false },
};

typedef struct stream {
    const double *seconds; /* [parts], of one layer */
    const need *needs;
    int parts;
    int done;    /* parts of all layers */
    double left; /* of the part that runs or waits */
} stream;

static void take(stream *s)
{
    s->left = s->seconds[s->done % s->parts];
}

static bool is_ready(const stream *s, const stream *other)
{
    if (s->done >= LAYERS * s->parts)
        return false;
    const need needed = s->needs[s->done % s->parts];
    const int layer = s->done / s->parts - needed.before;
    return needed.part < 0 || layer < 0 || other->done > layer * other->parts + needed.part;
}

static void advance(stream *s, double seconds)
{
    s->left -= seconds;
    if (s->left > 0)
        return;
    s->done++;
    take(s);
}

double pp_pair_hidden_seconds(const pp_pair_parts *parts, double sm_share)
{
    const double compute_s[COMPUTES] = {
        parts->attention.f, parts->experts.i,   parts->experts.w,
        parts->experts.f,   parts->attention.i, parts->attention.w
    };
    const double exchange_s[EXCHANGES] = { parts->dispatch, parts->dispatch, parts->combine,
                                           parts->combine };
    stream compute = { .seconds = compute_s, .needs = compute_needs, .parts = COMPUTES };
    stream exchange = { .seconds = exchange_s, .needs = exchange_needs, .parts = EXCHANGES };
    double now_s = 0, alone_s = 0;
    for (size_t i = 0; i < COMPUTES; i++)
        alone_s += compute_s[i];
    for (size_t i = 0; i < EXCHANGES; i++)
        alone_s += exchange_s[i];
    take(&compute);
    take(&exchange);
    for (;;) {
        const bool computes = is_ready(&compute, &exchange);
        const bool exchanges = is_ready(&exchange, &compute);
        const double rate = exchanges && exchange.left > 0 ? 1 - sm_share : 1;
        if (!computes && !exchanges)
            break;
        double step_s = computes ? compute.left / rate : exchange.left;
        if (computes && exchanges)
            step_s = fmin(step_s, exchange.left);
        now_s += step_s;
        /* what ends at the end of this step ends exactly, whatever the rounding */
        if (computes)
            advance(&compute, compute.left / rate <= step_s ? compute.left : step_s * rate);
        if (exchanges)
            advance(&exchange, exchange.left <= step_s ? exchange.left : step_s);
    }
    return fmax(0, alone_s - now_s / LAYERS);
}
