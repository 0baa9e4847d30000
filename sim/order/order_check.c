/* Checks that an order is complete and that every rank respects its own dependencies, in one pass
 * over the ops. Deadlocks between ranks are found later, by sorting the program topologically. */
#include "sim/order/order_check.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN_F = 1 << PP_OP_F, SEEN_I = 1 << PP_OP_I, SEEN_W = 1 << PP_OP_W, SEEN_B = 1 << PP_OP_B };

static void free_bytes(uint8_t **bytes)
{
    free(*bytes);
}

/* Why `op` is not allowed at this place, or NULL. seen: earlier ops of its stage and microbatch;
 * elsewhere: those that are on no rank of an excerpt, and count as done. */
static const char *objection(pp_op op, uint8_t seen, uint8_t elsewhere)
{
    uint8_t done = seen | elsewhere;
    if (seen & (1 << op.kind))
        return "occurs twice";
    switch ((pp_op_kind)op.kind) {
    case PP_OP_F:
        return seen ? "comes after its own backward" : NULL;
    case PP_OP_I:
        return !(done & SEEN_F) ? "has no forward before it"
               : seen & SEEN_B ? "is given in addition to a fused backward B of the same microbatch"
                               : NULL;
    case PP_OP_B:
        return !(done & SEEN_F)           ? "has no forward before it"
               : seen & (SEEN_I | SEEN_W) ? "is given in addition to I or W of the same microbatch"
                                          : NULL;
    case PP_OP_W:
        return !(done & SEEN_I) ? "comes before its backward for input I" : NULL;
    case PP_OP_KIND_COUNT:
        break;
    }
    return "is not a compute op";
}

/* elsewhere: [stages * microbatches], or NULL if the order is complete. */
static pp_status check_rank(const pp_order *order, uint32_t rank, const uint8_t *elsewhere,
                            uint8_t *seen, const char *file, pp_err *err)
{
    char where[256];
    char token[32];
    for (size_t i = order->rank_begin[rank]; i < order->rank_begin[rank + 1]; i++) {
        pp_op op = order->ops[i];
        const char *wrong = NULL;
        size_t at = (size_t)op.stage * order->microbatches + op.microbatch;
        if (op.stage >= order->stages || op.microbatch >= order->microbatches)
            wrong = "is outside the schedule's stages or microbatches";
        else if (pp_order_rank(order, op.stage, op.microbatch) != rank)
            wrong = "belongs to another rank";
        else
            wrong = objection(op, seen[at], elsewhere ? elsewhere[at] : 0);
        if (wrong) {
            snprintf(where, sizeof where, "%.160s: rank %" PRIu32 " op %zu", file, rank,
                     i - order->rank_begin[rank] + 1);
            return pp_err_set(err, PP_INPUT, where, "%s %s", pp_op_print(op, token, sizeof token),
                              wrong);
        }
        seen[at] |= (uint8_t)(1 << op.kind);
    }
    return PP_OK;
}

/* Checks that no op is missing. An order of forwards only is an evaluation and needs no others. */
static pp_status check_complete(const pp_order *order, const uint8_t *seen, const char *file,
                                pp_err *err)
{
    char where[256];
    bool evaluation = pp_order_forward_only(order);
    for (uint32_t s = 0; s < order->stages; s++) {
        for (uint32_t j = 0; j < order->microbatches; j++) {
            uint8_t done = seen[(size_t)s * order->microbatches + j];
            const char *missing = !(done & SEEN_F)                ? "F"
                                  : done == (SEEN_F | SEEN_I)     ? "W"
                                  : done == SEEN_F && !evaluation ? "B (or I and W)"
                                                                  : NULL;
            if (!missing)
                continue;
            snprintf(where, sizeof where, "%.160s: rank %" PRIu32, file,
                     pp_order_rank(order, s, j));
            return pp_err_set(err, PP_INPUT, where,
                              "stage %" PRIu32 " microbatch %" PRIu32
                              " has no %s; every stage needs F and B, or F, I and W, of every "
                              "microbatch%s",
                              s, j, missing, evaluation ? ", or F alone everywhere" : "");
        }
    }
    return PP_OK;
}

/* Refuses an order in which a few ops claim millions of microbatches, before memory is allocated
 * for them. */
static pp_status check_size(const pp_order *order, const char *file, pp_err *err)
{
    uint64_t pairs = (uint64_t)order->stages * order->microbatches;
    size_t ops = order->rank_begin[order->ranks];
    if (pairs <= 64 * ((uint64_t)ops + 1024))
        return PP_OK;
    return pp_err_set(err, PP_INPUT, file,
                      "%zu ops are far too few for %" PRIu32 " stages and %" PRIu32
                      " microbatches; every stage needs F and B of every microbatch",
                      ops, order->stages, order->microbatches);
}

pp_status pp_order_check(const pp_order *order, const char *file, pp_err *err)
{
    pp_status status = check_size(order, file, err);
    if (status)
        return status;
    uint8_t *seen PP_CLEANUP(free_bytes) = pp_alloc_array(order->stages, order->microbatches);
    if (!seen)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < order->ranks; r++) {
        if ((status = check_rank(order, r, NULL, seen, file, err)))
            return status;
    }
    return check_complete(order, seen, file, err);
}

pp_status pp_order_check_excerpt(const pp_order *order, const char *file, pp_err *err)
{
    const size_t cells = (size_t)order->stages * order->microbatches;
    uint8_t *seen PP_CLEANUP(free_bytes) = pp_alloc_array(cells, 1);
    uint8_t *elsewhere PP_CLEANUP(free_bytes) = pp_alloc_array(cells, 1);
    if (!seen || !elsewhere)
        return pp_err_nomem(err);
    memset(elsewhere, SEEN_F | SEEN_I, cells);
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        const pp_op op = order->ops[i];
        elsewhere[(size_t)op.stage * order->microbatches + op.microbatch] &=
            (uint8_t) ~(1 << op.kind);
    }
    for (uint32_t r = 0; r < order->ranks; r++) {
        pp_status status = check_rank(order, r, elsewhere, seen, file, err);
        if (status)
            return status;
    }
    return PP_OK;
}
