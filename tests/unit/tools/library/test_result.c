/* The library answers as the command does, keeps files in memory, can be cancelled, and leaves the
 * process alone. tests/python compares its JSON with what the command prints. */
#include "tests/support/step.h"
#include "tools/library/ppsim.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A request with options and values in turn, which ends with NULL. A value "" is a flag's. */
static ppsim_request *make(const char *command, const char *const *options)
{
    ppsim_request *request = NULL;
    ppsim_error error;
    ck_assert_int_eq(ppsim_request_new(command, &request, &error), PPSIM_OK);
    for (; *options; options += 2) {
        const char *value = *options[1] ? options[1] : NULL;
        ppsim_status status = strcmp(options[0], "word") == 0
                                  ? ppsim_request_word(request, value, &error)
                                  : ppsim_request_set(request, options[0], value, &error);
        ck_assert_msg(status == PPSIM_OK, "%s: %s", error.field, error.reason);
    }
    return request;
}

static ppsim_result *run(ppsim_request *request)
{
    ppsim_result *result = NULL;
    ppsim_error error = { 0 };
    ppsim_status status = ppsim_run(request, &result, &error);
    ck_assert_msg(status == PPSIM_OK, "%s: %s", error.field, error.reason);
    ppsim_request_free(request);
    return result;
}

static const char *const small[] = { "model", "gpt1.7b", "pp", "4", "--global-batch-size",
                                     "16",    NULL };
static const char *const closed[] = { "schedule",     "gpipe", "pp",      "4",
                                      "microbatches", "8",     "--costs", "F=1ms,B=2ms",
                                      "executor",     "ideal", NULL };

/* Huang 2019: with equal stages and free links, a step takes (m + p - 1)(f + b). */
START_TEST(numbers_meet_the_closed_form)
{
    ppsim_result *result = run(make("simulate", closed));
    ck_assert_int_eq(ppsim_result_step_ns(result), (8 + 4 - 1) * 3000000);
    ck_assert_uint_eq(ppsim_result_ranks(result), 4);
    ck_assert_uint_eq(ppsim_result_stages(result), 4);
    ck_assert_uint_eq(ppsim_result_microbatches(result), 8);
    int64_t last_ns = 0;
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint8_t kind[16];
        uint32_t stage[16];
        uint32_t microbatch[16];
        int64_t start_ns[16];
        int64_t end_ns[16];
        ck_assert_uint_eq(ppsim_result_stage_rank(result, rank), rank);
        ck_assert_uint_eq(ppsim_result_op_count(result, rank), 16);
        ppsim_result_ops(result, rank, kind, stage, microbatch, start_ns, end_ns);
        for (int i = 0; i < 16; i++) {
            ck_assert_uint_eq(kind[i], i < 8 ? PPSIM_FORWARD : PPSIM_BACKWARD);
            ck_assert_uint_eq(stage[i], rank);
            ck_assert_int_eq(end_ns[i] - start_ns[i], i < 8 ? 1000000 : 2000000);
            ck_assert(i == 0 || start_ns[i] >= end_ns[i - 1]);
        }
        last_ns = end_ns[15] > last_ns ? end_ns[15] : last_ns;
    }
    ck_assert_int_eq(last_ns, ppsim_result_step_ns(result));
    ck_assert_uint_eq(ppsim_result_op_count(result, 4), 0);
    ck_assert_ptr_nonnull(strstr(ppsim_result_json(result, NULL), "\"step_ns\": 33000000"));
    ck_assert_ptr_nonnull(strstr(ppsim_result_text(result, NULL), "33"));
    ppsim_result_free(result);
}
END_TEST

