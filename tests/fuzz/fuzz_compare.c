/* Any bytes as a file to compare: refused with a place, or read; what is read equals itself in all
 * its values, and against nothing else makes tables that can be printed. */
#include "sim/base/alloc.h"
#include "sim/base/text.h"
#include "tools/ppsim/compare/export.h"
#include "tools/ppsim/compare/read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

/* base NULL: against a file that is not there. */
static void judge(const pp_compare_file *base, const pp_compare_file *now)
{
    pp_differences differences PP_CLEANUP(pp_differences_free) = { 0 };
    pp_text tables[3] = { { 0 } };
    pp_compare_pairs pairs = { 0 };
    pp_tolerances tolerances = { 0 };
    pp_json_build build = { 0 };
    pp_err err = { 0 };
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t size = 0;
    size_t lines = 0;
    require(pp_compare_judge("x", base, now, &tolerances, &differences, &err) == PP_OK);
    pp_differences_sort(&differences);
    require(!base ||
            (differences.fails == 0 && differences.verdicts[PP_VERDICT_SAME] == differences.count));
    const pp_compare_print print = { .base = "a",
                                     .now = "b",
                                     .pairs = &pairs,
                                     .differences = &differences,
                                     .tolerances = &tolerances,
                                     .rows = 9 };
    pp_compare_text(&print, &tables[0]);
    pp_compare_markdown(&print, &tables[1]);
    pp_compare_junit(&print, &tables[2]);
    for (const char *c = tables[1].data; *c; c++)
        lines += *c == '\n';
    require(lines <= PP_COMPARE_ROWS + 10); /* the head, the end, and 9 or 10 rows */
    pp_json *json PP_CLEANUP(pp_json_free) = pp_compare_json(&print, &build);
    require(pp_json_print(&build, json, &text, &size, &err) == PP_OK);
    for (int i = 0; i < 3; i++)
        pp_text_free(&tables[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_compare_file file = { 0 };
    pp_err err = { 0 };
    pp_status status = pp_compare_parse((const char *)data, bytes, "x.json", &file, &err);
    require(status == PP_OK || (err.status == status && *err.text));
    if (!status && file.kind != PP_COMPARE_OTHER) {
        judge(&file, &file);
        judge(NULL, &file);
    }
    pp_compare_file_free(&file);
    return 0;
}
