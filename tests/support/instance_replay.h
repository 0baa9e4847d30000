/* Replays the orders of an instance, as written, by the rules of docs/reference/formats.md. It
 * reads the file itself and shares no code with planner/, whose results it checks. */
#ifndef PPSIM_TESTS_SUPPORT_INSTANCE_REPLAY_H
#define PPSIM_TESTS_SUPPORT_INSTANCE_REPLAY_H

#include "sim/base/alloc.h"
#include "sim/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay {
    uint32_t p, s, m;
    int64_t *rank_of, *cap;
    int64_t *ticks[3], *taken, *kept, *extra[3]; /* [s * m], stage by stage */
    int64_t *lag;                                /* [m], between different ranks */
    int64_t *end[3];                             /* end in the replay; -1: has not run */
    int64_t best_known;                          /* 0: not in the file */
    char name[64];
} replay;

static int64_t replay_int(const pp_json_at *object, const char *key)
{
    int64_t value = 0;
    pp_err err = { 0 };
    if (pp_json_get_int(object, key, 0, INT64_MAX, &value, &err))
        abort();
    return value;
}

static int64_t *replay_ints(const pp_json_at *object, const char *key)
{
    pp_json_at list, item;
    size_t count = 0;
    pp_err err = { 0 };
    if (pp_json_get(object, key, &list, &err) || pp_json_count(&list, &count, &err))
        abort();
    int64_t *values = pp_alloc_array(count, sizeof *values);
    for (size_t k = 0; k < count; k++)
        if (pp_json_item(&list, k, &item, &err) ||
            pp_json_read_int(&item, 0, INT64_MAX, &values[k], &err))
            abort();
    return values;
}

static void replay_stage(replay *x, const pp_json_at *at, uint32_t stage, const int64_t *tokens,
                         const int64_t *squares)
{
    static const char *const keys[] = { "f", "b", "w" };
    int64_t *act = replay_ints(at, "act");
    int64_t *hold = replay_ints(at, "whold");
    int64_t *transient = replay_ints(at, "transient");
    for (int k = 0; k < 3; k++) {
        int64_t *c = replay_ints(at, keys[k]);
        for (uint32_t i = 0; i < x->m; i++) {
            int64_t scaled = c[0] * 1048576 + c[1] * tokens[i] + c[2] * squares[i];
            x->ticks[k][stage * x->m + i] = (scaled + 524288) / 1048576;
            x->extra[k][stage * x->m + i] = transient[k] * tokens[i];
        }
        free(c);
    }
    for (uint32_t i = 0; i < x->m; i++) {
        x->taken[stage * x->m + i] = act[0] + act[1] * tokens[i];
        x->kept[stage * x->m + i] = hold[0] + hold[1] * tokens[i];
    }
    free(act);
    free(hold);
    free(transient);
}

static void replay_free(replay *x)
{
    free(x->rank_of);
    free(x->cap);
    free(x->taken);
    free(x->kept);
    free(x->lag);
    for (int k = 0; k < 3; k++) {
        free(x->ticks[k]);
        free(x->extra[k]);
        free(x->end[k]);
    }
}

/* A file that pp_order_problem_read takes. */
static void replay_read(const pp_json_at *root, replay *x)
{
    pp_json_at stages, stage, batches, link;
    pp_err err = { 0 };
    *x = (replay){ .p = (uint32_t)replay_int(root, "p"), .m = (uint32_t)replay_int(root, "m") };
    x->s = x->p * (uint32_t)replay_int(root, "v");
    size_t cells = (size_t)x->s * x->m;
    x->rank_of = replay_ints(root, "rank_of");
    x->cap = replay_ints(root, "cap");
    x->taken = pp_alloc_array(cells, sizeof *x->taken);
    x->kept = pp_alloc_array(cells, sizeof *x->kept);
    x->lag = pp_alloc_array(x->m, sizeof *x->lag);
    for (int k = 0; k < 3; k++) {
        x->ticks[k] = pp_alloc_array(cells, sizeof **x->ticks);
        x->extra[k] = pp_alloc_array(cells, sizeof **x->extra);
        x->end[k] = pp_alloc_array(cells, sizeof **x->end);
    }
    if (pp_json_get(root, "microbatches", &batches, &err) ||
        pp_json_get(root, "link", &link, &err) || pp_json_get(root, "stages", &stages, &err) ||
        pp_json_get_name(root, "name", x->name, sizeof x->name, &err))
        abort();
    int64_t *tokens = replay_ints(&batches, "tokens");
    int64_t *squares = replay_ints(&batches, "sumsq");
    for (uint32_t i = 0; i < x->m; i++)
        x->lag[i] = replay_int(&link, "lat") +
                    (replay_int(&link, "per_token_q20") * tokens[i] + 524288) / 1048576;
    for (uint32_t s = 0; s < x->s; s++) {
        if (pp_json_item(&stages, s, &stage, &err))
            abort();
        replay_stage(x, &stage, s, tokens, squares);
    }
    if (pp_json_has(root, "reference")) {
        pp_json_at reference;
        if (pp_json_get(root, "reference", &reference, &err))
            abort();
        x->best_known = replay_int(&reference, "best_known_makespan");
    }
    free(tokens);
    free(squares);
}

