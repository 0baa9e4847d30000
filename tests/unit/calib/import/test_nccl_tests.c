/* Logs of nccl-tests and rccl-tests. With a folder as its argument, this program writes the logs
 * there: the corpus import_nccl of tests/fuzz/import.c. */
#include "calib/import/import_read.h"
#include "tests/support/nccl_writer.h"

#include <check.h>
#include <math.h>

static const pp_import *import_of(nccl_layout layout)
{
    const pp_import *import = NULL;
    pp_err err = { 0 };
    bool rccl = layout == LAYOUT_RCCL || layout == LAYOUT_RCCL_IN;
    ck_assert_int_eq(pp_import_get(rccl ? "rccl-tests" : "nccl-tests", &import, &err), PP_OK);
    return import;
}

static pp_status read_any(const char *text, size_t bytes, pp_samples *samples, pp_err *err)
{
    return pp_import_read(NULL, text, bytes, "folder/x.log", samples, err);
}

static void expect_rows(const nccl_log *log, const pp_series *series)
{
    ck_assert_uint_eq(series->count, (size_t)LOG_ROWS * (size_t)log->cycles);
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *sample = &series->sample[i];
        ck_assert_double_eq(sample->at[PP_VARIABLE_BYTES], log->bytes[i % LOG_ROWS]);
        ck_assert_double_eq_tol(sample->seconds, log->seconds[i % LOG_ROWS],
                                1e-15 * log->seconds[i % LOG_ROWS]);
        ck_assert_uint_eq(sample->pass, i / LOG_ROWS);
        ck_assert(isnan(sample->at[PP_VARIABLE_TOKENS]));
    }
}

static void expect_skipped(const pp_samples *samples, const char *text)
{
    ck_assert_msg(samples->skipped && strstr(samples->skipped, text), "'%s' not in: %s", text,
                  samples->skipped);
}

/* Names of hosts and the environment are not copied. */
static void expect_discreet(const pp_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        ck_assert(!strstr(samples->series[i].source, "node-"));
        ck_assert(!samples->skipped || !strstr(samples->skipped, "folder/"));
        ck_assert_str_eq(samples->series[i].source, "x.log");
    }
    ck_assert(!samples->skipped ||
              (!strstr(samples->skipped, "node-") && !strstr(samples->skipped, "wholly-secret")));
}

START_TEST(every_layout_is_read_back_as_it_was_written)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(&log, &text);
    ck_assert(import_of(log.layout)->recognise(text.data, text.bytes));
    ck_assert_msg(read_any(text.data, text.bytes, &samples, &err) == PP_OK, "%s: %s", err.where,
                  err.text);
    bool rccl = log.layout == LAYOUT_RCCL || log.layout == LAYOUT_RCCL_IN;
    bool json = log.layout >= LAYOUT_JSON_1;
    bool wide = log.layout >= LAYOUT_WIDE && log.layout <= LAYOUT_CPU_TIME;
    ck_assert_uint_eq(samples.count, 1);
    const pp_series *series = &samples.series[0];
    ck_assert_str_eq(series->class_name, "send_recv");
    ck_assert(series->link);
    ck_assert_int_eq(series->ranks, 16);
    ck_assert_int_eq(series->nodes, 2);
    ck_assert_int_eq(series->channels_max, json ? 0 : 32);
    ck_assert_int_eq(series->channels_peer, json ? 0 : 16);
    ck_assert_str_eq(series->library, rccl   ? "rccl 2.22.3"
                                      : json ? "nccl 2.29.7"
                                      : wide ? "nccl 2.29.2"
                                             : "nccl 2.12.12");
    ck_assert_str_eq(samples.device, rccl ? "" : "NVIDIA H100 80GB HBM3");
    expect_rows(&log, series);
    expect_discreet(&samples);
    ck_assert_uint_eq(series->sample[0].repeats, log.layout == LAYOUT_JSON_3 ? 3 : LOG_ITERATIONS);
    if (log.layout == LAYOUT_JSON_3) {
        ck_assert_double_eq_tol(series->sample[0].p10_s, log.seconds[0] * 0.5, 1e-11);
        ck_assert_double_eq_tol(series->sample[0].p90_s, log.seconds[0] * 2, 1e-11);
    }
}
END_TEST

