/* How runtime/cuda/timing/gpu_timing.c measures times of work, checked by the calls that the
 * stand-in recorded. */
#include "runtime/cuda/kernel/kernel.h"
#include "runtime/cuda/timing/gpu_state.h"
#include "runtime/cuda/timing/values.h"
#include "tests/cuda/standin.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_BYTES = 65536, CALLS_MAX = 4096 };

static const pp_gpu_table *const calls = &pp_gpu_calls;
static char log_path[] = "/tmp/ppsim-gpu-XXXXXX";
static pp_gpu *gpu;

static const pp_gpu_work product = { .kind = PP_GPU_MULTIPLY,
                                     .product = PP_GPU_ABT,
                                     .in = PP_GPU_BF16,
                                     .out = PP_GPU_BF16,
                                     .m = 64,
                                     .n = 64,
                                     .k = 64 };
static const pp_gpu_work copy = { .kind = PP_GPU_COPY, .bytes = 4 << 20 };
static const pp_gpu_work message = { .kind = PP_GPU_MESSAGE, .bytes = 4 << 20, .channels = 2 };

static void open_gpu(void)
{
    pp_err err = { 0 };
    snprintf(log_path, sizeof log_path, "/tmp/ppsim-gpu-XXXXXX");
    const int file = mkstemp(log_path);
    ck_assert_int_ge(file, 0);
    close(file);
    static const char *const settings[] = { "STANDIN_FAIL", "STANDIN_MIB_US", "STANDIN_START_US",
                                            "STANDIN_PRODUCT_US" };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        unsetenv(settings[i]);
    standin_forget();
    setenv("STANDIN_LOG", log_path, 1);
    setenv("STANDIN_CLOCK", "own", 1);
    ck_assert_msg(!calls->open(&pp_module_services_table, 1, &gpu, &err), "%s", err.text);
}

static void open_small_gpu(void)
{
    setenv("STANDIN_MEMORY", "67108864", 1);
    open_gpu();
    unsetenv("STANDIN_MEMORY");
}

static void close_gpu(void)
{
    calls->close(gpu);
    unsetenv("STANDIN_LOG");
    unlink(log_path);
}

static pp_gpu_task *task_of(const pp_gpu_work *work)
{
    char how[128];
    pp_gpu_task *task;
    pp_err err = { 0 };
    ck_assert_msg(!calls->prepare(gpu, work, &task, how, sizeof how, &err), "%s", err.text);
    return task;
}

/* The number of times that the host checks whether work has begun depends on its speed. A check is
 * recognised by the names of these calls, and by a read of four bytes from the GPU. */
static bool is_look(const char *line)
{
    return strncmp(line, "gpu1 cudaEventQuery ", 20) == 0 ||
           strncmp(line, "gpu1 cudaMemcpyAsync 4 2 ", 25) == 0;
}

/* Names of the calls since `from`; repeated ones are counted: "cudaEventRecord x128 ..." */
static unsigned recorded(unsigned from, char *text, size_t size)
{
    char line[256], name[64], last[64] = "";
    unsigned count = 0, repeats = 0;
    FILE *file = fopen(log_path, "r");
    ck_assert_ptr_nonnull(file);
    text[0] = '\0';
    while (fgets(line, sizeof line, file)) {
        if (count++ < from || is_look(line) || sscanf(line, "gpu1 %63s", name) != 1)
            continue;
        repeats = strcmp(name, last) == 0 ? repeats + 1 : 1;
        char *tail = repeats > 1 ? strrchr(text, ' ') : NULL;
        if (tail)
            *tail = '\0';
        const size_t used = strlen(text);
        if (repeats > 1)
            snprintf(text + used, size - used, " x%u", repeats);
        else
            snprintf(text + used, size - used, "%s%s x1", used ? " " : "", name);
        snprintf(last, sizeof last, "%s", name);
    }
    fclose(file);
    return count;
}

/* The line of the first call with this name since `from`; UINT_MAX if there is none. */
static unsigned line_of(unsigned from, const char *wanted)
{
    char line[256], name[64];
    unsigned count = 0;
    FILE *file = fopen(log_path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) &&
           (count++ < from || sscanf(line, "gpu1 %63s", name) != 1 || strcmp(name, wanted) != 0)) {
    }
    const bool found = !feof(file);
    fclose(file);
    return found ? count - 1 : UINT_MAX;
}

