/* What a plan recomputes, as people read it. */
#include "tools/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Layers of one stage, over the microbatches. */
typedef struct span {
    int64_t least, most, sum;
} span;

static void span_add(span *x, int64_t layers)
{
    x->least = layers < x->least ? layers : x->least;
    x->most = layers > x->most ? layers : x->most;
    x->sum += layers;
}

void pp_range_print(char *buffer, size_t size, int64_t least, int64_t most)
{
    if (least == most)
        snprintf(buffer, size, "%" PRId64, most);
    else
        snprintf(buffer, size, "%" PRId64 " to %" PRId64, least, most);
}

/* "0 to 3 and 0 to 1 selective of 10 (41 and 7 of 320)"; what stages alike have is alike. */
static void print_stage(const pp_plan *plan, uint32_t s, char *buffer, size_t size)
{
    const pp_recompute_table *table = &plan->recomputed;
    const pp_stage *stage = &plan->partition[s];
    const size_t columns = table->of ? (size_t)table->replicas * table->microbatches : 1;
    span full = { .least = INT64_MAX }, selective = { .least = INT64_MAX };
    char range[2][48], selected[64] = "", all[96] = "";
    for (size_t j = 0; j < columns; j++) {
        span_add(&full, table->of ? table->of[j * table->stages + s].full : stage->full);
        span_add(&selective,
                 table->of ? table->of[j * table->stages + s].selective : stage->selective);
    }
    pp_range_print(range[0], sizeof range[0], full.least, full.most);
    pp_range_print(range[1], sizeof range[1], selective.least, selective.most);
    if (selective.most)
        snprintf(selected, sizeof selected, " and %s selective", range[1]);
    if (table->of && selective.most)
        snprintf(all, sizeof all, " (%" PRId64 " and %" PRId64 " of %" PRId64 ")", full.sum,
                 selective.sum, stage->layers * (int64_t)columns);
    else if (table->of && full.most)
        snprintf(all, sizeof all, " (%" PRId64 " of %" PRId64 ")", full.sum,
                 stage->layers * (int64_t)columns);
    snprintf(buffer, size, "%s%s of %" PRId64 "%s", range[0], selected, stage->layers, all);
}

/* Runs of stages that recompute alike: "0: 3 of 5, 1 to 3: 2 of 5". */
static void print_stages(const pp_plan *plan, pp_text *words)
{
    const uint32_t count = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    uint32_t next;
    for (uint32_t s = 0; s < count; s = next) {
        char here[256], there[256];
        print_stage(plan, s, here, sizeof here);
        for (next = s + 1; next < count; next++) {
            print_stage(plan, next, there, sizeof there);
            if (strcmp(here, there) != 0)
                break;
        }
        pp_text_add(words, "%s%" PRIu32, s ? ", " : "", s);
        if (next > s + 1)
            pp_text_add(words, " to %" PRIu32, next - 1);
        pp_text_add(words, ": %s", here);
    }
}

void pp_recompute_print(const pp_plan *plan, pp_text *text)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    const bool table = plan->recomputed.of != NULL;
    if (plan->partition && (table || strcmp(plan->recompute, PP_PLAN_PER_STAGE) == 0)) {
        pp_text_add(&words,
                    "layers per stage%s: ", table ? " and microbatch (of all microbatches)" : "");
        print_stages(plan, &words);
    } else {
        pp_text_add(&words, "%s", plan->recompute);
    }
    text->failed |= words.failed;
    pp_text_add(text, "%-12s ", "recompute");
    pp_print_words(text, words.data ? words.data : "", 13, 13);
}
