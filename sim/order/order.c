/* Stores an order of compute ops as one array, rank after rank. Also prints and parses the tokens
 * of PyTorch's schedule files. */
#include "sim/order/order.h"

#include "sim/base/alloc.h"
#include "sim/job/workload.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char pp_op_letter(pp_op_kind kind)
{
    static const char letters[] = {
#define PP_OP_LETTER(letter, words) #letter[0],
        PP_OP_MAP(PP_OP_LETTER)
#undef PP_OP_LETTER
    };
    return letters[kind];
}

pp_status pp_order_new(uint32_t ranks, uint32_t stages, uint32_t microbatches,
                       pp_placement placement, size_t capacity, pp_order **order_out, pp_err *err)
{
    if (ranks == 0 || ranks > PP_RANKS_MAX || stages < ranks || stages > PP_STAGES_MAX)
        return pp_err_set(
            err, PP_INPUT, NULL,
            "%" PRIu32 " stages on %" PRIu32
            " ranks: there must be 1 to %u ranks and at least one stage on each, at most %u stages",
            stages, ranks, PP_RANKS_MAX, PP_STAGES_MAX);
    if (microbatches == 0 || microbatches > PP_MICROBATCHES_MAX || capacity > PP_OPS_MAX)
        return pp_err_set(err, PP_INPUT, NULL,
                          "%" PRIu32 " microbatches on %" PRIu32 " stages: the limits are %" PRId64
                          " microbatches and %u ops",
                          microbatches, stages, PP_MICROBATCHES_MAX, PP_OPS_MAX);
    pp_order *order = pp_alloc_array(1, sizeof *order);
    if (!order)
        return pp_err_nomem(err);
    *order = (pp_order){ .ranks = ranks, .stages = stages, .microbatches = microbatches };
    order->capacity = capacity;
    order->mirrored_from = placement == PP_PLACE_BIDIRECTIONAL ? microbatches / 2 : microbatches;
    order->stage_rank = pp_alloc_array(stages, sizeof *order->stage_rank);
    order->rank_begin = pp_alloc_array((size_t)ranks + 1, sizeof *order->rank_begin);
    order->ops = pp_alloc_large(capacity, sizeof *order->ops);
    if (!order->stage_rank || !order->rank_begin || !order->ops) {
        pp_order_free(&order);
        return pp_err_nomem(err);
    }
    for (uint32_t s = 0; s < stages; s++)
        order->stage_rank[s] = pp_placement_rank(placement, s, ranks);
    *order_out = order;
    return PP_OK;
}

void pp_order_free(pp_order **order)
{
    if (!*order)
        return;
    free((*order)->stage_rank);
    free((*order)->rank_begin);
    free((*order)->ops);
    free(*order);
    *order = NULL;
}

void pp_order_end(pp_order *order)
{
    for (uint32_t r = 0; r < order->ranks; r++) {
        if (order->rank_begin[r + 1] < order->rank_begin[r])
            order->rank_begin[r + 1] = order->rank_begin[r];
    }
}

pp_status pp_order_repeat(const pp_order *order, uint32_t runs, pp_order **order_out, pp_err *err)
{
    const size_t ops = order->rank_begin[order->ranks];
    const uint64_t microbatches = (uint64_t)order->microbatches * runs;
    pp_order *made = NULL;
    pp_status status = pp_order_new(order->ranks, order->stages,
                                    microbatches > UINT32_MAX ? UINT32_MAX : (uint32_t)microbatches,
                                    PP_PLACE_LOOP, ops * runs, &made, err);
    if (status)
        return status;
    memcpy(made->stage_rank, order->stage_rank, order->stages * sizeof *made->stage_rank);
    for (uint32_t r = 0; r < order->ranks; r++) {
        const size_t begin = order->rank_begin[r], count = order->rank_begin[r + 1] - begin;
        pp_op *to = made->ops + runs * begin;
        for (size_t i = 0; i < runs * count; i++) {
            to[i] = order->ops[begin + i % count];
            to[i].microbatch += (uint32_t)(i / count) * order->microbatches;
        }
        made->rank_begin[r + 1] = runs * order->rank_begin[r + 1];
    }
    *order_out = made;
    return PP_OK;
}

const char *pp_op_print(pp_op op, char *buffer, size_t size)
{
    snprintf(buffer, size, "%u%c%" PRIu32, op.stage, pp_op_letter(op.kind), op.microbatch);
    return buffer;
}

/* Parses decimal digits without sign or leading zeros and advances *text. */
static bool parse_number(const char **text, const char *end, uint32_t limit, uint32_t *out)
{
    const char *c = *text;
    uint32_t value = 0;
    if (c == end || !isdigit((unsigned char)*c) ||
        (*c == '0' && end - c > 1 && isdigit((unsigned char)c[1])))
        return false;
    for (; c < end && isdigit((unsigned char)*c); c++) {
        value = value * 10 + (uint32_t)(*c - '0');
        if (value >= limit)
            return false;
    }
    *text = c;
    *out = value;
    return true;
}

