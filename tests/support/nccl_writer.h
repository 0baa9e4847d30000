/* Prints the output of nccl-tests and rccl-tests, in all their layouts, from a channel model of our
 * own (docs/explanation/p2p-emulation.md). The fixtures are not copies of real logs. */
#ifndef PPSIM_TESTS_SUPPORT_NCCL_WRITER_H
#define PPSIM_TESTS_SUPPORT_NCCL_WRITER_H

#include "sim/base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum nccl_layout {
    LAYOUT_OLD,      /* (a) up to 2.11: no redop and root for send/recv, "error" */
    LAYOUT_WRONG,    /* (b) 2.13 to 2.17 */
    LAYOUT_WIDE,     /* (c) from 2.17.3 on: wider, with version and name of the test */
    LAYOUT_PER_ITER, /* (d) 2.19, -I 1 -S 1: four more columns per half and a timestamp */
    LAYOUT_CPU_TIME, /* (c) with -C 1 */
    LAYOUT_RCCL,     /* (b) as rccl-tests print it */
    LAYOUT_RCCL_IN,  /* the same with -O 0: in-place times alone */
    LAYOUT_TEXT_COUNT,
    LAYOUT_JSON_1 = LAYOUT_TEXT_COUNT,
    LAYOUT_JSON_2,
    LAYOUT_JSON_3, /* with the single iterations */
    LAYOUT_COUNT,
} nccl_layout;

enum { LOG_ROWS = 12, LOG_ITERATIONS = 20 };

typedef struct nccl_log {
    nccl_layout layout;
    const char *program; /* "sendrecv_perf" */
    double bus;          /* bus bandwidth / bandwidth */
    const char *redop;   /* "sum", "none" */
    int ranks, per_node;
    int cycles;         /* -N */
    const char *label;  /* text before every line */
    const char *within; /* text after every part of a row that is printed at once; NULL: none */
    bool interleaved;   /* has lines of NCCL INFO inside and between rows */
    bool in_place_none; /* #wrong of the in-place half is N/A */
    double seconds[LOG_ROWS]; /* out: as printed */
    double bytes[LOG_ROWS];   /* out */
} nccl_log;

/* 4 to 32 channels of 20.7 GB/s, limited by a link of 365 GB/s, after 25 us. */
static double nccl_model_us(double bytes)
{
    double channels = bytes <= 64e6 ? 4 : bytes <= 140e6 ? 8 : bytes <= 280e6 ? 16 : 32;
    double bandwidth = channels * 20.7e9 < 365e9 ? channels * 20.7e9 : 365e9;
    return 25 + bytes / bandwidth * 1e6;
}

/* Like getFloatStr of nccl-tests: as many decimals as fit. */
static const char *nccl_fit(double value, int width, char *buffer)
{
    for (int decimals = 2; decimals >= 0; decimals--) {
        if (snprintf(buffer, 32, "%*.*f", width, decimals, value) <= width)
            return buffer;
    }
    snprintf(buffer, 32, "%*.*e", width, width >= 7 ? 1 : 0, value);
    return buffer;
}

static const char *nccl_time(const nccl_log *log, double us, char *buffer)
{
    if (log->layout >= LAYOUT_WIDE && log->layout <= LAYOUT_CPU_TIME)
        return nccl_fit(us, 7, buffer);
    snprintf(buffer, 32, "%7.*f", us >= 10000 ? 0 : us >= 100 ? 1 : 2, us);
    return buffer;
}

static void nccl_half(const nccl_log *log, double bytes, double us, bool in_place, pp_text *text)
{
    char time[32];
    char gb[32];
    char bus[32];
    char wrong[16] = "0";
    bool wide = log->layout >= LAYOUT_WIDE && log->layout <= LAYOUT_CPU_TIME;
    double gb_per_s = bytes / us * 1e-3;
    if (log->layout == LAYOUT_OLD)
        snprintf(wrong, sizeof wrong, "0e+00");
    if (in_place && log->in_place_none)
        snprintf(wrong, sizeof wrong, "N/A");
    nccl_time(log, log->layout == LAYOUT_CPU_TIME ? 7.5 : us, time);
    if (wide) {
        nccl_fit(gb_per_s, 6, gb);
        nccl_fit(gb_per_s * log->bus, 6, bus);
    } else {
        snprintf(gb, sizeof gb, "%6.2f", gb_per_s);
        snprintf(bus, sizeof bus, "%6.2f", gb_per_s * log->bus);
    }
    pp_text_add(text, "  %7s  %6s  %6s  %*s", time, gb, bus, wide ? 6 : 5, wrong);
    if (log->layout == LAYOUT_PER_ITER)
        pp_text_add(text, "  %7.2f  %7.2f  %7.2f  %7.2f", us * 0.9, us * 1.2, us * 1.1, 3.5);
}

