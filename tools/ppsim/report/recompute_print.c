/* Prints what a plan recomputes: one word if all stages do the same, otherwise layers stage by
 * stage, or a table if microbatches differ. */
#include "tools/ppsim/report/recompute_print.h"

#include "tools/ppsim/base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The recomputed layers of one stage: least, most and sum over the microbatches. */
typedef struct span {
    int64_t least, most, sum;
} span;

typedef struct row {
    span full, selective;
    int64_t layers, all;
} row;

static void span_add(span *x, int64_t layers)
{
    x->least = layers < x->least ? layers : x->least;
    x->most = layers > x->most ? layers : x->most;
    x->sum += layers;
}

static row row_of(const pp_plan *plan, uint32_t s)
{
    const pp_recompute_table *table = &plan->recomputed;
    const size_t columns = table->of ? (size_t)table->replicas * table->microbatches : 1;
    const int64_t layers = plan->partition[s].layers;
    row r = { { .least = INT64_MAX }, { .least = INT64_MAX }, layers, layers * (int64_t)columns };
    for (size_t j = 0; j < columns; j++) {
        const pp_recomputed here =
            table->of ? table->of[j * table->stages + s] : pp_plan_recomputed(plan, s);
        span_add(&r.full, here.full);
        span_add(&r.selective, here.selective);
    }
    return r;
}

/* Returns the first stage after `s` that recomputes other layers or has another number of
 * layers. */
static uint32_t run_end(const pp_plan *plan, uint32_t s, uint32_t count)
{
    const row first = row_of(plan, s);
    uint32_t next = s + 1;
    while (next < count) {
        const row r = row_of(plan, next);
        if (memcmp(&r, &first, sizeof r) != 0)
            break;
        next++;
    }
    return next;
}

/* Writes runs of equal stages: "0: 3 of 5, 1 to 3: 2 and 1 selective of 5". */
static void print_stages(const pp_plan *plan, uint32_t count, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    uint32_t next;
    pp_text_add(&words, "layers per stage: ");
    for (uint32_t s = 0; s < count; s = next) {
        const row r = row_of(plan, s);
        char stages[48];
        next = run_end(plan, s, count);
        pp_range_print(stages, sizeof stages, s, next - 1);
        pp_text_add(&words, "%s%s: %" PRId64, s ? ", " : "", stages, r.full.sum);
        if (r.selective.sum)
            pp_text_add(&words, " and %" PRId64 " selective", r.selective.sum);
        pp_text_add(&words, " of %" PRId64, r.layers);
    }
    text->failed |= words.failed;
    pp_print_words(text, words.data ? words.data : "", 13, 13);
}

static void print_table(const pp_plan *plan, uint32_t count, pp_text *text)
{
    uint32_t next;
    pp_text_add(text, "%-10s %6s %10s %10s   of all microbatches\n", "stage", "layers", "full",
                "selective");
    for (uint32_t s = 0; s < count; s = next) {
        const row r = row_of(plan, s);
        char stages[48], full[48], selective[48];
        next = run_end(plan, s, count);
        pp_range_print(stages, sizeof stages, s, next - 1);
        pp_range_print(full, sizeof full, r.full.least, r.full.most);
        pp_range_print(selective, sizeof selective, r.selective.least, r.selective.most);
        pp_text_add(text,
                    "%-12s %-10s %6" PRId64 " %10s %10s   %" PRId64 " and %" PRId64 " of %" PRId64
                    "\n",
                    "", stages, r.layers, full, selective, r.full.sum, r.selective.sum, r.all);
    }
}

void pp_recompute_print(const pp_plan *plan, pp_text *text)
{
    const uint32_t count = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    pp_text_add(text, "%-12s ", "recompute");
    if (plan->partition && plan->recomputed.of)
        print_table(plan, count, text);
    else if (plan->partition && plan->recompute == PP_RECOMPUTE_STAGES)
        print_stages(plan, count, text);
    else
        pp_text_add(text, "%s\n", pp_recompute_name(plan->recompute));
}
