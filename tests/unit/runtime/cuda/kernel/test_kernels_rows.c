/* SwiGLU and AdamW (runtime/cuda/kernel/kernel_rows.inc) against their formulas in double. */
#include "runtime/cuda/kernel/kernel.h"
#include "runtime/cuda/kernel/kernels.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, WIDTH = 70, COUNT = ROWS * WIDTH };

static cudaStream_t stream;

static void open_gpu(void)
{
    ck_assert_int_eq(cudaStreamCreateWithPriority(&stream, 0, 0), cudaSuccess);
}

static void close_gpu(void)
{
    cudaStreamDestroy(stream);
}

static float *take(int count)
{
    void *at = NULL;
    ck_assert_int_eq(cudaMalloc(&at, (size_t)count * sizeof(float)), cudaSuccess);
    float *values = at;
    for (int i = 0; i < count; i++)
        values[i] = (float)((i * 37) % 101 - 50) / 25;
    return values;
}

static double value(double g, double u)
{
    return u * g / (1 + exp(-g));
}

START_TEST(swiglu_is_its_formula_and_its_slope)
{
    float *x = take(2 * COUNT);
    float *y = take(COUNT);
    float *d = take(COUNT);
    pp_gpu_swiglu_call call = { .rows = ROWS, .width = WIDTH, .x = x, .y = y };
    ck_assert_int_eq(pp_gpu_swiglu_forward(stream, PP_GPU_F32, &call), cudaSuccess);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < COUNT; i++) {
        const float *g = x + i / WIDTH * 2 * WIDTH + i % WIDTH;
        ck_assert_double_eq_tol(y[i], value(g[0], g[WIDTH]), 1e-6);
    }
    float *before = malloc(2 * COUNT * sizeof *before);
    memcpy(before, x, 2 * COUNT * sizeof *before);
    call = (pp_gpu_swiglu_call){ .rows = ROWS, .width = WIDTH, .x = d, .y = x };
    ck_assert_int_eq(pp_gpu_swiglu_backward(stream, PP_GPU_F32, &call), cudaSuccess);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < COUNT; i++) {
        const double step = 1e-5;
        const int at = i / WIDTH * 2 * WIDTH + i % WIDTH;
        const double g = before[at], u = before[at + WIDTH];
        const double along_g = (value(g + step, u) - value(g - step, u)) / (2 * step);
        const double along_u = (value(g, u + step) - value(g, u - step)) / (2 * step);
        ck_assert_double_eq_tol(x[at], d[i] * along_g, 3e-6);
        ck_assert_double_eq_tol(x[at + WIDTH], d[i] * along_u, 3e-6);
    }
    free(before);
    cudaFree(x);
    cudaFree(y);
    cudaFree(d);
}
END_TEST

/* Loshchilov & Hutter 2019, algorithm 2, two steps, schedule multiplier 1. */
START_TEST(adam_is_its_algorithm)
{
    const double rate = 0.01, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
    float *gradient = take(COUNT), *first = take(COUNT), *second = take(COUNT);
    float *master = take(COUNT), *weights = take(COUNT);
    double m[COUNT] = { 0 }, v[COUNT] = { 0 }, w[COUNT];
    memset(first, 0, COUNT * sizeof *first);
    memset(second, 0, COUNT * sizeof *second);
    for (int i = 0; i < COUNT; i++)
        w[i] = master[i];
    for (int step = 1; step <= 2; step++) {
        const pp_gpu_adam_call call = { .count = COUNT,
                                        .rate = (float)rate,
                                        .beta1 = (float)beta1,
                                        .beta2 = (float)beta2,
                                        .epsilon = (float)epsilon,
                                        .decay = (float)decay,
                                        .share1 = (float)(1 - pow(beta1, step)),
                                        .share2 = (float)(1 - pow(beta2, step)),
                                        .gradient = gradient,
                                        .first = first,
                                        .second = second,
                                        .master = master,
                                        .weights = weights };
        ck_assert_int_eq(pp_gpu_adam(stream, _i ? PP_GPU_BF16 : PP_GPU_F32, &call), cudaSuccess);
        cudaStreamSynchronize(stream);
        for (int i = 0; i < COUNT; i++) {
            const double g = gradient[i];
            m[i] = beta1 * m[i] + (1 - beta1) * g;
            v[i] = beta2 * v[i] + (1 - beta2) * g * g;
            const double along =
                m[i] / (1 - pow(beta1, step)) / (sqrt(v[i] / (1 - pow(beta2, step))) + epsilon);
            w[i] -= rate * (along + decay * w[i]);
            const float copy =
                _i ? pp_load_bf16((const pp_bf16 *)(const void *)weights + i) : weights[i];
            ck_assert_double_eq_tol(master[i], w[i], 1e-6);
            ck_assert_double_eq_tol(copy, w[i], _i ? 0.004 * fabs(w[i]) + 1e-6 : 1e-6);
        }
    }
    cudaFree(gradient);
    cudaFree(first);
    cudaFree(second);
    cudaFree(master);
    cudaFree(weights);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tc = tcase_create("rows");
    tcase_add_checked_fixture(tc, open_gpu, close_gpu);
    tcase_add_test(tc, swiglu_is_its_formula_and_its_slope);
    tcase_add_loop_test(tc, adam_is_its_algorithm, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
