/* ppsim sweep: computes many plans or simulations and writes one line for each into a file. A sweep
 * that was killed continues from its file. */
#include "runtime/module/module.h"
#include "sim/base/file.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/plan/interrupt.h"
#include "tools/ppsim/sweep/point.h"
#include "tools/ppsim/sweep/print.h"
#include "tools/ppsim/sweep/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024

static const pp_option options[] = {
    { PP_ROW("--study", "plan|simulate", POINTS, "command that each point runs", "plan") },
    { PP_ROW("--grid", "FILE", POINTS,
             "file with the command and the values (ppsim.sweep in docs/reference/formats.md)",
             NULL) },
    { PP_ROW("--shard", "I/N", POINTS,
             "run only every Nth point, beginning with point I (0 to N-1), for job arrays", NULL) },
    { PP_ROW("--threads", "N", POINTS, "worker threads. They do not change the results",
             "all processors") },
    { PP_ROW("--merge", NULL, POINTS,
             "merge the files of the shards of one sweep, if no point is missing", NULL) },
    { PP_ROW("--csv", "FILE", OUTPUT,
             "write all points as CSV. With - it goes to stdout, in place of the table", NULL) },
    { PP_ROW("--top", "N", OUTPUT, "number of best points to show for each model", "10") },
    { PP_ROW_END },
};

/* The objects that the command owns. */
typedef struct sweeping {
    pp_sweep sweep;
    pp_sweep_lines lines;
    pp_sweep_file file;
    pp_sweep_work *work;
    int64_t threads, top;
} sweeping;

static void sweeping_free(sweeping *s)
{
    pp_sweep_work_free(&s->work);
    pp_sweep_file_close(&s->file);
    pp_sweep_lines_free(&s->lines);
    pp_sweep_free(&s->sweep);
}

static pp_status read_shard(const pp_args *args, pp_sweep *sweep, pp_err *err)
{
    const char *text = pp_args_text(args, "--shard");
    const char *slash = text ? strchr(text, '/') : NULL;
    char shard[16];
    int64_t i = 0;
    int64_t n = 1;
    pp_err ignored = { 0 };
    if (slash)
        snprintf(shard, sizeof shard, "%.*s", (int)(slash - text), text);
    if (text &&
        (!slash || pp_parse_int(slash + 1, "--shard", 1, PP_SWEEP_POINTS_MAX, &n, &ignored) ||
         pp_parse_int(shard, "--shard", 0, n - 1, &i, &ignored)))
        return pp_err_set(err, PP_USAGE, "--shard",
                          "'%.64s' must be I/N with I from 0 to N - 1, for example 0/4", text);
    sweep->shard = (uint32_t)i;
    sweep->shards = (uint32_t)n;
    return PP_OK;
}

static pp_status read_options(const pp_args *args, sweeping *s, pp_err *err)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const char *path = pp_args_text(args, "-o");
    s->threads = processors > 0 ? processors : 1;
    s->top = 10;
    if (path && strcmp(path, "-") == 0)
        return pp_err_set(err, PP_USAGE, "-o",
                          "needs a file, from which the next run can continue; the best points are "
                          "printed to stdout");
    pp_status status = pp_args_int(args, "--threads", 1, THREADS_MAX, &s->threads, err);
    if (!status)
        status = pp_args_int(args, "--top", 0, PP_SWEEP_POINTS_MAX, &s->top, err);
    return status ? status : read_shard(args, &s->sweep, err);
}

/* Writes the file of --csv, and prints the table, or JSON, unless the CSV went to stdout. */
static pp_status print(const pp_args *args, const sweeping *s, pp_err *err)
{
    const char *path = pp_args_text(args, "--csv");
    pp_text csv PP_CLEANUP(pp_text_free) = { 0 };
    pp_text json PP_CLEANUP(pp_text_free) = { 0 };
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    const bool is_json = pp_args_has(args, "--json");
    pp_status status = PP_OK;
    if (is_json)
        status = pp_sweep_print_json(&s->sweep, &s->lines, (size_t)s->top, &json, err);
    if (!status && pp_prints_words(args))
        status = pp_sweep_print(&s->sweep, &s->lines, (size_t)s->top, &words, err);
    if (!status && path)
        status = pp_sweep_print_csv(&s->sweep, &s->lines, &csv, err);
    if (!status && path)
        status = pp_write_text(path, csv.data, csv.bytes, err);
    if (!status && path && strcmp(path, "-") == 0)
        return PP_OK;
    if (!status && is_json)
        status = pp_print_beside(true, &json, err);
    return status || !pp_prints_words(args) ? status : pp_print_beside(false, &words, err);
}

