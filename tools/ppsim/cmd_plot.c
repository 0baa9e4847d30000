/* ppsim plot: draws timelines, memory, sweeps, fronts and profiles with gnuplot. plot/load.c reads
 * the inputs, traces/plot/ makes the script, plot/gnuplot.c runs it. */
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/plot/gnuplot.h"
#include "tools/ppsim/plot/load.h"
#include "traces/plot/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SIZE_LEAST = 300, SIZE_MOST = 20000, SCALE_MOST = 4 }; /* of --size and --scale */

static const pp_option options[] = {
    { PP_ROW("--kind", "NAME", PICTURE, "a name from 'ppsim list plots'",
             "the first that fits the files") },
    { PP_ROW("--from", "TIME", PICTURE, "start of the time axis", "0") },
    { PP_ROW("--to", "TIME", PICTURE, "end of the time axis", "the end of the step") },
    { PP_ROW("--ranks", "A-B", PICTURE, "pipeline ranks to show", "all") },
    { PP_ROW("--size", "WxH", PICTURE, "width and height in pixels",
             "1200 wide, as high as the ranks need") },
    { PP_ROW("--width", "W", PICTURE, "width in pixels, with the height that the ranks need",
             "1200") },
    { PP_ROW("--scale", "S", PICTURE, "for .png: dots per pixel, 1 to 4, e.g. 2 for sharp screens",
             "1") },
    { PP_ROW("--no-critical-path", NULL, PICTURE, "for timelines: leave the critical path out",
             NULL) },
    { PP_ROW("--class", "NAME", PICTURE, "kind fit: show only this class, e.g. stage_f", "all") },
    { PP_ROW("--x", "OPTION", PICTURE, "for heat maps: option of the horizontal axis",
             "the one with the most values") },
    { PP_ROW("--y", "OPTION", PICTURE, "for heat maps: option of the vertical axis",
             "the one with the second most values") },
    { PP_ROW("--metric", "NUMBER", PICTURE,
             "for heat maps: number in the cells, e.g. peak_memory_bytes",
             "tokens_per_s_per_gpu, or step_ns of simulate") },
    { PP_ROW_REPEATED("--where", "OPTION=V", PICTURE,
                      "for heat maps: use only points with this value", NULL) },
#include "tools/ppsim/scenario/options.def"
    { PP_ROW_END },
};

/* Parses two numbers of at most `most`, separated by `between`. */
static pp_status read_pair(const pp_args *args, const char *option, char between, int64_t low,
                           int64_t most, int64_t pair[2], pp_err *err)
{
    const char *text = pp_args_text(args, option);
    char first[16];
    if (!text)
        return PP_OK;
    size_t length = strspn(text, "0123456789");
    if (!length || length >= sizeof first || text[length] != between)
        return pp_err_set(err, PP_USAGE, option, "'%.32s' must be two numbers, for example 4%c64",
                          text, between);
    snprintf(first, sizeof first, "%.*s", (int)length, text);
    pp_status status = pp_parse_int(first, option, low, most, &pair[0], err);
    if (!status)
        status = pp_parse_int(text + length + 1, option, low, most, &pair[1], err);
    return status ? PP_USAGE : PP_OK;
}

/* Reads --size, --width and --scale. files: says in which format the picture is written. */
static pp_status read_size(const pp_args *args, const pp_plot_files *files, pp_picture *picture,
                           pp_err *err)
{
    int64_t size[2] = { 0, 0 };
    int64_t scale = 1;
    pp_status status = read_pair(args, "--size", 'x', SIZE_LEAST, SIZE_MOST, size, err);
    if (status || (status = pp_args_int(args, "--width", SIZE_LEAST, SIZE_MOST, &size[0], err)) ||
        (status = pp_args_int(args, "--scale", 1, SCALE_MOST, &scale, err)))
        return status;
    if (pp_args_has(args, "--width") && pp_args_has(args, "--size"))
        return pp_err_set(err, PP_USAGE, "--width", "--size has a width already; remove one");
    if (pp_args_has(args, "--scale") && files->format != PP_PLOT_PNG)
        return pp_err_set(err, PP_USAGE, "--scale",
                          "applies only to .png, since the others have no dots; remove it");
    picture->width = (int)size[0];
    picture->height = (int)size[1];
    picture->out = (pp_plot_output){ .format = files->format, .scale = (double)scale };
    return PP_OK;
}

static pp_status read_view(const pp_args *args, pp_picture *picture, pp_err *err)
{
    int64_t ranks[2] = { 0, UINT32_MAX };
    pp_status status = pp_args_duration(args, "--from", &picture->from_ns, err);
    if (status || (status = pp_args_duration(args, "--to", &picture->to_ns, err)) ||
        (status = read_pair(args, "--ranks", '-', 0, PP_RANKS_MAX - 1, ranks, err)))
        return status;
    if (pp_args_has(args, "--to") && picture->to_ns <= picture->from_ns)
        return pp_err_set(err, PP_USAGE, "--to", "must be later than --from");
    if (ranks[1] < ranks[0])
        return pp_err_set(err, PP_USAGE, "--ranks",
                          "the first rank must not be higher than the second");
    picture->first_rank = (uint32_t)ranks[0];
    picture->last_rank = (uint32_t)ranks[1];
    picture->no_path = pp_args_has(args, "--no-critical-path");
    return PP_OK;
}

