/* Probe of the matrix products of a layer of compute cpu: forward, gradient of the input and
 * gradient of the weight, each for the four weights. */
#include "calib/measure/gemm_series.h"
#include "calib/measure/products.h"
#include "calib/probe/probe.h"
#include "runtime/cpu/matmul.h"
#include "runtime/cpu/settings.h"
#include "sim/base/alloc.h"

#include <stdlib.h>

enum { WEIGHTS = 4, TOKENS_MAX = 8, POINTS_MAX = PP_PRODUCTS * WEIGHTS * TOKENS_MAX };

typedef struct products {
    pp_subject subject;
    pp_point point[POINTS_MAX];
    pp_product_call call[POINTS_MAX];
    pp_cpu_settings settings;
    pp_cpu_blas blas;
    char *memory;
} products;

static void gemm_close(void *state)
{
    products *p = state;
    if (!p)
        return;
    free(p->memory);
    free(p);
}

static pp_status gemm_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                          pp_err *err)
{
    const products *p = context;
    (void)err;
    pp_timing_begin(timing);
    for (uint32_t i = 0; i < runs; i++) {
        if (p->settings.single)
            pp_product_float(&p->blas, &p->call[point]);
        else
            pp_product_double(&p->blas, &p->call[point]);
    }
    pp_timing_end(timing, 0, runs);
    return PP_OK;
}

/* x is tokens x rows, the weight rows x columns, y tokens x columns. */
static void add(products *p, pp_product product, uint32_t weight, int64_t tokens)
{
    const pp_cpu_settings *s = &p->settings;
    const int64_t rows = weight == 3 ? s->mlp : s->hidden;
    const int64_t columns[WEIGHTS] = { 3 * s->hidden, s->hidden, s->mlp, s->hidden };
    const pp_product_call calls[PP_PRODUCTS] = {
        [PP_PRODUCT_FWD] = { .m = tokens, .n = columns[weight], .k = rows },
        [PP_PRODUCT_DGRAD] = { .m = tokens, .n = rows, .k = columns[weight] },
        [PP_PRODUCT_WGRAD] = { .m = rows, .n = columns[weight], .k = tokens },
    };
    size_t at = p->subject.point_count++;
    pp_point *point = &p->point[at];
    p->call[at] = calls[product];
    p->call[at].product = product;
    *point = pp_point_of((uint32_t)product * WEIGHTS + weight, 1);
    point->at[PP_VARIABLE_ROWS] = (double)calls[product].m;
    point->at[PP_VARIABLE_COLUMNS] = (double)calls[product].n;
    point->at[PP_VARIABLE_DEPTH] = (double)calls[product].k;
}

static void add_points(products *p, pp_probe_scale scale)
{
    static const int64_t tokens[TOKENS_MAX] = { 64, 256, 512, 1024, 32, 128, 192, 768 };
    static const size_t counts[] = {
        [PP_PROBE_FULL] = TOKENS_MAX, [PP_PROBE_QUICK] = 4, [PP_PROBE_TINY] = 1
    };
    for (int product = 0; product < PP_PRODUCTS; product++) {
        for (uint32_t weight = 0; weight < WEIGHTS; weight++) {
            for (size_t t = 0; t < counts[scale]; t++)
                add(p, (pp_product)product, weight, tokens[t]);
        }
    }
}

static pp_status take_memory(products *p, pp_err *err)
{
    size_t most = 0;
    for (size_t i = 0; i < p->subject.point_count; i++) {
        const pp_product_call *call = &p->call[i];
        const int64_t sizes[] = { call->m * call->k, call->k * call->n, call->m * call->n };
        for (size_t k = 0; k < 3; k++)
            most = (size_t)sizes[k] > most ? (size_t)sizes[k] : most;
    }
    const size_t bytes = (most * (p->settings.single ? 4 : 8) + 63) / 64 * 64;
    p->memory = aligned_alloc(64, 3 * bytes);
    if (!p->memory)
        return pp_err_nomem(err);
    for (size_t k = 0; k < 3; k++) {
        char *matrix = p->memory + k * bytes;
        if (p->settings.single)
            pp_product_fill_float(matrix, most);
        else
            pp_product_fill_double(matrix, most);
        for (size_t i = 0; i < p->subject.point_count; i++) {
            void **const operand[] = { &p->call[i].a, &p->call[i].b, &p->call[i].c };
            *operand[k] = matrix;
        }
    }
    return PP_OK;
}

static pp_status gemm_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    products *p = pp_alloc_array(1, sizeof *p);
    if (!p)
        return pp_err_nomem(err);
    const char *settings = options->settings ? options->settings : PP_PROBE_SETTINGS;
    pp_status status = pp_cpu_settings_parse(settings, &p->settings, err);
    p->subject =
        (pp_subject){ .source = p->settings.single ? "probe cpu-gemm, thread time: dtype=float"
                                                   : "probe cpu-gemm, thread time: dtype=double",
                      .stopwatch = PP_STOPWATCH_THREAD,
                      .series = pp_gemm_series,
                      .series_count = PP_GEMM_SERIES,
                      .point = p->point,
                      .context = p,
                      .run = gemm_run };
    if (!status)
        status = pp_cpu_blas_open(&p->blas, err);
    if (!status) {
        add_points(p, options->scale);
        status = take_memory(p, err);
    }
    if (status) {
        gemm_close(p);
        return status;
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_cpu_gemm = {
    .name = "cpu-gemm",
    .summary = "time of the matrix products of a layer by number of tokens (compute cpu)",
    .share = 20,
    .open = gemm_open,
    .close = gemm_close,
};