/* Records the calls of a timing. beside: NULL: nothing runs at the same time. */
static void record_timing(const pp_gpu_work *work, const pp_gpu_work *beside, pp_gpu_timing how,
                          char text_out[CALLS_MAX])
{
    pp_ns took_ns = 0;
    pp_err err = { 0 };
    pp_gpu_task *task = task_of(work);
    how.beside = beside ? task_of(beside) : NULL;
    const unsigned before = recorded(0, text_out, CALLS_MAX);
    ck_assert_msg(!calls->time(gpu, task, &how, &took_ns, &err), "%s", err.text);
    recorded(before, text_out, CALLS_MAX);
    ck_assert_int_gt(took_ns, 0);
    calls->release(how.beside);
    calls->release(task);
}

/* The host blocks the stream while it launches, so only the GPU's time is between the events. */
START_TEST(launches_wait_for_each_other)
{
    char text[CALLS_MAX];
    record_timing(&product, NULL, (pp_gpu_timing){ .runs = 130 }, text);
    ck_assert_str_eq(
        text, "cudaLaunchHostFunc x1 cudaEventRecord x1 cublasLtMatmul x128 cudaEventRecord x1 "
              "cudaStreamSynchronize x1 cudaEventElapsedTime x1 "
              "cudaLaunchHostFunc x1 cudaEventRecord x1 cublasLtMatmul x2 cudaEventRecord x1 "
              "cudaStreamSynchronize x1 cudaEventElapsedTime x1");
}
END_TEST

START_TEST(a_cold_run_begins_when_the_cache_is_full_of_something_else)
{
    char text[CALLS_MAX];
    record_timing(&product, NULL, (pp_gpu_timing){ .runs = 1, .cold = true }, text);
    ck_assert_ptr_nonnull(strstr(text,
                                 "cudaLaunchHostFunc x1 cudaMemsetAsync x1 cudaEventRecord x1 "
                                 "cublasLtMatmul x1 cudaEventRecord x1"));
}
END_TEST

/* With slow copies, the speed of the host does not matter. */
static void slow_copies(const char *mib_us)
{
    setenv("STANDIN_MIB_US", mib_us, 1);
}

/* The interfering work overwrites marks before the gate is reached, and does not end before the
 * product. */
START_TEST(concurrent_work_is_begun_first)
{
    static const struct {
        const pp_gpu_work *beside;
        const char *launch;
    } cases[] = { { &copy, "cudaMemcpyAsync x1" },
                  { &message, "ncclGroupStart x1 ncclSend x1 ncclRecv x1 ncclGroupEnd x1 "
                              "ncclCommGetAsyncError x3" } };
    static const char gate[] = " cudaLaunchHostFunc x1 cudaEventRecord x1 cublasLtMatmul x2 "
                               "cudaEventRecord x1 cudaStreamSynchronize x1 "
                               "cudaEventElapsedTime x1 cudaStreamSynchronize x1 "
                               "cudaEventElapsedTime x2";
    char text[CALLS_MAX], begin[512];
    slow_copies("50000");
    record_timing(&product, cases[_i].beside, (pp_gpu_timing){ .runs = 2 }, text);
    snprintf(begin, sizeof begin,
             "cudaMemsetAsync x8 cudaStreamSynchronize x1 cudaEventRecord x1 %s cudaEventRecord x1 "
             "cudaStreamSynchronize x",
             cases[_i].launch);
    ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0 && strstr(text, gate), "%s", text);
}
END_TEST