static double nccl_printed(const nccl_log *log, double bytes, double us)
{
    char buffer[32];
    if (log->layout == LAYOUT_CPU_TIME)
        return bytes / (strtod(nccl_fit(bytes / us * 1e-3, 6, buffer), NULL) * 1e9);
    return strtod(nccl_time(log, us, buffer), NULL) * 1e-6;
}

static void nccl_chatter(pp_text *text, int rank)
{
    pp_text_add(text, "node-0:%d:%d [%d] NCCL INFO Channel %02d/0 : 0[0] -> 1[1] via P2P/CUMEM\n",
                1000 + rank, 2000 + rank, rank, rank);
}

/* In layouts up to 2.11, columns that a test does not need are missing. */
static bool nccl_says_redop(const nccl_log *log)
{
    return log->layout != LAYOUT_OLD || strstr(log->program, "reduce");
}

static void nccl_between(const nccl_log *log, int rank, pp_text *text)
{
    if (log->within)
        pp_text_add(text, "%s", log->within);
    if (log->interleaved)
        nccl_chatter(text, rank);
}

static void nccl_row(nccl_log *log, double bytes, pp_text *text)
{
    double us = nccl_model_us(bytes);
    pp_text_add(text, "%s%12.0f  %12.0f  %8s", log->label, bytes, bytes / 4, "float");
    if (nccl_says_redop(log))
        pp_text_add(text, "  %6s", log->redop);
    if (log->layout != LAYOUT_OLD)
        pp_text_add(text, "  %6s", "-1");
    nccl_between(log, 1, text);
    if (log->layout != LAYOUT_RCCL_IN)
        nccl_half(log, bytes, us, false, text);
    nccl_between(log, 2, text);
    nccl_half(log, bytes, us, true, text);
    if (log->layout == LAYOUT_PER_ITER)
        pp_text_add(text, "%21s", "2026-11-20 12:00:00");
    pp_text_add(text, "\n");
}

static void nccl_ranks(const nccl_log *log, pp_text *text)
{
    bool old = log->layout == LAYOUT_OLD;
    for (int rank = 0; rank < log->ranks; rank++) {
        pp_text_add(text, "%s#  %sRank %2d ", log->label, old ? " " : "", rank);
        if (!old)
            pp_text_add(text, "Group  0 ");
        pp_text_add(text, "Pid %6d on %10s-%d device %2d [%s] %s\n", 4000 + rank, "node",
                    rank / log->per_node, rank % log->per_node, old ? "0x05" : "0000:1b:00",
                    log->layout >= LAYOUT_RCCL ? "" : "NVIDIA H100 80GB HBM3");
    }
}

static void nccl_header(const nccl_log *log, pp_text *text)
{
    const char *time = log->layout == LAYOUT_CPU_TIME ? "cputime" : "time";
    const char *wrong = log->layout == LAYOUT_OLD ? "error" : "#wrong";
    bool in_place_only = log->layout == LAYOUT_RCCL_IN;
    pp_text_add(text, "%s#  %s  in-place\n%s#       size         count      type", log->label,
                in_place_only ? "" : "out-of-place", log->label);
    if (nccl_says_redop(log))
        pp_text_add(text, "   redop");
    if (log->layout != LAYOUT_OLD)
        pp_text_add(text, "    root");
    for (int half = in_place_only; half < 2; half++) {
        pp_text_add(text, "     %s   algbw   busbw  %s", time, wrong);
        if (log->layout == LAYOUT_PER_ITER)
            pp_text_add(text, "    i_min    i_max    i_p99    i_cv%%");
    }
    pp_text_add(text, "%s\n%s#        (B)    (elements)  (us)  (GB/s)  (GB/s)\n",
                log->layout == LAYOUT_PER_ITER ? "           timestamp" : "", log->label);
}

static void nccl_text(nccl_log *log, pp_text *text)
{
    bool wide = log->layout >= LAYOUT_WIDE && log->layout <= LAYOUT_CPU_TIME;
    bool old = log->layout == LAYOUT_OLD;
    const char *l = log->label;
    if (wide)
        pp_text_add(text,
                    "%s# nccl-tests version 2.19.6 nccl-headers=22902 nccl-library=22902\n"
                    "%s# Collective test starting: %s\n",
                    l, l, log->program);
    else
        pp_text_add(text, "%s+ mpirun -np %d build/%s -b 32K\n", l, log->ranks, log->program);
    pp_text_add(text,
                "%s# nThread 1 nGpus 1 minBytes 32768 maxBytes 67108864 step: 2(factor) warmup "
                "iters: 5 iters: %d %svalidation: 1%s\n%s#\n",
                l, LOG_ITERATIONS, old ? "" : "agg iters: 1 ", old ? "" : " graph: 0", l);
    if (log->layout >= LAYOUT_RCCL)
        pp_text_add(text, "%srccl-tests: Version develop:0000000\n", l);
    pp_text_add(text, "%s# Using devices\n", l);
    nccl_ranks(log, text);
    if (log->layout >= LAYOUT_RCCL)
        pp_text_add(text, "%sRCCL version : 2.22.3-HEAD:0000000\n", l);
    else if (!wide)
        pp_text_add(text, "%sNCCL version 2.12.12+cuda11.6\n", l);
    for (int rank = 0; rank < log->ranks; rank++)
        pp_text_add(text,
                    "%snode-0:1:2 [%d] NCCL INFO 24 coll channels, 24 collnet channels, 16 nvls "
                    "channels, 32 p2p channels, 16 p2p channels per peer\n",
                    l, rank);
    nccl_header(log, text);
    for (int cycle = 0; cycle < log->cycles; cycle++) {
        if (cycle > 0)
            pp_text_add(text, "%s# Testing %d cycle.\n", l, cycle + 1);
        for (int i = 0; i < LOG_ROWS; i++) {
            log->bytes[i] = (double)((int64_t)32768 << i);
            log->seconds[i] = nccl_printed(log, log->bytes[i], nccl_model_us(log->bytes[i]));
            nccl_row(log, log->bytes[i], text);
        }
    }
    pp_text_add(text, "%s# Out of bounds values : 0 OK\n%s# Avg bus bandwidth    : 50.1\n%s#\n", l,
                l, l);
    if (wide)
        pp_text_add(text, "%s# Collective test concluded: %s\n", l, log->program);
}

