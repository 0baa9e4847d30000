/* Any bytes as the file of a sweep are refused with a message; or each of its lines is that of one
 * point, no point occurs twice, and all are printed in every way. */
#include "sim/base/alloc.h"
#include "tests/fuzz/scratch.h"
#include "tools/ppsim/sweep/print.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void print(const pp_sweep *sweep, const pp_sweep_lines *lines)
{
    typedef pp_status printer(const pp_sweep *, const pp_sweep_lines *, size_t, pp_text *,
                              pp_err *);
    static printer *const printers[] = { pp_sweep_print, pp_sweep_print_json };
    pp_err err = { 0 };
    for (size_t k = 0; k < 3; k++) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_status status = k < 2 ? printers[k](sweep, lines, 3, &text, &err)
                                 : pp_sweep_print_csv(sweep, lines, &text, &err);
        need(status == PP_OK || (status == PP_INPUT && err.text[0]));
    }
}

static void read_lines(const pp_sweep *sweep, const char *path, size_t bytes)
{
    pp_sweep_lines lines PP_CLEANUP(pp_sweep_lines_free) = { 0 };
    off_t good = 0;
    uint32_t there = 0;
    pp_err err = { 0 };
    need(pp_sweep_lines_new(sweep->grid.points, &lines, &err) == PP_OK);
    pp_status status = pp_sweep_lines_read(sweep, path, true, &lines, &good, &err);
    for (uint32_t i = 0; i < lines.points; i++)
        there += lines.line[i] != NULL;
    need(there == lines.done);
    if (status) {
        need(status == PP_INPUT && err.text[0]);
        return;
    }
    need(good >= 0 && (size_t)good <= bytes);
    print(sweep, &lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_sweep sweep PP_CLEANUP(pp_sweep_free) = { 0 };
    pp_err err = { 0 };
    const uint8_t *newline = bytes ? memchr(data, '\n', bytes) : NULL;
    size_t header = newline ? (size_t)(newline - data) : bytes;
    pp_status status = pp_json_parse((const char *)data, header, "fuzz", &json, &err);
    if (!status) {
        pp_json_at root = pp_json_root(json, "fuzz");
        status = pp_sweep_from_header(&root, &sweep, &err);
    }
    if (status)
        need(status == PP_INPUT && err.text[0]);
    else if (sweep.grid.points <= 4096)
        read_lines(&sweep, scratch_of(data, bytes), bytes);
    return 0;
}
