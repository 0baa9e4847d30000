/* PyTorch schedule rows: what is accepted, what is refused and where, and the content of the
 * companion file. */
#include "sim/base/json.h"
#include "tests/support/step.h"

static pp_status read_text(const char *text, pp_order **order_out, pp_err *err)
{
    return pp_format_read(text, strlen(text), "f.csv", order_out, err);
}

/* Reads and writes again; the caller frees. */
static char *rewrite(const char *text)
{
    const pp_format *format = NULL;
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_companion companion = { 0 };
    pp_text out = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_format_get("pytorch-csv", &format, &err), err);
    STEP_OK(read_text(text, &order, &err), err);
    const pp_export data = { .order = order };
    STEP_OK(format->emit(&data, &out, &companion, &err), err);
    pp_text_free(&companion.text);
    return out.data;
}

static void expect_rewrite(const char *text, const char *expected)
{
    char *out PP_CLEANUP(pp_free_text) = rewrite(text);
    ck_assert_str_eq(out, expected);
}

START_TEST(blanks_whitespace_and_line_ends_do_not_matter)
{
    const char *plain = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
    expect_rewrite(plain, plain);
    expect_rewrite("0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n", plain);
    expect_rewrite("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", plain);
    expect_rewrite(",0F0,, 0F1 ,\t0B0,,0B1,,\n,,1F0,1B0,1F1,1B1\n", plain);
}
END_TEST

START_TEST(split_backwards_pairs_and_v_placement_survive)
{
    const char *rows = "0F0,3F0,3I0,0F1,(3F1;3W0)OVERLAP_F_B\n";
    pp_order *order = NULL;
    pp_err err = { 0 };
    const char *v = "0F0,0F1,3F0,(3F1;3B0)OVERLAP_F_B,0I0,3B1,0W0,0B1\n"
                    "1F0,1F1,2F0,2B0,2F1,2B1,1B0,1B1\n";
    expect_rewrite(v, v);
    STEP_OK(read_text(v, &order, &err), err);
    ck_assert_uint_eq(order->ranks, 2);
    ck_assert_uint_eq(order->stages, 4);
    ck_assert_uint_eq(order->microbatches, 2);
    ck_assert_uint_eq(order->stage_rank[3], 0);
    ck_assert_uint_eq(order->stage_rank[2], 1);
    ck_assert_uint_eq(order->ops[3].paired, 1);
    pp_order_free(&order);
    ck_assert_int_eq(read_text(rows, &order, &err), PP_INPUT); /* W cannot be half of a pair */
}
END_TEST

