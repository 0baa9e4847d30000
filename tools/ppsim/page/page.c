/* Collects what a page shows as JSON and puts it into the template. Timelines are packed,
 * compressed and written in base 64 (RFC 4648, by Nettle), so that they fit into a text. Every '<'
 * of the JSON is escaped: no name can end the element that holds it. Linear in the data. */
#include "tools/ppsim/page/page.h"

#include "sim/analysis/report_json.h"
#include "sim/base/alloc.h"
#include "sim/plan/plan_write.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/page/template.h"
#include "tools/ppsim/report/answer.h"
#include "traces/format/registry.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_page_free(pp_page *page)
{
    pp_json_free(&page->subjects);
}

/* Adds an object with name and kind to the page, and returns it; NULL without memory. */
static pp_json *add_subject(pp_page *page, const char *name, const char *kind)
{
    if (!page->subjects)
        page->subjects = pp_json_new_array(&page->build);
    pp_json *subject = pp_json_new_object(&page->build);
    pp_json_put_text(&page->build, subject, "name", name);
    pp_json_put_text(&page->build, subject, "kind", kind);
    pp_json_add(&page->build, page->subjects, subject);
    return subject;
}

static pp_status encode(const pp_text *packed, char **text_out, pp_err *err)
{
    char *zipped PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_gzip(packed->data, packed->bytes, &zipped, &bytes, err);
    if (status)
        return status;
    *text_out = malloc(BASE64_ENCODE_RAW_LENGTH(bytes) + 1);
    if (!*text_out)
        return pp_err_nomem(err);
    base64_encode_raw(*text_out, bytes, (const uint8_t *)zipped);
    (*text_out)[BASE64_ENCODE_RAW_LENGTH(bytes)] = '\0';
    return PP_OK;
}

static pp_status put_timeline(pp_page *page, pp_json *subject, const pp_export *data, pp_err *err)
{
    const pp_format *packed;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    char *encoded PP_CLEANUP(pp_free_text) = NULL;
    pp_status status = pp_format_get("packed", &packed, err);
    if (status || (status = packed->trace(data, &text, err)) ||
        (status = encode(&text, &encoded, err)))
        return status;
    pp_json_put_text(&page->build, subject, "timeline", encoded);
    return PP_OK;
}

/* Returns the data-parallel replica that the costs belong to; 0 if they are of none. */
static uint32_t replica_of(const pp_export *data)
{
    for (uint32_t r = 0; r < data->plan->costs_count; r++) {
        if (data->plan->costs[r] == data->costs)
            return r;
    }
    return 0;
}

/* Puts tokens, sequences and longest sequence of every microbatch of the replica that is shown, and
 * which one that is if they differ. */
static void put_microbatches(pp_page *page, pp_json *subject, const pp_export *data)
{
    const pp_workload *workload = &data->plan->workload;
    const uint32_t shown = replica_of(data);
    const uint32_t replica = shown < workload->replicas ? shown : 0;
    if (data->plan->costs_count > 1)
        pp_json_put_int(&page->build, subject, "replica", shown);
    if (!workload->microbatches)
        return;
    pp_json *list = pp_json_new_array(&page->build);
    for (uint32_t j = 0; j < workload->microbatches; j++) {
        const pp_microbatch *m =
            &workload->microbatch[(size_t)replica * workload->microbatches + j];
        int64_t longest = 0;
        pp_json *row = pp_json_new_array(&page->build);
        for (size_t i = m->first; i < m->first + m->count && workload->length_count; i++)
            longest = workload->lengths[i] > longest ? workload->lengths[i] : longest;
        pp_json_add_int(&page->build, row, m->tokens);
        pp_json_add_int(&page->build, row, (int64_t)m->count);
        pp_json_add_int(&page->build, row, longest);
        pp_json_add(&page->build, list, row);
    }
    pp_json_put(&page->build, subject, "microbatches", list);
}

/* Names the page after the first plan: "llama3-8b on 32 GPUs (pp 4, dp 8)". */
static void title(pp_page *page, const pp_plan *plan)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    const int64_t gpus = pp_parallel_gpus(&plan->parallel);
    if (*page->title || !*plan->model)
        return;
    pp_answer_degrees(&plan->parallel, &words);
    if (!words.failed)
        snprintf(page->title, sizeof page->title, "%s on %" PRId64 " GPU%s (%s)", plan->model, gpus,
                 gpus == 1 ? "" : "s", words.data ? words.data : "");
}

