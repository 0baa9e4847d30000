/* ppsim compare: compares two results, or two folders of them, and decides whether the second is
 * worse. It is meant for CI. */
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/compare/export.h"
#include "tools/ppsim/compare/profile.h"

#include <stdlib.h>
#include <string.h>

static const pp_option options[] = {
    { "--tolerance", "METRIC=LIMIT", "up to here: 1%, 20us, any; +1% for a rise, -1% for a fall; 0",
      NULL, true },
    { "--strict", NULL, "any difference fails, better ones too", NULL, false },
    { "--baseline", "FOLDER", "compare with what was kept there, by platform if measured", NULL,
      false },
    { "--refresh", NULL, "keep NEW as the baseline; refused where it is worse", NULL, false },
    { "--accept", NULL, "with --refresh: also where it is worse or gone", NULL, false },
    { "--platform", "NAME", "of measured baselines; this machine's processor and cores", NULL,
      false },
    { "--markdown", "FILE", "write a table of at most 60 lines, worst first", NULL, false },
    { "--junit", "FILE", "write JUnit XML, a test case per metric and file", NULL, false },
    { "--rows", "N", "differences to print; 40", NULL, false },
    { NULL, NULL, NULL, NULL, false },
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
    return pp_file_stage(path, p->text.data, p->text.bytes, &p->staged, err);
}

static pp_status commit(const pp_args *args, side_product *p, pp_err *err)
{
    const char *path = pp_args_text(args, p->option);
    if (!path)
        return PP_OK;
    if (strcmp(path, "-") == 0)
        return pp_print_stdout(p->text.data, p->text.bytes, err);
    return pp_file_commit(&p->staged, p->text.data, p->text.bytes, err);
}

/* Refuses two products with the same path. */
static pp_status check_targets(const pp_args *args, pp_err *err)
{
    static const char *const names[] = { "-o", "--markdown", "--junit" };
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < i; k++) {
            const char *a = pp_args_text(args, names[i]);
            const char *b = pp_args_text(args, names[k]);
            if (a && b && strcmp(a, b) == 0 && !pp_file_is_special(a))
                return pp_err_set(err, PP_USAGE, a, "is given for two products; name another file");
        }
    }
    return PP_OK;
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
        return pp_print_json(args, &build, json, err);
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_compare_text(print, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
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
                          "goes with --baseline FOLDER");
    if (pp_args_has(args, "--accept") && !refresh)
        return pp_err_set(err, PP_USAGE, "--accept", "goes with --refresh");
    if (!first || (baseline ? second != NULL : !second || pp_args_word(args, 2)))
        return pp_err_set(err, PP_USAGE, NULL, "give %s; see 'ppsim compare --help'",
                          baseline ? "one file or folder beside --baseline"
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
        pp_remark(
            "%s: the prediction in the file, step %s, is not what its order and costs give: it "
            "was edited, or predicted by another version; a simulation is compared, 'ppsim "
            "simulate %s --emit plan=NEW.json' keeps it",
            file->name, pp_format_duration(step, sizeof step, file->stale_step_ns), file->name);
}

static pp_status judge(pp_compare_pairs *pairs, const pp_tolerances *tolerances,
                       pp_differences *differences, pp_err *err)
{
    for (size_t i = 0; i < pairs->count; i++) {
        pp_compare_pair *pair = &pairs->pair[i];
        if (!pair->has_base && !pair->has_now) {
            pp_remark("%s: left out, it is none of a plan, report, timeline and profile",
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
                          "is left as it is: %zu value%s; --accept takes them over all the same",
                          fails, fails == 1 ? " fails" : "s fail");
    pp_status status = pp_compare_refresh(pairs, err);
    if (!status && fails)
        pp_remark("%s: refreshed although %zu value%s", baseline, fails,
                  fails == 1 ? " fails" : "s fail");
    return status;
}

static pp_status compare(const pp_args *args, pp_err *err)
{
    pp_compare_pairs pairs PP_CLEANUP(pp_compare_pairs_free) = { 0 };
    pp_differences differences PP_CLEANUP(pp_differences_free) = { 0 };
    pp_tolerances tolerances = { 0 };
    const char *baseline = pp_args_text(args, "--baseline");
    const char *first = pp_args_word(args, 0);
    int64_t rows = 40;
    pp_status status = read_tolerances(args, &tolerances, err);
    if (status || (status = pp_args_int(args, "--rows", 0, INT32_MAX, &rows, err)) ||
        (status = check_targets(args, err)) || (status = read_pairs(args, baseline, &pairs, err)) ||
        (status = judge(&pairs, &tolerances, &differences, err)))
        return status;
    char *base PP_CLEANUP(pp_free_text) = pp_compare_printable(baseline ? baseline : first);
    char *now PP_CLEANUP(pp_free_text) =
        pp_compare_printable(baseline ? first : pp_args_word(args, 1));
    if (!base || !now)
        return pp_err_nomem(err);
    const pp_compare_print print = {
        .base = base, .now = now, .pairs = &pairs, .differences = &differences, .rows = (size_t)rows
    };
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
    .arguments = "BASE NEW | --baseline FOLDER NEW",
    .summary = "two plans, reports, timelines or profiles, or folders: is the new one worse?",
    .options = options,
    .details = "What was simulated is compared to the nanosecond and byte; of what was\n"
               "measured, a difference within the spread of the iterations is none. Exit\n"
               "status 1: worse.\n"
               "METRIC is one of 'ppsim list metrics', or all. docs/ci.md has the rules.\n\n"
               "examples:\n"
               "  ppsim compare old/plan.json new/plan.json\n"
               "  ppsim compare --baseline tests/baseline results --markdown summary.md\n"
               "  ppsim compare a.json b.json --tolerance step=1% --tolerance peak-memory=64MiB\n",
    .run = compare,
};