START_TEST(a_plan_has_its_order_and_memory)
{
    ppsim_result *result = run(make("plan", small));
    int64_t bytes[64];
    size_t components = 0;
    while (ppsim_memory_component(components))
        components++;
    ck_assert_uint_le(components, 64);
    ck_assert_uint_eq(components, ppsim_memory_components());
    for (uint32_t rank = 0; rank < 4; rank++) {
        int64_t sum = 0;
        const int64_t limit_bytes = ppsim_result_memory(result, rank, bytes);
        for (size_t k = 0; k < components; k++)
            sum += bytes[k];
        ck_assert_int_gt(sum, 0);
        ck_assert_int_le(sum, limit_bytes);
        ck_assert_uint_gt(ppsim_result_op_count(result, rank), 0);
    }
    ck_assert_int_gt(ppsim_result_step_ns(result), 0);
    ck_assert_ptr_nonnull(
        strstr(ppsim_result_json(result, NULL),
               "ppsim plan --model gpt1.7b --pp 4 --global-batch-size 16 --json"));
    ppsim_result_free(result);
}
END_TEST

/* Every tensor that one rank sends another receives, with the same bytes, in the same order per
 * edge; the ops are those of the result. */
START_TEST(a_program_sends_what_it_receives)
{
    ppsim_result *result = run(make("plan", small));
    ppsim_program *program = NULL;
    ppsim_error error;
    ck_assert_msg(ppsim_program_new(result, 0, &program, &error) == PPSIM_OK, "%s", error.reason);
    int64_t sent[4][4] = { { 0 } };
    int64_t received[4][4] = { { 0 } };
    for (uint32_t rank = 0; rank < 4; rank++) {
        const size_t count = ppsim_program_count(program, rank);
        uint8_t *action = malloc(count);
        uint32_t *column = malloc(3 * count * sizeof *column);
        int64_t *bytes = malloc(count * sizeof *bytes);
        ck_assert(action && column && bytes);
        uint32_t *stage = column;
        uint32_t *microbatch = column + count;
        uint32_t *peer = column + 2 * count;
        ppsim_program_rows(program, rank, action, stage, microbatch, peer, NULL, bytes);
        size_t ops = 0;
        for (size_t i = 0; i < count; i++) {
            if (action[i] <= PPSIM_BACKWARD) {
                ops++;
                continue;
            }
            ck_assert_int_gt(bytes[i], 0);
            ck_assert_uint_lt(peer[i], 4);
            const bool sends =
                action[i] == PPSIM_SEND_ACTIVATION || action[i] == PPSIM_SEND_GRADIENT;
            const bool forward =
                action[i] == PPSIM_SEND_ACTIVATION || action[i] == PPSIM_RECEIVE_ACTIVATION;
            /* A hash of the sequence of tensors, each named by its producer. */
            const uint32_t producer = stage[i] + (sends ? 0 : forward ? -1u : 1u);
            int64_t *edge = sends ? &sent[rank][peer[i]] : &received[peer[i]][rank];
            *edge = (int64_t)((uint64_t)*edge * 1000003 + microbatch[i] * 64u + producer * 2 +
                              forward + (uint64_t)bytes[i]);
        }
        ck_assert_uint_eq(ops, ppsim_result_op_count(result, rank));
        free(action);
        free(column);
        free(bytes);
    }
    ck_assert_int_ne(sent[0][1], 0);
    ck_assert_int_eq(memcmp(sent, received, sizeof sent), 0);
    ck_assert_uint_eq(ppsim_program_count(program, 4), 0);
    ppsim_program_free(program);
    ppsim_result_free(result);
}
END_TEST

START_TEST(a_program_needs_communication)
{
    ppsim_result *result = run(make("simulate", closed));
    ppsim_program *program = NULL;
    ppsim_error error;
    ck_assert_int_eq(ppsim_program_new(result, 0, &program, &error), PPSIM_USAGE);
    ck_assert_ptr_nonnull(strstr(error.reason, "ideal has no communication"));
    ck_assert_int_eq(ppsim_program_new(NULL, 0, &program, &error), PPSIM_USAGE);
    ck_assert_ptr_null(program);
    ppsim_result_free(result);
}
END_TEST

