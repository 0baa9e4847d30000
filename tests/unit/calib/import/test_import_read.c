/* Recordings, timer logs, tables and our own samples; nccl-tests have a test file of their own. */
#include "calib/import/import_read.h"
#include "calib/samples/samples_json.h"
#include "sim/base/text.h"
#include "traces/read/gzip.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void read_as(const char *name, const char *text, pp_samples *samples)
{
    const pp_import *import = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_import_get(name, &import, &err), PP_OK);
    ck_assert(import->recognise(text, strlen(text)));
    ck_assert_msg(pp_import_read(NULL, text, strlen(text), "folder/x.log", samples, &err) == PP_OK,
                  "%s: %s", err.where, err.text);
}

static const pp_series *series_of(const pp_samples *samples, const char *class_name)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (strcmp(samples->series[i].class_name, class_name) == 0)
            return &samples->series[i];
    }
    ck_abort_msg("no series %s", class_name);
    return NULL;
}

static void expect_times(const pp_samples *samples, const char *class_name, size_t index,
                         double tokens, double seconds, uint32_t repeats)
{
    const pp_series *series = series_of(samples, class_name);
    ck_assert_uint_gt(series->count, index);
    const pp_sample *sample = &series->sample[index];
    ck_assert_double_eq_tol(sample->seconds, seconds, 1e-12);
    ck_assert_uint_eq(sample->repeats, repeats);
    if (tokens > 0)
        ck_assert_double_eq(sample->at[PP_VARIABLE_TOKENS], tokens);
    else
        ck_assert(isnan(sample->at[PP_VARIABLE_TOKENS]));
}

static void expect_skipped(const pp_samples *samples, const char *text)
{
    ck_assert_msg(samples->skipped && strstr(samples->skipped, text), "'%s' not in: %s", text,
                  samples->skipped ? samples->skipped : "nothing");
}

#define EVENT(cat, name, pid, ts, dur, args)                                                       \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":7,\"ts\":" ts \
    ",\"dur\":" dur ",\"args\":{" args "}}"
#define RANGE(name, ts, dur) EVENT("user_annotation", name, "1", ts, dur, "\"External id\":3")
#define LAUNCH(id, ts) \
    EVENT("cuda_runtime", "cudaLaunchKernel", "1", ts, "1", "\"correlation\":" id)
#define KERNEL(name, id, dur) EVENT("kernel", name, "0", "9e9", dur, "\"correlation\":" id)

/* Ranges and timers of the host contain its gap between ops, kernels do not. */
static void expect_host_times(const pp_samples *samples, bool host)
{
    for (size_t i = 0; i < samples->count; i++)
        ck_assert_int_eq(
            strncmp(samples->series[i].source, PP_SOURCE_HOST, strlen(PP_SOURCE_HOST)) == 0, host);
}

static const char cpu_trace[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[],\"traceEvents\":[{\"ph\":\"M\",\"args\":{}},"
    "\n" RANGE("ppsim:3F7 tokens=512", "100", "1000.5") "," RANGE("ppsim:3F8 tokens=512", "2000", "1200.5") "," RANGE("ppsim:3F9 tokens=256 square_sum=65536", "4000", "700") "," RANGE(
        "ppsim:3B7", "5000",
        "2000") "," RANGE("ppsim:0I1", "8000",
                          "10") "," RANGE("ppsim:0W1", "9000",
                                          "20") "," RANGE("ppsim:3F1 speed=4", "9000",
                                                          "20") "," RANGE("(1F2;0B3)", "9000",
                                                                          "20") "," RANGE("PP:(1F2;"
                                                                                          "0B3)"
                                                                                          "OVERLAP_"
                                                                                          "F_B",
                                                                                          "9500",
                                                                                          "20") "," RANGE("PP:3SEND_F7",
                                                                                                          "9600",
                                                                                                          "20") "," RANGE("Forward 1",
                                                                                                                          "9700",
                                                                                                                          "20") "," RANGE("ppsim:3F1",
                                                                                                                                          "9800",
                                                                                                                                          "-5") "," RANGE("optimizer",
                                                                                                                                                          "9900",
                                                                                                                                                          "20") "],\"traceName\":\"C:\\path\"}";

START_TEST(ranges_of_a_recording_without_kernels_are_ops)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("kineto", cpu_trace, &samples);
    ck_assert_uint_eq(samples.count, 4);
    expect_times(&samples, "stage_f 3", 0, 256, 700e-6, 1);
    ck_assert_double_eq(samples.series[2].sample[0].at[PP_VARIABLE_SQUARES], 65536);
    expect_times(&samples, "stage_f 3", 1, 512, 1100.5e-6, 2);
    expect_times(&samples, "stage_b 3", 0, 0, 2000e-6, 1);
    expect_times(&samples, "stage_i 0", 0, 0, 10e-6, 1);
    expect_times(&samples, "stage_w 0", 0, 0, 20e-6, 1);
    ck_assert(!samples.series[0].link);
    expect_host_times(&samples, true);
    expect_skipped(&samples, "does not look like 'ppsim:3F7 tokens=4096'");
    expect_skipped(&samples, "overlapped pair");
    expect_skipped(&samples, "computes nothing");
    expect_skipped(&samples, "'Forward n' or 'Backward n' without kernels");
    expect_skipped(&samples, "duration is 0, negative");
    expect_skipped(&samples, "without a number of tokens was used (3 times");
}
END_TEST

