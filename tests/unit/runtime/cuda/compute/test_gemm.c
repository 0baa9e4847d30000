/* Products of runtime/cuda/compute/gemm.c, computed by the stand-in for cuBLASLt, compared with a
 * plain loop. */
#include "runtime/cuda/compute/gemm.h"
#include "tests/cuda/standin.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { M = 5, N = 7, K = 6, ROWS = 8, GAP = 3, COUNT = ROWS * (ROWS + GAP) };

static pp_gpu_blas *blas;
static cudaStream_t stream;
static char *a, *b, *c; /* COUNT elements each */

static void begin_test(void)
{
    unsetenv("STANDIN_ALGORITHMS");
    unsetenv("STANDIN_FAIL");
    unsetenv("STANDIN_LOG");
    unsetenv("STANDIN_SM");
    standin_forget();
}

static void open_gpu(void)
{
    pp_err err = { 0 };
    ck_assert_int_eq(cudaStreamCreateWithPriority(&stream, 0, 0), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&a, COUNT * 4), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&b, COUNT * 4), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&c, COUNT * 4), cudaSuccess);
    ck_assert_msg(!pp_gpu_gemm_open(&pp_module_services_table, 0, &blas, &err), "%s", err.text);
}

static void close_gpu(void)
{
    cudaStreamSynchronize(stream); /* a test of a failure leaves a product in it */
    pp_gpu_gemm_close(blas);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaStreamDestroy(stream);
}

static float get(pp_gpu_type type, const char *at, int64_t index)
{
    uint32_t bits = 0;
    if (type == PP_GPU_F32)
        memcpy(&bits, at + 4 * index, 4);
    else
        memcpy((char *)&bits + 2, at + 2 * index, 2);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Values with few bits, so that bf16 holds them and every sum is exact. */
static void fill(pp_gpu_type type, char *at, int seed)
{
    for (int i = 0; i < COUNT; i++) {
        const float value = (float)((i * 5 + seed) % 9 - 4) / 4;
        memcpy(at + (type == PP_GPU_F32 ? 4 : 2) * i,
               (const char *)&value + (type == PP_GPU_F32 ? 0 : 2), type == PP_GPU_F32 ? 4 : 2);
    }
}

static pp_gpu_gemm_call call_of(pp_gpu_product product, pp_gpu_type in, pp_gpu_type out, bool add)
{
    return (pp_gpu_gemm_call){ .product = product,
                               .in = in,
                               .out = out,
                               .m = M,
                               .n = N,
                               .k = K,
                               .a = a,
                               .b = b,
                               .c = c,
                               .a_step = ROWS,
                               .b_step = ROWS + 1,
                               .c_step = ROWS + GAP,
                               .add = add };
}

static double entry(const pp_gpu_gemm_call *of, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t l = 0; l < of->k; l++) {
        const int64_t in_a = of->product == PP_GPU_ATB ? l * of->a_step + i : i * of->a_step + l;
        const int64_t in_b = of->product == PP_GPU_ABT ? j * of->b_step + l : l * of->b_step + j;
        sum += (double)get(of->in, of->a, in_a) * (double)get(of->in, of->b, in_b);
    }
    return sum;
}