START_TEST(files_are_kept_in_memory)
{
    const char *const options[] = {
        "word", "lengths.txt",       "model",  "gpt1.7b", "pp", "2", "seq-length", "1024",
        "-o",   "/nonexistent/o.gz", "budget", "10it",    NULL
    };
    ppsim_request *request = make("pack", options);
    static const char lengths[] = "1000\n24\n512\n512\n700\n300\n800\n200\n";
    ck_assert_int_eq(ppsim_request_input(request, "lengths.txt", lengths, sizeof lengths - 1, NULL),
                     PPSIM_OK);
    ppsim_request_keep_files(request, 1);
    ppsim_result *result = run(request);
    ck_assert_str_eq(ppsim_result_file_name(result, 0), "/nonexistent/o.gz");
    ck_assert_ptr_null(ppsim_result_file_name(result, 1));
    size_t bytes = 0;
    ck_assert_ptr_nonnull(strstr(ppsim_result_file(result, 0, &bytes), "1000"));
    ck_assert_uint_gt(bytes, 20);
    ppsim_result_free(result);
}
END_TEST

START_TEST(a_file_in_memory_keeps_its_name)
{
    const char *const options[] = { "word", "order.csv", NULL };
    static const char hangs[] = "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n";
    ppsim_request *request = make("check", options);
    ppsim_result *result = NULL;
    ppsim_error error = { 0 };
    ck_assert_int_eq(ppsim_request_input(request, "order.csv", hangs, sizeof hangs - 1, NULL),
                     PPSIM_OK);
    ck_assert_int_eq(ppsim_run(request, &result, &error), PPSIM_INFEASIBLE);
    ck_assert_str_eq(error.field, "order.csv");
    ck_assert_ptr_nonnull(strstr(ppsim_result_json(result, NULL), "\"file\": \"order.csv\""));
    ck_assert_ptr_null(strstr(ppsim_result_json(result, NULL), "/dev/fd"));
    ppsim_result_free(result);
    ppsim_request_free(request);
}
END_TEST

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Reads a text file of at most 64 KiB. The caller frees it. */
static char *read_text(const char *path)
{
    char *text = calloc(1 << 16, 1);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, (1 << 16) - 1, file), 0);
    fclose(file);
    return text;
}

/* The file of a sweep has the same lines whether its inputs are files or in memory, and the sweep
 * goes on from one to the other. */
START_TEST(a_sweep_of_files_in_memory_has_their_names)
{
#define MODEL(layers)                                                                         \
    "{\"model_type\": \"llama\", \"hidden_size\": 1024, \"intermediate_size\": 2816, "        \
    "\"num_attention_heads\": 16, \"vocab_size\": 32000, \"max_position_embeddings\": 1024, " \
    "\"num_hidden_layers\": " layers "}"
    static const char *const name[] = { "large.json", "little.json", "lengths.json" };
    static const char *const content[] = { MODEL("16"), MODEL("8"), "[800, 100, 700, 300]" };
    static const char *const options[] = {
        "model",   "little.json",  "model",   "large.json", "pp", "2",           "schedule", "1f1b",
        "lengths", "lengths.json", "threads", "1",          "-o", "sweep.jsonl", NULL
    };
    char folder[] = "/tmp/sweep.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    ppsim_request *request = make("sweep", options);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            ppsim_request_input(request, name[i], content[i], strlen(content[i]), NULL), PPSIM_OK);
    ppsim_result *held = run(request);
    char *held_lines = read_text("sweep.jsonl");
    ck_assert_ptr_null(strstr(held_lines, "/dev/fd"));
    ck_assert_ptr_nonnull(strstr(held_lines, "\"large.json\""));
    for (int i = 0; i < 3; i++)
        write_file(name[i], content[i]);
    ppsim_result *again = run(make("sweep", options)); /* there is nothing left to do */
    ck_assert_str_eq(ppsim_result_json(again, NULL), ppsim_result_json(held, NULL));
    ck_assert_int_eq(unlink("sweep.jsonl"), 0);
    ppsim_result *named = run(make("sweep", options));
    char *named_lines = read_text("sweep.jsonl");
    ck_assert_str_eq(held_lines, named_lines);
    ck_assert_str_eq(ppsim_result_json(named, NULL), ppsim_result_json(held, NULL));
    ck_assert_str_eq(ppsim_result_text(named, NULL), ppsim_result_text(held, NULL));
    ppsim_result_free(held);
    ppsim_result_free(again);
    ppsim_result_free(named);
    free(held_lines);
    free(named_lines);
    for (int i = 0; i < 3; i++)
        unlink(name[i]);
    unlink("sweep.jsonl");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
#undef MODEL
}
END_TEST