/* It may begin late because of earlier work or a lack of multiprocessors. */
START_TEST(what_begins_late_is_waited_for)
{
    const pp_gpu_work *const beside[] = { &copy, &message };
    const char *const names[] = { "copy", "message" };
    char text[CALLS_MAX];
    pp_ns took_ns = 0;
    pp_err err = { 0 };
    slow_copies("50000");
    setenv("STANDIN_START_US", "30000", 1);
    pp_gpu_task *task = task_of(&product);
    const pp_gpu_timing how = { .runs = 2, .beside = task_of(beside[_i]) };
    const unsigned before = recorded(0, text, sizeof text);
    ck_assert_msg(!calls->time(gpu, task, &how, &took_ns, &err), "%s", err.text);
    const unsigned begins = line_of(before, names[_i]);
    const unsigned multiplies = line_of(before, "product");
    ck_assert_msg(begins < multiplies && multiplies < UINT_MAX, "%u, %u", begins, multiplies);
    calls->release(how.beside);
    calls->release(task);
}
END_TEST

/* 4 MiB take 16 ms, and the product 200; there is memory for 128 MiB. */
START_TEST(what_ends_first_is_taken_longer)
{
    const pp_gpu_work *const beside[] = { &copy, &message };
    const char *const sizes[] = { "gpu1 cudaMemcpyAsync %lld 3", "gpu1 ncclSend %lld to" };
    char line[256];
    long long bytes = 0, most = 0;
    slow_copies("4000");
    setenv("STANDIN_PRODUCT_US", "200000", 1);
    record_timing(&product, beside[_i], (pp_gpu_timing){ .runs = 1 }, (char[CALLS_MAX]){ 0 });
    FILE *file = fopen(log_path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, sizes[_i], &bytes) == 1 && bytes > most)
            most = bytes;
    }
    fclose(file);
    ck_assert_int_ge(most, 8 << 20);
}
END_TEST

/* There is not enough memory for a longer one. */
START_TEST(work_that_ends_first_is_not_concurrent)
{
    const pp_gpu_work *const beside[] = { &copy, &message };
    pp_ns took_ns = 0;
    pp_err err = { 0 };
    pp_gpu_task *task = task_of(&product);
    const pp_gpu_timing how = { .runs = 1, .beside = task_of(beside[_i]) };
    setenv("STANDIN_PRODUCT_US", "300000", 1);
    ck_assert_int_eq(calls->time(gpu, task, &how, &took_ns, &err), PP_UNAVAILABLE);
    unsetenv("STANDIN_PRODUCT_US");
    ck_assert_str_eq(err.text, "GPU 1: the concurrent work of 8 MiB ends before the measured work, "
                               "and there is no memory for more; the measured work takes too long, "
                               "or waits for multiprocessors");
    calls->release(how.beside);
    calls->release(task);
}
END_TEST

/* A few products are timed at a time, so that one copy outlasts them. */
START_TEST(few_products_run_during_one_copy)
{
    char text[CALLS_MAX];
    slow_copies("50000");
    record_timing(&product, &copy, (pp_gpu_timing){ .runs = 17 }, text);
    ck_assert_ptr_nonnull(strstr(text, " cublasLtMatmul x16 "));
    ck_assert_ptr_nonnull(strstr(text, " cublasLtMatmul x1 "));
}
END_TEST

/* There is too little memory for this work only. */
START_TEST(what_has_no_room_is_refused_alone)
{
    char how[128];
    pp_gpu_task *task = NULL;
    pp_err err = { 0 };
    setenv("STANDIN_FAIL", "cudaMalloc:2", 1);
    standin_forget();
    ck_assert_int_eq(calls->prepare(gpu, &copy, &task, how, sizeof how, &err), PP_UNAVAILABLE);
    ck_assert_int_eq(err.status, PP_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory: operands"));
    unsetenv("STANDIN_FAIL");
    calls->release(task_of(&copy));
}
END_TEST

START_TEST(a_message_that_fails_is_given_up)
{
    static const char *const failures[] = { "ncclSend:1", "ncclGroupEnd:1",
                                            "ncclCommGetAsyncError:2" };
    pp_ns took_ns = 0;
    pp_err err = { 0 };
    pp_gpu_task *task = task_of(&product);
    const pp_gpu_timing how = { .runs = 1, .beside = task_of(&message) };
    setenv("STANDIN_FAIL", failures[_i], 1);
    standin_forget();
    ck_assert_int_eq(calls->time(gpu, task, &how, &took_ns, &err), PP_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "a message of the GPU to itself failed; NCCL reports"));
    unsetenv("STANDIN_FAIL");
    pp_err again = { 0 };
    ck_assert_int_eq(calls->time(gpu, task, &how, &took_ns, &again), PP_UNAVAILABLE);
    ck_assert_str_eq(again.text, err.text);
    calls->release(how.beside);
    calls->release(task);
}
END_TEST

