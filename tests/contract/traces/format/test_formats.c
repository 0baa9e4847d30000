/* Properties of every format of traces/formats.def and targets.def. */
#include "tests/support/step.h"

static const struct {
    const char *schedule;
    uint32_t p, v, m;
} shapes[] = { { "1f1b", 1, 1, 1 },  { "gpipe", 3, 1, 5 },       { "1f1b", 4, 1, 8 },
               { "1f1b", 5, 1, 2 },  { "interleaved", 4, 2, 8 }, { "interleaved", 2, 3, 4 },
               { "gpipe", 70, 1, 3 } };

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Everything that an export may use, for one shape. */
typedef struct full {
    step step;
    pp_plan *plan;
    pp_export data;
} full;

static void full_free(full *f)
{
    step_free(&f->step);
    pp_plan_free(&f->plan);
}

static full make(size_t i)
{
    full f = { .step =
                   step_of(step_order(shapes[i].schedule, shapes[i].p, shapes[i].v, shapes[i].m, 0),
                           "F=1.1ms,I=1ms,W=1ms,comm=0.1ms") };
    pp_memory_costs memory;
    pp_err err = { 0 };
    STEP_OK(pp_memory_costs_parse("F=2MiB,I=-1MiB,W=-1MiB", &memory, &err), err);
    pp_costs_set_memory(f.step.costs, &memory);
    STEP_OK(pp_plan_new(&f.plan, &err), err);
    snprintf(f.plan->schedule, sizeof f.plan->schedule, "%s", shapes[i].schedule);
    f.data = (pp_export){ .plan = f.plan,
                          .order = f.step.order,
                          .program = f.step.program,
                          .timeline = f.step.timeline,
                          .costs = f.step.costs,
                          .report = f.step.report,
                          .path = "schedule.toml" };
    return f;
}

START_TEST(an_entry_is_complete_and_found_by_its_name)
{
    const pp_format *format = pp_format_at((size_t)_i);
    const pp_format *found = NULL;
    pp_err err = { 0 };
    ck_assert(format->name && format->name[0] && format->summary && format->summary[0]);
    ck_assert(format->emit || format->trace || format->read);
    ck_assert_msg(!format->recognise == !format->read, "%s: recognise and read go together",
                  format->name);
    STEP_OK(pp_format_get(format->name, &found, &err), err);
    ck_assert_ptr_eq(found, format);
}
END_TEST

/* Returns the text, or NULL if the format refuses; the refusal must give a reason. */
static char *emitted(const pp_format *format, const pp_export *data, char **companion_out)
{
    pp_companion companion = { 0 };
    pp_text text = { 0 };
    pp_err err = { 0 };
    pp_status status = format->emit(data, &text, &companion, &err);
    ck_assert_msg(status == PP_OK || status == PP_INFEASIBLE, "%s: %s", format->name, err.text);
    *companion_out = companion.text.data;
    if (status == PP_OK) {
        ck_assert_uint_eq(text.bytes, strlen(text.data));
        ck_assert_int_eq(text.data[text.bytes - 1], '\n');
        ck_assert_int_eq(!companion.suffix, !companion.text.data);
        return text.data;
    }
    ck_assert(err.text[0]);
    pp_text_free(&text);
    return NULL;
}

START_TEST(a_schedule_is_written_the_same_twice_and_read_back)
{
    const pp_format *format = pp_format_at((size_t)_i / SHAPES);
    full f PP_CLEANUP(full_free) = make((size_t)_i % SHAPES);
    char *companions[3] = { NULL };
    pp_order *read PP_CLEANUP(pp_order_free) = NULL;
    pp_err err = { 0 };
    if (!format->emit)
        return;
    char *first PP_CLEANUP(pp_free_text) = emitted(format, &f.data, &companions[0]);
    char *second PP_CLEANUP(pp_free_text) = emitted(format, &f.data, &companions[1]);
    ck_assert_pstr_eq(first, second);
    ck_assert_pstr_eq(companions[0], companions[1]);
    if (first && format->read) {
        ck_assert(format->recognise(first, strlen(first)));
        STEP_OK(pp_format_read(first, strlen(first), "file", &read, &err), err);
        ck_assert(pp_order_equal(read, f.step.order));
        f.data.order = read;
        char *third PP_CLEANUP(pp_free_text) = emitted(format, &f.data, &companions[2]);
        ck_assert_pstr_eq(first, third);
        ck_assert_pstr_eq(companions[0], companions[2]);
    }
    for (size_t i = 0; i < 3; i++)
        free(companions[i]);
}
END_TEST

START_TEST(a_timeline_is_written_the_same_twice)
{
    const pp_format *format = pp_format_at((size_t)_i / SHAPES);
    full f PP_CLEANUP(full_free) = make((size_t)_i % SHAPES);
    pp_text text[2] = { { 0 } };
    pp_err err = { 0 };
    for (size_t i = 0; format->trace && i < 2; i++) {
        STEP_OK(format->trace(&f.data, &text[i], &err), err);
        if (strcmp(format->name, "packed") == 0) /* it is no text */
            continue;
        ck_assert_uint_eq(text[i].bytes, strlen(text[i].data));
        ck_assert_int_eq(text[i].data[text[i].bytes - 1], '\n');
    }
    ck_assert_uint_eq(text[0].bytes, text[1].bytes);
    if (text[0].bytes)
        ck_assert_mem_eq(text[0].data, text[1].data, text[0].bytes);
    pp_text_free(&text[0]);
    pp_text_free(&text[1]);
}
END_TEST

START_TEST(an_unknown_name_gets_the_nearest)
{
    const pp_format *found = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_format_get("pytorch-cvs", &found, &err), PP_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "did you mean 'pytorch-csv'?"));
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_format_get("", &found, &err), PP_USAGE);
    ck_assert_ptr_null(found);
}
END_TEST

START_TEST(a_file_of_no_format_is_refused_by_name)
{
    pp_order *order = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_format_read("{\"a\":1}", 7, "x.json", &order, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "x.json:1:1");
    ck_assert_ptr_nonnull(strstr(err.text, "pytorch-csv"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("formats");
    TCase *tc = tcase_create("every format");
    int count = (int)pp_format_count();
    tcase_add_loop_test(tc, an_entry_is_complete_and_found_by_its_name, 0, count);
    tcase_add_loop_test(tc, a_schedule_is_written_the_same_twice_and_read_back, 0, count * SHAPES);
    tcase_add_loop_test(tc, a_timeline_is_written_the_same_twice, 0, count * SHAPES);
    tcase_add_test(tc, an_unknown_name_gets_the_nearest);
    tcase_add_test(tc, a_file_of_no_format_is_refused_by_name);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