static void expect(const char *command, const char *option, const char *value, const char *reason)
{
    ppsim_request *request = NULL;
    ppsim_error error = { 0 };
    ppsim_status status = ppsim_request_new(command, &request, &error);
    if (!status)
        status = ppsim_request_set(request, option, value, &error);
    ck_assert_int_eq(status, PPSIM_USAGE);
    ck_assert_msg(strstr(error.reason, reason) != NULL, "%s", error.reason);
    ppsim_request_free(request);
}

START_TEST(wrong_options_are_refused_when_they_are_set)
{
    expect("plam", "", NULL, "did you mean 'plan'?");
    expect("run", "", NULL,
           "the library has no command 'run'; it has plan, simulate, check, "
           "pack, compare, sweep, shapes and list");
    expect("plan", "modle", "x", "did you mean --model");
    expect("plan", "pp", NULL, "needs a value: --pp P");
    expect("plan", "verbose", "yes", "takes no value");
    expect("plan", "json", NULL, "the library has no use for it");
    expect("plan", "help", NULL, "the library has no use for it");
    expect("plan", "", "x", "is empty");
    expect("plan", "--", "x", "is empty");
}
END_TEST

START_TEST(a_value_may_begin_with_a_dash)
{
    const char *const options[] = { "model", "gpt1.7b", "pp", "-3", NULL };
    ppsim_request *request = make("plan", options);
    ppsim_result *result = NULL;
    ppsim_error error = { 0 };
    ck_assert_int_eq(ppsim_run(request, &result, &error), PPSIM_USAGE);
    ck_assert_str_eq(error.field, "--pp");
    ck_assert_str_eq(ppsim_result_json(result, NULL), "");
    ppsim_result_free(result);
    ppsim_request_free(request);
}
END_TEST

START_TEST(every_option_of_the_tables_can_be_set)
{
    for (size_t c = 0; ppsim_command_name(c); c++) {
        ppsim_request *request = NULL;
        ppsim_option o;
        ck_assert_int_eq(ppsim_request_new(ppsim_command_name(c), &request, NULL), PPSIM_OK);
        size_t count = 0;
        for (; ppsim_option_at(ppsim_command_name(c), count, &o); count++) {
            ck_assert_int_eq(ppsim_request_set(request, o.name, o.argument ? "1" : NULL, NULL),
                             PPSIM_OK);
            ck_assert(*o.group && *o.help);
        }
        ck_assert_uint_gt(count, 0);
        ppsim_request_free(request);
    }
}
END_TEST