/* Inputs that a piece of work overwrites are restored before each timing. Restoring is not timed.
 */
START_TEST(spoiled_operands_are_filled_again)
{
    static const pp_gpu_work gelu = { /* 128 KiB, two sets */
                                      .kind = PP_GPU_GELU_BACKWARD,
                                      .in = PP_GPU_BF16,
                                      .rows = 64,
                                      .width = 512
    };
    char text[CALLS_MAX];
    record_timing(&gelu, NULL, (pp_gpu_timing){ .runs = 3 }, text);
    ck_assert_str_eq(
        text, "cudaLaunchHostFunc x1 cudaMemcpyAsync x2 cudaEventRecord x1 cudaLaunchKernel x2 "
              "cudaEventRecord x1 cudaStreamSynchronize x1 cudaEventElapsedTime x1 "
              "cudaLaunchHostFunc x1 cudaMemcpyAsync x1 cudaEventRecord x1 cudaLaunchKernel x1 "
              "cudaEventRecord x1 cudaStreamSynchronize x1 cudaEventElapsedTime x1");
}
END_TEST

/* Every row occurs once, with its token, and every query and key of a sequence in one tile. */
START_TEST(tables_are_complete)
{
    static const int64_t lengths[] = { 5, 64, 33, 1 };
    const pp_gpu_work embedding = { .kind = PP_GPU_EMBEDDING_BACKWARD, .rows = 10, .vocab = 4 };
    const pp_gpu_work attention = {
        .kind = PP_GPU_ATTENTION_FORWARD, .width = 64, .lengths = lengths, .sequences = 4
    };
    static const int32_t tokens[] = { 0, 1, 2, 3, 0, 1, 2, 3, 0, 1 };
    static const int32_t first[] = { 0, 3, 6, 8, 10 };
    static const int32_t rows[] = { 0, 4, 8, 1, 5, 9, 2, 6, 3, 7 };
    static const pp_gpu_tile tiles[] = { { 0, 5, 0 },   { 5, 64, 0 },   { 5, 64, 32 },
                                         { 69, 33, 0 }, { 69, 33, 32 }, { 102, 1, 0 } };
    int32_t found[10];
    pp_gpu_tile tile[6];
    pp_gpu_operand operand[PP_GPU_OPERANDS];
    pp_gpu_work_operands(&embedding, operand);
    ck_assert_uint_eq(operand[3].bytes, sizeof first);
    ck_assert_uint_eq(operand[4].bytes, sizeof rows);
    pp_gpu_work_table(&embedding, 0, found);
    ck_assert_mem_eq(found, tokens, sizeof tokens);
    pp_gpu_work_table(&embedding, 3, found);
    ck_assert_mem_eq(found, first, sizeof first);
    pp_gpu_work_table(&embedding, 4, found);
    ck_assert_mem_eq(found, rows, sizeof rows);
    pp_gpu_work_operands(&attention, operand);
    ck_assert_uint_eq(operand[0].bytes, sizeof tiles);
    pp_gpu_work_table(&attention, 0, tile);
    ck_assert_mem_eq(tile, tiles, sizeof tiles);
}
END_TEST

/* A set of operands is 24 KiB here: 1 + 2 x 64 KiB / 24 KiB sets of three. */
START_TEST(operands_do_not_stay_in_the_cache)
{
    char text[CALLS_MAX];
    ck_assert_int_eq(calls->facts(gpu)->cache_bytes, CACHE_BYTES);
    const unsigned before = recorded(0, text, sizeof text);
    pp_gpu_task *task = task_of(&product);
    recorded(before, text, sizeof text);
    unsigned allocations = 0;
    for (const char *at = text; (at = strstr(at, "cudaMalloc x")); at++)
        allocations++;
    ck_assert_uint_eq(allocations, 6 * 3);
    calls->release(task);
}
END_TEST

