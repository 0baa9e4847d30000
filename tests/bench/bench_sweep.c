/* Measures how many plans of a model of the size of GPT-3 a sweep makes per second, and what a plan
 * takes of a processor: 10,240 points, or 40 that follow each other in each 40 K of them with
 * --every K, with all processors or --threads N, without a file. */
#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/sweep/point.h"
#include "tools/ppsim/sweep/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *const words[] = { "bench_sweep",
                               "sweep",
                               "--model=gpt175b",
                               "--hw=a100-80g,h100-80g",
                               "--pp=4..32*2",
                               "--tp=4,8",
                               "--cp=1,2",
                               "--schedule=1f1b,zb-h1,zb-2p,zbv,interleaved",
                               "--micro-batch-size=1,2",
                               "--global-batch-size=32..1024+32" };

enum { BLOCK = 40 };

static int fail(const pp_err *err)
{
    fprintf(stderr, "bench_sweep: %s: %s\n", err->where, err->text);
    return pp_status_exit(err->status);
}

static long option(int argc, char **argv, const char *name, long value)
{
    for (int i = 1; i + 1 < argc; i += 2)
        value = strcmp(argv[i], name) == 0 ? strtol(argv[i + 1], NULL, 10) : value;
    return value;
}

/* Gives the points outside the sample an empty line. Returns the points of the sample. */
static uint32_t leave_out(pp_sweep_lines *lines, uint32_t every)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lines->points; i++) {
        if (i / BLOCK % every)
            lines->line[i] = calloc(1, 1);
        kept += !lines->line[i];
    }
    return kept;
}

int main(int argc, char **argv)
{
    pp_args *args PP_CLEANUP(pp_args_free) = NULL;
    pp_sweep sweep PP_CLEANUP(pp_sweep_free) = { .shards = 1 };
    pp_sweep_lines lines PP_CLEANUP(pp_sweep_lines_free) = { 0 };
    pp_sweep_file file PP_CLEANUP(pp_sweep_file_close) = { 0 };
    pp_sweep_work *work PP_CLEANUP(pp_sweep_work_free) = NULL;
    pp_err err = { 0 };
    pp_alloc_keep_freed(); /* as the program does */
    const long threads = option(argc, argv, "--threads", sysconf(_SC_NPROCESSORS_ONLN));
    const long every = option(argc, argv, "--every", 1);
    if (threads < 1 || threads > 1024 || every < 1 || every > 1000 || argc % 2 == 0) {
        fputs("usage: bench_sweep [--threads N] [--every K]\n", stderr);
        return EXIT_FAILURE;
    }
    if (pp_args_parse(&pp_command_sweep, (int)(sizeof words / sizeof words[0]), (char **)words,
                      &args, &err) ||
        pp_grid_read(args, pp_command_sweep.options, &sweep.grid, &err) ||
        pp_sweep_load(&sweep, &err) || pp_sweep_check(&sweep, &err) ||
        pp_sweep_lines_new(sweep.grid.points, &lines, &err))
        return fail(&err);
    const uint32_t points = leave_out(&lines, (uint32_t)every);
    if (pp_sweep_work_new(&sweep, &file, &lines, &work, &err))
        return fail(&err);
    const clock_t begin = clock(); /* of all threads */
    const int64_t begin_ns = pp_clock_now_ns();
    pp_sweep_compute(work, (uint32_t)threads);
    const double seconds = (double)(pp_clock_now_ns() - begin_ns) * 1e-9;
    const double work_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (pp_sweep_result(work, &err))
        return fail(&err);
    printf("%" PRIu32 " points, %ld threads: %.1f s, %.1f points/s, %.1f ms of a processor per "
           "point\n",
           points, threads, seconds, points / seconds, work_s * 1e3 / points);
    return EXIT_SUCCESS;
}