START_TEST(a_request_is_used_again)
{
    static const char *const counts[] = { "4", "8" };
    ppsim_request *request = make("simulate", closed);
    ppsim_error error = { PPSIM_IO, "before", "before" };
    for (size_t i = 0; i < 2; i++) {
        ppsim_result *result = NULL;
        ck_assert_int_eq(ppsim_request_set(request, "microbatches", counts[i], &error), PPSIM_OK);
        ck_assert_int_eq(error.status, PPSIM_OK);
        ck_assert_str_eq(error.field, "");
        ck_assert_str_eq(error.reason, "");
        error = (ppsim_error){ PPSIM_IO, "before", "before" };
        ck_assert_int_eq(ppsim_run(request, &result, &error), PPSIM_OK);
        ck_assert_int_eq(error.status, PPSIM_OK);
        ck_assert_str_eq(error.reason, "");
        ck_assert_int_eq(ppsim_result_step_ns(result), (atoi(counts[i]) + 4 - 1) * 3000000);
        ppsim_result_free(result);
    }
    /* a refused value changes nothing; flags, dashes and aliases are the same option */
    ppsim_result *result = NULL;
    ck_assert_int_eq(ppsim_request_set(request, "microbatches", NULL, &error), PPSIM_USAGE);
    ck_assert_int_eq(ppsim_request_set(request, "microbatches", "-1", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "--microbatches", "8", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "-o", "-first", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "output", "second", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "why", NULL, NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "why", NULL, NULL), PPSIM_OK);
    ppsim_request_keep_files(request, 1);
    ck_assert_int_eq(ppsim_run(request, &result, &error), PPSIM_OK);
    ck_assert_int_eq(ppsim_result_step_ns(result), 33000000);
    ck_assert_str_eq(ppsim_result_file_name(result, 0), "second");
    ck_assert_ptr_null(ppsim_result_file_name(result, 1));
    ppsim_request_free(request);
    ck_assert_str_eq(ppsim_result_file_name(result, 0), "second");
    ppsim_result_free(result);
}
END_TEST

/* What can be repeated is added: outputs, and the values of a sweep. */
START_TEST(repeated_options_are_added)
{
    ppsim_request *request = make("simulate", closed);
    ppsim_result *result = NULL;
    ck_assert_int_eq(ppsim_request_set(request, "emit", "plan=a", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "emit", "report=b", NULL), PPSIM_OK);
    ppsim_request_keep_files(request, 1);
    result = run(request);
    ck_assert_ptr_nonnull(ppsim_result_file_name(result, 1));
    ppsim_result_free(result);
    static const char *const points[] = {
        "study", "simulate",    "schedule", "gpipe", "microbatches", "4", "pp", "2", "pp", "4",
        "costs", "F=1ms,B=2ms", "threads",  "2",     "threads",      "1", NULL
    };
    result = run(make("sweep", points));
    ck_assert_ptr_nonnull(strstr(ppsim_result_text(result, NULL), "2 points: 2 ok"));
    ppsim_result_free(result);
}
END_TEST

START_TEST(no_result_has_no_numbers)
{
    size_t bytes = 1;
    int64_t held[64] = { 1 };
    ppsim_result_free(NULL);
    ck_assert_str_eq(ppsim_result_json(NULL, &bytes), "");
    ck_assert_uint_eq(bytes, 0);
    ck_assert_str_eq(ppsim_result_text(NULL, NULL), "");
    ck_assert_str_eq(ppsim_result_remarks(NULL, NULL), "");
    ck_assert_ptr_null(ppsim_result_file_name(NULL, 0));
    ck_assert_str_eq(ppsim_result_file(NULL, 0, &bytes), "");
    ck_assert_int_eq(ppsim_result_step_ns(NULL), 0);
    ck_assert_uint_eq(ppsim_result_ranks(NULL), 0);
    ck_assert_uint_eq(ppsim_result_stages(NULL), 0);
    ck_assert_uint_eq(ppsim_result_microbatches(NULL), 0);
    ck_assert_uint_eq(ppsim_result_stage_rank(NULL, 0), 0);
    ck_assert_uint_eq(ppsim_result_op_count(NULL, 0), 0);
    ppsim_result_ops(NULL, 0, NULL, NULL, NULL, NULL, NULL);
    ck_assert_uint_le(ppsim_memory_components(), 64);
    ck_assert_int_eq(ppsim_result_memory(NULL, 0, held), 0);
    ck_assert_int_eq(held[0], 0);
    ck_assert_str_eq(ppsim_version(), PPSIM_VERSION_TEXT);
    ppsim_result *result = run(make("plan", small));
    ck_assert_int_gt(ppsim_result_memory(result, 0, NULL), 0);
    ppsim_result_free(result);
}
END_TEST

