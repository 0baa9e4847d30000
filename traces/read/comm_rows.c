/* Reads PyTorch's compute_comms rows: a line per rank, cells such as 3F7, 3SEND_F7, 3UNSHARD or,
 * since PyTorch 2.15, 3WAIT_SEND_F7. The compute cells make an order, from which the dependencies
 * follow; the other cells become the steps of communication between its ops, exactly in the order
 * of the file. Linear in the file, except for pairing sends with receives, which sorts them. */
#include "traces/read/comm_rows.h"

#include "sim/base/alloc.h"
#include "sim/base/span.h"
#include "sim/order/order_check.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum cell_kind { CELL_RUN, CELL_TRANSFER, CELL_WAIT, CELL_MARK } cell_kind;

typedef struct cell {
    uint32_t rank, microbatch;
    uint16_t stage;
    uint8_t kind; /* cell_kind */
    uint8_t what; /* pp_op_kind, pp_transfer_kind (of the send that is waited for) or pp_mark */
    uint8_t paired;
} cell;

typedef struct rows {
    cell *cell;
    size_t count, capacity;
    uint32_t ranks, stages, microbatches;
    size_t ops, waits;
} rows;

static void rows_free(rows *r)
{
    free(r->cell);
}

static bool number(const char **text, const char *end, uint32_t limit, uint32_t *out)
{
    uint32_t value = 0;
    const char *c = *text;
    for (; c < end && isdigit((unsigned char)*c) && value < limit; c++)
        value = value * 10 + (uint32_t)(*c - '0');
    if (c == *text || value >= limit)
        return false;
    *text = c;
    *out = value;
    return true;
}

static bool word(const char **text, const char *end, const char *name)
{
    size_t n = strlen(name);
    if ((size_t)(end - *text) < n || memcmp(*text, name, n) != 0)
        return false;
    *text += n;
    return true;
}

/* Parses a cell that is not an op, such as "3SEND_F7" or "3UNSHARD". */
static bool parse_comm(const char *text, size_t bytes, cell *out)
{
    const char *end = text + bytes;
    uint32_t stage;
    if (!number(&text, end, PP_STAGES_MAX, &stage))
        return false;
    out->stage = (uint16_t)stage;
    for (uint8_t k = 0; k < PP_MARK_COUNT; k++) {
        const char *c = text;
        if (word(&c, end, pp_mark_token((pp_mark)k)) && c == end) {
            out->kind = CELL_MARK;
            out->what = k;
            return true;
        }
    }
    const bool waits = word(&text, end, "WAIT_");
    for (uint8_t k = 0; k < PP_TENSOR_KINDS; k++) {
        const char *c = text;
        if ((!waits || pp_transfer_sends((pp_transfer_kind)k)) &&
            word(&c, end, pp_transfer_token((pp_transfer_kind)k)) &&
            number(&c, end, (uint32_t)PP_MICROBATCHES_MAX, &out->microbatch) && c == end) {
            out->kind = waits ? CELL_WAIT : CELL_TRANSFER;
            out->what = k;
            return true;
        }
    }
    return false;
}

static pp_status push(rows *r, cell c, pp_err *err)
{
    void *grown = r->cell;
    pp_status status = pp_grow(&grown, &r->capacity, r->count + 1, sizeof c, err);
    if (status)
        return status;
    r->cell = grown;
    r->cell[r->count++] = c;
    if (c.stage + 1u > r->stages)
        r->stages = c.stage + 1u;
    if (c.kind != CELL_MARK && c.microbatch + 1 > r->microbatches)
        r->microbatches = c.microbatch + 1;
    r->ops += c.kind == CELL_RUN;
    r->waits += c.kind == CELL_WAIT;
    return PP_OK;
}

static pp_status read_cell(rows *r, const char *text, size_t bytes, pp_err *err, bool *known)
{
    pp_op ops[2];
    cell c = { .rank = r->ranks };
    *known = true;
    size_t n = pp_cell_parse(text, bytes, ops);
    for (size_t k = 0; k < n; k++) {
        c.stage = ops[k].stage;
        c.microbatch = ops[k].microbatch;
        c.what = ops[k].kind;
        c.paired = ops[k].paired;
        pp_status status = push(r, c, err);
        if (status)
            return status;
    }
    if (n)
        return PP_OK;
    *known = parse_comm(text, bytes, &c);
    return *known ? push(r, c, err) : PP_OK;
}