static const struct {
    const char *program, *class_name, *redop;
    double bus;
    bool in_place_none;
} tests[] = {
    { "sendrecv_perf", "send_recv", "sum", 1, true },
    { "all_reduce_perf", "all_reduce", "sum", 2 * 15.0 / 16, false },
    { "all_gather_perf", "all_gather", "none", 15.0 / 16, false },
    { "reduce_scatter_perf", "reduce_scatter", "sum", 15.0 / 16, false },
    { "alltoall_perf", "all_to_all", "none", 15.0 / 16, true },
};
enum { TESTS = sizeof tests / sizeof tests[0] };

static nccl_log test_log(int test, nccl_layout layout)
{
    nccl_log log = nccl_log_of(layout);
    log.program = tests[test].program;
    log.redop = tests[test].redop;
    log.bus = tests[test].bus;
    log.in_place_none = tests[test].in_place_none;
    return log;
}

START_TEST(several_tests_in_a_log_are_several_series)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_log log = nccl_log_of(LAYOUT_WIDE);
    for (int i = 0; i < TESTS; i++) {
        log = test_log(i, (nccl_layout)_i);
        log.ranks = 16 - i;
        nccl_write(&log, &text);
        pp_text_add(&text, "\n");
    }
    ck_assert_msg(read_any(text.data, text.bytes, &samples, &err) == PP_OK, "%s", err.text);
    ck_assert_uint_eq(samples.count, TESTS);
    for (size_t i = 0; i < TESTS; i++) {
        ck_assert_str_eq(samples.series[i].class_name, tests[i].class_name);
        ck_assert_int_eq(samples.series[i].ranks, 16 - (int)i);
        expect_rows(&log, &samples.series[i]);
    }
}
END_TEST

/* Pasted tables have neither the name of the test nor ranks. */
START_TEST(a_table_alone_is_known_by_its_bandwidths)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_log log = test_log(_i, LAYOUT_WRONG);
    nccl_write(&log, &text);
    const char *table = strstr(text.data, "#       size");
    size_t bytes = text.bytes - (size_t)(table - text.data);
    ck_assert_msg(read_any(table, bytes, &samples, &err) == PP_OK, "%s", err.text);
    ck_assert_str_eq(samples.series[0].class_name, tests[_i].class_name);
    ck_assert_int_eq(samples.series[0].ranks, 0);
    expect_rows(&log, &samples.series[0]);
    expect_skipped(&samples, "the test has no name; its bandwidths are those of ");
}
END_TEST

START_TEST(rows_alone_are_read_by_their_number_of_columns)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    static const char rows[] =
        "# Collective test starting: sendrecv_perf\n"
        "  1048576  262144  float  sum  -1  50.00  20.97  20.97  0  50.00  20.97  20.97  N/A\n";
    ck_assert_msg(read_any(rows, strlen(rows), &samples, &err) == PP_USAGE ||
                      pp_import_read(import_of(LAYOUT_WIDE), rows, strlen(rows), "x.log", &samples,
                                     &err) == PP_OK,
                  "%s", err.text);
    ck_assert_uint_eq(samples.series[0].count, 1);
    ck_assert_double_eq_tol(samples.series[0].sample[0].seconds, 50e-6, 1e-18);
}
END_TEST

static void expect_same(nccl_log *log)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(log, &text);
    ck_assert_msg(read_any(text.data, text.bytes, &samples, &err) == PP_OK, "%s", err.text);
    ck_assert_uint_eq(samples.count, 1);
    ck_assert_int_eq(samples.series[0].ranks, 16);
    expect_rows(log, &samples.series[0]);
    expect_discreet(&samples);
}