/* Every op computes for 700 us. A range waits from its start, or from the post of the receive,
 * until the receive ends; receives that are waited for at the same time count once. A receive that
 * ends elsewhere, or in another process, is no wait. */
#define RECEIVE(process, ts, dur) EVENT("user_annotation", "gloo:recv", process, ts, dur, "")

static const char waiting_trace[] = "{\"traceEvents\":["
    /* clang-format off */
    RECEIVE("1", "500", "800") "," RANGE("PP:0F0", "1000", "1000") ","
    RANGE("PP:1F0", "3000", "950") "," RECEIVE("1", "2950", "300") "," RECEIVE("1", "2900", "300") ","
    RANGE("Forward 2", "5000", "900") "," RECEIVE("1", "5050", "200") ","
    RANGE("PP:2B0", "6000", "700") "," RANGE("PP:3B0", "6800", "800") "," RECEIVE("1", "5950", "950")
    "," RECEIVE("2", "6000", "300") "]}";
/* clang-format on */

START_TEST(the_time_of_a_range_is_without_its_waits_for_receives)
{
    static const char *const classes[] = { "stage_f 0", "stage_f 1", "stage_f", "stage_b 2",
                                           "stage_b 3" };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("kineto", waiting_trace, &samples);
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        expect_times(&samples, classes[i], 0, 0, 700e-6, 1);
    ck_assert(!strstr(samples.skipped, "includes waits"));
}
END_TEST

static const char gpu_trace[] =
    "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H200\",\"x\":[1,{\"name\":2}]}],"
    "\"traceEvents\":[" KERNEL("gemm", "12", "300.25") "," KERNEL("gemm", "11", "100") "," KERNEL("ncclDevKernel_SendRecv", "13", "5000") "," KERNEL("adam", "15", "40") "," KERNEL(
        "gemm", "14",
        "50") "," RANGE("PP:0F0", "1000",
                        "100") "," RANGE("PP:0B0", "2000",
                                         "100") "," RANGE("Forward 3", "5000",
                                                          "100") "," RANGE("PP:0F9", "7000",
                                                                           "100") "," LAUNCH("11",
                                                                                             "1010") "," LAUNCH("12",
                                                                                                                "1090") "," LAUNCH("13",
                                                                                                                                   "1095") "," LAUNCH("14",
                                                                                                                                                      "2050") "," LAUNCH("15",
                                                                                                                                                                         "3000") "," LAUNCH("16",
                                                                                                                                                                                            "5050") "," KERNEL("gemm",
                                                                                                                                                                                                               "16",
                                                                                                                                                                                                               "70") "]}";

