/* Checks values of timed work: a few elements of a result are computed again on the host, from the
 * operands that are read back. What no training step runs would otherwise be timed without anyone
 * noticing that it computes something else. */
#include "runtime/cuda/timing/values.h"

#include "runtime/cuda/compute/memory.h"
#include "runtime/cuda/kernel/kernel.h"
#include "runtime/cuda/timing/products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4 }; /* elements of a result, from one corner to the opposite one */

static double number_of(pp_gpu_type type, const void *at, int64_t index)
{
    if (type == PP_GPU_F32)
        return (double)((const float *)at)[index];
    if (type == PP_GPU_BF16)
        return (double)pp_load_bf16((const pp_bf16 *)at + index);
    const int low = type == PP_GPU_E4M3 ? 3 : 2, bias = type == PP_GPU_E4M3 ? 7 : 15;
    const int bits = ((const uint8_t *)at)[index], exponent = (bits & 0x7f) >> low;
    const int fraction = (bits & ((1 << low) - 1)) + (exponent ? 1 << low : 0);
    const double size = ldexp(fraction, (exponent ? exponent : 1) - bias - low);
    return bits & 0x80 ? -size : size;
}

static int64_t spread(int place, int64_t count)
{
    return place * (count - 1) / (PLACES - 1);
}

static pp_status read_back(const pp_gpu_task *task, void *to, const char *from, size_t bytes,
                           pp_err *err)
{
    return pp_gpu_checked(task->gpu, pp_gpu_copy(to, from, bytes), "reading values", err);
}

/* What the result held before: the block that fills operands, again and again. */
static double old_of(const pp_gpu_task *task, const char *at)
{
    const size_t offset = (size_t)(at - task->operand[0][2]) % PP_GPU_BLOCK_BYTES;
    return number_of(task->work.out, task->gpu->block + offset, 0);
}

/* One element of c = a b^T, or the one before it, where both rows are equal bytes, as operands are
 * filled from one block: all terms of that sum are positive, and a GPU that rounds while it adds in
 * 8 bits is off by more than elsewhere. a, b: room for a row each. */
static pp_status check_element(const pp_gpu_task *task, const pp_gpu_gemm_call *call, int64_t i,
                               int64_t j, char *a, char *b, pp_err *err)
{
    const pp_gpu_type other = call->in == PP_GPU_E5M2 ? PP_GPU_E4M3 : call->in;
    const size_t in = pp_gpu_type_bytes(call->in), out = pp_gpu_type_bytes(call->out);
    const char *at;
    float scales[2] = { 1, 1 };
    char c[sizeof(float)];
    double sum = 0, size = 0;
    pp_status status = read_back(task, a, (const char *)call->a + (size_t)(i * call->a_step) * in,
                                 (size_t)call->k * in, err);
    for (int tries = 0; tries < 2 && !status; tries++) {
        j = tries ? (j ? j - 1 : call->n - 1) : j;
        status = read_back(task, b, (const char *)call->b + (size_t)(j * call->b_step) * in,
                           (size_t)call->k * in, err);
        if (!status && memcmp(a, b, (size_t)call->k * in) != 0)
            break;
    }
    if (!status && call->scales)
        status = read_back(task, scales, (const char *)call->scales, sizeof scales, err);
    at = (const char *)call->c + (size_t)(i * call->c_step + j) * out;
    if (!status)
        status = read_back(task, c, at, out, err);
    if (status)
        return status;
    for (int64_t l = 0; l < call->k; l++) {
        const double term = number_of(call->in, a, l) * number_of(other, b, l);
        sum += term;
        size += fabs(term);
    }
    const double factor = (double)scales[0] * (double)scales[1];
    const double runs = task->sets > 1 ? 1 : 2; /* both runs added to the only set */
    const double wanted = call->add ? old_of(task, at) + runs * factor * sum : factor * sum;
    const double got = number_of(call->out, c, 0);
    if (fabs(got - wanted) <= 0.01 * fabs(wanted) + 1e-3 * factor * size)
        return PP_OK;
    return task->gpu->services->err_set(
        err, PP_UNAVAILABLE, NULL,
        "GPU %u: a product has wrong values: row %lld, column %lld of %lld x %lld is %g, and %g on "
        "the host; it is not measured",
        task->gpu->number, (long long)i, (long long)j, (long long)call->m, (long long)call->n, got,
        wanted);
}

static pp_status check_product(const pp_gpu_task *task, const pp_gpu_gemm_call *call, pp_err *err)
{
    const size_t bytes = (size_t)call->k * pp_gpu_type_bytes(call->in);
    char *rows = malloc(2 * bytes);
    pp_status status =
        rows ? PP_OK : task->gpu->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    for (int p = 0; p < PLACES && !status; p++)
        status = check_element(task, call, spread(p, call->m), spread(PLACES - 1 - p, call->n),
                               rows, rows + bytes, err);
    free(rows);
    return status;
}

static pp_status check_quantized(const pp_gpu_task *task, pp_err *err)
{
    const pp_gpu_work *w = &task->work;
    char *const *operand = task->operand[0];
    const size_t real = pp_gpu_type_bytes(w->in);
    float scale;
    pp_status status = read_back(task, &scale, operand[4], sizeof scale, err);
    for (int p = 0; p < PLACES && !status; p++) {
        const int64_t row = spread(p, w->rows), column = spread(PLACES - 1 - p, w->width);
        const size_t at = (size_t)(row * w->width + column);
        char x[sizeof(float)];
        uint8_t y[2];
        status = read_back(task, x, operand[0] + at * real, real, err);
        if (!status)
            status = read_back(task, &y[0], operand[1] + at, 1, err);
        if (!status)
            status = read_back(task, &y[1], operand[2] + column * w->rows + row, 1, err);
        if (status)
            return status;
        const uint8_t wanted = pp_e4m3_of((float)number_of(w->in, x, 0) * scale);
        if (y[0] != wanted || y[1] != wanted)
            return task->gpu->services->err_set(
                err, PP_UNAVAILABLE, NULL,
                "GPU %u: a quantization has wrong values: row %lld, column %lld of %lld x %lld is "
                "%02x, transposed %02x, and %02x on the host; it is not measured",
                task->gpu->number, (long long)row, (long long)column, (long long)w->rows,
                (long long)w->width, y[0], y[1], wanted);
    }
    return status;
}

pp_status pp_gpu_values_check(const pp_gpu_task *task, pp_err *err)
{
    const pp_gpu_work *w = &task->work;
    if (w->kind == PP_GPU_QUANTIZE || w->kind == PP_GPU_QUANTIZE_CURRENT)
        return check_quantized(task, err);
    if (w->product != PP_GPU_ABT)
        return PP_OK;
    if (w->kind == PP_GPU_GROUPED) {
        const pp_gpu_gemm_call first = pp_gpu_group_call(task, 0, 0);
        const pp_gpu_gemm_call last = pp_gpu_group_call(task, 0, w->sequences - 1);
        pp_status status = check_product(task, &first, err);
        return status ? status : check_product(task, &last, err);
    }
    if (w->kind != PP_GPU_MULTIPLY || pp_gpu_type_bytes(w->in) != 1)
        return PP_OK;
    const pp_gpu_gemm_call call = pp_gpu_product_call(task, 0);
    return check_product(task, &call, err);
}