START_TEST(lines_of_nccl_between_and_within_rows_do_no_harm)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    log.interleaved = true;
    expect_same(&log);
}
END_TEST

static const char *const labels[] = {
    "0: ", " 3: ", "[1,0]<stdout>:",    "[1,0]<stdout>: ", "[0] ", "[0]",
    "0:",  "> ",   "[pod/a-0/worker] ",
};
enum { LABELS = sizeof labels / sizeof labels[0] };

START_TEST(labels_of_launchers_do_no_harm)
{
    nccl_log log = nccl_log_of(_i < LABELS ? LAYOUT_WIDE : LAYOUT_WRONG);
    log.label = labels[_i % LABELS];
    expect_same(&log);
}
END_TEST

/* mpiexec -prepend-rank labels whatever is printed at once. */
START_TEST(labels_within_rows_do_no_harm)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    log.label = "[0] ";
    log.within = "[0]";
    expect_same(&log);
    log.within = "\n[0] ";
    expect_same(&log);
}
END_TEST

START_TEST(times_in_front_of_lines_do_no_harm)
{
    nccl_log log = nccl_log_of(LAYOUT_WIDE);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    int second = 0;
    log.label = "2026-01-28T14:50:00.123Z ";
    nccl_write(&log, &text);
    for (char *at = text.data; (at = strstr(at, ":00.123Z")); at += 8, second++) {
        at[1] = (char)('0' + second / 10 % 6);
        at[2] = (char)('0' + second % 10);
    }
    ck_assert_int_gt(second, 30);
    ck_assert_msg(read_any(text.data, text.bytes, &samples, &err) == PP_OK, "%s", err.text);
    ck_assert_int_eq(samples.series[0].ranks, 16);
    expect_rows(&log, &samples.series[0]);
}
END_TEST

/* From 2.17.9 on, rccl-tests print their versions like nccl-tests. */
START_TEST(versions_of_rccl_are_those_of_nccl)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    static const char log[] =
        "# rccl-tests version 2.17.9-x:f2 rccl-headers=22803 rccl-library=22803\n"
        "# Collective test starting: sendrecv_perf\n# nThread 1\n"
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        "  1048576  262144  float  sum  -1  50.00  20.97  20.97  0  50.00  20.97  20.97  N/A\n";
    ck_assert_msg(read_any(log, strlen(log), &samples, &err) == PP_OK, "%s", err.text);
    ck_assert_str_eq(samples.series[0].library, "rccl 2.28.3");
}
END_TEST

START_TEST(cycles_are_passes)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    log.cycles = 3;
    expect_same(&log);
}
END_TEST

/* Like pages that show logs and take "#" for a headline. */
START_TEST(lost_marks_of_comments_do_no_harm)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(&log, &text);
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == '#' && (i == 0 || text.data[i - 1] == '\n'))
            text.data[i] = ' ';
    }
    ck_assert_msg(pp_import_read(import_of(log.layout), text.data, text.bytes, "x.log", &samples,
                                 &err) == PP_OK,
                  "%s", err.text);
    ck_assert_int_eq(samples.series[0].ranks, 16);
    ck_assert_str_eq(samples.series[0].class_name, "send_recv");
    expect_rows(&log, &samples.series[0]);
}
END_TEST

START_TEST(a_missing_rank_makes_their_number_unknown)
{
    nccl_log log = nccl_log_of(LAYOUT_WIDE);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(&log, &text);
    memcpy(strstr(text.data, "Rank  3"), "Rnak", 4);
    ck_assert_int_eq(read_any(text.data, text.bytes, &samples, &err), PP_OK);
    ck_assert_int_eq(samples.series[0].ranks, 0);
    ck_assert_int_eq(samples.series[0].nodes, 0);
    expect_skipped(&samples, "ranks are missing from the list of devices");
}
END_TEST