static pp_status read_rows(const char *text, size_t bytes, const char *file, rows *r, pp_err *err)
{
    const char *end = text + bytes;
    for (const char *line = text; line < end; r->ranks++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        const char *last = stop > line && stop[-1] == '\r' ? stop - 1 : stop;
        for (const char *c = line; c <= last;) {
            const char *comma = memchr(c, ',', (size_t)(last - c));
            const char *next = comma ? comma : last;
            const char *a = c;
            const char *b = next;
            bool known = true;
            while (a < b && (*a == ' ' || *a == '\t'))
                a++;
            while (a < b && (b[-1] == ' ' || b[-1] == '\t'))
                b--;
            pp_status status = a < b ? read_cell(r, a, (size_t)(b - a), err, &known) : PP_OK;
            if (status)
                return status;
            if (!known) {
                char where[256];
                snprintf(where, sizeof where, "%.200s:%" PRIu32 ":%td", file, r->ranks + 1,
                         a - line + 1);
                return pp_err_set(
                    err, PP_INPUT, where,
                    "'%.*s' is not a token; write for example 3F7, 3SEND_F7, 4RECV_F7",
                    (int)(b - a > 40 ? 40 : b - a), a);
            }
            c = next + 1;
        }
        line = stop + 1;
    }
    if (r->ops == 0 || r->ranks > PP_RANKS_MAX)
        return pp_err_set(err, PP_INPUT, file, "contains no compute op; give a schedule file");
    return PP_OK;
}

/* Makes the order of the compute ops. In an excerpt, stages that are on no line share one
 * additional rank. */
static pp_status make_order(const rows *r, const char *file, bool partial, pp_order **order_out,
                            pp_err *err)
{
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    if ((uint64_t)r->stages * r->microbatches > 64 * ((uint64_t)r->count + 65536))
        return pp_err_set(err, PP_INPUT, file,
                          "%zu cells are far too few for %" PRIu32 " stages and %" PRIu32
                          " microbatches; number both from 0 without gaps",
                          r->count, r->stages, r->microbatches);
    uint32_t ranks = r->ranks + partial;
    uint32_t stages = r->stages + partial > ranks ? r->stages + partial : ranks;
    pp_status status =
        pp_order_new(ranks, stages, r->microbatches, PP_PLACE_LOOP, r->ops, &order, err);
    if (status)
        return status;
    memset(order->stage_rank, 0xff, stages * sizeof *order->stage_rank);
    for (size_t i = 0; i < r->count; i++) {
        const cell *c = &r->cell[i];
        if (order->stage_rank[c->stage] == UINT32_MAX)
            order->stage_rank[c->stage] = c->rank;
        if (order->stage_rank[c->stage] != c->rank)
            return pp_err_set(err, PP_INFEASIBLE, file,
                              "stage %u is on rank %" PRIu32 " and on rank %" PRIu32
                              ", but a stage runs on one rank",
                              c->stage, order->stage_rank[c->stage], c->rank);
        if (c->kind != CELL_RUN)
            continue;
        pp_order_add(order, c->rank, (pp_op_kind)c->what, c->stage, c->microbatch);
        order->ops[order->rank_begin[order->ranks] - 1].paired = c->paired;
    }
    pp_order_end(order);
    for (uint32_t s = 0; s < stages; s++) {
        if (order->stage_rank[s] == UINT32_MAX && !partial)
            return pp_err_set(err, PP_INFEASIBLE, file,
                              "stage %" PRIu32 " is on no line; number the stages without gaps", s);
        if (order->stage_rank[s] == UINT32_MAX)
            order->stage_rank[s] = r->ranks;
    }
    pp_err inner = pp_err_like(err);
    status =
        partial ? pp_order_check_excerpt(order, file, &inner) : pp_order_check(order, file, &inner);
    if (status)
        return pp_err_set(err, status == PP_INPUT ? PP_INFEASIBLE : status, inner.where, "%s",
                          inner.text);
    *order_out = order;
    order = NULL; /* the caller owns it now */
    return PP_OK;
}

/* What the cells of a stage and microbatch do to its tensors. */
enum {
    MADE_F = 1,
    MADE_B = 2,
    TRAVELLED = 4, /* shifted by pp_transfer_kind */
    WAITED_F = 64,
    WAITED_B = 128,
};

static void free_groups(uint32_t **groups)
{
    free(*groups);
}

static void free_bytes(uint8_t **bytes)
{
    free(*bytes);
}

