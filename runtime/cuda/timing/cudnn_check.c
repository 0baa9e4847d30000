/* Compares attention by cuDNN with that by the kernels of ppsim on the same numbers, so that the
 * timed attention is known to be the same. Backward runs twice on memory that begins as NaN, so
 * that rows left unwritten and sums that were not cleared are found. */
#include "runtime/cuda/timing/cudnn_check.h"

#include "runtime/cuda/base/device.h"
#include "runtime/cuda/compute/memory.h"
#include "runtime/cuda/timing/cudnn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest error of a row, relative to the sum of its own length and that of a typical row. cuDNN
 * multiplies probabilities and their gradients in bf16, of 8 bits. In a simulation of that, rows
 * differ by at most 0.011 with heads of 64 elements or more, and by 0.022 with heads of 8; most in
 * the gradients of queries that see few keys and nearly cancel. A factor of 1.05 on all values
 * gives 0.042 in some row. */
#define ALLOWED 0.03

enum { LENGTHS = 5, SIDES = 2, OUT = 0, D_Q, D_K, D_V, TENSORS };

static const int64_t lengths[LENGTHS] = { 1, 37, 128, 130, 200 };

/* One side of the comparison: cuDNN's, or that of the kernels of ppsim. */
typedef struct side {
    pp_gpu_work forward, backward;
    pp_gpu_operand of[PP_GPU_OPERANDS];
    char *operand[PP_GPU_OPERANDS];
    int qkv, out, d_out, d_qkv, workspace; /* indices of operands */
    uint16_t *result[2]; /* [tokens][hidden] of out, [tokens][3 hidden] of the gradient */
} side;

typedef struct check {
    pp_cudnn *cudnn;
    const pp_module_services *services;
    uint32_t number;
    int64_t tokens, hidden;
    cudaStream_t stream;
    side of[SIDES];
} check;

static pp_status demand(const check *c, cudaError_t code, pp_err *err)
{
    return pp_gpu_check(c->services, c->number, code, "comparing attention", err);
}

static void *take(const check *c, size_t bytes, pp_status *status, pp_err *err)
{
    void *at = *status ? NULL : calloc(bytes, 1);
    if (!*status && !at)
        *status = c->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    return at;
}

/* Returns whether operand i is a result, which must be written completely. The statistics do not
 * count: they are padded to the longest sequence, so that backward may read what forward need not
 * write. */
static bool is_result(const side *s, int i)
{
    return pp_cudnn_does(s->forward.kind) && (i == s->out || i == s->d_qkv || i == s->workspace);
}

/* Fills operand i with zeros, NaN, a table, or numbers that are the same on both sides. */
static pp_status fill(const check *c, side *s, int i, pp_err *err)
{
    const size_t bytes = s->of[i].bytes;
    pp_status status = PP_OK;
    uint16_t *values = take(c, bytes, &status, err);
    if (status)
        return status;
    uint64_t state = i == s->qkv ? 1 : 2;
    if (is_result(s, i))
        memset(values, 0xff, bytes);
    if (s->of[i].filling == PP_GPU_TABLE && pp_cudnn_does(s->forward.kind))
        pp_cudnn_table(&s->forward, values);
    else if (s->of[i].filling == PP_GPU_TABLE)
        pp_gpu_work_table(&s->forward, i, values);
    for (size_t e = 0; (i == s->qkv || i == s->d_out) && e < bytes / 2; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const float value = ((float)(state >> 40) + 0.5F) * 0x1p-23F - 1;
        memcpy(values + e, (const char *)&value + 2, 2); /* little-endian */
    }
    status = demand(c, pp_gpu_copy(s->operand[i], values, bytes), err);
    free(values);
    return status;
}

static pp_status prepare(check *c, side *s, pp_cudnn_graph **graphs, pp_err *err)
{
    size_t workspace[2] = { 0, 0 };
    pp_status status = PP_OK;
    if (pp_cudnn_does(s->forward.kind)) {
        for (int b = 0; b < 2 && !status; b++)
            status = pp_cudnn_find(c->cudnn, &s->backward, b, &graphs[b], &workspace[b], err);
        pp_cudnn_operands(&s->backward, workspace[0] > workspace[1] ? workspace[0] : workspace[1],
                          s->of);
    } else {
        pp_gpu_work_operands(&s->backward, s->of);
    }
    for (int i = 0; i < PP_GPU_OPERANDS && !status; i++) {
        if (s->of[i].bytes == 0)
            continue;
        status = demand(c, cudaMalloc((void **)&s->operand[i], s->of[i].bytes), err);
        if (!status)
            status = fill(c, s, i, err);
    }
    return status;
}

/* Launches a graph. cuDNN's backward runs twice, to find sums that are not cleared first. */
static pp_status launch(check *c, side *s, pp_cudnn_graph *graph, bool backward, pp_err *err)
{
    const pp_gpu_work *work = backward ? &s->backward : &s->forward;
    if (!graph)
        return demand(c, pp_gpu_work_launch(work, c->number, s->operand, c->stream), err);
    pp_status status = PP_OK;
    for (int left = backward ? 2 : 1; left > 0 && !status; left--)
        status = pp_cudnn_launch(c->cudnn, graph, work, s->operand, c->stream, err);
    return status;
}