/* text, place, words that the message must contain */
static const struct {
    const char *text, *where, *words;
} refused[] = {
    { "", "f.csv:1:1", "empty" },
    { "rank0,rank1\n", "f.csv:1:1", "neither a plan nor a schedule" },
    { "0F0,0F1x,0B0,0B1\n", "f.csv:1:5", "after the microbatch" },
    { "0F0,0BW0\n", "f.csv:1:5", "older PyTorch" },
    { "0F0,0B\n", "f.csv:1:5", "no microbatch" },
    { "0f0,0b0\n", "f.csv:1:1", "lower case" },
    { "0F0,F1\n", "f.csv:1:5", "no stage" },
    { "0F0,0F01\n", "f.csv:1:5", "leading zeros" },
    { "00F0,0B0\n", "f.csv:1:1", "leading zeros" },
    { "0F0,0X0\n", "f.csv:1:5", "is not an op" },
    { "0F0,0F-1\n", "f.csv:1:5", "is not an op" },
    { "0F0, 0B0 0B1\n", "f.csv:1:6", "after the microbatch" },
    { "0F0,0B0,0B99999999999999999999\n", "f.csv:1:9", "beyond the limit of 16777215" },
    { "65535F0,0B0\n", "f.csv:1:1", "beyond the limit of 65534" },
    { "18446744073709551616F0\n", "f.csv:1:1", "beyond the limit of 65534" },
    { "0F0,0SEND_F0,0B0\n", "f.csv:1:5", "compute_only" },
    { "0F0,0RECV_B0,0B0\n", "f.csv:1:5", "compute_comms files are not read" },
    { "0UNSHARD,0F0,0B0,0RESHARD\n", "f.csv:1:1", "compute_comms" },
    { "0F0,0B0,0REDUCE_GRAD\n", "f.csv:1:9", "compute_comms" },
    { "\"0F0\",0B0\n", "f.csv:1:1", "quoted" },
    { "0F0,0B0\n\n1F0,1B0\n", "f.csv:2:1", "no ops" },
    { "0F0,0B0\n1F0,1B0\n\n", "f.csv:3:1", "no ops" },
    { "0F0,0B0\n,,,\n", "f.csv:2:1", "no ops" },
    { "0F0,0B0\r0F1,0B1\n", "f.csv:1:5", "carriage return" },
    { "\xef\xbb\xbf"
      "0F0,0B0\n",
      "f.csv:1:1", "byte-order mark" },
    { "(0F0)OVERLAP_F_B,0B0\n", "f.csv:1:1", "overlapped pair" },
    { "()OVERLAP_F_B\n", "f.csv:1:1", "overlapped pair" },
    { "(0F0;0F1)OVERLAP_F_B,0B0,0B1\n", "f.csv:1:1", "pairs a forward" },
    { "0F0,(0F1; 0B0)OVERLAP_F_B,0B1\n", "f.csv:1:5", "without spaces" },
    { "0F0,0B0\n0F1,0B1\n", "f.csv:2:1", "stage 0 is in line 1 and in line 2" },
    { "0F0,0B0\n2F0,2B0\n", "f.csv:2:1", "stage 1 is on no line" },
    { "0F0,0B0,0F9999999,0B9999999\n", "f.csv:1:9", "number the microbatches from 0" },
    { "0F0,0B0,0B0\n", "f.csv:1:9", "twice" },
    { "0F0,0F1,0B1\n", "f.csv:1:1", "no B" },
    { "0F0,1F0,0B0\n", "f.csv:1:1", "no B" },
    { "0F0,0B0\n1F0\n", "f.csv:2:1", "no B" },
    { "0F0,0I0\n", "f.csv:1:1", "no W" },
    { "0F0,0B0\n1B0,1F0\n", "f.csv:2:1", "no forward before it" },
    { ",,0F0,0W0,0I0\n", "f.csv:1:7", "before its backward" },
    { "0F0,(0F1;0B0)OVERLAP_F_B,0B1,0B1\n", "f.csv:1:30", "twice" },
};

START_TEST(broken_rows_are_refused_with_place_and_way_out)
{
    pp_order *order = NULL;
    pp_err err = { 0 };
    const char *text = refused[_i].text;
    ck_assert_msg(read_text(text, &order, &err) == PP_INPUT, "accepted: %s", text);
    ck_assert_ptr_null(order);
    ck_assert_msg(strcmp(err.where, refused[_i].where) == 0, "%s: at %s (%s)", text, err.where,
                  err.text);
    ck_assert_msg(strstr(err.text, refused[_i].words) != NULL, "%s: '%s' lacks '%s'", text,
                  err.text, refused[_i].words);
}
END_TEST

START_TEST(a_cell_of_any_bytes_is_shown_printable_and_short)
{
    char text[400];
    pp_order *order = NULL;
    pp_err err = { 0 };
    memset(text, '\x01', sizeof text);
    text[0] = '0';
    ck_assert_int_eq(pp_format_read(text, sizeof text, "f.csv", &order, &err), PP_INPUT);
    ck_assert_uint_lt(strlen(err.text), 200);
    for (const char *c = err.text; *c; c++)
        ck_assert_int_ge(*c, ' ');
}
END_TEST