/* Experts with rows of their own: forward, gradient of the input, gradient of the weight, which is
 * added to one result per expert; and in 8 bits. */
static const int64_t expert_rows[] = { 16, 48, 32, 16, 16 };
enum { EXPERTS = 5, ROWS = 128 };

static pp_gpu_work experts_of(pp_gpu_product way, pp_gpu_type in, bool deep)
{
    return (pp_gpu_work){ .kind = PP_GPU_GROUPED,
                          .product = way,
                          .in = in,
                          .out = deep ? PP_GPU_F32 : PP_GPU_BF16,
                          .add = deep,
                          .deep = deep,
                          .m = deep ? 48 : ROWS,
                          .n = 32,
                          .k = deep ? ROWS : 64,
                          .lengths = expert_rows,
                          .sequences = EXPERTS };
}

static float number_of(pp_gpu_type type, const char *at, int64_t index)
{
    if (type == PP_GPU_F32)
        return ((const float *)(const void *)at)[index];
    if (type == PP_GPU_BF16)
        return pp_load_bf16((const pp_bf16 *)(const void *)at + index);
    const int bits = (unsigned char)at[index], low = type == PP_GPU_E4M3 ? 3 : 2;
    const int exponent = (bits & 0x7F) >> low, bias = type == PP_GPU_E4M3 ? 7 : 15;
    const int fraction = (bits & ((1 << low) - 1)) + (exponent ? 1 << low : 0);
    const float size = ldexpf((float)fraction, (exponent ? exponent : 1) - bias - low);
    return bits & 0x80 ? -size : size;
}

/* One number of the result of an expert, whose rows begin at `first`. */
static float product_at(const pp_gpu_work *w, char *const *operand, int e, int64_t first, int64_t i,
                        int64_t j)
{
    const pp_gpu_type other = w->in == PP_GPU_E5M2 ? PP_GPU_E4M3 : w->in;
    const int64_t m = w->deep ? w->m : expert_rows[e], k = w->deep ? expert_rows[e] : w->k;
    const int64_t a = first * (w->deep ? w->m : w->k);
    const int64_t b = (w->deep ? first : e * w->k) * w->n;
    float sum = 0;
    for (int64_t l = 0; l < k; l++)
        sum +=
            number_of(w->in, operand[0], a + (w->product == PP_GPU_ATB ? l * m + i : i * k + l)) *
            number_of(other, operand[1], b + (w->product == PP_GPU_ABT ? j * k + l : l * w->n + j));
    return sum;
}

START_TEST(every_expert_multiplies_its_own_rows)
{
    const pp_gpu_work works[] = { experts_of(PP_GPU_ABT, PP_GPU_BF16, false),
                                  experts_of(PP_GPU_AB, PP_GPU_BF16, false),
                                  experts_of(PP_GPU_ATB, PP_GPU_BF16, true),
                                  experts_of(PP_GPU_ABT, PP_GPU_E4M3, false),
                                  experts_of(PP_GPU_ABT, PP_GPU_E5M2, true) };
    const pp_gpu_work *w = &works[_i];
    pp_gpu_task *task = task_of(w); /* runs it once with each of the first two sets */
    const char *result = task->operand[0][2];
    int64_t first = 0;
    for (int e = 0; e < EXPERTS; first += expert_rows[e++]) {
        const int64_t m = w->deep ? w->m : expert_rows[e];
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < w->n; j++) {
                const int64_t at = ((w->deep ? e * w->m : first) + i) * w->n + j;
                const float old = w->add ? number_of(PP_GPU_F32, gpu->block, at) : 0;
                const float factor = w->in == PP_GPU_BF16 ? 1 : 0.5F; /* of both scales */
                const float wanted = old + factor * product_at(w, task->operand[0], e, first, i, j);
                ck_assert_float_eq_tol(number_of(w->out, result, at), wanted,
                                       w->add ? 1e-5F : 0.01F * (1 + fabsf(wanted)));
            }
        }
    }
    calls->release(task);
}
END_TEST