/* The bit of the tensor that a compute cell makes, or that a send needs; 0: none. */
static uint8_t made_by(const cell *c)
{
    if (c->kind == CELL_RUN)
        return c->what == PP_OP_F ? MADE_F : c->what == PP_OP_W ? 0 : MADE_B;
    return c->what == PP_SEND_F ? MADE_F : c->what == PP_SEND_B ? MADE_B : 0;
}

/* Checks that every send is waited for, as PyTorch 2.15 demands. seen: [stages * microbatches]. */
static pp_status check_waits(const rows *r, const uint8_t *seen, const char *file, pp_err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        const cell *c = &r->cell[i];
        if (c->kind != CELL_TRANSFER || !pp_transfer_sends((pp_transfer_kind)c->what))
            continue;
        const uint8_t waited = c->what == PP_SEND_F ? WAITED_F : WAITED_B;
        if (seen[(size_t)c->stage * r->microbatches + c->microbatch] & waited)
            continue;
        const char *token = pp_transfer_token((pp_transfer_kind)c->what);
        return pp_err_set(err, PP_INFEASIBLE, file,
                          "%u%s%" PRIu32 " of rank %" PRIu32
                          " is never waited for, but other sends are; add %uWAIT_%s%" PRIu32
                          " after it, or remove the waits for PyTorch 2.13",
                          c->stage, token, c->microbatch, c->rank, c->stage, token, c->microbatch);
    }
    return PP_OK;
}

/* Checks that each tensor is sent and received once, and sent after the op that makes it. In an
 * excerpt that op may be elsewhere. */
static pp_status check_tensors(const rows *r, const char *file, pp_err *err)
{
    const size_t cells = (size_t)r->stages * r->microbatches;
    uint8_t *later PP_CLEANUP(free_bytes) = pp_alloc_array(cells, 1); /* made by a cell to come */
    uint8_t *seen PP_CLEANUP(free_bytes) = pp_alloc_array(cells, 1);
    if (!later || !seen)
        return pp_err_nomem(err);
    for (size_t i = 0; i < r->count; i++) {
        const cell *c = &r->cell[i];
        if (c->kind == CELL_RUN)
            later[(size_t)c->stage * r->microbatches + c->microbatch] |= made_by(c);
    }
    for (size_t i = 0; i < r->count; i++) {
        const cell *c = &r->cell[i];
        if (c->kind == CELL_MARK)
            continue;
        const size_t at = (size_t)c->stage * r->microbatches + c->microbatch;
        if (c->kind == CELL_RUN) {
            later[at] &= (uint8_t)~made_by(c);
            continue;
        }
        const uint8_t bit = (uint8_t)(TRAVELLED << c->what);
        const char *token = pp_transfer_token((pp_transfer_kind)c->what);
        if (c->kind == CELL_WAIT) {
            const uint8_t waited = c->what == PP_SEND_F ? WAITED_F : WAITED_B;
            if (!(seen[at] & bit) || (seen[at] & waited))
                return pp_err_set(err, PP_INFEASIBLE, file,
                                  "%uWAIT_%s%" PRIu32 " of rank %" PRIu32
                                  " has no send to wait for; put it after %u%s%" PRIu32 ", once",
                                  c->stage, token, c->microbatch, c->rank, c->stage, token,
                                  c->microbatch);
            seen[at] |= waited;
            continue;
        }
        if (seen[at] & bit)
            return pp_err_set(err, PP_INFEASIBLE, file,
                              "%u%s%" PRIu32 " of rank %" PRIu32
                              " is there twice; a tensor is sent and received once",
                              c->stage, token, c->microbatch, c->rank);
        if (later[at] & made_by(c))
            return pp_err_set(err, PP_INFEASIBLE, file,
                              "%u%s%" PRIu32 " of rank %" PRIu32
                              " comes before the %s of stage %u microbatch %" PRIu32
                              ", which makes its tensor; put it after that",
                              c->stage, token, c->microbatch, c->rank,
                              c->what == PP_SEND_F ? "forward" : "backward", c->stage,
                              c->microbatch);
        seen[at] |= bit;
    }
    return r->waits ? check_waits(r, seen, file, err) : PP_OK;
}

static size_t send_index(const rows *r, const cell *c)
{
    return 2 * ((size_t)c->stage * r->microbatches + c->microbatch) + (c->what == PP_SEND_B);
}