/* Runs forward, whose result is kept, then backward. */
static pp_status run(check *c, side *s, pp_err *err)
{
    pp_cudnn_graph *graphs[2] = { NULL, NULL };
    const size_t bytes = (size_t)(c->tokens * c->hidden) * sizeof(uint16_t);
    pp_status status = prepare(c, s, graphs, err);
    for (int b = 0; b < 2 && !status; b++) {
        status = launch(c, s, graphs[b], b, err);
        if (!status)
            status = demand(c, cudaStreamSynchronize(c->stream), err);
        s->result[b] = take(c, bytes * (b ? 3 : 1), &status, err);
        if (!status)
            status = demand(
                c,
                pp_gpu_copy(s->result[b], s->operand[b ? s->d_qkv : s->out], bytes * (b ? 3 : 1)),
                err);
    }
    return status;
}

static double value_of(const uint16_t *bits)
{
    const uint32_t wide = (uint32_t)*bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* Returns the row of a token and head in a tensor of a side. */
static const uint16_t *row_of(const check *c, int which, int tensor, int64_t token, int64_t head)
{
    const side *s = &c->of[which];
    const int64_t width = s->forward.width;
    if (tensor == OUT)
        return s->result[0] + token * c->hidden + head * width;
    return s->result[1] + (token * 3 + tensor - D_Q) * c->hidden + head * width;
}

/* Reports the row with the largest error. error: NaN if a value of the row is NaN. */
static pp_status refuse(const check *c, int tensor, int64_t row, double error, pp_err *err)
{
    static const char *const names[] = { "the output", "the gradient of queries",
                                         "the gradient of keys", "the gradient of values" };
    const int64_t heads = c->of[0].forward.heads;
    char how[128] = "is not a number or was not written";
    if (!isnan(error))
        snprintf(how, sizeof how,
                 "differs from that of ppsim's kernels by %.3g of its own and a typical row's "
                 "length together, %.2g is allowed",
                 error, ALLOWED);
    return c->services->err_set(
        err, PP_UNAVAILABLE, NULL,
        "the attention of cuDNN %s is wrong: %s of token %lld, head %lld %s; it is not timed",
        pp_cudnn_version(c->cudnn), names[tensor], (long long)(row / heads),
        (long long)(row % heads), how);
}

/* Compares a tensor row by row: the length of the difference against that of the row and of a
 * typical row. */
static pp_status compare(const check *c, int tensor, pp_err *err)
{
    const int64_t heads = c->of[0].forward.heads, width = c->of[0].forward.width;
    double squares = 0, worst = 0;
    int64_t worst_at = 0;
    for (int64_t r = 0; r < c->tokens * heads; r++) {
        const uint16_t *ours = row_of(c, 1, tensor, r / heads, r % heads);
        for (int64_t w = 0; w < width; w++)
            squares += value_of(ours + w) * value_of(ours + w);
    }
    const double typical = sqrt(squares / (double)(c->tokens * heads));
    for (int64_t r = 0; r < c->tokens * heads; r++) {
        const uint16_t *row = row_of(c, 0, tensor, r / heads, r % heads);
        const uint16_t *ours = row_of(c, 1, tensor, r / heads, r % heads);
        double apart = 0, own = 0;
        for (int64_t w = 0; w < width; w++) {
            const double difference = value_of(row + w) - value_of(ours + w);
            apart += difference * difference;
            own += value_of(ours + w) * value_of(ours + w);
        }
        const double error = sqrt(apart) / (sqrt(own) + typical);
        if (!(error <= worst)) { /* NaN, too */
            worst = error;
            worst_at = r;
        }
        if (isnan(error))
            break;
    }
    return worst <= ALLOWED ? PP_OK : refuse(c, tensor, worst_at, worst, err);
}

pp_status pp_cudnn_check(pp_cudnn *cudnn, const pp_module_services *services, uint32_t number,
                         int64_t heads, int64_t width, cudaStream_t stream, pp_err *err)
{
    check c = { .cudnn = cudnn,
                .services = services,
                .number = number,
                .hidden = heads * width,
                .stream = stream,
                .of = { { .forward.kind = PP_GPU_CUDNN_FORWARD,
                          .backward.kind = PP_GPU_CUDNN_BACKWARD,
                          .qkv = 1,
                          .out = 2,
                          .d_out = 4,
                          .d_qkv = 5,
                          .workspace = 6 },
                        { .forward.kind = PP_GPU_ATTENTION_FORWARD,
                          .backward.kind = PP_GPU_ATTENTION_BACKWARD,
                          .qkv = 1,
                          .out = 2,
                          .d_out = 4,
                          .d_qkv = 1 } } };
    for (int i = 0; i < LENGTHS; i++)
        c.tokens += lengths[i];
    pp_status status = PP_OK;
    for (int i = 0; i < SIDES && !status; i++) {
        const pp_gpu_work work = { .in = PP_GPU_BF16,
                                   .rows = c.tokens,
                                   .heads = heads,
                                   .width = width,
                                   .lengths = lengths,
                                   .sequences = LENGTHS };
        side *s = &c.of[i];
        pp_gpu_work_kind forward = s->forward.kind, backward = s->backward.kind;
        s->forward = s->backward = work;
        s->forward.kind = forward;
        s->backward.kind = backward;
        status = run(&c, s, err);
    }
    for (int tensor = OUT; tensor < TENSORS && !status; tensor++)
        status = compare(&c, tensor, err);
    (void)cudaStreamSynchronize(stream);
    for (int i = 0; i < SIDES; i++) {
        for (int o = 0; o < PP_GPU_OPERANDS; o++)
            (void)cudaFree(c.of[i].operand[o]);
        free(c.of[i].result[0]);
        free(c.of[i].result[1]);
    }
    return status;
}