/* A range is short on the host, since it only launches. */
START_TEST(kernels_are_summed_over_the_range_that_launched_them)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("kineto", gpu_trace, &samples);
    expect_times(&samples, "stage_f 0", 0, 0, 400.25e-6, 1);
    expect_times(&samples, "stage_b 0", 0, 0, 50e-6, 1);
    expect_times(&samples, "stage_f", 0, 0, 70e-6, 1);
    ck_assert_str_eq(samples.device, "NVIDIA H200");
    expect_host_times(&samples, false);
    expect_skipped(&samples, "a kernel of NCCL: a transfer");
    expect_skipped(&samples, "launched outside of every op");
    expect_skipped(&samples, "an op without kernels, though there are kernels");
}
END_TEST

static void gzip(const char *text, size_t bytes, pp_text *packed)
{
    unsigned char buffer[1 << 16];
    z_stream stream = { 0 };
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)text;
    stream.avail_in = (uInt)bytes;
    stream.next_out = buffer;
    stream.avail_out = sizeof buffer;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    pp_text_add_bytes(packed, (char *)buffer, sizeof buffer - stream.avail_out);
    deflateEnd(&stream);
}

START_TEST(gzip_is_recognised_by_its_content_and_damage_is_reported)
{
    pp_text packed PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    gzip(gpu_trace, strlen(gpu_trace), &packed);
    ck_assert_msg(pp_import_read(NULL, packed.data, packed.bytes, "x", &samples, &err) == PP_OK,
                  "%s", err.text);
    expect_times(&samples, "stage_f 0", 0, 0, 400.25e-6, 1);
    for (size_t cut = 2; cut < packed.bytes; cut++) {
        pp_err cut_err = { 0 };
        ck_assert_int_eq(pp_import_read(NULL, packed.data, cut, "x", &samples, &cut_err), PP_INPUT);
        ck_assert_msg(strstr(cut_err.text, "cut off"), "%s", cut_err.text);
    }
    packed.data[packed.bytes / 2] ^= 0x55;
    ck_assert_int_eq(pp_import_read(NULL, packed.data, packed.bytes, "x", &samples, &err),
                     PP_INPUT);
}
END_TEST

/* Data that unpacks to more than the limit is not kept in memory. */
START_TEST(a_gzip_bomb_is_refused)
{
    char zeros[4096] = { 0 };
    pp_text packed PP_CLEANUP(pp_text_free) = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    gzip(zeros, sizeof zeros, &packed);
    ck_assert_int_eq(pp_gunzip(packed.data, packed.bytes, 4095, "x", &text, &bytes, &err),
                     PP_INPUT);
    ck_assert(strstr(err.text, "more than 4095 bytes"));
    ck_assert_int_eq(pp_gunzip(packed.data, packed.bytes, 4096, "x", &text, &bytes, NULL), PP_OK);
    ck_assert_uint_eq(bytes, 4096);
    free(text);
}
END_TEST

#define MEGATRON_ARGUMENTS                                       \
    "  data_parallel_size .............................. 2\n"    \
    "  global_batch_size ............................... 32\n"   \
    "  micro_batch_size ................................ 2\n"    \
    "  pipeline_model_parallel_size .................... 2\n"    \
    "  seq_length ...................................... 1024\n" \
    "  world_size ...................................... 4\n"

static const char megatron_minmax[] =
    MEGATRON_ARGUMENTS " [2026-11-20 12:00:00] iteration       10/     20 | global batch size:    "
                       "32 | lm loss: 1E+01\n"
                       "(min, max) time across ranks (ms):\n"
                       "    forward-backward ...............................: (700.00, 800.00)\n"
                       "    forward-compute ................................: (80.00, 160.00)\n"
                       "    backward-compute ...............................: (168.00, 328.00)\n"
                       " iteration       20/     20 | global batch size:    32 |\n"
                       "(min, max) time across ranks (ms):\n"
                       "    forward-compute ................................: (88.00, 176.00)\n"
                       "    backward-compute ...............................: (nan, -1.00)\n";

/* 32 / (2 * 2) = 8 microbatches of 2 * 1024 tokens. */
START_TEST(megatron_timers_are_divided_by_the_microbatches)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("megatron-log", megatron_minmax, &samples);
    ck_assert_uint_eq(samples.count, 4);
    expect_times(&samples, "stage_f fastest", 0, 2048, 10.5e-3, 2);
    expect_times(&samples, "stage_f slowest", 0, 2048, 21e-3, 2);
    expect_times(&samples, "stage_b fastest", 0, 2048, 21e-3, 1);
    expect_times(&samples, "stage_b slowest", 0, 2048, 41e-3, 1);
    ck_assert_double_eq(samples.series[0].sample[0].at[PP_VARIABLE_LONGEST], 1024);
    expect_skipped(&samples, "x.log:15: a time that is not a positive number (2 times");
}
END_TEST