/* Like files that were saved by some editors. */
START_TEST(tabs_and_a_byte_order_mark_do_no_harm)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text tabs PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(&log, &text);
    pp_text_add(&tabs, "\xef\xbb\xbf");
    for (size_t i = 0; i < text.bytes; i++) {
        if (strncmp(text.data + i, "  ", 2) != 0)
            pp_text_add(&tabs, "%c", text.data[i]);
        else if (strncmp(text.data + i, "   ", 3) != 0)
            pp_text_add(&tabs, "\t");
    }
    ck_assert_msg(pp_import_read(import_of(log.layout), tabs.data, tabs.bytes, "x.log", &samples,
                                 &err) == PP_OK,
                  "%s", err.text);
    ck_assert_int_eq(samples.series[0].ranks, 16);
    expect_rows(&log, &samples.series[0]);
}
END_TEST

START_TEST(a_line_of_megabytes_does_no_harm)
{
    static const char *const parts[] = { "x",
                                         "1 2 ",
                                         "# ",
                                         "#",
                                         "sendrecv_perf ",
                                         "[0]",
                                         "node-0:1:2 [0] NCCL INFO 1 p2p channels per peer" };
    nccl_log log = nccl_log_of(LAYOUT_WIDE);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text dressed PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(&log, &text);
    const char *end = strstr(text.data, "# Out of bounds");
    pp_text_add_bytes(&dressed, text.data, (size_t)(end - text.data));
    while (dressed.bytes < 4 << 20)
        pp_text_add(&dressed, "%s", parts[_i]);
    pp_text_add(&dressed, "\n%s", end);
    ck_assert_int_eq(read_any(dressed.data, dressed.bytes, &samples, &err), PP_OK);
    ck_assert_int_eq(samples.series[0].channels_max, 32);
    expect_rows(&log, &samples.series[0]);
}
END_TEST

START_TEST(windows_line_ends_do_no_harm)
{
    nccl_log log = nccl_log_of(LAYOUT_WIDE);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text crlf PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    nccl_write(&log, &text);
    for (size_t i = 0; i < text.bytes; i++)
        pp_text_add(&crlf, text.data[i] == '\n' ? "\r%c" : "%c", text.data[i]);
    ck_assert_int_eq(read_any(crlf.data, crlf.bytes, &samples, &err), PP_OK);
    expect_rows(&log, &samples.series[0]);
}
END_TEST

/* Wherever a file is cut off, the rows that are read are correct, or an error is reported. */
START_TEST(every_truncation_is_reported_or_read_rightly)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    log.interleaved = log.layout == LAYOUT_WIDE;
    nccl_write(&log, &text);
    for (size_t bytes = 0; bytes < text.bytes; bytes += 7) {
        pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
        pp_err err = { 0 };
        pp_status status =
            pp_import_read(import_of(log.layout), text.data, bytes, "x.log", &samples, &err);
        if (status) {
            ck_assert_int_eq(status, PP_INPUT);
            ck_assert(err.text[0] && strncmp(err.where, "x.log", 5) == 0);
            ck_assert_uint_eq(samples.count, 0);
            continue;
        }
        ck_assert_uint_eq(samples.count, 1);
        ck_assert_uint_le(samples.series[0].count, LOG_ROWS);
        for (size_t i = 0; i < samples.series[0].count; i++)
            ck_assert_double_eq_tol(samples.series[0].sample[i].seconds, log.seconds[i],
                                    1e-12 * log.seconds[i]);
    }
}
END_TEST

