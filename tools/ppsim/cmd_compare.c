/* ppsim compare: compares two results, or two folders of them, and decides whether the second is
 * worse. It is meant for CI. */
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/compare/export.h"
#include "tools/ppsim/compare/profile.h"

#include <stdlib.h>
#include <string.h>

static const pp_option options[] = {
    { PP_ROW_REPEATED(
        "--tolerance", "METRIC=LIMIT", COMPARISON,
        "largest accepted change: 1%, 20us, or any for no limit. +1% limits increases "
        "only, -1% decreases only. METRIC is a name from 'ppsim list metrics', or all. If some are "
        "named, the others are judged only with all=LIMIT",
        "0 for every metric") },
    { PP_ROW("--strict", NULL, COMPARISON, "fail on any difference, even an improvement", NULL) },
    { PP_ROW("--baseline", "FOLDER", COMPARISON,
             "compare with the results kept in FOLDER, in FOLDER/simulated or per platform",
             NULL) },
    { PP_ROW("--refresh", NULL, COMPARISON, "keep NEW as the baseline, unless it is worse", NULL) },
    { PP_ROW("--accept", NULL, COMPARISON,
             "with --refresh: keep NEW even if it is worse or lacks files", NULL) },
    { PP_ROW("--platform", "NAME", COMPARISON, "platform of measured baselines",
             "this machine's processor and number of cores") },
    { PP_ROW("--rows", "N", OUTPUT, "number of differences to print",
             "10, and a metric of several ranks or stages once") },
    { PP_ROW("--markdown", "FILE", OUTPUT, "write the same as a Markdown table", NULL) },
    { PP_ROW("--junit", "FILE", OUTPUT, "write JUnit XML, one test case per metric and file",
             NULL) },
    { PP_ROW_END },
};

/* A file that is written in addition to the product: Markdown or JUnit. */
typedef struct side_product {
    const char *option;
    void (*print)(const pp_compare_print *print, pp_text *text);
    pp_text text;
    pp_staged_file staged;
} side_product;

static void free_product(side_product *p)
{
    pp_text_free(&p->text);
    pp_file_discard(&p->staged);
}

static pp_status stage(const pp_args *args, const pp_compare_print *print, side_product *p,
                       pp_err *err)
{
    const char *path = pp_args_text(args, p->option);
    if (!path)
        return PP_OK;
    p->print(print, &p->text);
    pp_status status = pp_text_check(&p->text, err);
    if (status || strcmp(path, "-") == 0)
        return status;
    return pp_output_stage(path, p->text.data, p->text.bytes, &p->staged, err);
}

static pp_status commit(const pp_args *args, side_product *p, pp_err *err)
{
    const char *path = pp_args_text(args, p->option);
    if (!path)
        return PP_OK;
    if (strcmp(path, "-") == 0)
        return pp_print_stdout(p->text.data, p->text.bytes, err);
    return pp_output_commit(&p->staged, p->text.data, p->text.bytes, err);
}

/* Returns whether a table goes to stdout, where it replaces the product. */
static bool table_on_stdout(const pp_args *args)
{
    const char *markdown = pp_args_text(args, "--markdown");
    const char *junit = pp_args_text(args, "--junit");
    bool table = (markdown && strcmp(markdown, "-") == 0) || (junit && strcmp(junit, "-") == 0);
    return table && !pp_args_has(args, "-o");
}

static pp_status print_product(const pp_args *args, const pp_compare_print *print, pp_err *err)
{
    if (table_on_stdout(args))
        return PP_OK;
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_compare_json(print, &build);
        pp_status status = pp_print_json(args, &build, json, err);
        if (status || !pp_prints_words(args))
            return status;
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_compare_text(print, &text);
    return pp_print_answer(args, &text, err);
}

static pp_status print_all(const pp_args *args, const pp_compare_print *print, pp_err *err)
{
    side_product markdown PP_CLEANUP(free_product) = { .option = "--markdown",
                                                       .print = pp_compare_markdown };
    side_product junit PP_CLEANUP(free_product) = { .option = "--junit",
                                                    .print = pp_compare_junit };
    pp_status status = stage(args, print, &markdown, err);
    if (status || (status = stage(args, print, &junit, err)) ||
        (status = print_product(args, print, err)) || (status = commit(args, &markdown, err)))
        return status;
    return commit(args, &junit, err);
}

static pp_status read_tolerances(const pp_args *args, pp_tolerances *tolerances, pp_err *err)
{
    const char *argument;
    pp_status status = PP_OK;
    tolerances->strict = pp_args_has(args, "--strict");
    for (int all = 1; all >= 0; all--) {
        for (size_t i = 0; !status && (argument = pp_args_each(args, "--tolerance", i)); i++)
            status = pp_tolerance_add(argument, all, tolerances, err);
    }
    return status;
}

static pp_status read_pairs(const pp_args *args, const char *baseline, pp_compare_pairs *pairs,
                            pp_err *err)
{
    const char *first = pp_args_word(args, 0);
    const char *second = pp_args_word(args, 1);
    bool refresh = pp_args_has(args, "--refresh");
    if (!baseline && (refresh || pp_args_has(args, "--platform")))
        return pp_err_set(err, PP_USAGE, refresh ? "--refresh" : "--platform",
                          "needs --baseline FOLDER");
    if (pp_args_has(args, "--accept") && !refresh)
        return pp_err_set(err, PP_USAGE, "--accept", "needs --refresh");
    if (!first || (baseline ? second != NULL : !second || pp_args_word(args, 2)))
        return pp_err_set(err, PP_USAGE, NULL, "compare needs %s; see 'ppsim compare --help'",
                          baseline ? "one file or folder in addition to --baseline"
                                   : "two files or two folders, BASE and NEW");
    if (baseline)
        return pp_compare_pair_baseline(baseline, first, pp_args_text(args, "--platform"), refresh,
                                        pairs, err);
    return pp_compare_pair_up(first, second, pairs, err);
}