static const char megatron_all[] = MEGATRON_ARGUMENTS
    "times across ranks (ms):\n"
    "  forward-compute:\n"
    "     rank  0: 80.00\n     rank  1: 88.00\n     rank  2: 160.00\n     rank  3: 176.00\n"
    "  optimizer:\n"
    "     rank  0: 1.00\n"
    "  backward-compute:\n"
    "     rank  3: 400.00\n";

/* Pipeline ranks are the outermost. */
START_TEST(megatron_ranks_are_stages)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("megatron-log", megatron_all, &samples);
    ck_assert_uint_eq(samples.count, 3);
    expect_times(&samples, "stage_f 0", 0, 2048, 10.5e-3, 2);
    expect_times(&samples, "stage_f 1", 0, 2048, 21e-3, 2);
    expect_times(&samples, "stage_b 1", 0, 2048, 50e-3, 1);
    expect_host_times(&samples, true);
}
END_TEST

START_TEST(megatron_max_and_old_logs_are_read)
{
    static const char max[] = "setting number of microbatches to constant 4\n"
                              "max time across ranks (ms):\n"
                              "    forward-compute ......................: 80.00\n";
    static const char old[] = "3: setting number of micro-batches to constant 4\n"
                              "3: setting number of microbatches to constant 4\n"
                              "3: time (ms) | forward-compute: 40.00 | backward-compute: 80.00 | "
                              "optimizer: 1.00\n";
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("megatron-log", max, &samples);
    expect_times(&samples, "stage_f slowest", 0, 0, 20e-3, 1);
    read_as("megatron-log", old, &samples);
    expect_times(&samples, "stage_f last", 0, 0, 10e-3, 1);
    expect_times(&samples, "stage_b last", 0, 0, 20e-3, 1);
}
END_TEST

static const char own_csv[] =
    "# ppsim.samples 1\n# device: my GPU\n# anything\n\n"
    "class, tokens,square_sum,seconds,p10_s,p90_s,repeats,cold,bytes,ranks,library\n"
    "gemm_fwd mlp_up,512,,1.5e-3,1.4e-3,1.75e-3,30,1,,,\n"
    "attn_fwd,512,131072,2e-3,,,,,,,\n"
    "gemm_fwd mlp_up,1024,,3e-3,,,,,,,\n"
    "send_recv,,,1e-4,,,,,1048576,8,nccl 2.29.7\n";

START_TEST(our_own_lines_are_read)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("samples-csv", own_csv, &samples);
    ck_assert_uint_eq(samples.count, 3);
    ck_assert_str_eq(samples.device, "my GPU");
    expect_times(&samples, "gemm_fwd mlp_up", 0, 512, 1.5e-3, 30);
    expect_times(&samples, "gemm_fwd mlp_up", 1, 1024, 3e-3, 0);
    ck_assert(samples.series[0].sample[0].cold && !samples.series[0].sample[1].cold);
    ck_assert_double_eq(samples.series[0].sample[0].p90_s, 1.75e-3);
    ck_assert_double_eq(samples.series[1].sample[0].at[PP_VARIABLE_SQUARES], 131072);
    ck_assert_int_eq(samples.series[2].ranks, 8);
    ck_assert_str_eq(samples.series[2].library, "nccl 2.29.7");
    ck_assert(samples.series[2].link && !samples.series[0].link);
}
END_TEST