/* Every product, type and addition; the gaps between rows are unchanged. */
START_TEST(products_are_those_of_a_plain_loop)
{
    const pp_gpu_product product = (pp_gpu_product)(_i % 3);
    const pp_gpu_type in = _i / 6 ? PP_GPU_BF16 : PP_GPU_F32;
    const pp_gpu_type out = _i / 12 ? PP_GPU_BF16 : PP_GPU_F32;
    const size_t bytes = out == PP_GPU_F32 ? 4 : 2;
    char before[COUNT * 4];
    pp_err err = { 0 };
    open_gpu();
    const pp_gpu_gemm_call call = call_of(product, in, out, _i / 3 % 2);
    fill(in, a, 1);
    fill(in, b, 2);
    if (call.add)
        fill(out, c, 3);
    else
        memset(c, 0xFF, COUNT * 4); /* not a number: it must not be read */
    memcpy(before, c, sizeof before);
    ck_assert_msg(!pp_gpu_gemm(blas, &call, stream, &err), "%s", err.text);
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
    for (int64_t i = 0; i < COUNT / call.c_step; i++) {
        for (int64_t j = 0; j < call.c_step; j++) {
            const int64_t at = i * call.c_step + j;
            const double old = call.add ? (double)get(out, before, at) : 0;
            if (i < M && j < N)
                ck_assert_double_eq(get(out, c, at), old + entry(&call, i, j));
            else
                ck_assert_mem_eq(c + bytes * (size_t)at, before + bytes * (size_t)at, bytes);
        }
    }
    close_gpu();
}
END_TEST

static unsigned asked(const char *log, const char *name)
{
    char line[256];
    unsigned count = 0;
    FILE *file = fopen(log, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, name) != NULL;
    fclose(file);
    return count;
}

static void multiply(const pp_gpu_gemm_call *call)
{
    pp_err err = { 0 };
    ck_assert_msg(!pp_gpu_gemm(blas, call, stream, &err), "%s", err.text);
}

/* The heuristic takes longer than a small product, so its result is cached. */
START_TEST(the_heuristic_is_asked_once_per_shape)
{
    char log[] = "/tmp/ppsim-gemm-XXXXXX";
    ck_assert_int_ge(mkstemp(log), 0);
    setenv("STANDIN_LOG", log, 1);
    open_gpu();
    pp_gpu_gemm_call call = call_of(PP_GPU_AB, PP_GPU_F32, PP_GPU_F32, false);
    multiply(&call);
    call.add = true; /* the same algorithm */
    multiply(&call);
    call.a = a + 64; /* the alignment of tensors; any larger one would be accidental */
    multiply(&call);
    ck_assert_uint_eq(asked(log, "AlgoGetHeuristic"), 1);
    call.a = a + 4; /* aligned to less */
    multiply(&call);
    call.multiprocessors = 4;
    multiply(&call);
    call.m--;
    multiply(&call);
    multiply(&call);
    ck_assert_uint_eq(asked(log, "AlgoGetHeuristic"), 4);
    ck_assert_uint_eq(asked(log, "cublasLtMatmul "), 7);
    cudaStreamSynchronize(stream);
    close_gpu();
    unlink(log);
}
END_TEST

START_TEST(what_was_chosen_can_be_read)
{
    pp_gpu_gemm_choice all;
    pp_gpu_gemm_choice few;
    pp_err err = { 0 };
    open_gpu();
    pp_gpu_gemm_call call = call_of(PP_GPU_ABT, PP_GPU_BF16, PP_GPU_BF16, false);
    ck_assert_int_eq(pp_gpu_gemm_choose(blas, &call, &all, &err), PP_OK);
    call.multiprocessors = 4;
    ck_assert_int_eq(pp_gpu_gemm_choose(blas, &call, &few, &err), PP_OK);
    ck_assert_int_eq(all.algorithm, 66);
    ck_assert_int_eq(all.split_k, 1);
    ck_assert_uint_eq(all.stages, 4);
    ck_assert_uint_eq(all.workspace_bytes, 4096);
    ck_assert_float_eq(all.waves, 1.0F / 16);
    ck_assert_float_eq(few.waves, 1.0F / 4);
    close_gpu();
}
END_TEST

START_TEST(no_algorithm_is_reported)
{
    pp_err err = { 0 };
    setenv("STANDIN_ALGORITHMS", "0", 1);
    open_gpu();
    const pp_gpu_gemm_call call = call_of(PP_GPU_ATB, PP_GPU_BF16, PP_GPU_F32, true);
    ck_assert_int_eq(pp_gpu_gemm(blas, &call, stream, &err), PP_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "has no algorithm on this GPU for c = a^T b in bf16, c "
                                           "of 5 x 7, summed over 6, rows 8, 9 and 11 elements"));
    close_gpu();
}
END_TEST