/* A row of a table whose other row is correct, and the message about it. */
static const struct {
    const char *row, *reason;
} bad_rows[] = {
    { "  2097152  524288  float  sum  -1  nan  20.97  20.97  0  50.00  20.97  20.97  N/A",
      "x.log:4: a row whose time or bandwidth is not a number" },
    { "  2097152  524288  float  sum  -1  -100.00  20.97  20.97  0  5.0  20.97  20.97  N/A",
      "is not a number" },
    { "  2097152  524288  float  sum  -1  0x64  20.97  20.97  0  5.0  20.97  20.97  N/A",
      "is not a number" },
    { "  2097152  524288  float  sum  -1  1e999  20.97  20.97  0  5.0  20.97  20.97  N/A",
      "is not a number" },
    { "  2097152  524288  float  sum  -1  N/A  N/A  N/A  N/A  50.00  20.97  20.97  N/A", "(N/A)" },
    { "  2097152  524288  float  sum  -1  0.00  0.00  0.00  0  50.00  20.97  20.97  N/A",
      "is 0, negative" },
    { "  2097152  524288  float  sum  -1  100.00  999.99  20.97  0  5.0  20.97  20.97  N/A",
      "does not fit its bandwidth" },
    { "  2097152  524288  float  sum  -1  100.00  20.97  20.97  7  5.0  20.97  20.97  N/A",
      "wrong results" },
    { "  2097152  524288  float  sum  -1  100.00  20.97  20.97  0  5.0  20.97  20.97  N/A  1",
      "another number of columns" },
    { "  99999999999999999999  524288  float  sum  -1  1.0  20.97  20.97  0  5.0  2.9  2.9  N/A",
      "lines of other output" },
    { "  9999999999999999999999999999999999  1  float", "lines of other output" },
    { "  1125899906842625  524288  float  sum  -1  1.0  20.97  20.97  0  5.0  2.9  2.9  N/A",
      "above 2^50 bytes" },
    { "  0  0  float  sum  -1  1.0  0.00  0.00  0  5.0  2.9  2.9  N/A", "0 bytes" },
    { "  2097152  524288  float  sum  -1  100.00  20.97", "a row that was cut off" },
    { "\x01\x02\xff garbage", "lines of other output" },
};

START_TEST(bad_rows_are_left_out_and_reported)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    pp_text_add(
        &text,
        "# nThread 1\n# Collective test starting: sendrecv_perf\n"
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n%s\n"
        "  1048576  262144  float  sum  -1  50.00  20.97  20.97  0  5.0  20.97  20.97  N/A\n",
        bad_rows[_i].row);
    ck_assert_msg(read_any(text.data, text.bytes, &samples, &err) == PP_OK, "%s", err.text);
    ck_assert_uint_eq(samples.series[0].count, 1);
    expect_skipped(&samples, bad_rows[_i].reason);
}
END_TEST

static const struct {
    const char *text, *message;
} bad_logs[] = {
    { "", "is empty" },
    { "hello\n", "is not in a known format of measurements" },
    { "\xff\xfe#\0 \0n\0T", "is UTF-16; convert it with iconv -f UTF-16 -t UTF-8" },
    { "\xfe\xff\0#\0 \0n\0T", "is UTF-16" },
    { "# nThread 1\n", "contains no usable table of nccl-tests" },
    { "# nThread 1\n# Rank 0 Pid 1 on a device 0 [0x1] X\n# Rank 0 Pid 2 on b device 0 [0x1] X\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "  1048576  262144  float  sum  -1  50.00  20.97  20.97  0  50.00  20.97  20.97  N/A\n",
      "a rank occurs twice" },
    { "# nThread 1\n# Rank 0 Pid 1 on a device 0 [0x1] X\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "  1048576  262144  float  sum  -1  50.00  20.97  20.97  0  50.00  20.97  20.97  N/A\n",
      "nothing crosses a link" },
    { "# Collective test starting: broadcast_perf\n# nThread 1\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "  1048576  262144  float  none  0  50.00  20.97  20.97  0  50.00  20.97  20.97  0\n",
      "a test that is not used" },
    { "# nThread 1\n# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "  1048576  262144  float  none  0  50.00  20.97  20.97  0  50.00  20.97  20.97  0\n",
      "does not name the test" },
    { "{\"nccl_version\":22907,\"args\":[\"sendrecv_perf\"],\"env\":[\"KEY=secret",
      "is not complete JSON" },
    { "{\"version\":4,\"nccl_version\":22907,\"args\":[\"sendrecv_perf\"]}", "from 1 to 3" },
    { "{\"version\":1,\"nccl_version\":22907,\"args\":[\"sendrecv_perf\"],\"config\":{\"devices\":"
      "[{\"rank\":0},{\"rank\":1}]},\"results\":[{\"size\":1048576,\"out_of_place\":{\"time\":"
      "\"nan\"}}]}",
      "is not a positive number" },
};

