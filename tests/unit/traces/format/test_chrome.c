/* Chrome traces: valid JSON, exact times, no event missing. */
#include "sim/base/json.h"
#include "tests/support/step.h"

static pp_json *trace_of(const step *s, const pp_plan *plan)
{
    const pp_format *format = NULL;
    pp_json *json = NULL;
    pp_text text = { 0 };
    pp_err err = { 0 };
    const pp_export data = {
        .plan = plan, .program = s->program, .timeline = s->timeline, .costs = s->costs
    };
    STEP_OK(pp_format_get("chrome", &format, &err), err);
    STEP_OK(format->trace(&data, &text, &err), err);
    ck_assert_uint_eq(text.bytes, strlen(text.data));
    STEP_OK(pp_json_parse(text.data, text.bytes, "trace", &json, &err), err);
    pp_text_free(&text);
    return json;
}

/* One event, its numbers in nanoseconds. */
typedef struct event {
    char phase, name[48], category[16], colour[32], thread[16];
    int64_t rank, tid, id, stage, microbatch;
    pp_ns ts_ns, dur_ns;
    int64_t bytes; /* sum over a counter's components */
} event;

typedef struct events {
    event *item;
    size_t count;
} events;

static pp_ns time_at(const pp_json_at *at, const char *key)
{
    double us = 0;
    pp_err err = { 0 };
    if (pp_json_has(at, key))
        STEP_OK(pp_json_get_double(at, key, 0, 1e15, &us, &err), err);
    return (pp_ns)(us * 1000 + 0.5);
}

static void text_at(const pp_json_at *at, const char *key, char *buffer, size_t size)
{
    pp_err err = { 0 };
    buffer[0] = '\0';
    if (pp_json_has(at, key))
        STEP_OK(pp_json_get_name(at, key, buffer, size, &err), err);
}

static int64_t number_at(const pp_json_at *at, const char *key)
{
    int64_t value = -1;
    pp_err err = { 0 };
    if (pp_json_has(at, key))
        STEP_OK(pp_json_get_int(at, key, 0, INT64_MAX, &value, &err), err);
    return value;
}

static void read_args(const pp_json_at *at, event *e)
{
    pp_json_at args;
    pp_err err = { 0 };
    if (!pp_json_has(at, "args"))
        return;
    STEP_OK(pp_json_get(at, "args", &args, &err), err);
    if (e->phase == 'C') {
        for (int k = 0; k < PP_MEMORY_COUNT; k++) {
            int64_t bytes = number_at(&args, pp_memory_key((pp_memory_component)k));
            e->bytes += bytes > 0 ? bytes : 0;
        }
        return;
    }
    text_at(&args, "name", e->thread, sizeof e->thread);
    e->stage = number_at(&args, "stage");
    e->microbatch = number_at(&args, "microbatch");
}

static events read_events(const pp_json *json)
{
    pp_json_at root = pp_json_root(json, "trace");
    pp_json_at list;
    events found = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_json_get(&root, "traceEvents", &list, &err), err);
    STEP_OK(pp_json_count(&list, &found.count, &err), err);
    found.item = calloc(found.count, sizeof *found.item);
    ck_assert_ptr_nonnull(found.item);
    for (size_t i = 0; i < found.count; i++) {
        pp_json_at at;
        event *e = &found.item[i];
        char phase[2];
        STEP_OK(pp_json_item(&list, i, &at, &err), err);
        text_at(&at, "ph", phase, sizeof phase);
        e->phase = phase[0];
        text_at(&at, "name", e->name, sizeof e->name);
        text_at(&at, "cat", e->category, sizeof e->category);
        text_at(&at, "cname", e->colour, sizeof e->colour);
        e->rank = number_at(&at, "pid");
        e->tid = number_at(&at, "tid");
        e->id = number_at(&at, "id");
        e->ts_ns = time_at(&at, "ts");
        e->dur_ns = time_at(&at, "dur");
        read_args(&at, e);
    }
    return found;
}