/* sent: [2 * stages * microbatches], for the groups of sends; NULL: the rows have no waits. */
static void add_steps(const rows *r, pp_rows_grouping grouping, uint32_t *sent,
                      pp_comm_builder *builder)
{
    uint32_t op = 0;
    for (size_t i = 0; i < r->count; i++) {
        const cell *c = &r->cell[i];
        if (c->kind == CELL_RUN) {
            pp_comm_run(builder, c->rank, op++);
        } else if (c->kind == CELL_MARK) {
            pp_comm_mark(builder, c->rank, (pp_mark)c->what, c->stage);
        } else if (c->kind == CELL_WAIT) {
            pp_comm_wait(builder, sent[send_index(r, c)]);
        } else {
            uint32_t group = pp_comm_open(builder, c->rank);
            size_t last = i;
            while (grouping == PP_ROWS_BATCHED && last + 1 < r->count &&
                   r->cell[last + 1].kind == CELL_TRANSFER && r->cell[last + 1].rank == c->rank)
                last++;
            for (; i <= last; i++) {
                const cell *t = &r->cell[i];
                pp_comm_add(builder, group, (pp_transfer_kind)t->what, t->stage, t->microbatch);
                if (sent && pp_transfer_sends((pp_transfer_kind)t->what))
                    sent[send_index(r, t)] = group;
            }
            pp_comm_post(builder, group);
            i = last;
        }
    }
}

/* Checks that each op with an input from another rank has a receive in its row. */
static pp_status check_receives(const pp_program *program, const char *file, pp_err *err)
{
    char token[32];
    for (size_t i = 0; i < program->count; i++) {
        pp_op op = program->op[i];
        uint32_t source = program->source[i];
        uint32_t rank = pp_program_rank(program, op);
        if (source == PP_NO_SOURCE || pp_program_rank(program, program->op[source]) == rank ||
            program->comm->needs[i] != PP_NO_SOURCE)
            continue;
        return pp_err_set(err, PP_INFEASIBLE, file,
                          "%s on rank %" PRIu32 " never receives its input; add %u%s%" PRIu32
                          " before it",
                          pp_op_print(op, token, sizeof token), rank, op.stage,
                          op.kind == PP_OP_F ? "RECV_F" : "RECV_B", op.microbatch);
    }
    return PP_OK;
}

pp_status pp_comm_rows_read(const char *text, size_t bytes, const char *file,
                            pp_rows_grouping grouping, bool partial, pp_order **order_out,
                            pp_program **program_out, pp_err *err)
{
    rows r PP_CLEANUP(rows_free) = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_comm_builder *builder PP_CLEANUP(pp_comm_builder_free) = NULL;
    uint32_t *sent PP_CLEANUP(free_groups) = NULL;
    pp_status status = read_rows(text, bytes, file, &r, err);
    if (status || (status = make_order(&r, file, partial, &order, err)) ||
        (status = check_tensors(&r, file, err)) ||
        (status = partial ? pp_program_from_excerpt(order, &program, err)
                          : pp_program_from_order(order, &program, err)) ||
        (status = pp_comm_builder_new(program, &builder, err)))
        return status;
    if (r.waits) {
        sent = pp_alloc_array(2 * (size_t)r.stages * r.microbatches, sizeof *sent);
        if (!sent)
            return pp_err_nomem(err);
    }
    add_steps(&r, grouping, sent, builder);
    if ((status = pp_comm_finish(builder, partial, program, err)) ||
        (!partial && (status = check_receives(program, file, err))))
        return status;
    *program_out = program;
    program = NULL; /* the caller owns it now */
    if (order_out) {
        *order_out = order;
        order = NULL;
    }
    return PP_OK;
}

bool pp_comm_rows_recognise(const char *text, size_t bytes)
{
    static const char *const words[] = { "SEND_", "RECV_", "SHARD", "REDUCE_GRAD" };
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        if (pp_span_find((pp_span){ text, bytes }, words[k]))
            return true;
    }
    return false;
}

bool pp_comm_rows_locate(const char *text, size_t bytes, uint32_t rank, const char *token,
                         uint32_t *line_out, uint32_t *cell_out)
{
    const char *end = text + bytes;
    uint32_t place = 1;
    for (uint32_t line = 0; text < end && line < rank; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        text = stop ? stop + 1 : end;
    }
    for (const char *c = text; c < end && *c != '\n'; place++) {
        while (c < end && (*c == ' ' || *c == '\t'))
            c++;
        size_t length = 0;
        while (c + length < end && !strchr(", \t\r\n", c[length]))
            length++;
        if (length == strlen(token) && memcmp(c, token, length) == 0) {
            *line_out = rank + 1;
            *cell_out = place;
            return true;
        }
        while (c < end && *c != ',' && *c != '\n')
            c++;
        c += c < end && *c == ',';
    }
    return false;
}
