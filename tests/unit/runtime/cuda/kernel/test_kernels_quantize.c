/* Quantization to 8 bits (runtime/cuda/kernel/kernel_quantize.inc) against the definition of the
 * format: OCP 8-bit floating point, E4M3 (Micikevicius et al. 2022, arXiv 2209.05433). By hand, all
 * 2^32 floats were compared with __nv_cvt_float_to_fp8 of CUDA 13.0: none differs. */
#include "runtime/cuda/kernel/kernel.h"
#include "runtime/cuda/kernel/kernels.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Three tiles across and two down, most of them partly outside. */
enum { ROWS = 70, WIDTH = 131, COUNT = ROWS * WIDTH, TILES = 6 };

static cudaStream_t stream;
static pp_gpu_quantize_call call;
static float x[COUNT]; /* what the tensor holds */

static void *take(size_t bytes)
{
    void *at = NULL;
    ck_assert_int_eq(cudaMalloc(&at, bytes), cudaSuccess);
    memset(at, 0xA5, bytes);
    return at;
}

static void open_gpu(void)
{
    ck_assert_int_eq(cudaStreamCreateWithPriority(&stream, 0, 0), cudaSuccess);
    call = (pp_gpu_quantize_call){ .rows = ROWS,
                                   .width = WIDTH,
                                   .tiles = pp_gpu_quantize_tiles(ROWS, WIDTH),
                                   .x = take(COUNT * sizeof(float)),
                                   .y = take(COUNT),
                                   .turned = take(COUNT),
                                   .largest = take(TILES * sizeof(float)),
                                   .scales = take(2 * sizeof(float)) };
    ck_assert_int_eq(call.tiles, TILES);
}

static void close_gpu(void)
{
    cudaFree((void *)(uintptr_t)call.x);
    cudaFree(call.y);
    cudaFree(call.turned);
    cudaFree(call.largest);
    cudaFree(call.scales);
    cudaStreamDestroy(stream);
}

/* Numbers of all sizes, zeros, halves between two numbers of the format, and the largest last. */
static void fill(pp_gpu_type type)
{
    for (int i = 0; i < COUNT; i++) {
        const float wide = ldexpf((float)((i * 37) % 257 - 128) / 64, i % 19 - 12);
        x[i] = i == COUNT - 1 ? -300 : i % 5 ? wide : (float)(i % 33) / 32;
        if (type == PP_GPU_BF16) {
            pp_store_bf16((pp_bf16 *)(uintptr_t)call.x + i, x[i]);
            x[i] = pp_load_bf16((const pp_bf16 *)call.x + i);
        } else {
            ((float *)(uintptr_t)call.x)[i] = x[i];
        }
    }
}

/* Without its sign: 4 bits of exponent with a bias of 7, 3 of fraction. */
static double number_of(int code)
{
    const int exponent = code >> 3, fraction = code & 7;
    return exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
}

/* The nearest number; of two, the one whose last bit is 0. 0x7F is no number. */
static int nearest(double value)
{
    int best = 0;
    for (int code = 0; code < 0x7F; code++) {
        const double now = fabs(number_of(code) - fabs(value));
        const double least = fabs(number_of(best) - fabs(value));
        if (now < least || (now == least && !(code & 1) && best & 1))
            best = code;
    }
    return best | (signbit(value) ? 0x80 : 0);
}

static float largest_of_tile(int tile)
{
    float most = 0;
    for (int i = 0; i < COUNT; i++) {
        if (i / WIDTH / 64 * 3 + i % WIDTH / 64 == tile)
            most = fmaxf(most, fabsf(x[i]));
    }
    return most;
}

static void check_results(float scale)
{
    for (int i = 0; i < COUNT; i++) {
        ck_assert_msg(call.y[i] == nearest(x[i] * scale), "%g times %g: %02x, not %02x",
                      (double)x[i], (double)scale, call.y[i], nearest(x[i] * scale));
        ck_assert_uint_eq(call.turned[i % WIDTH * ROWS + i / WIDTH], call.y[i]);
    }
    for (int tile = 0; tile < TILES; tile++)
        ck_assert_float_eq(call.largest[tile], largest_of_tile(tile));
}

/* A power of two: products with it are exact. Some numbers are too large for the format. */
START_TEST(numbers_are_rounded_to_the_nearest)
{
    const pp_gpu_type type = _i ? PP_GPU_BF16 : PP_GPU_F32;
    fill(type);
    call.scales[0] = 8;
    ck_assert_int_eq(pp_gpu_quantize(stream, type, &call), cudaSuccess);
    cudaStreamSynchronize(stream);
    check_results(8);
    bool cut = false;
    for (int i = 0; i < COUNT; i++)
        cut |= fabsf(8 * x[i]) > PP_E4M3_MAX && (call.y[i] & 0x7F) == 0x7E;
    ck_assert(cut);
}
END_TEST

START_TEST(the_largest_element_becomes_the_largest_number)
{
    const pp_gpu_type type = _i ? PP_GPU_BF16 : PP_GPU_F32;
    float most = 0;
    fill(type);
    for (int tile = 0; tile < TILES; tile++)
        most = fmaxf(most, largest_of_tile(tile));
    ck_assert_int_eq(pp_gpu_find_largest(stream, type, &call), cudaSuccess);
    ck_assert_int_eq(pp_gpu_make_scales(stream, type, &call), cudaSuccess);
    ck_assert_int_eq(pp_gpu_quantize(stream, type, &call), cudaSuccess);
    cudaStreamSynchronize(stream);
    ck_assert_float_eq(call.scales[0], PP_E4M3_MAX / most);
    ck_assert_float_eq(call.scales[1], 1 / call.scales[0]);
    check_results(call.scales[0]);
}
END_TEST

/* Of zeros, and of an infinite element: no scale would do. */
START_TEST(a_tensor_without_a_scale_is_left_as_it_is)
{
    memset((void *)(uintptr_t)call.x, 0, COUNT * sizeof(float));
    if (_i)
        ((float *)(uintptr_t)call.x)[COUNT - 1] = INFINITY;
    ck_assert_int_eq(pp_gpu_find_largest(stream, PP_GPU_F32, &call), cudaSuccess);
    ck_assert_int_eq(pp_gpu_make_scales(stream, PP_GPU_F32, &call), cudaSuccess);
    cudaStreamSynchronize(stream);
    ck_assert_float_eq(call.scales[0], 1);
    ck_assert_float_eq(call.scales[1], 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantize");
    TCase *tc = tcase_create("quantize");
    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, open_gpu, close_gpu);
    tcase_add_loop_test(tc, numbers_are_rounded_to_the_nearest, 0, 2);
    tcase_add_loop_test(tc, the_largest_element_becomes_the_largest_number, 0, 2);
    tcase_add_loop_test(tc, a_tensor_without_a_scale_is_left_as_it_is, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