static size_t count_of(const events *all, char phase, const char *category)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count; i++)
        n += all->item[i].phase == phase && strcmp(all->item[i].category, category) == 0;
    return n;
}

static const event *find(const events *all, char phase, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->item[i].phase == phase && strcmp(all->item[i].name, name) == 0)
            return &all->item[i];
    }
    ck_abort_msg("no event %c %s", phase, name);
    return NULL;
}

START_TEST(every_op_transfer_and_arrow_is_there_once)
{
    const uint32_t p = 4;
    const uint32_t m = 6;
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", p, 1, m, 0), "F=1ms,B=2ms,comm=1us");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    ck_assert_uint_eq(count_of(&all, 'X', "compute"), 2 * p * m);
    ck_assert_uint_eq(count_of(&all, 'X', "send"), 2 * (p - 1) * m);
    ck_assert_uint_eq(count_of(&all, 'X', "recv"), 2 * (p - 1) * m);
    ck_assert_uint_eq(count_of(&all, 's', "flow"), 2 * (p - 1) * m);
    ck_assert_uint_eq(count_of(&all, 'f', "flow"), 2 * (p - 1) * m);
    ck_assert_uint_eq(count_of(&all, 'C', ""), 0);
    free(all.item);
}
END_TEST

START_TEST(times_are_exact_to_the_nanosecond)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("1f1b", 2, 1, 1, 0), "F=1000001ns,B=3ns,comm=1007ns");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    const event *b = find(&all, 'X', "0B0");
    const event *send = find(&all, 'X', "0SEND_F0");
    const event *recv = find(&all, 'X', "1RECV_F0");
    ck_assert_int_eq(b->ts_ns, 1000001 + 1007 + 1000001 + 3 + 1007);
    ck_assert_int_eq(b->dur_ns, 3);
    ck_assert_int_eq(b->stage, 0);
    ck_assert_int_eq(b->microbatch, 0);
    ck_assert_int_eq(send->rank, 0);
    ck_assert_int_eq(recv->rank, 1);
    ck_assert_int_eq(send->ts_ns, 1000001);
    ck_assert_int_eq(recv->ts_ns, 1000001);
    ck_assert_int_eq(recv->dur_ns, 1007);
    ck_assert_int_eq(find(&all, 'X', "1SEND_B0")->rank, 1);
    ck_assert_int_eq(find(&all, 'X', "0RECV_B0")->rank, 0);
    free(all.item);
}
END_TEST

START_TEST(arrows_begin_in_the_producer_and_end_in_the_consumer)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("interleaved", 2, 2, 2, 0), "F=1ms,B=2ms,comm=10us");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    for (size_t i = 0; i < all.count; i++) {
        const event *e = &all.item[i];
        int inside = 0;
        if (e->phase != 's' && e->phase != 'f')
            continue;
        for (size_t k = 0; k < all.count; k++) {
            const event *x = &all.item[k];
            inside += x->phase == 'X' && x->rank == e->rank && x->tid == e->tid &&
                      x->ts_ns <= e->ts_ns && e->ts_ns < x->ts_ns + x->dur_ns;
        }
        ck_assert_int_eq(inside, 1);
    }
    free(all.item);
}
END_TEST

/* Viewers drop slices that overlap on one thread. */
START_TEST(slices_of_a_thread_do_not_overlap)
{
    step s PP_CLEANUP(step_free) =
        step_of(step_order("interleaved", 4, 2, 8, 0), "F=1ms,B=2ms,comm=2.5ms");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    for (size_t i = 0; i < all.count; i++) {
        for (size_t k = 0; k < i; k++) {
            const event *a = &all.item[i];
            const event *b = &all.item[k];
            if (a->phase == 'X' && b->phase == 'X' && a->rank == b->rank && a->tid == b->tid)
                ck_assert(a->ts_ns + a->dur_ns <= b->ts_ns || b->ts_ns + b->dur_ns <= a->ts_ns);
        }
    }
    free(all.item);
}
END_TEST