START_TEST(our_own_json_is_read_as_it_was_written)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_samples again PP_CLEANUP(pp_samples_free) = { 0 };
    pp_json_build build = { 0 };
    pp_err err = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    read_as("samples-csv", own_csv, &samples);
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json_put_text(&build, root, "format", "ppsim.samples");
    pp_json_put_int(&build, root, "version", 1);
    pp_json_put_text(&build, root, "device", samples.device);
    pp_json_put(&build, root, "series", pp_samples_write(&samples, &build));
    ck_assert_int_eq(pp_json_print(&build, root, &text, &bytes, &err), PP_OK);
    read_as("samples-json", text, &again);
    free(text);
    ck_assert_str_eq(again.device, "my GPU");
    ck_assert_uint_eq(again.count, samples.count);
    for (size_t i = 0; i < again.count; i++) {
        ck_assert_str_eq(again.series[i].class_name, samples.series[i].class_name);
        ck_assert_uint_eq(again.series[i].count, samples.series[i].count);
        ck_assert_double_eq(again.series[i].sample[0].seconds, samples.series[i].sample[0].seconds);
    }
}
END_TEST

static const char bandwidths[] = "# all_reduce_perf, NCCL 2.29.7, 8 GPUs x, 8 B200 per node\n"
                                 "bytes,n8,n64\n1048576,10.00,5.0\n2097152,,0.00\n";

START_TEST(tables_of_bandwidth_are_turned_into_times)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("busbw-csv", bandwidths, &samples);
    ck_assert_uint_eq(samples.count, 2);
    ck_assert_str_eq(samples.series[0].class_name, "all_reduce");
    ck_assert_str_eq(samples.series[1].library, "nccl 2.29.7");
    ck_assert_int_eq(samples.series[1].ranks, 64);
    ck_assert_int_eq(samples.series[1].nodes, 8);
    ck_assert_uint_eq(samples.series[0].count, 1);
    const pp_sample *sample = &samples.series[1].sample[0];
    ck_assert_double_eq_tol(sample->seconds, 1048576e-9 * 2 * 63 / 64 / 5, 1e-15);
    ck_assert_double_eq_tol(sample->p90_s, 1048576e-9 * 2 * 63 / 64 / 4.95, 1e-15);
    expect_skipped(&samples, "x.log:4: a cell without a number");
    expect_skipped(&samples, "x.log:4: a bandwidth without significant digits");
}
END_TEST

/* NCCL's rule: halved until a node's share fits into the communicator's channels. */
START_TEST(tables_of_bandwidth_know_channels)
{
    static const struct {
        const char *words;
        int32_t channels, peer[4];
    } rows[] = {
        { "16 p2p channels, 4 per peer", 16, { 4, 4, 2, 1 } },
        { "32 coll channels, 16 p2p channels, 4 p2p channels per peer", 16, { 4, 4, 2, 1 } },
        { "4 per peer", 0, { 0, 0, 0, 0 } },
        { "16 channels", 0, { 0, 0, 0, 0 } }
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
        char text[256];
        snprintf(text, sizeof text,
                 "# %s, 8 per node\nbytes,n16,n32,n64,n512\n1024,1.0,1.0,1.0,1.0\n", rows[k].words);
        read_as("busbw-csv", text, &samples);
        for (size_t i = 0; i < 4; i++) {
            ck_assert_int_eq(samples.series[i].channels_max, rows[k].channels);
            ck_assert_int_eq(samples.series[i].channels_peer, rows[k].peer[i]);
        }
    }
}
END_TEST

