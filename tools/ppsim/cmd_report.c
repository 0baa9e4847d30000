/* ppsim report: writes one HTML page that shows plans, timelines, reports, sweeps and profiles.
 * page/inputs.c reads the inputs, page/page.c puts them into the page, whose script draws them. */
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/page/inputs.h"

static const pp_option options[] = {
#include "tools/ppsim/scenario/options.def"
    { PP_ROW_END },
};

static pp_status report(const pp_args *args, pp_err *err)
{
    pp_page page PP_CLEANUP(pp_page_free) = { 0 };
    const char *schedule = pp_args_text(args, "--schedule");
    const char *path = pp_args_text(args, "-o");
    pp_status status = PP_OK;
    if (pp_args_word(args, 0) && schedule)
        return pp_err_set(err, PP_USAGE, NULL,
                          "give files to show, or --schedule NAME, not both; see 'ppsim report "
                          "--help'");
    if (!path)
        return pp_err_set(err, PP_USAGE, "-o", "is missing; name the page, e.g. -o report.html");
    if (pp_args_has(args, "--json"))
        return pp_err_set(err, PP_USAGE, "--json",
                          "does not apply, because the answer is a page; remove it");
    if (schedule)
        status = pp_page_load(args, schedule, &page, err);
    for (size_t i = 0; pp_args_word(args, i) && !status; i++)
        status = pp_page_load(args, pp_args_word(args, i), &page, err);
    return status ? status : pp_page_write(&page, args, path, err);
}

/* The options that --help shows. */
static const char *const everyday[] = { "--schedule", "--pp",       "--microbatches",
                                        "--costs",    "--executor", "--memory-limit",
                                        "-o",         NULL };

const pp_command pp_command_report = {
    .name = "report",
    .arguments = "[FILE...] -o PAGE.html [options]\n"
                 "--schedule NAME --pp P --microbatches M --costs F=T,B=T -o PAGE.html",
    .summary = "write one web page that shows a plan, a comparison or a run",
    .options = options,
    .details =
        "Without FILE or --schedule the page has the simulator alone, with which any page lets "
        "you try other schedules.\n"
        "FILE is a plan, a schedule, a timeline or report that ppsim wrote, a recording of "
        "PyTorch's profiler, the file of a sweep, a profile, or what 'ppsim plan' wrote "
        "with --candidates or --pareto --json. Two plans, or a plan and its run, are "
        "compared. The page needs no network.\n",
    .everyday = everyday,
    .examples = "ppsim report plan.json -o plan.html\n"
                "ppsim report --schedule zb-h1 --pp 8 --microbatches 32 \\\n"
                "    --costs F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms -o step.html\n",
    .run = report,
};