START_TEST(every_slice_lies_on_a_named_thread)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", 3, 1, 4, 0), "F=1ms,B=2ms,comm=10us");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    for (size_t i = 0; i < all.count; i++) {
        const event *e = &all.item[i];
        int named = 0;
        for (size_t k = 0; e->phase == 'X' && k < all.count; k++) {
            const event *m = &all.item[k];
            named += m->phase == 'M' && m->rank == e->rank && m->tid == e->tid &&
                     strcmp(m->name, "thread_name") == 0 &&
                     strncmp(m->thread, e->category, strlen(e->category)) == 0;
        }
        ck_assert(e->phase != 'X' || named == 1);
    }
    free(all.item);
}
END_TEST

START_TEST(kinds_have_colours_of_their_own)
{
    const char *rows = "0F0,0F1,0I0,0W0,0B1\n";
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, strlen(rows), "f.csv", &order, &err), err);
    step s PP_CLEANUP(step_free) = step_of(order, "F=1ms,I=1ms,W=1ms,comm=0");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    const char *names[] = { "0F0", "0I0", "0W0", "0B1" };
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(find(&all, 'X', names[i])->colour, find(&all, 'X', names[k])->colour);
    }
    free(all.item);
}
END_TEST

START_TEST(the_memory_counter_reaches_the_reported_peak)
{
    pp_memory_costs memory;
    pp_uniform_costs uniform;
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 3, 1, 4, 0) };
    STEP_OK(pp_uniform_costs_parse("F=1ms,I=1ms,W=1ms,comm=0", &uniform, &err), err);
    STEP_OK(pp_costs_uniform(&uniform, 3, 3, 4, &s.costs, &err), err);
    STEP_OK(pp_memory_costs_parse("F=1GiB,I=-512MiB,W=-512MiB", &memory, &err), err);
    pp_costs_set_memory(s.costs, &memory);
    step_simulate(&s);
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, NULL);
    events all = read_events(json);
    int64_t peak[3] = { 0 };
    for (size_t i = 0; i < all.count; i++) {
        const event *e = &all.item[i];
        if (e->phase == 'C' && e->bytes > peak[e->rank])
            peak[e->rank] = e->bytes;
    }
    for (uint32_t r = 0; r < 3; r++) {
        ck_assert_int_eq(peak[r], s.report->per_rank[r].memory.total_bytes);
        ck_assert_int_eq(peak[r], (int64_t)(3 - r) << 30);
    }
    free(all.item);
}
END_TEST

START_TEST(names_are_escaped)
{
    const char *evil = "a\"b\\c\n\x7f\xc3\xa4\xff\xed\xa0\x80";
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    snprintf(plan->model, sizeof plan->model, "%s", evil);
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", 1, 1, 1, 0), "F=1ms,B=2ms,comm=0");
    pp_json *json PP_CLEANUP(pp_json_free) = trace_of(&s, plan);
    pp_json_at root = pp_json_root(json, "trace");
    pp_json_at other;
    char model[64];
    STEP_OK(pp_json_get(&root, "otherData", &other, &err), err);
    STEP_OK(pp_json_get_name(&other, "model", model, sizeof model, &err), err);
    ck_assert_str_eq(model,
                     "a\"b\\c\n\x7f\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_chrome");
    TCase *tc = tcase_create("trace");
    tcase_add_test(tc, every_op_transfer_and_arrow_is_there_once);
    tcase_add_test(tc, times_are_exact_to_the_nanosecond);
    tcase_add_test(tc, arrows_begin_in_the_producer_and_end_in_the_consumer);
    tcase_add_test(tc, slices_of_a_thread_do_not_overlap);
    tcase_add_test(tc, every_slice_lies_on_a_named_thread);
    tcase_add_test(tc, kinds_have_colours_of_their_own);
    tcase_add_test(tc, the_memory_counter_reaches_the_reported_peak);
    tcase_add_test(tc, names_are_escaped);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