enum { M8 = 16, N8 = 32, K8 = 48 };

/* Numbers that both formats of 8 bits hold; returns them in float, too. */
static void fill_8(bool e5m2, char *at, float *values_out, int count, int seed)
{
    static const int fourths[2][5] = { { 0, 0x28, 0x30, 0x34, 0x38 },   /* 0 to 1 in E4M3 */
                                       { 0, 0x34, 0x38, 0x3A, 0x3C } }; /* and in E5M2 */
    for (int i = 0; i < count; i++) {
        const int number = (i * 5 + seed) % 9 - 4;
        values_out[i] = (float)number / 4;
        at[i] = (char)(fourths[e5m2][abs(number)] | (number < 0 ? 0x80 : 0));
    }
}

static pp_gpu_gemm_call call_of_8(pp_gpu_type in, pp_gpu_type out, const float *scales, bool add)
{
    return (pp_gpu_gemm_call){ .product = PP_GPU_ABT,
                               .in = in,
                               .out = out,
                               .m = M8,
                               .n = N8,
                               .k = K8,
                               .a = a,
                               .b = b,
                               .c = c,
                               .scales = scales,
                               .a_step = K8,
                               .b_step = K8,
                               .c_step = N8,
                               .add = add };
}

static void open_gpu_8(float **scales_out)
{
    open_gpu();
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    ck_assert_int_eq(cudaMalloc((void **)&a, M8 * K8), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&b, N8 * K8), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&c, M8 * N8 * 4), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)scales_out, 4 * sizeof **scales_out), cudaSuccess);
}

/* Forward, gradient of the input, gradient of the weight, which is added: each with its scales,
 * which another call has elsewhere. Only the forward may accumulate fast. */
START_TEST(products_in_8_bits_are_scaled)
{
    const pp_gpu_type in = _i ? PP_GPU_E5M2 : PP_GPU_E4M3;
    const pp_gpu_type out = _i == 2 ? PP_GPU_F32 : PP_GPU_BF16;
    static float of_a[M8 * K8], of_b[N8 * K8];
    char log[] = "/tmp/ppsim-gemm-XXXXXX";
    float *scales;
    ck_assert_int_ge(mkstemp(log), 0);
    setenv("STANDIN_LOG", log, 1);
    open_gpu_8(&scales);
    memcpy(scales, (float[]){ 0.5F, 4, 2, 0.25F }, 4 * sizeof *scales);
    fill_8(_i > 0, a, of_a, M8 * K8, 1);
    fill_8(false, b, of_b, N8 * K8, 2);
    memset(c, 0, M8 * N8 * 4);
    for (int round = 0; round < 2; round++) {
        const pp_gpu_gemm_call call = call_of_8(in, out, scales + 2 * round, _i == 2);
        multiply(&call);
        ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
        for (int i = 0; i < M8; i++) {
            for (int j = 0; j < N8; j++) {
                float sum = 0;
                for (int l = 0; l < K8; l++)
                    sum += of_a[i * K8 + l] * of_b[j * K8 + l];
                const float wanted = round ? 0.5F * sum + (_i == 2 ? 2 * sum : 0) : 2 * sum;
                const float rounded = out == PP_GPU_F32 ? 1e-6F : 0.01F * (1 + fabsf(wanted));
                ck_assert_float_eq_tol(get(out, c, i * N8 + j), wanted, rounded);
            }
        }
    }
    ck_assert_uint_eq(asked(log, "AlgoGetHeuristic"), 1);
    ck_assert_uint_eq(asked(log, "MatmulDescSetAttribute 25"), _i == 0);
    cudaFree(scales);
    close_gpu();
    unlink(log);
}
END_TEST