bool pp_op_parse(const char *text, size_t bytes, pp_op *op_out)
{
    const char *end = text + bytes;
    uint32_t stage;
    uint32_t microbatch;
    if (!parse_number(&text, end, PP_STAGES_MAX, &stage) || text == end)
        return false;
    uint8_t kind = 0;
    while (kind < PP_OP_KIND_COUNT && pp_op_letter(kind) != *text)
        kind++;
    text++;
    if (kind == PP_OP_KIND_COUNT ||
        !parse_number(&text, end, (uint32_t)PP_MICROBATCHES_MAX, &microbatch) || text != end)
        return false;
    *op_out = (pp_op){ .microbatch = microbatch, .stage = (uint16_t)stage, .kind = kind };
    return true;
}

static const char overlap[] = ")OVERLAP_F_B";

size_t pp_cell_print(const pp_order *order, size_t i, char *buffer, size_t size)
{
    char first[32];
    char second[32];
    if (!order->ops[i].paired) {
        pp_op_print(order->ops[i], buffer, size);
        return 1;
    }
    snprintf(buffer, size, "(%s;%s%s", pp_op_print(order->ops[i], first, sizeof first),
             pp_op_print(order->ops[i + 1], second, sizeof second), overlap);
    return 2;
}

size_t pp_cell_parse(const char *text, size_t bytes, pp_op ops_out[2])
{
    size_t tail = sizeof overlap - 1;
    if (bytes == 0 || *text != '(')
        return pp_op_parse(text, bytes, &ops_out[0]);
    const char *middle = memchr(text, ';', bytes);
    if (!middle || bytes < tail || memcmp(text + bytes - tail, overlap, tail) != 0 ||
        (size_t)(middle - text) + 1 > bytes - tail ||
        !pp_op_parse(text + 1, (size_t)(middle - text) - 1, &ops_out[0]) ||
        !pp_op_parse(middle + 1, bytes - tail - (size_t)(middle + 1 - text), &ops_out[1]))
        return 0;
    ops_out[0].paired = 1;
    return 2;
}

bool pp_order_placement(const pp_order *order, pp_placement *placement_out)
{
    static const pp_placement tried[] = { PP_PLACE_LOOP, PP_PLACE_V };
    if (order->mirrored_from < order->microbatches) {
        *placement_out = PP_PLACE_BIDIRECTIONAL;
        return true;
    }
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        uint32_t s = 0;
        while (s < order->stages &&
               order->stage_rank[s] == pp_placement_rank(tried[i], s, order->ranks))
            s++;
        if (s == order->stages) {
            *placement_out = tried[i];
            return true;
        }
    }
    return false;
}

bool pp_order_forward_only(const pp_order *order)
{
    size_t i = 0;
    while (i < order->rank_begin[order->ranks] && order->ops[i].kind == PP_OP_F)
        i++;
    return i == order->rank_begin[order->ranks];
}

bool pp_order_splits_backward(const pp_order *order)
{
    size_t i = 0;
    while (i < order->rank_begin[order->ranks] && order->ops[i].kind != PP_OP_I &&
           order->ops[i].kind != PP_OP_W)
        i++;
    return i < order->rank_begin[order->ranks];
}

pp_status pp_order_drop_backward(const pp_order *order, pp_order **order_out, pp_err *err)
{
    pp_order *kept = NULL;
    pp_status status = pp_order_new(order->ranks, order->stages, order->microbatches, PP_PLACE_LOOP,
                                    order->rank_begin[order->ranks], &kept, err);
    if (status)
        return status;
    memcpy(kept->stage_rank, order->stage_rank, order->stages * sizeof *kept->stage_rank);
    kept->mirrored_from = order->mirrored_from;
    for (uint32_t r = 0; r < order->ranks; r++) {
        for (size_t i = order->rank_begin[r]; i < order->rank_begin[r + 1]; i++) {
            pp_op op = order->ops[i];
            if (op.kind == PP_OP_F)
                pp_order_add(kept, r, PP_OP_F, op.stage, op.microbatch);
        }
    }
    pp_order_end(kept);
    *order_out = kept;
    return PP_OK;
}

pp_status pp_order_one_rank(const pp_order *order, const char *where, pp_err *err)
{
    if (order->mirrored_from == order->microbatches)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, where,
                      "this schedule is bidirectional: stage 0 runs on ranks %" PRIu32
                      " and %" PRIu32 ", and only simulate handles such orders; choose dualpipev, "
                      "which runs the same pairs with every stage on one rank",
                      order->stage_rank[0], order->ranks - 1 - order->stage_rank[0]);
}

bool pp_order_equal(const pp_order *a, const pp_order *b)
{
    if (a->mirrored_from != b->mirrored_from || a->ranks != b->ranks || a->stages != b->stages ||
        a->microbatches != b->microbatches ||
        memcmp(a->stage_rank, b->stage_rank, a->stages * sizeof *a->stage_rank) != 0 ||
        memcmp(a->rank_begin, b->rank_begin, ((size_t)a->ranks + 1) * sizeof *a->rank_begin) != 0)
        return false;
    for (size_t i = 0; i < a->rank_begin[a->ranks]; i++) {
        pp_op x = a->ops[i];
        pp_op y = b->ops[i];
        if (x.kind != y.kind || x.stage != y.stage || x.microbatch != y.microbatch ||
            x.paired != y.paired)
            return false;
    }
    return true;
}