START_TEST(every_cut_of_a_good_file_is_refused_or_whole)
{
    const char *rows = "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1B0,1F1,1I1,1F2,1B2,1W1\n";
    for (size_t bytes = 0; bytes < strlen(rows) - 1; bytes++) {
        pp_order *order PP_CLEANUP(pp_order_free) = NULL;
        pp_err err = { 0 };
        pp_status status = pp_format_read(rows, bytes, "f.csv", &order, &err);
        /* a whole first line is a schedule of one stage; so are its forwards, an evaluation */
        bool forwards = bytes == 3 || bytes == 4 || bytes == 7 || bytes == 8;
        bool whole = bytes == 37 || bytes == 36 || forwards;
        ck_assert_msg((status == PP_OK) == whole, "%zu bytes: %s", bytes, err.text);
        ck_assert(status == PP_OK || err.text[0]);
    }
}
END_TEST

/* The JSON of the companion file of an order. */
static pp_json *companion_of(const pp_export *data)
{
    const pp_format *format = NULL;
    pp_companion companion = { 0 };
    pp_text out = { 0 };
    pp_json *json = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_get("pytorch-csv", &format, &err), err);
    STEP_OK(format->emit(data, &out, &companion, &err), err);
    ck_assert_str_eq(companion.suffix, ".json");
    STEP_OK(pp_json_parse(companion.text.data, companion.text.bytes, "c", &json, &err), err);
    pp_text_free(&companion.text);
    pp_text_free(&out);
    return json;
}

static void expect_text(const pp_json *json, const char *key, const char *expected)
{
    const char *found = NULL;
    pp_err err = { 0 };
    pp_json_at root = pp_json_root(json, "c");
    ck_assert_int_eq(pp_json_has(&root, key), expected != NULL);
    if (!expected)
        return;
    STEP_OK(pp_json_get_text(&root, key, &found, &err), err);
    ck_assert_str_eq(found, expected);
}

static void expect_number(const pp_json *json, const char *key, int64_t expected)
{
    int64_t found = 0;
    pp_err err = { 0 };
    pp_json_at root = pp_json_root(json, "c");
    STEP_OK(pp_json_get_int(&root, key, 0, INT64_MAX, &found, &err), err);
    ck_assert_int_eq(found, expected);
}

static bool warns(const pp_json *json, const char *words)
{
    pp_json_at root = pp_json_root(json, "c");
    pp_json_at list;
    size_t count = 0;
    bool found = false;
    pp_err err = { 0 };
    STEP_OK(pp_json_get(&root, "warnings", &list, &err), err);
    STEP_OK(pp_json_count(&list, &count, &err), err);
    for (size_t i = 0; i < count; i++) {
        pp_json_at item;
        const char *text = NULL;
        STEP_OK(pp_json_item(&list, i, &item, &err), err);
        STEP_OK(pp_json_read_text(&item, &text, &err), err);
        found |= strstr(text, words) != NULL;
    }
    return found;
}

START_TEST(the_companion_names_the_schedule_to_set)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    const struct {
        const char *schedule;
        uint32_t v;
        const char *name;
    } cases[] = { { "gpipe", 1, "GPipe" },
                  { "1f1b", 1, "1F1B" },
                  { "interleaved", 2, "Interleaved1F1B" } };
    for (size_t i = 0; i < 3; i++) {
        pp_order *order PP_CLEANUP(pp_order_free) =
            step_order(cases[i].schedule, 4, cases[i].v, 8, 0);
        snprintf(plan->schedule, sizeof plan->schedule, "%s", cases[i].schedule);
        const pp_export data = { .plan = plan, .order = order };
        pp_json *json PP_CLEANUP(pp_json_free) = companion_of(&data);
        expect_text(json, "pipeline_parallel_schedule", cases[i].name);
        expect_text(json, "pp_schedule", cases[i].name);
        expect_text(json, "placement", "loop");
        expect_number(json, "p", 4);
        expect_number(json, "m", 8);
        expect_number(json, "v", cases[i].v);
        expect_number(json, "stages", 4 * cases[i].v);
        ck_assert(!warns(json, ""));
    }
}
END_TEST

