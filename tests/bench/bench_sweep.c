/* Measures how many plans of a model of the size of GPT-3 a sweep makes per second: 10,240 points,
 * with all processors or --threads N, without a file. */
#include "runtime/core/clock.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/sweep/point.h"
#include "tools/ppsim/sweep/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int fail(const pp_err *err)
{
    fprintf(stderr, "bench_sweep: %s: %s\n", err->where, err->text);
    return pp_status_exit(err->status);
}

int main(int argc, char **argv)
{
    pp_args *args PP_CLEANUP(pp_args_free) = NULL;
    pp_sweep sweep PP_CLEANUP(pp_sweep_free) = { .shards = 1 };
    pp_sweep_lines lines PP_CLEANUP(pp_sweep_lines_free) = { 0 };
    pp_sweep_file file PP_CLEANUP(pp_sweep_file_close) = { 0 };
    pp_sweep_work *work PP_CLEANUP(pp_sweep_work_free) = NULL;
    pp_err err = { 0 };
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long threads =
        argc == 3 && strcmp(argv[1], "--threads") == 0 ? strtol(argv[2], NULL, 10) : processors;
    if (threads < 1 || threads > 1024 || argc == 2 || argc > 3) {
        fputs("usage: bench_sweep [--threads N]\n", stderr);
        return EXIT_FAILURE;
    }
    if (pp_args_parse(&pp_command_sweep, (int)(sizeof words / sizeof words[0]), (char **)words,
                      &args, &err) ||
        pp_grid_read(args, pp_command_sweep.options, &sweep.grid, &err) ||
        pp_sweep_load(&sweep, &err) || pp_sweep_check(&sweep, &err) ||
        pp_sweep_lines_new(sweep.grid.points, &lines, &err) ||
        pp_sweep_work_new(&sweep, &file, &lines, &work, &err))
        return fail(&err);
    int64_t begin_ns = pp_clock_now_ns();
    pp_sweep_compute(work, (uint32_t)threads);
    double seconds = (double)(pp_clock_now_ns() - begin_ns) * 1e-9;
    if (pp_sweep_result(work, &err))
        return fail(&err);
    printf("%" PRIu32 " points, %ld threads: %.1f s, %.1f points/s\n", lines.done, threads, seconds,
           lines.done / seconds);
    return EXIT_SUCCESS;
}
