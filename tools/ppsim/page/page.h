/* The page that `ppsim report` writes: one HTML file with everything in it, which draws plans,
 * timelines, sweeps and what else ppsim writes. It is tools/page/page.html with style and script,
 * and the data as JSON. */
#ifndef PPSIM_TOOLS_PPSIM_PAGE_PAGE_H
#define PPSIM_TOOLS_PPSIM_PAGE_PAGE_H

#include "sim/base/json.h"
#include "tools/ppsim/base/command.h"
#include "traces/format/export/export.h"

enum { PP_PAGE_WAITS = 20 }; /* the longest waits that a page lists */

/* What a page shows. All zero is an empty page; the owner frees it with pp_page_free. */
typedef struct pp_page {
    pp_json_build build;
    pp_json *subjects; /* a list of objects with "kind" and "name"; NULL until the first */
    char title[240];
} pp_page;

void pp_page_free(pp_page *page); /* for PP_CLEANUP */

/* Adds a plan, or a simulated schedule, with its report, sizes of microbatches and timeline. name:
 * of the file. data: plan, program, timeline, costs and report of the slowest replica. answer: what
 * the command prints for people; NULL: nothing. candidates: the CSV of `plan --candidates`; NULL:
 * none. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_page_add_plan(pp_page *page, const char *name, const pp_export *data,
                                         const char *answer, const char *candidates, pp_err *err);
/* Adds a report. `json` is what pp_report_write made, or was read; the page owns it. answer: as
 * above. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_page_add_report(pp_page *page, const char *name, pp_json *json,
                                           const char *answer, pp_err *err);
/* Adds a timeline. Fails: as pp_page_add_plan. */
PP_MUST_CHECK pp_status pp_page_add_timeline(pp_page *page, const char *name, const pp_export *data,
                                             pp_err *err);
/* Adds text or JSON of another kind under `key`; the page owns `json`. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_page_add_other(pp_page *page, const char *name, const char *kind,
                                          const char *key, pp_json *json, pp_err *err);

/* Writes the page to `path`; "-" is stdout. args: the command line, which the page names.
 * Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_page_write(pp_page *page, const pp_args *args, const char *path,
                                      pp_err *err);

#endif