/* rows, torchtitan's name, AutoModel's, placement, words of a warning */
static const struct {
    const char *rows, *torchtitan, *automodel, *placement, *warning;
} companions[] = {
    { "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", "ZBVZeroBubble", "ZBVZeroBubble", "v", "AutoModel" },
    { "0F0,0F1,3F0,(3F1;3B0)OVERLAP_F_B,3B1,0B0,0B1\n1F0,1F1,2F0,2F1,2B0,2B1,1B0,1B1\n",
      "DualPipeV", "ZBVZeroBubble", "v", "recent PyTorch" },
    { "0F0,0I0,0W0\n", "1F1B", "1F1B", "loop", "torch.compile" },
    { "0F0,2F0,2B0,0B0\n1F0,1B0\n", NULL, NULL, "loop", "different numbers of stages" },
    { "1F0,1B0\n0F0,0B0\n", NULL, NULL, NULL, "no schedule name" },
    { "0F0,2F0,4F0,4B0,2B0,0B0\n1F0,3F0,5F0,5B0,3B0,1B0\n", "Interleaved1F1B", "Interleaved1F1B",
      "loop", "2 stages per rank" },
    { "0F0,0F1,0B0,0B1\n1F1,1F0,1B0,1B1\n", "1F1B", "1F1B", "loop",
      "number the microbatches, in all rows and in the data, in the order of the last stage" },
};

START_TEST(the_companion_warns_of_what_the_frameworks_cannot_do)
{
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(read_text(companions[_i].rows, &order, &err), err);
    const pp_export data = { .order = order };
    pp_json *json PP_CLEANUP(pp_json_free) = companion_of(&data);
    expect_text(json, "pipeline_parallel_schedule", companions[_i].torchtitan);
    expect_text(json, "pp_schedule", companions[_i].automodel);
    expect_text(json, "placement", companions[_i].placement);
    ck_assert_msg(warns(json, companions[_i].warning), "no warning '%s'", companions[_i].warning);
}
END_TEST

START_TEST(unequal_microbatches_are_pointed_out)
{
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 2, 1, 3, 0);
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    const int64_t lengths[] = { 1024, 512, 1024 };
    STEP_OK(pp_workload_pack(lengths, 3, 1024, 1, 1, 1, &plan->workload, &err), err);
    const pp_export data = { .plan = plan, .order = order };
    pp_json *json PP_CLEANUP(pp_json_free) = companion_of(&data);
    ck_assert(warns(json, "one shape"));
}
END_TEST

START_TEST(a_stage_on_two_ranks_cannot_be_said)
{
    const pp_format *format = NULL;
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 2, 1, 1, 0);
    pp_companion companion = { 0 };
    pp_text out = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_format_get("pytorch-csv", &format, &err), err);
    order->ops[3].stage = 0; /* rank 1 runs the backward of rank 0's stage */
    const pp_export data = { .order = order };
    ck_assert_int_eq(format->emit(&data, &out, &companion, &err), PP_INFEASIBLE);
    ck_assert_ptr_nonnull(strstr(err.text, "stage 0 runs on ranks 0 and 1"));
    pp_text_free(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_pytorch_csv");
    TCase *tc = tcase_create("read");
    tcase_add_test(tc, blanks_whitespace_and_line_ends_do_not_matter);
    tcase_add_test(tc, split_backwards_pairs_and_v_placement_survive);
    tcase_add_loop_test(tc, broken_rows_are_refused_with_place_and_way_out, 0,
                        (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(tc, a_cell_of_any_bytes_is_shown_printable_and_short);
    tcase_add_test(tc, every_cut_of_a_good_file_is_refused_or_whole);
    suite_add_tcase(suite, tc);
    tc = tcase_create("emit");
    tcase_add_test(tc, the_companion_names_the_schedule_to_set);
    tcase_add_loop_test(tc, the_companion_warns_of_what_the_frameworks_cannot_do, 0,
                        (int)(sizeof companions / sizeof companions[0]));
    tcase_add_test(tc, unequal_microbatches_are_pointed_out);
    tcase_add_test(tc, a_stage_on_two_ranks_cannot_be_said);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
