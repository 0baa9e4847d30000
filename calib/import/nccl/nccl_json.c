/* Reads the files of nccl-tests -J, versions 1 to 3. Their member `env` is the whole environment of
 * the person who ran the test: it is never read, and no message quotes the file. */
#include "calib/import/nccl/nccl_json.h"

#include "calib/import/nccl/nccl_section.h"
#include "calib/import/nccl/nccl_version.h"
#include "sim/base/alloc.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_VERSION = 3, REPEATS_MAX = 1 << 20 };

typedef struct reader {
    const char *library;
    pp_nccl_section section;
    pp_skips notes;
    double *times; /* of the iterations of one row */
    size_t times_capacity;
} reader;

static void free_reader(reader *r)
{
    pp_nccl_section_free(&r->section);
    pp_skips_free(&r->notes);
    free(r->times);
}

static pp_span span_of(const char *text)
{
    return (pp_span){ text, strlen(text) };
}

/* Returns a number; NaN if it is null, absent, "nan" or another text. */
static double number_at(const pp_json_at *object, const char *key)
{
    pp_json_at at = { 0 };
    double value = (double)NAN;
    if (!pp_json_has(object, key) || pp_json_get(object, key, &at, NULL) ||
        (pp_json_kind_at(&at) != PP_JSON_INT && pp_json_kind_at(&at) != PP_JSON_REAL) ||
        pp_json_read_double(&at, -1e300, 1e300, &value, NULL))
        return (double)NAN;
    return value;
}

/* Returns a text; "" if it is absent or no text. */
static const char *text_at(const pp_json_at *object, const char *key)
{
    pp_json_at at = { 0 };
    const char *text = "";
    if (pp_json_has(object, key) && !pp_json_get(object, key, &at, NULL) &&
        pp_json_kind_at(&at) == PP_JSON_TEXT && pp_json_read_text(&at, &text, NULL))
        return "";
    return text;
}

static pp_status read_program(reader *r, const pp_json_at *root, pp_err *err)
{
    pp_json_at args = { 0 };
    pp_json_at first = { 0 };
    const char *path = "";
    pp_status status = pp_json_get(root, "args", &args, err);
    if (status || (status = pp_json_item(&args, 0, &first, err)) ||
        (status = pp_json_read_text(&first, &path, err)))
        return status;
    pp_span name = span_of(pp_file_name(path));
    const char *perf = pp_span_find(name, "_perf");
    if (!perf)
        return pp_json_fail(&first, err, "is not a program of nccl-tests, such as sendrecv_perf");
    name.bytes = (size_t)(perf - name.at) + 5; /* cuts off "_mpi" */
    pp_span_copy(name, r->section.program, sizeof r->section.program);
    return PP_OK;
}

static pp_status read_devices(reader *r, const pp_json_at *config, pp_err *err)
{
    pp_json_at list = { 0 };
    pp_json_at item = { 0 };
    size_t count = 0;
    pp_status status = pp_json_get(config, "devices", &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        pp_nccl_rank rank = { 0 };
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_get_int(&item, "rank", 0, 1 << 20, &rank.rank, err)))
            break;
        double group = number_at(&item, "group");
        rank.group = group >= 0 && group < 1e6 ? (int64_t)group : 0;
        rank.host = span_of(text_at(&item, "hostname"));
        rank.device = span_of(text_at(&item, "device_info"));
        status = pp_nccl_add_rank(&r->section, &rank, err);
    }
    return status;
}

