/* Reads PyTorch's compute_only schedule rows strictly: PyTorch's own parser matches a prefix of a
 * cell and drops the rest, whereas this one refuses what that parser would misread. The text is
 * read twice: the first pass finds the numbers of ops, stages and microbatches and most mistakes,
 * the second one fills the order. Linear in the text. */
#include "traces/read/pytorch_rows.h"

#include "sim/base/alloc.h"
#include "sim/job/workload.h"
#include "sim/order/order_check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A place in the text. Both members count from 1; columns count bytes. */
typedef struct place {
    size_t line, column;
} place;

typedef struct largest {
    uint32_t value;
    place at;
} largest;

/* What the first pass finds out. */
typedef struct survey {
    const char *file;
    size_t ops;
    size_t row_ops; /* of the current line */
    largest stage, microbatch;
    uint32_t *owner; /* [PP_STAGES_MAX]: the line of each stage; 0: no line has it */
} survey;

/* Called for each cell that is not blank. */
typedef pp_status (*cell_fn)(void *context, const pp_op *ops, size_t count, place at, pp_err *err);
/* Called after each line. */
typedef pp_status (*line_fn)(void *context, size_t line, pp_err *err);

static pp_status fail(const char *file, place at, pp_err *err, const char *reason, const char *cell)
{
    char where[256];
    snprintf(where, sizeof where, "%.200s:%zu:%zu", file, at.line, at.column);
    return pp_err_set(err, PP_INPUT, where, "%s%s", cell, reason);
}