static void tell_stale(const pp_compare_file *file)
{
    char step[32];
    if (file->stale_step_ns)
        pp_remark("%s: the file predicts a step of %s, but its order and costs give another or "
                  "another peak: it was edited, or predicted by another version. The comparison "
                  "uses a new "
                  "simulation, and 'ppsim simulate %s --emit plan=NEW.json' saves it",
                  file->name, pp_format_duration(step, sizeof step, file->stale_step_ns),
                  file->name);
}

static pp_status judge(pp_compare_pairs *pairs, const pp_tolerances *tolerances,
                       pp_differences *differences, pp_err *err)
{
    for (size_t i = 0; i < pairs->count; i++) {
        pp_compare_pair *pair = &pairs->pair[i];
        if (!pair->has_base && !pair->has_now) {
            pp_remark("%s: skipped, because it is not a plan, report, timeline or profile",
                      pair->name);
            continue;
        }
        tell_stale(&pair->base);
        tell_stale(&pair->now);
        pp_status status = PP_OK;
        if (pair->base.profile && pair->now.profile)
            status = pp_compare_drift(&pair->base, &pair->now, err);
        if (!status)
            status =
                pp_compare_judge(pair->name, pair->has_base ? &pair->base : NULL,
                                 pair->has_now ? &pair->now : NULL, tolerances, differences, err);
        if (status)
            return status;
    }
    pp_differences_sort(differences);
    return PP_OK;
}

static pp_status refresh(const pp_args *args, const char *baseline, size_t fails,
                         pp_compare_pairs *pairs, pp_err *err)
{
    if (fails && !pp_args_has(args, "--accept"))
        return pp_err_set(err, PP_INFEASIBLE, baseline,
                          "is not refreshed, because %zu value%s; --accept refreshes it anyway",
                          fails, fails == 1 ? " fails" : "s fail");
    pp_status status = pp_compare_refresh(pairs, err);
    if (!status && fails)
        pp_remark("%s: refreshed although %zu value%s", baseline, fails,
                  fails == 1 ? " fails" : "s fail");
    return status;
}

/* Refuses to overwrite a file that is compared. */
static pp_status check_inputs(const pp_args *args, const pp_compare_pairs *pairs, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < pairs->count && !status; i++) {
        const pp_compare_pair *pair = &pairs->pair[i];
        if (pair->base_path)
            status = pp_files_check_input(args, pair->base_path, err);
        if (!status && pair->new_path)
            status = pp_files_check_input(args, pair->new_path, err);
    }
    return status;
}

static pp_status compare(const pp_args *args, pp_err *err)
{
    pp_compare_pairs pairs PP_CLEANUP(pp_compare_pairs_free) = { 0 };
    pp_differences differences PP_CLEANUP(pp_differences_free) = { 0 };
    pp_tolerances tolerances = { 0 };
    const char *baseline = pp_args_text(args, "--baseline");
    const char *first = pp_args_word(args, 0);
    int64_t rows = 0;
    pp_status status = read_tolerances(args, &tolerances, err);
    if (status || (status = pp_args_int(args, "--rows", 0, INT32_MAX, &rows, err)) ||
        (status = read_pairs(args, baseline, &pairs, err)) ||
        (status = check_inputs(args, &pairs, err)) ||
        (status = judge(&pairs, &tolerances, &differences, err)))
        return status;
    char *base PP_CLEANUP(pp_free_text) = pp_compare_printable(baseline ? baseline : first);
    char *now PP_CLEANUP(pp_free_text) =
        pp_compare_printable(baseline ? first : pp_args_word(args, 1));
    if (!base || !now)
        return pp_err_nomem(err);
    const pp_compare_print print = { .base = base,
                                     .now = now,
                                     .pairs = &pairs,
                                     .differences = &differences,
                                     .tolerances = &tolerances,
                                     .all = pp_args_has(args, "--rows"),
                                     .rows = (size_t)rows };
    if ((status = print_all(args, &print, err)))
        return status;
    if (pp_args_has(args, "--refresh"))
        return refresh(args, baseline, differences.fails, &pairs, err);
    if (!differences.fails)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, now, "%zu value%s", differences.fails,
                      differences.fails == 1 ? " fails" : "s fail");
}

const pp_command pp_command_compare = {
    .name = "compare",
    .arguments = "BASE NEW [options]\n--baseline FOLDER NEW [options]",
    .summary = "report whether a new result is worse than an old one, for CI",
    .options = options,
    .details = "BASE and NEW are plans, reports, timelines or profiles, or folders of them. "
               "Simulated results are compared exactly. Measured results differ if they differ by "
               "more than the spread of the iterations. The exit status is 1 if NEW is worse. The "
               "rules are in docs/reference/compare.md.\n",
    .examples = "ppsim compare old.json new.json\n"
                "ppsim compare old.json new.json --tolerance step=1% --markdown summary.md\n",
    .run = compare,
};