static int calls;

static void count_call(void *context, const char *line)
{
    *(volatile sig_atomic_t *)context = 1;
    ck_assert(*line);
    calls++;
}

START_TEST(a_search_is_cancelled)
{
    const char *const options[] = { "model", "gpt175b", "pp", "16", NULL };
    volatile sig_atomic_t stop = 0;
    ppsim_request *request = make("plan", options);
    ppsim_result *result = NULL;
    ppsim_error error = { 0 };
    ppsim_request_stop(request, &stop);
    ppsim_request_progress(request, count_call, (void *)&stop);
    ck_assert_int_eq(ppsim_run(request, &result, &error), PPSIM_CANCELLED);
    ck_assert_int_eq(calls, 1);
    ppsim_result_free(result);
    ppsim_request_free(request);
}
END_TEST

static void *stop_later(void *stop)
{
    sleep(3);
    *(volatile sig_atomic_t *)stop = 1;
    return NULL;
}

/* Also while it looks for orders, which with a number of iterations takes as long as these do. */
START_TEST(a_search_of_orders_is_cancelled)
{
    const char *const options[] = { "model", "gpt175b", "pp",          "16", "threads",
                                    "1",     "budget",  "900000000it", NULL };
    volatile sig_atomic_t stop = 0;
    pthread_t thread;
    ppsim_request *request = make("plan", options);
    ppsim_result *result = NULL;
    ppsim_request_stop(request, &stop);
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, (void *)&stop), 0);
    ck_assert_int_eq(ppsim_run(request, &result, NULL), PPSIM_CANCELLED);
    pthread_join(thread, NULL);
    ppsim_result_free(result);
    ppsim_request_free(request);
}
END_TEST

/* Whatever a command says goes into its result, and no descriptor is left open. */
START_TEST(nothing_is_printed)
{
    char printed[16];
    int ends[2];
    const int out = dup(STDOUT_FILENO);
    const int err = dup(STDERR_FILENO);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    const char *const options[] = { "model",  "gpt1.7b", "pp",     "4", "seq-length",
                                    "100000", "--trace", "text=-", NULL };
    ppsim_request *request = make("plan", options);
    ppsim_result *result = NULL;
    ppsim_status status = ppsim_run(request, &result, NULL);
    const ssize_t bytes = read(ends[0], printed, sizeof printed);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    ck_assert_int_le(bytes, 0);
    ck_assert_int_eq(status, PPSIM_OK);
    ck_assert_ptr_nonnull(
        strstr(ppsim_result_remarks(result, NULL), "--seq-length 100000 exceeds"));
    ck_assert_str_eq(ppsim_result_file_name(result, 0), "-");
    ppsim_result_free(result);
    ppsim_request_free(request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result");
    TCase *tc = tcase_create("result");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, numbers_meet_the_closed_form);
    tcase_add_test(tc, a_plan_has_its_order_and_memory);
    tcase_add_test(tc, a_program_sends_what_it_receives);
    tcase_add_test(tc, a_program_needs_communication);
    tcase_add_test(tc, files_are_kept_in_memory);
    tcase_add_test(tc, a_file_in_memory_keeps_its_name);
    tcase_add_test(tc, a_sweep_of_files_in_memory_has_their_names);
    tcase_add_test(tc, wrong_options_are_refused_when_they_are_set);
    tcase_add_test(tc, a_value_may_begin_with_a_dash);
    tcase_add_test(tc, every_option_of_the_tables_can_be_set);
    tcase_add_test(tc, a_request_is_used_again);
    tcase_add_test(tc, repeated_options_are_added);
    tcase_add_test(tc, no_result_has_no_numbers);
    tcase_add_test(tc, a_search_is_cancelled);
    tcase_add_test(tc, a_search_of_orders_is_cancelled);
    tcase_add_test(tc, nothing_is_printed);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