static void nccl_json_half(const char *key, double bytes, double us, bool in_place, double bus,
                           pp_text *text)
{
    pp_text_add(text, "\"%s\":{\"time\":%f,\"alg_bw\":%f,\"bus_bw\":%f,\"nwrong\":%s}", key, us,
                bytes / us * 1e-3, bytes / us * 1e-3 * bus, in_place ? "null" : "0.000000");
}

static void nccl_json(nccl_log *log, pp_text *text)
{
    int version = (int)log->layout - LAYOUT_JSON_1 + 1;
    pp_text_add(text,
                "{\"version\":%d,\"start_time\":\"2026-11-20 12:00:00\",\"args\":[\"build/%s\","
                "\"-J\",\"out.json\"],\"env\":[\"API_TOKEN=wholly-secret\"],\"nccl_version\":22907,"
                "\"config\":{\"nthreads\":1,\"ngpus\":1,\"minimum_bytes\":32768,\"iterations\":%d,"
                "\"blocking_collectives\":\"false\",\"parallel_init\":\"false\",\"devices\":[",
                version, log->program, LOG_ITERATIONS);
    for (int rank = 0; rank < log->ranks; rank++)
        pp_text_add(text,
                    "%s{\"rank\":%d,\"group\":0,\"pid\":%d,\"hostname\":\"node-%d\",\"device\":%d,"
                    "\"device_hex\":\"0000:1b:00\",\"device_info\":\"NVIDIA H100 80GB HBM3\"}",
                    rank ? "," : "", rank, 4000 + rank, rank / log->per_node, rank % log->per_node);
    pp_text_add(text, "]},\"results\":[");
    for (int i = 0; i < LOG_ROWS; i++) {
        char printed[32];
        double bytes = (double)((int64_t)32768 << i);
        snprintf(printed, sizeof printed, "%f", nccl_model_us(bytes));
        double us = strtod(printed, NULL);
        log->bytes[i] = bytes;
        log->seconds[i] = us * 1e-6;
        pp_text_add(text,
                    "%s{\"size\":%.0f,\"count\":%.0f,\"type\":\"float\",\"redop\":\"%s\","
                    "\"root\":\"    -1\",",
                    i ? "," : "", bytes, bytes / 4, log->redop);
        nccl_json_half("out_of_place", bytes, us, false, log->bus, text);
        if (log->layout == LAYOUT_JSON_3)
            pp_text_add(text,
                        ",\"out_of_place_per_iter\":{\"skipped_iterations\":1,\"min_us\":1.0,"
                        "\"cv_pct\":\"nan\",\"times_us\":[%f,%f,%f,%f]}",
                        us * 9, us, us * 0.5, us * 2);
        pp_text_add(text, ",");
        nccl_json_half("in_place", bytes, us, true, log->bus, text);
        pp_text_add(text, ",\"actual_iterations\":%d,\"experiment_name\":\"\"}", LOG_ITERATIONS);
    }
    pp_text_add(text,
                "],\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"},\"average_bus_bandwidth\":{"
                "\"bandwidth\":50.1,\"okay\":\"unchecked\"},\"errors\":[],\"end_time\":\"x\"}\n");
}

static void nccl_write(nccl_log *log, pp_text *text)
{
    if (log->layout >= LAYOUT_TEXT_COUNT)
        nccl_json(log, text);
    else
        nccl_text(log, text);
}

/* Send and receive among 16 ranks on 2 nodes. */
static nccl_log nccl_log_of(nccl_layout layout)
{
    return (nccl_log){ .layout = layout,
                       .program = "sendrecv_perf",
                       .bus = 1,
                       .redop = "sum",
                       .ranks = 16,
                       .per_node = 8,
                       .cycles = 1,
                       .label = "",
                       .in_place_none = true };
}

#endif