static bool contains(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

static bool is_communication(const char *cell)
{
    static const char *const words[] = { "SEND_F",  "RECV_F",  "SEND_B",     "RECV_B",
                                         "UNSHARD", "RESHARD", "REDUCE_GRAD" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (contains(cell, words[i]))
            return true;
    }
    return false;
}

/* Returns what is wrong with a number: a leading zero, or a value from `limit` on, for which the
 * fault is `beyond`. NULL: nothing. */
static const char *number_fault(const char *digits, uint32_t limit, const char *beyond)
{
    uint32_t value = 0;
    if (digits[0] == '0' && isdigit((unsigned char)digits[1]))
        return " has a number with leading zeros; write it without";
    for (; isdigit((unsigned char)*digits) && value < limit; digits++)
        value = value * 10 + (uint32_t)(*digits - '0');
    return value >= limit ? beyond : NULL;
}

/* Returns why a cell that begins with a digit is not an op, and what to do about it. */
static const char *op_fault(const char *cell)
{
    static const char stage_beyond[] = " has a stage beyond the limit of 65534; use fewer stages";
    static const char microbatch_beyond[] =
        " has a microbatch beyond the limit of 16777215; use fewer microbatches";
    const char *fault = number_fault(cell, PP_STAGES_MAX, stage_beyond);
    const char *c = cell + strspn(cell, "0123456789");
    if (fault)
        return fault;
    if (strncmp(c, "BW", 2) == 0)
        return " is a token of older PyTorch versions; write the current letters: B for the whole "
               "backward (formerly BW), I for the input gradient (formerly B)";
    if (*c && strchr("fiwb", *c))
        return " is in lower case; write F, I, W or B";
    if (!*c || !strchr("FIWB", *c))
        return " is not an op; write stage, kind and microbatch, such as 3F7, with kind F, I, W or "
               "B";
    c++;
    if (!*c)
        return " has no microbatch; write it after the letter, as in 3F7";
    if (!isdigit((unsigned char)*c))
        return " is not an op; write stage, kind and microbatch, such as 3F7";
    fault = number_fault(c, PP_MICROBATCHES_MAX, microbatch_beyond);
    return fault ? fault
                 : " has text after the microbatch, which PyTorch would silently ignore; remove it";
}

/* Returns what is wrong with a cell that pp_cell_parse refuses, and what to do about it. */
static const char *cell_fault(const char *cell)
{
    if (is_communication(cell))
        return " is a communication op, and compute_comms files are not read yet; give the "
               "compute_only file of the schedule, which contains only F, I, W and B";
    if (cell[0] == '(' || contains(cell, "OVERLAP"))
        return " is not an overlapped pair; write two ops without spaces, such as "
               "(1F2;0B3)OVERLAP_F_B";
    if (cell[0] == '"' || cell[0] == '\'')
        return " is quoted; remove the quotes";
    if (contains(cell, "\r"))
        return " contains a carriage return; end lines with LF or CRLF";
    if (cell[0] == '\xef')
        return " begins with a byte-order mark; save the file without it";
    if (isdigit((unsigned char)cell[0]))
        return op_fault(cell);
    if (cell[0] && strchr("FIWB", cell[0]) && isdigit((unsigned char)cell[1]))
        return " has no stage; write it before the letter, as in 3F7";
    return " is not an op; write stage, kind and microbatch, such as 3F7, and no header line";
}

static pp_status fail_cell(const char *file, const char *text, size_t bytes, place at, pp_err *err)
{
    char cell[96];
    char shown[64];
    size_t length = bytes < sizeof cell - 1 ? bytes : sizeof cell - 1;
    memcpy(cell, text, length);
    cell[length] = '\0';
    size_t n = 0;
    shown[n++] = '\'';
    for (size_t i = 0; i < length && n < 48; i++)
        shown[n++] = isprint((unsigned char)cell[i]) ? cell[i] : '?';
    snprintf(shown + n, sizeof shown - n, "%s'", length > n - 1 || bytes > length ? "..." : "");
    return fail(file, at, err, cell_fault(cell), shown);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static pp_status read_line(const char *begin, const char *end, size_t line, const char *file,
                           cell_fn on_cell, void *context, pp_err *err)
{
    const char *start = begin;
    if (end > begin && end[-1] == '\r')
        end--;
    for (;;) {
        const char *comma = memchr(begin, ',', (size_t)(end - begin));
        const char *last = comma ? comma : end;
        const char *first = begin;
        while (first < last && is_blank(*first))
            first++;
        while (last > first && is_blank(last[-1]))
            last--;
        if (first < last) {
            pp_op ops[2];
            place at = { line, (size_t)(first - start) + 1 };
            size_t count = pp_cell_parse(first, (size_t)(last - first), ops);
            pp_status status = count ? on_cell(context, ops, count, at, err)
                                     : fail_cell(file, first, (size_t)(last - first), at, err);
            if (status)
                return status;
        }
        if (!comma)
            return PP_OK;
        begin = comma + 1;
    }
}

/* Reads all lines; the last one need not end in a line feed. on_line may be NULL. */
static pp_status read_lines(const char *text, size_t bytes, const char *file, cell_fn on_cell,
                            line_fn on_line, void *context, pp_err *err)
{
    const char *end = text + bytes;
    for (size_t line = 1; text < end; line++) {
        const char *feed = memchr(text, '\n', (size_t)(end - text));
        const char *stop = feed ? feed : end;
        pp_status status = read_line(text, stop, line, file, on_cell, context, err);
        if (status || (on_line && (status = on_line(context, line, err))))
            return status;
        text = feed ? feed + 1 : end;
    }
    return PP_OK;
}

static pp_status claim_stage(survey *s, uint32_t stage, place at, pp_err *err)
{
    char reason[128];
    uint32_t line = (uint32_t)at.line;
    if (s->owner[stage] == line)
        return PP_OK;
    if (s->owner[stage] == 0) {
        s->owner[stage] = line;
        return PP_OK;
    }
    snprintf(reason, sizeof reason,
             "stage %" PRIu32 " is in line %" PRIu32 " and in line %" PRIu32
             "; a stage runs on one rank, so keep it on one line",
             stage, s->owner[stage], line);
    return fail(s->file, at, err, reason, "");
}

static void note_largest(largest *most, uint32_t value, place at)
{
    if (most->at.line == 0 || value > most->value)
        *most = (largest){ value, at };
}

/* Returns whether two ops of a cell are a forward and a backward, which may be overlapped. */
static bool is_pair(const pp_op *ops)
{
    bool first_is_forward = ops[0].kind == PP_OP_F;
    pp_op other = ops[first_is_forward ? 1 : 0];
    return first_is_forward != (ops[1].kind == PP_OP_F) &&
           (other.kind == PP_OP_B || other.kind == PP_OP_I);
}

static pp_status survey_cell(void *context, const pp_op *ops, size_t count, place at, pp_err *err)
{
    survey *s = context;
    if (count == 2 && !is_pair(ops))
        return fail(s->file, at, err,
                    "OVERLAP_F_B pairs a forward F with a backward B or I; write "
                    "other ops in separate cells",
                    "");
    for (size_t i = 0; i < count; i++) {
        pp_status status = claim_stage(s, ops[i].stage, at, err);
        if (status)
            return status;
        note_largest(&s->stage, ops[i].stage, at);
        note_largest(&s->microbatch, ops[i].microbatch, at);
    }
    s->ops += count;
    s->row_ops += count;
    if (s->ops > PP_OPS_MAX)
        return fail(s->file, at, err, "more than 33554432 ops; use fewer microbatches or stages",
                    "");
    return PP_OK;
}

static pp_status survey_line(void *context, size_t line, pp_err *err)
{
    survey *s = context;
    place at = { line, 1 };
    if (s->row_ops == 0)
        return fail(s->file, at, err, "this line has no ops; every line is a rank, so remove it",
                    "");
    if (line > PP_RANKS_MAX)
        return fail(s->file, at, err, "more than 65535 lines, and every line is a rank; use fewer",
                    "");
    s->row_ops = 0;
    return PP_OK;
}

/* Refuses stages and microbatches whose numbers are far beyond what the ops of the file can fill:
 * these are typing mistakes, and checking the order would take much more memory than the file. */
static pp_status check_survey(const survey *s, pp_err *err)
{
    char reason[256];
    uint64_t pairs = ((uint64_t)s->stage.value + 1) * ((uint64_t)s->microbatch.value + 1);
    for (uint32_t stage = 0; stage < s->stage.value; stage++) {
        if (s->owner[stage])
            continue;
        snprintf(reason, sizeof reason,
                 "stage %" PRIu32 " is here, but stage %" PRIu32
                 " is on no line; number the stages from 0 without gaps",
                 s->stage.value, stage);
        return fail(s->file, s->stage.at, err, reason, "");
    }
    if (pairs <= 4 * (uint64_t)s->ops + 4096)
        return PP_OK;
    snprintf(reason, sizeof reason,
             "microbatch %" PRIu32
             " is here, but the file's %zu ops are too few for F and B of every microbatch up to "
             "it; number the microbatches from 0 without gaps",
             s->microbatch.value, s->ops);
    return fail(s->file, s->microbatch.at, err, reason, "");
}

static pp_status fill_cell(void *context, const pp_op *ops, size_t count, place at, pp_err *err)
{
    pp_order *order = context;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        pp_order_add(order, (uint32_t)at.line - 1, (pp_op_kind)ops[i].kind, ops[i].stage,
                     ops[i].microbatch);
        order->ops[order->rank_begin[order->ranks] - 1].paired = ops[i].paired;
    }
    return PP_OK;
}

/* Finds the cell that holds the op number `op`, from 1, of a line. */
typedef struct search {
    size_t line, op;
    place found;
} search;

static pp_status search_cell(void *context, const pp_op *ops, size_t count, place at, pp_err *err)
{
    search *s = context;
    (void)ops;
    (void)err;
    if (at.line == s->line && s->op > 0) {
        if (s->op <= count)
            s->found = at;
        s->op -= s->op <= count ? s->op : count;
    }
    return PP_OK;
}

/* Checks the order. pp_order_check names the rank and the number of the op, from which the line and
 * the column are found here. */
static pp_status check_order(const pp_order *order, const char *text, size_t bytes,
                             const char *file, pp_err *err)
{
    pp_err found = pp_err_like(err);
    search wanted = { 0 };
    size_t rank = 0;
    pp_status status = pp_order_check(order, "", &found);
    if (status != PP_INPUT)
        return status ? pp_err_nomem(err) : PP_OK;
    int fields = sscanf(found.where, ": rank %zu op %zu", &rank, &wanted.op);
    wanted.line = rank + 1;
    wanted.found = (place){ rank + 1, 1 };
    if (fields == 2 && (status = read_lines(text, bytes, file, search_cell, NULL, &wanted, err)))
        return status;
    return fail(file, wanted.found, err, found.text, "");
}

static void free_numbers(uint32_t **numbers)
{
    free(*numbers);
}

bool pp_pytorch_rows_recognise(const char *text, size_t bytes)
{
    size_t i = 0;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        i = 3; /* a byte-order mark, which pp_pytorch_rows_read refuses with a separate message */
    while (i < bytes && (isspace((unsigned char)text[i]) || text[i] == ',' || text[i] == '"'))
        i++;
    return i < bytes && (isdigit((unsigned char)text[i]) || text[i] == '(');
}

pp_status pp_pytorch_rows_read(const char *text, size_t bytes, const char *file,
                               pp_order **order_out, pp_err *err)
{
    uint32_t *owner PP_CLEANUP(free_numbers) = pp_alloc_array(PP_STAGES_MAX, sizeof *owner);
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    survey s = { .file = file, .owner = owner };
    if (!owner)
        return pp_err_nomem(err);
    pp_status status = read_lines(text, bytes, file, survey_cell, survey_line, &s, err);
    if (status)
        return status;
    if (s.ops == 0)
        return fail(file, (place){ 1, 1 }, err, "is empty; every line must hold the ops of a rank",
                    "");
    if ((status = check_survey(&s, err)))
        return status;
    uint32_t ranks = 0;
    for (uint32_t stage = 0; stage <= s.stage.value; stage++)
        ranks = owner[stage] > ranks ? owner[stage] : ranks;
    status = pp_order_new(ranks, s.stage.value + 1, s.microbatch.value + 1, PP_PLACE_LOOP, s.ops,
                          &order, err);
    if (status || (status = read_lines(text, bytes, file, fill_cell, NULL, order, err)))
        return status;
    pp_order_end(order);
    for (uint32_t stage = 0; stage <= s.stage.value; stage++)
        order->stage_rank[stage] = owner[stage] - 1;
    if ((status = check_order(order, text, bytes, file, err)))
        return status;
    *order_out = order;
    order = NULL; /* the caller owns it now */
    return PP_OK;
}