START_TEST(bad_logs_are_refused_with_the_reason)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    const char *text = bad_logs[_i].text;
    ck_assert_int_eq(read_any(text, strlen(text), &samples, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, bad_logs[_i].message), "%s", err.text);
    ck_assert(!strstr(err.text, "secret"));
    ck_assert_uint_eq(samples.count, 0);
}
END_TEST

static void write_corpus(const char *folder)
{
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        static const char *const kinds[] = { "", "-mixed", "-labelled" };
        for (int kind = 0; kind < 3; kind++) {
            nccl_log log = nccl_log_of((nccl_layout)layout);
            pp_text text PP_CLEANUP(pp_text_free) = { 0 };
            char path[4096];
            log.interleaved = kind == 1;
            log.label = kind == 2 ? "[0] " : "";
            log.within = kind == 2 ? "[0]" : NULL;
            log.ranks = 4;
            log.per_node = 2;
            nccl_write(&log, &text);
            snprintf(path, sizeof path, "%s/layout-%d%s", folder, layout, kinds[kind]);
            FILE *file = fopen(path, "wb");
            if (!file || fwrite(text.data, 1, text.bytes, file) != text.bytes)
                printf("%s cannot be written\n", path);
            if (file)
                fclose(file);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        write_corpus(argv[1]);
        return EXIT_SUCCESS;
    }
    Suite *suite = suite_create("import nccl");
    TCase *tc = tcase_create("logs");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_layout_is_read_back_as_it_was_written, 0, LAYOUT_COUNT);
    tcase_add_loop_test(tc, several_tests_in_a_log_are_several_series, LAYOUT_OLD, LAYOUT_RCCL);
    tcase_add_loop_test(tc, a_table_alone_is_known_by_its_bandwidths, 0, TESTS);
    tcase_add_test(tc, rows_alone_are_read_by_their_number_of_columns);
    tcase_add_loop_test(tc, lines_of_nccl_between_and_within_rows_do_no_harm, LAYOUT_OLD,
                        LAYOUT_TEXT_COUNT);
    tcase_add_loop_test(tc, labels_of_launchers_do_no_harm, 0, 2 * LABELS);
    tcase_add_loop_test(tc, labels_within_rows_do_no_harm, LAYOUT_OLD, LAYOUT_TEXT_COUNT);
    tcase_add_test(tc, times_in_front_of_lines_do_no_harm);
    tcase_add_test(tc, versions_of_rccl_are_those_of_nccl);
    tcase_add_loop_test(tc, cycles_are_passes, 0, LAYOUT_TEXT_COUNT);
    tcase_add_loop_test(tc, lost_marks_of_comments_do_no_harm, 0, LAYOUT_TEXT_COUNT);
    tcase_add_test(tc, a_missing_rank_makes_their_number_unknown);
    tcase_add_test(tc, windows_line_ends_do_no_harm);
    tcase_add_loop_test(tc, tabs_and_a_byte_order_mark_do_no_harm, 0, LAYOUT_TEXT_COUNT);
    tcase_add_loop_test(tc, a_line_of_megabytes_does_no_harm, 0, 7);
    tcase_add_loop_test(tc, every_truncation_is_reported_or_read_rightly, 0, LAYOUT_COUNT);
    tcase_add_loop_test(tc, bad_rows_are_left_out_and_reported, 0,
                        (int)(sizeof bad_rows / sizeof bad_rows[0]));
    tcase_add_loop_test(tc, bad_logs_are_refused_with_the_reason, 0,
                        (int)(sizeof bad_logs / sizeof bad_logs[0]));
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