/* Reads the single iterations of version 3 (-I 1), without the skipped ones. */
static pp_status read_repeats(reader *r, const pp_json_at *result, pp_nccl_row *row, pp_err *err)
{
    pp_json_at group = { 0 };
    pp_json_at list = { 0 };
    size_t count = 0;
    size_t used = 0;
    pp_status status = PP_OK;
    if (!pp_json_has(result, "out_of_place_per_iter"))
        return PP_OK;
    if ((status = pp_json_get(result, "out_of_place_per_iter", &group, err)) ||
        (status = pp_json_get(&group, "times_us", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    if (count > REPEATS_MAX)
        return pp_json_fail(&list, err, "has more than %d times", REPEATS_MAX);
    double skipped = number_at(&group, "skipped_iterations");
    void *all = r->times;
    if ((status = pp_reserve(&all, &r->times_capacity, count + 1, sizeof *r->times, err)))
        return status;
    r->times = all;
    for (size_t i = skipped > 0 && skipped < (double)count ? (size_t)skipped : 0; i < count; i++) {
        pp_json_at item = { 0 };
        double us = (double)NAN;
        if ((status = pp_json_item(&list, i, &item, err)))
            return status;
        if (pp_json_kind_at(&item) != PP_JSON_TEXT &&
            (status = pp_json_read_double(&item, 0, 1e12, &us, err)))
            return status;
        if (us > 0)
            r->times[used++] = us * 1e-6;
    }
    if (!used) {
        pp_skip_add(&r->notes, 0, "iterations without a usable time");
        return PP_OK;
    }
    pp_sample sample = pp_sample_of_repeats(r->times, used);
    row->seconds = sample.seconds;
    row->p10_s = sample.p10_s;
    row->p90_s = sample.p90_s;
    row->repeats = sample.repeats;
    return PP_OK;
}

/* Returns why the averages of a row cannot be used, or NULL. */
static const char *row_fault(const pp_json_at *half, pp_nccl_row *row)
{
    bool cpu = !pp_json_has(half, "time");
    double us = number_at(half, cpu ? "cpu_time" : "time");
    double gb_per_s = number_at(half, "alg_bw");
    if (!(us > 0) || us > 1e12)
        return "a result whose time is not a positive number";
    if (number_at(half, "nwrong") > 0)
        return "a result with wrong values (nwrong)";
    row->seconds = us * 1e-6;
    if (cpu) { /* cpu_time is the time of the launches */
        if (!(gb_per_s >= 0.001))
            return "a result with cpu_time alone, whose bandwidth has too few digits";
        row->seconds = row->bytes / (gb_per_s * 1e9);
    } else if (!isnan(gb_per_s) &&
               fabs(row->bytes / row->seconds * 1e-9 - gb_per_s) > 1e-5 + 0.01 * gb_per_s) {
        return "a result whose time does not fit its bandwidth";
    }
    row->factor = number_at(half, "bus_bw") / gb_per_s;
    return NULL;
}

static pp_status read_result(reader *r, const pp_json_at *result, pp_err *err)
{
    pp_nccl_row row = { .p10_s = (double)NAN, .p90_s = (double)NAN, .in_place_none = -1 };
    pp_json_at half = { 0 };
    int64_t bytes = 0;
    int64_t root = 0;
    pp_status status = pp_json_get_int(result, "size", 0, (int64_t)1 << 50, &bytes, err);
    if (status)
        return status;
    if (bytes == 0) {
        pp_skip_add(&r->notes, 0, "a result of 0 bytes");
        return PP_OK;
    }
    if (!pp_json_has(result, "out_of_place")) {
        pp_skip_add(&r->notes, 0, "a result without out_of_place");
        return PP_OK;
    }
    if ((status = pp_json_get(result, "out_of_place", &half, err)))
        return status;
    row.bytes = (double)bytes;
    pp_span word;
    pp_span text = span_of(text_at(result, "root")); /* "    -1" */
    row.rooted = pp_span_word(&text, &word) && pp_span_int(word, INT64_MAX, &root);
    row.reduces = strcmp(text_at(result, "redop"), "none") != 0;
    const char *fault = row_fault(&half, &row);
    if (fault) {
        pp_skip_add(&r->notes, 0, "%s", fault);
        return PP_OK;
    }
    double iterations = number_at(result, "actual_iterations");
    row.repeats =
        iterations > 0 && iterations < 1e9 ? (uint32_t)iterations : (uint32_t)r->section.iterations;
    status = read_repeats(r, result, &row, err);
    return status ? status : pp_nccl_add_row(&r->section, &row, err);
}

static pp_status read_results(reader *r, const pp_json_at *root, pp_err *err)
{
    pp_json_at list = { 0 };
    pp_json_at item = { 0 };
    size_t count = 0;
    pp_status status = pp_json_get(root, "results", &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = pp_json_item(&list, i, &item, err);
        if (!status)
            status = read_result(r, &item, err);
    }
    return status;
}

static void note_unknown(reader *r, const pp_json_at *root)
{
    static const char *const known[] = { "version", "start_time",    "args",
                                         "env",     "nccl_version",  "config",
                                         "results", "out_of_bounds", "average_bus_bandwidth",
                                         "errors",  "end_time" };
    pp_json_at member = { 0 };
    for (size_t i = 0; pp_json_member(root, i, &member); i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && strcmp(known[k], member.key) != 0)
            k++;
        if (k == sizeof known / sizeof known[0])
            pp_skip_add(&r->notes, 0, "an unknown key");
    }
    if (pp_json_has(root, "env"))
        pp_skip_add(&r->notes, 0, "env, the environment of the run, was ignored");
    if (!pp_json_has(root, "end_time"))
        pp_skip_add(&r->notes, 0, "no end_time: the run did not finish");
}

static pp_status read_document(reader *r, const pp_json_at *root, const char *file,
                               pp_samples *samples, pp_err *err)
{
    pp_json_at config = { 0 };
    int64_t version = 0;
    pp_status status = pp_json_get_int(root, "version", 1, JSON_VERSION, &version, err);
    if (status || (status = read_program(r, root, err)) ||
        (status = pp_json_get(root, "config", &config, err)))
        return status;
    double code = number_at(root, "nccl_version");
    if (code > 0 && code < 1e6)
        pp_nccl_version_text(r->library, (int64_t)code, r->section.library,
                             sizeof r->section.library);
    double iterations = number_at(&config, "iterations");
    r->section.iterations = iterations > 0 && iterations < 1e9 ? (int64_t)iterations : 0;
    if ((status = read_devices(r, &config, err)) || (status = read_results(r, root, err)))
        return status;
    note_unknown(r, root);
    if ((status = pp_nccl_section_finish(&r->section, file, samples, &r->notes, err)))
        return status;
    return pp_skips_finish(&r->notes, file, "contains no usable result of nccl-tests", samples,
                           err);
}

pp_status pp_nccl_json_read(const char *text, size_t bytes, const char *file, const char *library,
                            pp_samples *samples, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    reader r PP_CLEANUP(free_reader) = { .library = library };
    pp_err at = pp_err_like(err);
    pp_status status = pp_json_parse(text, bytes, file, &json, &at);
    if (status == PP_INPUT)
        return pp_err_set(err, PP_INPUT, at.where,
                          "is not complete JSON: it was cut off, as when nccl-tests is killed, or "
                          "contains a number such as inf");
    if (status)
        return pp_err_nomem(err);
    pp_json_at root = pp_json_root(json, file);
    return read_document(&r, &root, file, samples, err);
}
