/* Whichever allocation fails, reading traces and drawing them report it and leak nothing. */
#include "sim/base/alloc.h"
#include "tests/support/step.h"
#include "tests/torture/torture.h"
#include "traces/plot/registry.h"
#include "traces/read/chrome_read.h"
#include "traces/read/memory_read.h"

/* One trace in each format that is read. */
typedef struct traces {
    pp_text chrome, csv, json;
} traces;

static pp_status add_json(const pp_text *text, pp_picture *picture, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    const bool chrome = pp_chrome_recognise(text->data, text->bytes);
    pp_status status = chrome ? pp_chrome_read(text->data, text->bytes, "trace", &track, err)
                              : pp_json_parse(text->data, text->bytes, "trace", &json, err);
    if (!chrome && !status) {
        const pp_json_at root = pp_json_root(json, "trace");
        status = pp_memory_json_read(&root, &track, err);
    }
    if (!status)
        pp_picture_add_track(picture, &track);
    return status;
}

static pp_status add_csv(const pp_text *text, pp_picture *picture, pp_err *err)
{
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    pp_status status = pp_memory_csv_read(text->data, "m.csv", &track, err);
    if (!status)
        pp_picture_add_track(picture, &track);
    return status;
}

static pp_status draw(pp_picture *picture, pp_err *err)
{
    for (size_t i = 0; i < pp_plot_count(); i++) {
        pp_text script PP_CLEANUP(pp_text_free) = { 0 };
        pp_text data PP_CLEANUP(pp_text_free) = { 0 };
        if (!pp_plot_at(i)->fits(picture))
            continue;
        pp_status status = pp_plot_draw(pp_plot_at(i), picture, &script, &data, err);
        if (status)
            return status;
    }
    return PP_OK;
}

static int read_and_draw(void *context)
{
    const traces *t = context;
    for (int shape = 0; shape < 4; shape++) {
        pp_picture picture PP_CLEANUP(pp_picture_free) = { .last_rank = UINT32_MAX,
                                                           .data_name = "x.dat" };
        pp_err err = { 0 };
        pp_status status = shape < 2    ? add_json(&t->chrome, &picture, &err)
                           : shape == 2 ? add_json(&t->json, &picture, &err)
                                        : add_csv(&t->csv, &picture, &err);
        if (!status && shape == 1)
            status = add_json(&t->chrome, &picture, &err);
        if (status || (status = draw(&picture, &err)))
            return (int)status;
    }
    return 0;
}

static void write_trace(const step *s, const char *name, pp_text *text)
{
    const pp_format *format = NULL;
    pp_err err = { 0 };
    const pp_export data = { .program = s->program, .timeline = s->timeline, .costs = s->costs };
    STEP_OK(pp_format_get(name, &format, &err), err);
    STEP_OK(format->trace(&data, text, &err), err);
}

START_TEST(traces_survive_any_failed_allocation)
{
    pp_memory_costs memory;
    pp_err err = { 0 };
    traces t = { .chrome = { 0 } };
    long allocations = 0;
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 2, 0) };
    s.costs = step_costs("F=1ms,B=2ms,comm=0.1ms", 2, 1, 2);
    STEP_OK(pp_memory_costs_parse("F=2GiB,I=-1GiB,W=-1GiB", &memory, &err), err);
    pp_costs_set_memory(s.costs, &memory);
    step_simulate(&s);
    write_trace(&s, "chrome", &t.chrome);
    write_trace(&s, "memory-csv", &t.csv);
    write_trace(&s, "memory-json", &t.json);
    int status = pp_torture_run(read_and_draw, &t, PP_NOMEM, 20000, &allocations);
    ck_assert_msg(status == 0, "status %d at allocation %ld", status, allocations);
    ck_assert_int_gt(allocations, 100);
    pp_text_free(&t.chrome);
    pp_text_free(&t.csv);
    pp_text_free(&t.json);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pictures");
    TCase *tc = tcase_create("torture");
    tcase_set_timeout(tc, 200);
    tcase_add_test(tc, traces_survive_any_failed_allocation);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