static pp_status load(const pp_args *args, pp_picture *picture, pp_err *err)
{
    const char *schedule = pp_args_text(args, "--schedule");
    pp_status status = PP_OK;
    if (!pp_args_word(args, 0) == !schedule)
        return pp_err_set(err, PP_USAGE, NULL,
                          "give files to draw, or --schedule NAME; see 'ppsim plot --help'");
    if (schedule)
        status = pp_plot_load(args, schedule, picture, err);
    for (size_t i = 0; pp_args_word(args, i) && !status; i++)
        status = pp_plot_load(args, pp_args_word(args, i), picture, err);
    return status ? status
                  : pp_args_bytes(args, "--memory-limit", &picture->memory_limit_bytes, err);
}

/* Refuses a picture whose files would overwrite one of the inputs. */
static pp_status check_targets(const pp_args *args, const pp_plot_files *files, pp_err *err)
{
    pp_status status = pp_files_check_product(args, files->script, err);
    return status ? status : pp_files_check_product(args, files->data, err);
}

static void discard(pp_staged_file *staged)
{
    pp_file_discard(staged);
}

/* Writes script and data, and then the picture. Script and data remain if gnuplot fails. */
static pp_status write(const pp_plot_files *files, const pp_text *script, const pp_text *data,
                       pp_err *err)
{
    pp_staged_file first PP_CLEANUP(discard) = { 0 };
    pp_staged_file second PP_CLEANUP(discard) = { 0 };
    char *picture PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_output_stage(files->script, script->data, script->bytes, &first, err);
    if (status || (status = pp_output_stage(files->data, data->data, data->bytes, &second, err)) ||
        (status = pp_output_commit(&first, script->data, script->bytes, err)) ||
        (status = pp_output_commit(&second, data->data, data->bytes, err)) ||
        (status = pp_gnuplot_run(files, &picture, &bytes, err)))
        return status;
    return pp_output_write(files->picture, picture, bytes, err);
}

static pp_status print(const pp_args *args, const pp_plot *kind, const pp_plot_files *files,
                       pp_err *err)
{
    pp_json_build build = { 0 };
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    if (!pp_args_has(args, "--json"))
        return PP_OK;
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json_put_text(&build, json, "kind", kind->name);
    pp_json_put_text(&build, json, "picture", files->picture);
    pp_json_put_text(&build, json, "script", files->script);
    pp_json_put_text(&build, json, "data", files->data);
    pp_status status = pp_json_print(&build, json, &text, &bytes, err);
    return status ? status : pp_print_stdout(text, bytes, err);
}

static pp_status check_kind_options(const pp_args *args, const pp_picture *picture, pp_err *err)
{
    static const char *const heat[] = { "--x", "--y", "--metric", "--where", NULL };
    for (size_t i = 0; heat[i] && !picture->cell_count; i++) {
        if (pp_args_has(args, heat[i]))
            return pp_err_set(err, PP_USAGE, heat[i], "applies only to files of sweeps; remove it");
    }
    if (!pp_args_has(args, "--class") || picture->curve_count)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, "--class", "applies only to profiles; remove it");
}

static pp_status plot(const pp_args *args, pp_err *err)
{
    pp_plot_files files PP_CLEANUP(pp_plot_files_free) = { 0 };
    pp_picture picture PP_CLEANUP(pp_picture_free) = { 0 };
    pp_text script PP_CLEANUP(pp_text_free) = { 0 };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    const pp_plot *kind;
    if (!pp_args_has(args, "-o"))
        return pp_err_set(err, PP_USAGE, "-o", "is missing; give -o FILE.svg, .png or .pdf");
    pp_status status = pp_plot_files_name(pp_args_text(args, "-o"), &files, err);
    if (status || (status = read_view(args, &picture, err)) ||
        (status = read_size(args, &files, &picture, err)) ||
        (status = check_targets(args, &files, err)) || (status = load(args, &picture, err)) ||
        (status = check_kind_options(args, &picture, err)) ||
        (status = pp_plot_choose(pp_args_text(args, "--kind"), &picture, &kind, err)))
        return status;
    picture.data_name = pp_plot_base_name(files.data);
    if ((status = pp_plot_draw(kind, &picture, &script, &data, err)) ||
        (status = write(&files, &script, &data, err)))
        return status;
    return print(args, kind, &files, err);
}

/* The options that --help shows. */
static const char *const everyday[] = { "--schedule", "--pp",   "--microbatches", "--costs",
                                        "--kind",     "--from", "--to",           "--ranks",
                                        "--x",        "--y",    "--metric",       "--size",
                                        "-o",         NULL };

const pp_command pp_command_plot = {
    .name = "plot",
    .arguments = "FILE... -o PICTURE [options]\n"
                 "--schedule NAME --pp P --microbatches M --costs F=T,B=T -o PICTURE",
    .summary = "draw timelines, memory, trade-offs and sweeps with gnuplot",
    .options = options,
    .everyday = everyday,
    .details =
        "FILE is a plan, a schedule (with --costs), a trace (chrome, memory-csv or "
        "memory-json), a report, a profile, the file of a sweep, or what 'ppsim plan' wrote "
        "with --candidates or with --pareto --json.\n"
        "PICTURE ends in .svg, .png or .pdf. PICTURE.gp and PICTURE.dat, the input of gnuplot, are "
        "kept next to it.\n",
    .examples = "ppsim plot plan.json -o step.svg\n"
                "ppsim plot plan.json --kind memory --ranks 0-3 -o memory.svg\n"
                "ppsim plot sweep.jsonl --x pp --y tp --metric peak_memory_bytes -o heat.svg\n",
    .run = plot,
};