/* Checks the grid and opens the file, before any point is computed. */
static pp_status begin(const pp_args *args, sweeping *s, pp_err *err)
{
    pp_status status = pp_sweep_check(&s->sweep, err);
    if (status || (status = pp_sweep_lines_new(s->sweep.grid.points, &s->lines, err)) ||
        (status =
             pp_sweep_file_open(&s->sweep, pp_args_text(args, "-o"), &s->lines, &s->file, err)))
        return status;
    if (s->lines.done)
        pp_remark("%" PRIu32 " points are already in %s; computing the others", s->lines.done,
                  s->file.path);
    return pp_sweep_work_new(&s->sweep, &s->file, &s->lines, &s->work, err);
}

static pp_status run_alone(const pp_args *args, sweeping *s, pp_err *err)
{
    struct sigaction before;
    uint32_t done = 0;
    uint32_t wanted = 0;
    pp_status status = begin(args, s, err);
    if (status)
        return status;
    pp_interrupt_begin(true, &before);
    pp_sweep_compute(s->work, (uint32_t)s->threads);
    pp_interrupt_end(&before);
    status = pp_sweep_result(s->work, err);
    if (!status && pp_interrupted(pp_console_current()) &&
        pp_sweep_unfinished(s->work, &done, &wanted)) {
        if (s->file.path)
            pp_remark("%" PRIu32 " of %" PRIu32
                      " points are done and saved in %s; the same command "
                      "continues the sweep",
                      done, wanted, s->file.path);
        else
            pp_remark("%" PRIu32 " of %" PRIu32 " points were done and are lost; with -o FILE a "
                      "sweep can be continued",
                      done, wanted);
        if (pp_console_current())
            return pp_err_set(err, PP_CANCELLED, NULL, "the sweep was cancelled");
        pp_interrupt_die();
    }
    return status;
}

/* Refuses to overwrite a file that the grid names. */
static pp_status check_inputs(const pp_args *args, const pp_sweep *sweep, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < sweep->inputs.count && !status; i++)
        status = pp_files_check_input(args, sweep->inputs.input[i].name, err);
    return status;
}

/* Each process of an MPI job would run the whole sweep and write the same file. */
static pp_status check_alone(pp_err *err)
{
    if (pp_console_current() || !pp_module_launched()) /* a program has its own processes */
        return PP_OK;
    return pp_err_set(err, PP_USAGE, NULL,
                      "an MPI launcher has started this process, but each would run the whole "
                      "sweep; start ppsim alone, with --shard I/N for each of many machines, or "
                      "give ppsim.sweep of Python an executor of mpi4py.futures");
}

static pp_status sweep_grid(const pp_args *args, sweeping *s, pp_err *err)
{
    if (pp_args_word(args, 0))
        return pp_err_set(err, PP_USAGE, NULL,
                          "'%.64s' is not an option; write values after their option, and merge "
                          "files with --merge",
                          pp_args_word(args, 0));
    pp_status status = check_alone(err);
    if (!status)
        status = pp_grid_read(args, pp_command_sweep.options, &s->sweep.grid, err);
    if (status || (status = pp_sweep_load(&s->sweep, err)) ||
        (status = check_inputs(args, &s->sweep, err)))
        return status;
    status = run_alone(args, s, err);
    return status ? status : print(args, s, err);
}

static pp_status check_complete(const sweeping *s, pp_err *err)
{
    pp_text key PP_CLEANUP(pp_text_free) = { 0 };
    uint32_t point = 0;
    if (s->lines.done == s->lines.points)
        return PP_OK;
    while (s->lines.line[point])
        point++;
    pp_grid_key(&s->sweep.grid, point, &key);
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "%" PRIu32 " of %" PRIu32
                      " points are missing (the first is '%.200s'); run the sweep again, which "
                      "continues where it stopped, or give all of its files",
                      s->lines.points - s->lines.done, s->lines.points, key.data ? key.data : "");
}