/* A value at each end of the result; of a quantization also in the transposed copy. */
START_TEST(wrong_values_are_found)
{
    const pp_gpu_work works[] = {
        experts_of(PP_GPU_ABT, PP_GPU_BF16, false),
        experts_of(PP_GPU_ABT, PP_GPU_E5M2, true),
        { .kind = PP_GPU_MULTIPLY,
          .product = PP_GPU_ABT,
          .in = PP_GPU_E4M3,
          .out = PP_GPU_BF16,
          .m = 256,
          .n = 256,
          .k = 512 }, /* larger than the cache: one set, which runs twice */
        { .kind = PP_GPU_QUANTIZE, .in = PP_GPU_BF16, .rows = 70, .width = 100 },
        { .kind = PP_GPU_QUANTIZE_CURRENT, .in = PP_GPU_BF16, .rows = 70, .width = 100 },
    };
    const pp_gpu_work *w = &works[_i];
    const bool quantized = w->kind != PP_GPU_MULTIPLY && w->kind != PP_GPU_GROUPED;
    const size_t bytes = quantized ? 1 : pp_gpu_type_bytes(w->out);
    pp_err err = { 0 };
    pp_gpu_task *task = task_of(w);
    const int64_t columns = quantized ? w->width : w->n;
    const int64_t rows = quantized ? w->rows : w->deep ? EXPERTS * w->m : w->m;
    char *const ends[] = {
        task->operand[0][quantized ? 1 : 2] + (size_t)(columns - 1) * bytes,
        task->operand[0][2] + (size_t)((rows - 1) * (quantized ? 1 : columns)) * bytes,
    };
    ck_assert_int_eq(pp_gpu_values_check(task, &err), PP_OK);
    for (int k = 0; k < 2; k++) {
        char before[4];
        memcpy(before, ends[k], bytes);
        memset(ends[k], 0x45, bytes);
        err = (pp_err){ 0 };
        ck_assert_int_eq(pp_gpu_values_check(task, &err), PP_UNAVAILABLE);
        ck_assert_msg(strstr(err.text, "has wrong values: row"), "%s", err.text);
        memcpy(ends[k], before, bytes);
    }
    calls->release(task);
}
END_TEST

/* Between the events of the timing: the four streams wait for it, and it waits for them. */
START_TEST(experts_run_on_four_streams)
{
    const pp_gpu_work work = experts_of(PP_GPU_ABT, PP_GPU_BF16, false);
    char text[CALLS_MAX];
    record_timing(&work, NULL, (pp_gpu_timing){ .runs = 1 }, text);
    ck_assert_str_eq(
        text, "cudaLaunchHostFunc x1 cudaEventRecord x2 cudaStreamWaitEvent x4 cublasLtMatmul x5 "
              "cudaEventRecord x1 cudaStreamWaitEvent x1 cudaEventRecord x1 cudaStreamWaitEvent x1 "
              "cudaEventRecord x1 cudaStreamWaitEvent x1 cudaEventRecord x1 cudaStreamWaitEvent x1 "
              "cudaEventRecord x1 cudaStreamSynchronize x1 cudaEventElapsedTime x1");
}
END_TEST

/* Products of 10 ms: the fifth expert follows the first, and the second run follows both. */
START_TEST(experts_take_turns_on_a_stream)
{
    pp_ns took_ns = 0;
    pp_err err = { 0 };
    const pp_gpu_work work = experts_of(PP_GPU_ABT, PP_GPU_BF16, false);
    pp_gpu_task *task = task_of(&work);
    setenv("STANDIN_PRODUCT_US", "10000", 1);
    ck_assert_msg(!calls->time(gpu, task, &(pp_gpu_timing){ .runs = 2 }, &took_ns, &err), "%s",
                  err.text);
    unsetenv("STANDIN_PRODUCT_US");
    ck_assert_int_ge(took_ns, 40000000);
    ck_assert_int_le(took_ns, 45000000);
    calls->release(task);
}
END_TEST

