#include "planner/instance.h"

#include "sim/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void wire(pp_instance *x)
{
    uint32_t s = x->stages;
    for (uint32_t op = 0; op < x->ops; op++) {
        uint32_t at = op % (3 * s);
        pp_step *step = &x->step[op];
        step->before = at == 0 ? x->ops : op - (at < 2 * s ? 1 : s);
        step->after = at < 2 * s - 1 ? op + 1 : x->ops;
        step->weight = at >= s && at < 2 * s ? op + s : x->ops;
        step->microbatch = op / (3 * s);
        step->kind = (uint16_t)(at / s);
        step->stage = (uint16_t)(at < s ? at : s - 1 - at % s);
        step->rank = x->stage_rank[step->stage];
    }
    x->step[x->ops] = (pp_step){ .before = x->ops, .after = x->ops, .weight = x->ops };
}

pp_status pp_instance_new(const char *name, uint32_t ranks, uint32_t stages, uint32_t microbatches,
                          const uint32_t *stage_rank, pp_instance **instance_out, pp_err *err)
{
    uint64_t cells = (uint64_t)stages * microbatches;
    if (cells > PP_INSTANCE_OPS_MAX / 3)
        return pp_err_set(err, PP_INPUT, name, "%" PRIu64 " ops are more than the %u there may be",
                          3 * cells, PP_INSTANCE_OPS_MAX);
    pp_instance *x = pp_alloc_array(1, sizeof *x);
    if (!x)
        return pp_err_nomem(err);
    x->ranks = ranks;
    x->stages = stages;
    x->microbatches = microbatches;
    x->ops = (uint32_t)(3 * cells);
    x->name = pp_copy_text(name);
    x->stage_rank = pp_alloc_array(stages, sizeof *x->stage_rank);
    x->room = pp_alloc_array(ranks, sizeof *x->room);
    x->step = pp_alloc_array((size_t)x->ops + 1, sizeof *x->step);
    x->memory = pp_alloc_array((size_t)x->ops + 1, sizeof *x->memory);
    if (!x->name || !x->stage_rank || !x->room || !x->step || !x->memory) {
        pp_instance_free(&x);
        return pp_err_nomem(err);
    }
    memcpy(x->stage_rank, stage_rank, stages * sizeof *stage_rank);
    wire(x);
    *instance_out = x;
    return PP_OK;
}

void pp_instance_free(pp_instance **instance)
{
    pp_instance *x = *instance;
    if (!x)
        return;
    free(x->name);
    free(x->stage_rank);
    free(x->room);
    free(x->step);
    free(x->memory);
    free(x);
    *instance = NULL;
}

/* Runs microbatch `i` alone on `rank`, each W right after its B: the op that does not fit, or
 * x->ops. */
static uint32_t misfit(const pp_instance *x, uint32_t i, uint32_t rank)
{
    int64_t held = 0;
    uint32_t chain = i * 3 * x->stages;
    for (uint32_t op = chain; op < chain + 2 * x->stages; op++) {
        const uint32_t pair[] = { op, x->step[op].weight };
        for (int k = 0; k < 2 && x->step[op].rank == rank && pair[k] < x->ops; k++) {
            if (held + x->memory[pair[k]].need > x->room[rank])
                return pair[k];
            held += x->memory[pair[k]].delta;
        }
    }
    return x->ops;
}

pp_status pp_instance_check_room(const pp_instance *x, pp_err *err)
{
    for (uint32_t i = 0; i < x->microbatches; i++) {
        for (uint32_t r = 0; r < x->ranks; r++) {
            uint32_t op = misfit(x, i, r);
            if (op == x->ops)
                continue;
            return pp_err_set(err, PP_INFEASIBLE, x->name,
                              "%c of microbatch %" PRIu32 " (stage %" PRIu32 ") does not fit into "
                              "the %" PRId64 " of rank %" PRIu32 " even when nothing else is there;"
                              " give it more memory or a smaller microbatch",
                              "FBW"[x->step[op].kind], i, x->step[op].stage,
                              x->room[r], r);
        }
    }
    return PP_OK;
}

void pp_instance_print_orders(const pp_instance *x, const uint32_t *ops, pp_text *text)
{
    for (uint32_t k = 0; k < x->ops; k++) {
        uint32_t op = ops[k];
        bool last = k + 1 == x->ops || x->step[ops[k + 1]].rank != x->step[op].rank;
        pp_text_add(text, "%c%" PRIu32 ".%" PRIu32 "%s", "FBW"[x->step[op].kind],
                    x->step[op].stage, x->step[op].microbatch, last ? "\n" : " ");
    }
}