static const struct {
    const char *import, *text, *where, *message;
} bad[] = {
    { "kineto", "{\"traceEvents\":[\n{\"ph\":\"X\"", "x:2:10", "cut off" },
    { "kineto", "{\"traceEvents\":[{\"ph\" 3}]}", "x:1:23", "a colon was expected" },
    { "kineto", "{\"traceEvents\":[1 2]}", "x:1:19", "a comma" },
    { "kineto", "{\"traceEvents\":[x]}", "x:1:17", "a value was expected" },
    { "kineto", "{\"traceEvents\":[NaN]}", "x:1", "contains no range of an op" },
    { "kineto", "{\"traceEvents\":{}}", "x:1:16", "\"traceEvents\": an array was expected" },
    { "kineto", "{\"traceEvents\":[]} x", "x:1:20", "there is text after the end" },
    { "kineto", "{\"traceEvents\":[]}", "x:1", "contains no range of an op" },
    { "megatron-log", "max time across ranks (ms):\n    forward-compute ...: 1.0\n", "x:2",
      "without the number of microbatches" },
    { "megatron-log", "hello\n", "x:1", "--timing-log-level 2" },
    { "samples-csv", "class,seconds\n", "x:1:1", "the first line must be" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds,tokns\n", "x:2:15", "'tokens'" },
    { "samples-csv", "# ppsim.samples 1\nclass,tokens\n", "x:2:1", "'seconds'" },
    { "samples-csv", "# ppsim.samples 1\nclass,class\n", "x:2:7", "occurs twice" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\na\n", "x:3:1", "1 cells" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\na,0\n", "x:3:3", "must be from" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\na,-1\n", "x:3:3", "is not a number" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\na, nan\n", "x:3:4", "is not a number" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\na,1e400\n", "x:3:3", "is not a number" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\n,1\n", "x:3:1", "may not be empty" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\n\"a\",1\n", "x:3:1", "quotes" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds,ranks\na,1,1.5\n", "x:3:5", "whole number" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds,p10_s,p90_s\na,1,3,2\n", "x:3:1", "above" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\n", "x:1", "holds no sample" },
    { "samples-json", "{\"format\":\"ppsim.samples\",\"version\":2,\"series\":[]}", "x#/version",
      "1" },
    { "samples-json", "{\"format\":\"ppsim.samples\",\"version\":1,\"series\":[]}", "x:1",
      "no sample" },
    { "busbw-csv", "bytes,n1\n1,1\n", "x:1:7", "at least 2" },
    { "busbw-csv", "bytes,n2\n1,1,1\n", "x:2:1", "3 cells" },
    { "busbw-csv", "bytes,n2\n1,nan\n", "x:2:3", "is not a number" },
    { "busbw-csv", "bytes,n2\n0,1\n", "x:2:1", "must be from" },
};

/* The profile has one device, whichever file names it; a file that names none is reported. */
START_TEST(a_file_without_a_device_does_not_take_that_of_another)
{
    static const char anonymous[] = "# ppsim.samples 1\nclass,tokens,seconds\nmlp_fwd,256,1e-3\n";
    for (int first = 0; first < 2; first++) {
        pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
        read_as(first ? "samples-csv" : "kineto", first ? anonymous : gpu_trace, &samples);
        read_as(first ? "kineto" : "samples-csv", first ? gpu_trace : anonymous, &samples);
        ck_assert_str_eq(samples.device, "NVIDIA H200");
        expect_skipped(
            &samples,
            first
                ? "x.log: was measured on NVIDIA H200; the files before it do not name their device"
                : "x.log: does not name the device it was measured on; other files were measured "
                  "on NVIDIA H200");
    }
}
END_TEST

START_TEST(tables_of_bandwidth_say_device_and_source)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    read_as("busbw-csv",
            "# device: NVIDIA B200\n# source: a page\nbytes,n16,n32\n1048576,18.01,18.03\n",
            &samples);
    ck_assert_uint_eq(samples.count, 2);
    ck_assert_str_eq(samples.device, "NVIDIA B200");
    ck_assert_str_eq(samples.series[0].source, "a page");
    ck_assert_str_eq(samples.series[1].source, "a page");
}
END_TEST

START_TEST(bad_files_are_refused_at_their_place)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    const pp_import *import = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_import_get(bad[_i].import, &import, &err), PP_OK);
    ck_assert_int_eq(
        pp_import_read(import, bad[_i].text, strlen(bad[_i].text), "x", &samples, &err), PP_INPUT);
    ck_assert_str_eq(err.where, bad[_i].where);
    ck_assert_msg(strstr(err.text, bad[_i].message), "%s", err.text);
    ck_assert_uint_eq(samples.count, 0);
}
END_TEST

START_TEST(deep_nesting_is_refused)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    pp_text_add(&text, "{\"traceEvents\":[");
    for (int i = 0; i < 100000; i++)
        pp_text_add_bytes(&text, "[", 1);
    ck_assert_int_eq(pp_import_read(NULL, text.data, text.bytes, "x", &samples, &err), PP_INPUT);
    ck_assert(strstr(err.text, "nested too deeply"));
}
END_TEST

