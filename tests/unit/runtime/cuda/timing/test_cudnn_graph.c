/* Attention of cuDNN (runtime/cuda/cudnn*): graphs run on the stand-in as their descriptors state,
 * and are compared with the kernels of ppsim. */
#include "runtime/cuda/timing/cudnn.h"
#include "runtime/cuda/timing/cudnn_check.h"
#include "tests/cuda/standin.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, CALLS_MAX = 15 };

static const pp_module_services *const services = &pp_module_services_table;
static cudaStream_t stream;

/* Versions for both ways to write attention: operation by operation, and as the single operation of
 * later versions. */
static const char *const versions[] = { "90600", "92801" };

static void begin_test(void)
{
    unsetenv("STANDIN_FAIL");
    unsetenv("STANDIN_CUDNN");
    unsetenv("STANDIN_CUDNN_WRONG");
    unsetenv("STANDIN_CUDNN_PERCENT");
    unsetenv("STANDIN_CUDNN_LEAVES");
    unsetenv("STANDIN_SM");
    standin_forget();
    ck_assert_int_eq(cudaStreamCreateWithPriority(&stream, 0, 0), cudaSuccess);
}

static void end_test(void)
{
    cudaStreamDestroy(stream);
}

static pp_status compare(int64_t heads, int64_t width, pp_err *err)
{
    pp_cudnn *cudnn = NULL;
    pp_status status = pp_cudnn_open(services, 0, &cudnn, err);
    if (!status)
        status = pp_cudnn_check(cudnn, services, 0, heads, width, stream, err);
    pp_cudnn_close(cudnn);
    return status;
}

/* Every tensor's place, the mask, the lengths and the scale affect what the graph computes. */
START_TEST(graphs_compute_our_attention)
{
    static const int64_t shapes[][2] = { { 1, 16 }, { 2, 8 }, { 3, 32 }, { 2, 64 } };
    pp_err err = { 0 };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        setenv("STANDIN_CUDNN", versions[_i], 1);
        ck_assert_msg(!compare(shapes[s][0], shapes[s][1], &err), "%s", err.text);
    }
}
END_TEST

static void demand_refusal(const char *words)
{
    pp_err err = { 0 };
    const pp_status status = compare(2, 16, &err);
    ck_assert_msg(status == PP_UNAVAILABLE && strstr(err.text, words), "%s", err.text);
}

/* Values half too large, and a twentieth: rounding to bf16 is far less. */
START_TEST(other_values_are_refused_with_the_numbers)
{
    static const char *const percent[] = { "150", "105" };
    static const char *const wrong[][2] = {
        { "o", "the output of token" },
        { "nan", "the output of token 0, head 0 is not a number or was not written; it" },
        { "dq", "the gradient of queries of token" },
        { "dk", "the gradient of keys of token" },
        { "dv", "the gradient of values of token" },
    };
    setenv("STANDIN_CUDNN_PERCENT", percent[_i], 1);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        setenv("STANDIN_CUDNN_WRONG", wrong[w][0], 1);
        demand_refusal(wrong[w][1]);
    }
    setenv("STANDIN_CUDNN_WRONG", "dv", 1);
    demand_refusal("a typical row's length together, 0.03 is allowed; it is not timed");
}
END_TEST

/* The last rows' gradients of keys and values are small, since only one query attends to them. */
START_TEST(rows_that_it_does_not_write_are_reported)
{
    static const char *const left[][2] = {
        { "o", "the output of token 488, head 0 is not a number" },
        { "dq", "the gradient of queries of token 488, head 0 is not a number" },
        { "dk", "the gradient of keys of token 488, head 0 is not a number" },
        { "dv", "the gradient of values of token 488, head 0 is not a number" },
    };
    for (size_t l = 0; l < sizeof left / sizeof *left; l++) {
        setenv("STANDIN_CUDNN_LEAVES", left[l][0], 1);
        demand_refusal(left[l][1]);
    }
}
END_TEST

/* The backward sums gradients of queries in its workspace, which it must clear itself in every
 * run. */
START_TEST(sums_that_are_not_cleared_are_reported)
{
    static const char *const when[] = { "sums", "first" };
    setenv("STANDIN_CUDNN", versions[_i], 1);
    for (size_t w = 0; w < sizeof when / sizeof *when; w++) {
        setenv("STANDIN_CUDNN_WRONG", when[w], 1);
        demand_refusal("the gradient of queries of token");
    }
}
END_TEST

START_TEST(a_version_that_is_too_old_is_named)
{
    setenv("STANDIN_CUDNN", "90501", 1);
    demand_refusal("cuDNN is 9.5.1; attention over sequences of several lengths needs 9.6");
    setenv("STANDIN_CUDNN", "91000", 1); /* this version has known bugs */
    demand_refusal("cuDNN 9.10.0 cannot do forward of 496 tokens in 5 sequences of at most 200 "
                   "with heads of 16 on GPU 0");
}
END_TEST