/* Whatever fails among the products, nothing of them is left when the memory is given back. */
START_TEST(experts_that_fail_leave_nothing_behind)
{
    static const char *const failures[] = { "cudaStreamWaitEvent:2", "cublasLtMatmul:3",
                                            "cudaStreamWaitEvent:6", "cudaEventCreateWithFlags:3",
                                            "cublasLtCreate:2" };
    static const char *const texts[] = { "waiting for a stream failed", "a product failed",
                                         "waiting for a stream failed",
                                         "making streams and events failed", "opening it failed" };
    char how[128];
    const pp_gpu_work work = experts_of(PP_GPU_ABT, PP_GPU_BF16, false);
    pp_gpu_task *task = NULL;
    pp_err err = { 0 };
    setenv("STANDIN_PRODUCT_US", "1000", 1);
    setenv("STANDIN_FAIL", failures[_i], 1);
    standin_forget();
    ck_assert_int_eq(calls->prepare(gpu, &work, &task, how, sizeof how, &err), PP_IO);
    ck_assert_msg(strstr(err.text, texts[_i]), "%s", err.text);
    unsetenv("STANDIN_FAIL");
    calls->release(task_of(&work)); /* what was opened is used */
}
END_TEST

START_TEST(work_continues_for_as_long_as_asked)
{
    pp_err err = { 0 };
    pp_gpu_task *task = task_of(&copy);
    const int64_t began_ns = pp_module_services_table.clock_now_ns();
    ck_assert_int_eq(calls->heat(gpu, task, 20000000, &err), PP_OK);
    ck_assert_int_ge(pp_module_services_table.clock_now_ns() - began_ns, 20000000);
    calls->release(task);
}
END_TEST

/* The stream is released whatever fails behind the gate; otherwise waiting for it would never
 * end. */
START_TEST(a_failed_launch_leaves_nothing_held)
{
    pp_ns took_ns = 0;
    pp_err err = { 0 };
    pp_gpu_task *task = task_of(&product);
    const pp_gpu_timing how = { .runs = 5 };
    setenv("STANDIN_FAIL", "cublasLtMatmul:3", 1);
    standin_forget();
    ck_assert_int_eq(calls->time(gpu, task, &how, &took_ns, &err), PP_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "a product failed"));
    unsetenv("STANDIN_FAIL");
    err = (pp_err){ 0 };
    ck_assert_msg(!calls->time(gpu, task, &how, &took_ns, &err), "%s", err.text);
    ck_assert_int_gt(took_ns, 0);
    calls->release(task);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu");
    TCase *tc = tcase_create("gpu");
    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, open_gpu, close_gpu);
    tcase_add_test(tc, launches_wait_for_each_other);
    tcase_add_test(tc, a_cold_run_begins_when_the_cache_is_full_of_something_else);
    tcase_add_loop_test(tc, concurrent_work_is_begun_first, 0, 2);
    tcase_add_loop_test(tc, what_begins_late_is_waited_for, 0, 2);
    tcase_add_loop_test(tc, what_ends_first_is_taken_longer, 0, 2);
    tcase_add_test(tc, few_products_run_during_one_copy);
    tcase_add_test(tc, what_has_no_room_is_refused_alone);
    tcase_add_loop_test(tc, a_message_that_fails_is_given_up, 0, 3);
    tcase_add_test(tc, spoiled_operands_are_filled_again);
    tcase_add_test(tc, tables_are_complete);
    tcase_add_test(tc, operands_do_not_stay_in_the_cache);
    tcase_add_loop_test(tc, every_expert_multiplies_its_own_rows, 0, 5);
    tcase_add_loop_test(tc, wrong_values_are_found, 0, 5);
    tcase_add_test(tc, experts_run_on_four_streams);
    tcase_add_test(tc, experts_take_turns_on_a_stream);
    tcase_add_loop_test(tc, experts_that_fail_leave_nothing_behind, 0, 5);
    tcase_add_test(tc, work_continues_for_as_long_as_asked);
    tcase_add_test(tc, a_failed_launch_leaves_nothing_held);
    TCase *tight = tcase_create("little memory");
    tcase_set_timeout(tight, 60);
    tcase_add_checked_fixture(tight, open_small_gpu, close_gpu);
    tcase_add_loop_test(tight, work_that_ends_first_is_not_concurrent, 0, 2);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, tight);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