/* Two files make one profile; a third one that fails leaves it unchanged. */
START_TEST(files_add_up)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    read_as("samples-csv", own_csv, &samples);
    read_as("kineto", gpu_trace, &samples);
    ck_assert_uint_eq(samples.count, 6);
    ck_assert_str_eq(samples.device, "my GPU");
    expect_skipped(&samples, "was measured on NVIDIA H200, other files on my GPU");
    ck_assert_int_eq(pp_import_read(NULL, "hello", 5, "x", &samples, &err), PP_INPUT);
    ck_assert(strstr(err.text, "nccl-tests, rccl-tests"));
    ck_assert_uint_eq(samples.count, 6);
}
END_TEST

START_TEST(an_unknown_import_is_reported_with_the_nearest)
{
    const pp_import *import = NULL;
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    pp_err io = { 0 };
    ck_assert_int_eq(pp_import_get("kinetto", &import, &err), PP_USAGE);
    ck_assert(strstr(err.text, "'kineto'"));
    ck_assert_int_eq(pp_import_argument("kineto=/nowhere/file", &samples, &io), PP_IO);
    ck_assert(strncmp(io.where, "/nowhere/file", 13) == 0);
}
END_TEST

/* Writes the fixtures of this file as corpora for tests/fuzz/import.c into `folder`. */
static void write_corpora(const char *folder)
{
    const struct {
        const char *path, *text;
    } files[] = {
        { "import_kineto/cpu", cpu_trace },
        { "import_kineto/waiting", waiting_trace },
        { "import_kineto/gpu", gpu_trace },
        { "import_megatron/all", megatron_all },
        { "import_megatron/minmax", megatron_minmax },
        { "import_samples_csv/own", own_csv },
        { "import_busbw_csv/table", bandwidths },
        { "import_samples_json/one",
          "{\"format\":\"ppsim.samples\",\"version\":1,\"device\":\"x\",\"series\":[{\"class\":"
          "\"send_recv\",\"link\":true,\"ranks\":8,\"samples\":[{\"seconds\":0.001,\"bytes\":1024,"
          "\"p10_s\":0.0005,\"repeats\":3,\"cold\":false}]}]}" },
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].path);
        FILE *file = fopen(path, "wb");
        if (!file || fputs(files[i].text, file) < 0)
            printf("%s cannot be written\n", path);
        if (file)
            fclose(file);
    }
}

/* For tests/interop: lists the content of a file from another program, one line per series. */
static int tell(const char *path)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    if (pp_import_argument(path, &samples, &err)) {
        fprintf(stderr, "%s: %s\n", err.where, err.text);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < samples.count; i++)
        printf("%s %zu\n", samples.series[i].class_name, samples.series[i].count);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "tell") == 0)
        return tell(argv[2]);
    if (argc == 2) {
        write_corpora(argv[1]);
        return EXIT_SUCCESS;
    }
    Suite *suite = suite_create("imports");
    TCase *tc = tcase_create("files");
    tcase_add_test(tc, a_file_without_a_device_does_not_take_that_of_another);
    tcase_add_test(tc, tables_of_bandwidth_say_device_and_source);
    tcase_add_test(tc, ranges_of_a_recording_without_kernels_are_ops);
    tcase_add_test(tc, the_time_of_a_range_is_without_its_waits_for_receives);
    tcase_add_test(tc, kernels_are_summed_over_the_range_that_launched_them);
    tcase_add_test(tc, gzip_is_recognised_by_its_content_and_damage_is_reported);
    tcase_add_test(tc, a_gzip_bomb_is_refused);
    tcase_add_test(tc, megatron_timers_are_divided_by_the_microbatches);
    tcase_add_test(tc, megatron_ranks_are_stages);
    tcase_add_test(tc, megatron_max_and_old_logs_are_read);
    tcase_add_test(tc, our_own_lines_are_read);
    tcase_add_test(tc, our_own_json_is_read_as_it_was_written);
    tcase_add_test(tc, tables_of_bandwidth_are_turned_into_times);
    tcase_add_test(tc, tables_of_bandwidth_know_channels);
    tcase_add_loop_test(tc, bad_files_are_refused_at_their_place, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(tc, deep_nesting_is_refused);
    tcase_add_test(tc, files_add_up);
    tcase_add_test(tc, an_unknown_import_is_reported_with_the_nearest);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