static int64_t replay_lag(const replay *x, uint32_t from, uint32_t to, uint32_t i)
{
    return x->rank_of[from] == x->rank_of[to] ? 0 : x->lag[i];
}

/* The earliest start of the op by its inputs; -1: one of them has not run. */
static int64_t replay_ready(const replay *x, int kind, uint32_t s, uint32_t i)
{
    int64_t end = 0;
    int64_t lag = 0;
    if (kind == 0 && s > 0) {
        end = x->end[0][(s - 1) * x->m + i];
        lag = replay_lag(x, s - 1, s, i);
    } else if (kind == 1) {
        bool last = s + 1 == x->s;
        end = last ? x->end[0][s * x->m + i] : x->end[1][(s + 1) * x->m + i];
        lag = last ? 0 : replay_lag(x, s + 1, s, i);
        if (x->end[0][s * x->m + i] < 0)
            return -1;
    } else if (kind == 2) {
        end = x->end[1][s * x->m + i];
    }
    return end < 0 ? -1 : end + lag;
}

/* One rank of the replay. */
typedef struct replay_rank {
    const char *at;
    int64_t now, held;
} replay_rank;

/* Runs the next op. Returns 1 if it ran, 0 if it must wait or the line is at its end, -1 if it is
 * wrong. */
static int replay_op(replay *x, uint32_t r, replay_rank *rank, bool fused)
{
    char letter;
    uint32_t s, i;
    int used = 0;
    rank->at += strspn(rank->at, " ");
    if (*rank->at == '\n' || *rank->at == '\0')
        return 0;
    if (sscanf(rank->at, "%c%" SCNu32 ".%" SCNu32 "%n", &letter, &s, &i, &used) != 3 ||
        !strchr("FBW", letter) || s >= x->s || i >= x->m || x->rank_of[s] != r)
        return -1;
    int kind = letter == 'F' ? 0 : letter == 'B' ? 1 : 2;
    uint32_t cell = s * x->m + i;
    int64_t ready = replay_ready(x, kind, s, i);
    if (x->end[kind][cell] >= 0)
        return -1;
    if (ready < 0)
        return 0;
    int64_t ticks = x->ticks[kind][cell];
    if (fused && kind)
        ticks = kind == 1 ? ticks + x->ticks[2][cell] : 0;
    if (!fused && rank->held + (kind == 0 ? x->taken[cell] : 0) + x->extra[kind][cell] > x->cap[r])
        return -1;
    rank->held += kind == 0   ? x->taken[cell]
                  : kind == 1 ? x->kept[cell] - x->taken[cell]
                              : -x->kept[cell];
    rank->now = (ready > rank->now ? ready : rank->now) + ticks;
    x->end[kind][cell] = rank->now;
    rank->at += used;
    return 1;
}

/* text: a line per rank. fused: B and W are one op, and memory is not checked. Returns the
 * makespan; -1: an op is missing, twice, on a wrong rank, out of memory or in a cycle of waits. */
static int64_t replay_run(replay *x, const char *text, bool fused)
{
    replay_rank *rank = pp_alloc_array(x->p, sizeof *rank);
    int64_t makespan = 0;
    size_t done = 0;
    for (int k = 0; k < 3; k++)
        for (size_t cell = 0; cell < (size_t)x->s * x->m; cell++)
            x->end[k][cell] = -1;
    for (uint32_t r = 0; r < x->p; r++) {
        rank[r].at = text;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    int moved = 1;
    for (bool any = true; any && moved >= 0;) {
        any = false;
        for (uint32_t r = 0; r < x->p && moved >= 0; r++) {
            while ((moved = replay_op(x, r, &rank[r], fused)) == 1) {
                done++;
                any = true;
                makespan = rank[r].now > makespan ? rank[r].now : makespan;
            }
        }
    }
    free(rank);
    return moved >= 0 && done == (size_t)3 * x->s * x->m && *text == '\0' ? makespan : -1;
}

#endif