/* GPUs before sm_89, and sizes that are no multiples of 16. */
START_TEST(what_is_not_done_in_8_bits_is_reported)
{
    pp_err err = { 0 };
    float *scales;
    open_gpu_8(&scales);
    pp_gpu_gemm_call call = call_of_8(PP_GPU_E5M2, PP_GPU_BF16, scales, false);
    if (_i == 0)
        setenv("STANDIN_SM", "86", 1);
    else
        *(_i == 1 ? &call.m : _i == 2 ? &call.n : &call.k) -= 8;
    ck_assert_int_eq(pp_gpu_gemm(blas, &call, stream, &err), PP_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "has no algorithm on this GPU for c = a b^T in e5m2"));
    cudaFree(scales);
    close_gpu();
}
END_TEST

static const struct {
    const char *call, *text;
    pp_status status;
} failures[] = {
    { "cublasLtCreate:1", "opening it failed; cuBLASLt reports: the library was not", PP_IO },
    { "cublasLtMatmulPreferenceCreate:1", "a preference failed", PP_IO },
    { "cublasLtMatmulPreferenceSetAttribute:1", "a preference failed", PP_IO },
    { "cublasLtMatmulPreferenceSetAttribute:3", "a preference failed", PP_IO },
    { "cudaMalloc:4", "GPU of rank 3 is out of memory: workspace of products", PP_NOMEM },
    { "cublasLtMatmulDescCreate:1", "describing a product failed", PP_IO },
    { "cublasLtMatmulDescSetAttribute:1", "describing a product failed", PP_IO },
    { "cublasLtMatrixLayoutCreate:1", "describing a product failed", PP_IO },
    { "cublasLtMatrixLayoutCreate:2", "describing a product failed", PP_IO },
    { "cublasLtMatrixLayoutCreate:3", "describing a product failed", PP_IO },
    { "cublasLtMatmulAlgoGetHeuristic:1", "choosing how to multiply failed", PP_IO },
    { "cublasLtMatmul:1", "a product failed; cuBLASLt reports: the GPU program", PP_IO },
    { "cublasLtMatmulAlgoConfigGetAttribute:2", "reading the algorithm failed", PP_IO },
};

START_TEST(every_call_may_fail)
{
    pp_gpu_gemm_choice choice;
    pp_err err = { 0 };
    setenv("STANDIN_FAIL", failures[_i].call, 1);
    cudaStreamCreateWithPriority(&stream, 0, 0);
    cudaMalloc((void **)&a, COUNT * 4);
    cudaMalloc((void **)&b, COUNT * 4);
    cudaMalloc((void **)&c, COUNT * 4);
    const pp_gpu_gemm_call call = call_of(PP_GPU_ABT, PP_GPU_F32, PP_GPU_F32, false);
    blas = NULL;
    pp_status status = pp_gpu_gemm_open(&pp_module_services_table, 3, &blas, &err);
    if (!status)
        status = pp_gpu_gemm(blas, &call, stream, &err);
    if (!status)
        status = pp_gpu_gemm_choose(blas, &call, &choice, &err);
    ck_assert_int_eq(status, failures[_i].status);
    ck_assert_msg(strstr(err.text, failures[_i].text), "%s", err.text);
    close_gpu();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm");
    TCase *tc = tcase_create("gemm");
    tcase_add_checked_fixture(tc, begin_test, NULL);
    tcase_add_loop_test(tc, products_are_those_of_a_plain_loop, 0, 18);
    tcase_add_test(tc, the_heuristic_is_asked_once_per_shape);
    tcase_add_test(tc, what_was_chosen_can_be_read);
    tcase_add_test(tc, no_algorithm_is_reported);
    tcase_add_loop_test(tc, products_in_8_bits_are_scaled, 0, 3);
    tcase_add_loop_test(tc, what_is_not_done_in_8_bits_is_reported, 0, 4);
    tcase_add_loop_test(tc, every_call_may_fail, 0, (int)(sizeof failures / sizeof failures[0]));
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