static pp_status write_merged(const char *path, const sweeping *s, pp_err *err)
{
    char *header PP_CLEANUP(pp_free_text) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    size_t bytes = 0;
    pp_status status = pp_sweep_header(&s->sweep, &header, &bytes, err);
    if (status)
        return status;
    pp_text_add_bytes(&text, header, bytes);
    for (uint32_t i = 0; i < s->lines.points; i++)
        pp_text_add(&text, "%s", s->lines.line[i]);
    status = pp_text_check(&text, err);
    return status ? status : pp_output_write(path, text.data, text.bytes, err);
}

/* Reads the sweep that a file belongs to, without its shard. */
static pp_status read_first(const char *path, sweeping *s, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    size_t bytes = 0;
    pp_status status = pp_file_read(path, &text, &bytes, err);
    if (status || (status = pp_json_parse(text, strcspn(text, "\n"), path, &json, err)))
        return status;
    pp_json_at root = pp_json_root(json, path);
    if ((status = pp_sweep_from_header(&root, &s->sweep, err)))
        return status;
    return pp_sweep_lines_new(s->sweep.grid.points, &s->lines, err);
}

static pp_status merge(const pp_args *args, sweeping *s, pp_err *err)
{
    static const char *const own[] = { "--merge", "--csv", "--top", "--json", "-o" };
    const char *path = pp_args_text(args, "-o");
    const char *value = NULL;
    const char *file;
    const pp_option *given;
    for (size_t i = 0; (given = pp_args_given(args, i, &value)); i++) {
        size_t k = 0;
        while (k < sizeof own / sizeof own[0] && strcmp(given->name, own[k]) != 0)
            k++;
        if (k == sizeof own / sizeof own[0])
            return pp_err_set(err, PP_USAGE, given->name,
                              "is stored in the files that --merge reads; remove it");
    }
    if (!pp_args_word(args, 0))
        return pp_err_set(err, PP_USAGE, "--merge",
                          "needs the files of a sweep, for example --merge 0.json 1.json");
    pp_status status = read_first(pp_args_word(args, 0), s, err);
    off_t ignored;
    for (size_t i = 0; !status && (file = pp_args_word(args, i)); i++)
        status = pp_sweep_lines_read(&s->sweep, file, true, &s->lines, &ignored, err);
    if (status || (status = check_complete(s, err)) ||
        (path && (status = write_merged(path, s, err))))
        return status;
    return print(args, s, err);
}

static pp_status sweep(const pp_args *args, pp_err *err)
{
    sweeping s PP_CLEANUP(sweeping_free) = { .sweep = { .shards = 1 } };
    const char *csv = pp_args_text(args, "--csv");
    if (csv && strcmp(csv, "-") == 0 && pp_args_has(args, "--json"))
        return pp_err_set(err, PP_USAGE, "--csv",
                          "- and --json are both for standard output; give a file");
    pp_status status = read_options(args, &s, err);
    if (status)
        return status;
    return pp_args_has(args, "--merge") ? merge(args, &s, err) : sweep_grid(args, &s, err);
}

static const pp_command *const borrowed[] = { &pp_command_plan, &pp_command_simulate, NULL };

const pp_command pp_command_sweep = {
    .name = "sweep",
    .arguments = "--model M,M --pp P,P [options] -o FILE\n"
                 "--study simulate --schedule NAME,NAME [options] -o FILE\n"
                 "--merge FILE... -o FILE",
    .summary = "plan or simulate every combination of several lists of values",
    .options = options,
    .borrowed = borrowed,
    .details =
        "Options of 'ppsim plan' (or of 'ppsim simulate', with --study simulate) take lists: "
        "--pp 4,8,16 or --pp 4..16*2 or --pp 4..16+4. If a value contains commas itself, as "
        "that of --costs does, give the option several times.\n"
        "If FILE exists, the sweep continues where it stopped.\n",
    .examples = "ppsim sweep --model llama3-8b --pp 2..8*2 --tp 1,2 -o sweep.jsonl\n"
                "ppsim sweep --study simulate --schedule 1f1b,zb-h1 --pp 4,8 \\\n"
                "    --microbatches 8..64*2 --costs F=1ms,B=2ms -o s.jsonl --csv s.csv\n",
    .run = sweep,
};