/* The frontend's requirements for versions and heads by GPU, as listed in docs/reference/gpu.md. */
START_TEST(what_a_gpu_cannot_do_is_named)
{
    static const struct {
        const char *sm, *version;
        int64_t width;
        const char *words; /* NULL: it can */
    } all[] = {
        { "90", "90600", 12, "with heads of 12 on GPU 0: " },
        { "90", "91001", 16, "9.10.1 cannot do forward " },
        { "90", "91002", 16, NULL },
        { "80", "91800", 16, "9.18.0 cannot do forward " },
        { "89", "91801", 16, NULL },
        { "80", "92801", 136, "cannot do backward " },
        { "80", "92801", 128, NULL },
        { "90", "92801", 256, NULL },
        { "100", "92801", 136, "cannot do backward " },
        { "100", "92801", 64, NULL },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pp_err err = { 0 };
        setenv("STANDIN_SM", all[i].sm, 1);
        setenv("STANDIN_CUDNN", all[i].version, 1);
        const pp_status status = compare(1, all[i].width, &err);
        ck_assert_msg(all[i].words ? status == PP_UNAVAILABLE && strstr(err.text, all[i].words)
                                   : !status,
                      "%s, %s, %d: %s", all[i].sm, all[i].version, (int)all[i].width, err.text);
    }
}
END_TEST

/* Fails early, late and intermediate calls, until there are no more of them. */
START_TEST(every_call_that_fails_is_reported)
{
    static const struct {
        const char *call, *words;
    } all[CALLS_MAX] = {
        { "cudnnCreate:1", "does not start: " },
        { "cudnnSetStream:1", "failed: " },
        { "cudnnSetStream:2", "failed: " },
        { "cudnnBackendExecute:1", "failed: " },
        { "cudnnBackendExecute:2", "failed: " },
        { "cudnnBackendExecute:3", "failed: " },
        { "cudnnBackendCreateDescriptor:1", "cannot do forward of 496 tokens" },
        { "cudnnBackendSetAttribute:1", "cannot do forward of 496 tokens" },
        { "cudnnBackendSetAttribute:40", "cannot do forward of 496 tokens" },
        { "cudnnBackendFinalize:1", "cannot do forward of 496 tokens" },
        { "cudnnBackendFinalize:12", "cannot do forward of 496 tokens" },
        { "cudnnBackendFinalize:60", "cannot do backward of 496 tokens" },
        { "cudnnBackendGetAttribute:1", "cannot do forward of 496 tokens" },
        { "cudaGetDevice:1", "cannot do forward of 496 tokens" },
        { "cudaDeviceGetAttribute:1", "cannot do forward of 496 tokens" },
    };
    pp_err err = { 0 };
    const pp_status wanted = _i > 0 && _i < 6 ? PP_IO : PP_UNAVAILABLE;
    setenv("STANDIN_FAIL", all[_i].call, 1);
    const pp_status status = compare(1, 16, &err);
    ck_assert_msg(status == wanted && strstr(err.text, all[_i].words), "%s: %d: %s", all[_i].call,
                  (int)status, err.text);
}
END_TEST

START_TEST(a_handle_that_does_not_close_is_left)
{
    pp_err err = { 0 };
    setenv("STANDIN_FAIL", "cudnnDestroy:1,cudnnBackendDestroyDescriptor:1", 1);
    ck_assert_msg(!compare(1, 16, &err), "%s", err.text);
}
END_TEST

int main(void)
{
    if (!pp_cudnn_graph_built()) {
        puts("skipped: no headers of cuDNN or its frontend (tools/dev/cuda-headers --cudnn)");
        return SKIPPED;
    }
    Suite *suite = suite_create("cudnn_graph");
    TCase *tc = tcase_create("cudnn_graph");
    tcase_set_timeout(tc, 100);
    tcase_add_checked_fixture(tc, begin_test, end_test);
    tcase_add_loop_test(tc, graphs_compute_our_attention, 0, 2);
    tcase_add_loop_test(tc, other_values_are_refused_with_the_numbers, 0, 2);
    tcase_add_test(tc, rows_that_it_does_not_write_are_reported);
    tcase_add_loop_test(tc, sums_that_are_not_cleared_are_reported, 0, 2);
    tcase_add_test(tc, a_version_that_is_too_old_is_named);
    tcase_add_test(tc, what_a_gpu_cannot_do_is_named);
    tcase_add_loop_test(tc, every_call_that_fails_is_reported, 0, CALLS_MAX);
    tcase_add_test(tc, a_handle_that_does_not_close_is_left);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