/* Puts the plan without what the page has elsewhere. */
static void put_plan(pp_page *page, pp_json *subject, const pp_plan *plan)
{
    static const char *const elsewhere[] = { "schedule",     "costs",      "prediction",
                                             "microbatches", "recomputed", "memory_costs" };
    pp_json *json = pp_plan_write(plan, &page->build);
    for (size_t i = 0; json && i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        pp_json_drop(json, elsewhere[i]);
    pp_json_put(&page->build, subject, "plan", json);
}

pp_status pp_page_add_plan(pp_page *page, const char *name, const pp_export *data,
                           const char *answer, const char *candidates, pp_err *err)
{
    pp_json *subject = add_subject(page, name, "plan");
    title(page, data->plan);
    if (answer)
        pp_json_put_text(&page->build, subject, "answer", answer);
    if (candidates)
        pp_json_put_text(&page->build, subject, "candidates", candidates);
    put_plan(page, subject, data->plan);
    pp_json_put(&page->build, subject, "report", pp_report_write(data->report, &page->build));
    put_microbatches(page, subject, data);
    return put_timeline(page, subject, data, err);
}

pp_status pp_page_add_report(pp_page *page, const char *name, pp_json *json, const char *answer,
                             pp_err *err)
{
    pp_json *subject = add_subject(page, name, "report");
    pp_json_put(&page->build, subject, "report", json);
    if (answer)
        pp_json_put_text(&page->build, subject, "answer", answer);
    return page->build.failed ? pp_err_nomem(err) : PP_OK;
}

pp_status pp_page_add_timeline(pp_page *page, const char *name, const pp_export *data, pp_err *err)
{
    pp_json *subject = add_subject(page, name, "timeline");
    if (data->plan && *data->plan->schedule)
        pp_json_put_text(&page->build, subject, "schedule", data->plan->schedule);
    return put_timeline(page, subject, data, err);
}

pp_status pp_page_add_other(pp_page *page, const char *name, const char *kind, const char *key,
                            pp_json *json, pp_err *err)
{
    pp_json_put(&page->build, add_subject(page, name, kind), key, json);
    return page->build.failed ? pp_err_nomem(err) : PP_OK;
}

static void add_escaped(pp_text *html, const char *json, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const char *found = memchr(json + done, '<', bytes - done);
        size_t count = found ? (size_t)(found - json) - done : bytes - done;
        pp_text_add_bytes(html, json + done, count);
        if (found)
            pp_text_add(html, "\\u003c");
        done += count + (found != NULL);
    }
}

/* Makes the JSON text of the page. */
static pp_status print(pp_page *page, const pp_args *args, char **text_out, size_t *bytes_out,
                       pp_err *err)
{
    pp_json_build *build = &page->build;
    char *command PP_CLEANUP(pp_free_text) = pp_args_command(args);
    if (!command)
        return pp_err_nomem(err);
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(build);
    pp_json_put_text(build, root, "format", "ppsim.page");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_text(build, root, "version_of_ppsim", PPSIM_VERSION);
    pp_json_put_text(build, root, "title", page->title);
    pp_json_put_text(build, root, "command", command);
    pp_json_put(build, root, "subjects",
                page->subjects ? page->subjects : pp_json_new_array(build));
    page->subjects = NULL; /* the root owns it now */
    return pp_json_print_line(build, root, text_out, bytes_out, err);
}

pp_status pp_page_write(pp_page *page, const pp_args *args, const char *path, pp_err *err)
{
    static const char mark[] = "<!-- DATA -->";
    char *json PP_CLEANUP(pp_free_text) = NULL;
    pp_text html PP_CLEANUP(pp_text_free) = { 0 };
    size_t bytes = 0;
    pp_status status = print(page, args, &json, &bytes, err);
    if (status)
        return status;
    const char *at = strstr(pp_page_template, mark);
    if (!at)
        return pp_err_set(err, PP_INTERNAL, NULL, "the page has no place for its data");
    pp_text_add_bytes(&html, pp_page_template, (size_t)(at - pp_page_template));
    pp_text_add(&html, "<script type=\"application/json\" id=\"ppsim-data\">");
    add_escaped(&html, json, bytes);
    pp_text_add(&html, "</script>");
    at += strlen(mark);
    pp_text_add_bytes(&html, at, strlen(at));
    status = pp_text_check(&html, err);
    return status ? status : pp_write_text(path, html.data, html.bytes, err);
}
