/* Lowered programs equal what the frameworks execute, op by op, in each framework's own notation
 * (tests/data/golden/README.md). */
#include "sim/base/text.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"

/* Prints one word per step; the words of a rank are joined by " ; ". */
typedef void print_word(const pp_program *program, const pp_comm_step *now, pp_text *text);

static const pp_transfer *first_of(const pp_program *program, const pp_comm_step *now)
{
    const pp_comm *comm = program->comm;
    return &comm->transfer[comm->group[now->index].first];
}

/* The letter of the op that computed the tensor. */
static char letter_of(const pp_transfer *t)
{
    return t->kind == PP_SEND_F || t->kind == PP_RECV_F ? 'F' : 'B';
}

/* send_next(0F0), recv_prev, send_prev(1B0), recv_next */
static void megatron_member(const pp_transfer *t, bool operand, pp_text *text)
{
    static const char *const names[] = { [PP_SEND_F] = "send_next",
                                         [PP_RECV_F] = "recv_prev",
                                         [PP_SEND_B] = "send_prev",
                                         [PP_RECV_B] = "recv_next" };
    pp_text_add(text, "%s", names[t->kind]);
    if (operand && pp_transfer_sends((pp_transfer_kind)t->kind))
        pp_text_add(text, "(%u%c%u)", t->stage, letter_of(t), t->microbatch);
}

static void megatron_run(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    char token[32];
    pp_text_add(text, "%s", pp_op_print(program->op[now->index], token, sizeof token));
}

/* [..]: posted and waited for at once */
static void megatron_batched(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    if (now->kind == PP_COMM_STEP_RUN) {
        megatron_run(program, now, text);
        return;
    }
    const pp_group *group = &program->comm->group[now->index];
    ck_assert_int_eq(now->kind, PP_COMM_STEP_POST);
    ck_assert_int_eq(now[1].kind, PP_COMM_STEP_WAIT);
    ck_assert_uint_eq(now[1].index, now->index);
    for (uint32_t t = 0; t < group->count; t++) {
        pp_text_add(text, "%s", t ? " " : "[");
        megatron_member(first_of(program, now) + t, true, text);
    }
    pp_text_add(text, "]");
}

/* <..>: posted; wait:.. */
static void megatron_apart(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    if (now->kind == PP_COMM_STEP_RUN) {
        megatron_run(program, now, text);
        return;
    }
    bool posts = now->kind == PP_COMM_STEP_POST;
    ck_assert_uint_eq(program->comm->group[now->index].count, 1);
    pp_text_add(text, posts ? "<" : "wait:");
    megatron_member(first_of(program, now), posts, text);
    pp_text_add(text, posts ? ">" : "");
}

/* F0, sendF0@1, recvB0@1: blocking */
static void half_steps(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    if (now->kind == PP_COMM_STEP_RUN) {
        pp_op op = program->op[now->index];
        pp_text_add(text, "%c%u", pp_op_letter((pp_op_kind)op.kind), op.microbatch);
        return;
    }
    const pp_transfer *t = first_of(program, now);
    ck_assert_int_eq(now[1].kind, PP_COMM_STEP_WAIT);
    ck_assert_uint_eq(now[1].index, now->index);
    ck_assert_uint_eq(program->comm->group[now->index].count, 1);
    pp_text_add(text, "%s%c%u@%u", pp_transfer_sends((pp_transfer_kind)t->kind) ? "send" : "recv",
                letter_of(t), t->microbatch, t->peer);
}

static bool is_mirrored(const pp_program *program)
{
    return program->mirrored_from < program->microbatches;
}

/* DualPipeV: the chunk. DualPipe: the direction. */
static char phase_of(const pp_program *program, uint32_t stage, uint32_t microbatch)
{
    bool second =
        is_mirrored(program) ? microbatch >= program->mirrored_from : stage >= program->ranks;
    return second ? 'b' : 'a';
}

/* DualPipe counts the microbatches of each direction from 0. */
static uint32_t number_of(const pp_program *program, uint32_t microbatch)
{
    return is_mirrored(program) ? microbatch % program->mirrored_from : microbatch;
}

/* Fa0, (Fa7&Bb3), [sendFa0@1 recvFb0@1] */
static void dualpipe(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    if (now->kind == PP_COMM_STEP_RUN) {
        pp_op op = program->op[now->index];
        bool second = now->index > 0 && program->op[now->index - 1].paired;
        pp_text_add(text, "%s%c%c%u%s", op.paired ? "(" : "", pp_op_letter((pp_op_kind)op.kind),
                    phase_of(program, op.stage, op.microbatch), number_of(program, op.microbatch),
                    second ? ")" : "");
        return;
    }
    ck_assert_int_eq(now[1].kind, PP_COMM_STEP_WAIT);
    ck_assert_uint_eq(now[1].index, now->index);
    for (uint32_t k = 0; k < program->comm->group[now->index].count; k++) {
        const pp_transfer *t = first_of(program, now) + k;
        pp_text_add(text, "%s%s%c%c%u@%u", k ? " " : "[",
                    pp_transfer_sends((pp_transfer_kind)t->kind) ? "send" : "recv", letter_of(t),
                    phase_of(program, t->stage, t->microbatch), number_of(program, t->microbatch),
                    t->peer);
    }
    pp_text_add(text, "]");
}

/* 0F0,0SEND_F0 */
static void cells(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    char token[40];
    if (now->kind == PP_COMM_STEP_RUN) {
        megatron_run(program, now, text);
        return;
    }
    ck_assert_int_eq(now->kind, PP_COMM_STEP_POST);
    for (uint32_t k = 0; k < program->comm->group[now->index].count; k++)
        pp_text_add(text, "%s%s", k ? "," : "",
                    pp_transfer_print(first_of(program, now) + k, token, sizeof token));
}

/* Prints the line of every rank. The wait of a blocking post has no word of its own. */
static void print_program(const pp_program *program, print_word *word, bool waits,
                          const char *separator, pp_text *text)
{
    const pp_comm *comm = program->comm;
    for (uint32_t r = 0; r < program->ranks; r++) {
        bool first = true;
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            const pp_comm_step *now = &comm->step[s];
            if (now->kind == PP_COMM_STEP_WAIT && !waits)
                continue;
            bool half = now->kind == PP_COMM_STEP_RUN && now->index > program->rank_begin[r] &&
                        program->op[now->index - 1].paired;
            pp_text_add(text, "%s", first ? "" : half ? "&" : separator);
            word(program, now, text);
            first = false;
        }
        pp_text_add(text, "\n");
    }
}

/* Transfers in [..] and <..> are posted one by one, in an order that depends on whether the rank is
 * even or odd. Those in [..] are waited for in the same order. */
static void unfold(char *word, uint32_t rank, pp_text *text)
{
    static const char *const orders[2][4] = {
        { "send_next", "recv_prev", "send_prev", "recv_next" },
        { "recv_prev", "send_next", "recv_next", "send_prev" },
    };
    bool waited = *word == '[';
    char *found[4] = { NULL };
    const char *separator = "";
    char *rest = word + 1;
    word[strlen(word) - 1] = '\0';
    for (char *member; (member = step_cut(&rest, ' '));) {
        for (int k = 0; k < 4; k++) {
            if (strncmp(member, orders[rank % 2][k], 9) == 0)
                found[k] = member;
        }
    }
    for (int k = 0; k < 4; k++) {
        if (found[k])
            pp_text_add(text, "%s<%s>", separator, found[k]);
        separator = found[k] ? " ; " : separator;
    }
    for (int k = 0; k < 4 && waited; k++) {
        if (found[k])
            pp_text_add(text, " ; wait:%.9s", found[k]);
    }
}

/* Takes the next " ; "-separated word. */
static char *next_word(char **rest)
{
    char *word = *rest;
    if (!word)
        return NULL;
    char *stop = strstr(word, " ; ");
    *rest = stop ? stop + 3 : NULL;
    if (stop)
        *stop = '\0';
    return word;
}

/* The lines of a trace file without "rank0: ". */
static void read_trace(const char *name, bool apart, pp_text *text)
{
    char path[128];
    size_t bytes = 0;
    uint32_t rank = 0;
    snprintf(path, sizeof path, "golden/%s.trace.txt", name);
    char *file PP_CLEANUP(pp_free_text) = step_data(path, &bytes);
    char *rest = file;
    for (char *line; (line = next_line(&rest)); rank++) {
        char *words = strchr(line, ' ') + 1;
        const char *separator = "";
        for (char *word; (word = next_word(&words)); separator = " ; ") {
            pp_text_add(text, "%s", separator);
            if (apart && strchr("[<", *word))
                unfold(word, rank, text);
            else
                pp_text_add(text, "%s", word);
        }
        pp_text_add(text, "\n");
    }
}

/* Reports where the texts differ. */
static void equal_texts(const char *name, const pp_text *golden, const pp_text *ours)
{
    size_t at = 0;
    while (at < golden->bytes && at < ours->bytes && golden->data[at] == ours->data[at])
        at++;
    size_t from = at > 80 ? at - 80 : 0;
    ck_assert_msg(golden->bytes == ours->bytes && at == golden->bytes,
                  "%s differs:\n...%.160s\nours:\n...%.160s", name, golden->data + from,
                  ours->data + from);
}

static const struct {
    const char *prefix, *framework, *schedule;
    uint32_t v;
    print_word *word;
    bool apart;
} traces[] = {
    { "megatron_1f1b", "megatron", "1f1b", 1, megatron_batched, false },
    { "megatron_interleaved_v2", "megatron", "interleaved", 2, megatron_batched, false },
    { "megatron_interleaved_v4", "megatron", "interleaved", 4, megatron_batched, false },
    { "megatron_interleaved_v2_overlap", "megatron-overlap", "interleaved", 2, megatron_apart,
      true },
    { "megatron_interleaved_v2_overlap_wf", "megatron-overlap-flush", "interleaved", 2,
      megatron_apart, true },
    { "deepspeed_1f1b", "deepspeed", "1f1b", 1, half_steps, false },
    { "nxd_1f1b", "neuronx", "1f1b", 1, half_steps, false },
    { "deepseek_dualpipev", "dualpipe", "dualpipev", 2, dualpipe, false },
    { "deepseek_dualpipe", "dualpipe", "dualpipe", 1, dualpipe, false },
};

static const uint32_t shapes[][2] = { { 4, 8 }, { 8, 32 }, { 4, 10 }, { 8, 20 } };

enum { TRACES = sizeof traces / sizeof traces[0] };

START_TEST(programs_equal_the_traces_of_their_frameworks)
{
    int count = strcmp(traces[_i].framework, "dualpipe") == 0 ? 4 : 2;
    for (int k = 0; k < count; k++) {
        char name[80];
        uint32_t p = shapes[k][0];
        uint32_t m = shapes[k][1];
        pp_err err = { 0 };
        pp_text golden PP_CLEANUP(pp_text_free) = { 0 };
        pp_text ours PP_CLEANUP(pp_text_free) = { 0 };
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_order *order PP_CLEANUP(pp_order_free) =
            step_order(traces[_i].schedule, p, traces[_i].v, m, 0);
        snprintf(name, sizeof name, "%s_p%u_m%u", traces[_i].prefix, p, m);
        STEP_OK(lower_with(traces[_i].framework, order, &program, &err), err);
        print_program(program, traces[_i].word, traces[_i].apart, " ; ", &ours);
        read_trace(name, traces[_i].apart, &golden);
        equal_texts(name, &golden, &ours);
    }
}
END_TEST

/* [0SEND_F3 4RECV_F0] is posted and waited for at once, <..> posted, wait:.. waited for. */
static void torch_batches(const pp_program *program, const pp_comm_step *now, pp_text *text)
{
    char token[40];
    if (now->kind == PP_COMM_STEP_RUN) {
        megatron_run(program, now, text);
        return;
    }
    bool at_once = now->kind == PP_COMM_STEP_POST && now[1].kind == PP_COMM_STEP_WAIT &&
                   now[1].index == now->index;
    pp_text_add(text, now->kind == PP_COMM_STEP_WAIT ? "wait:" : at_once ? "[" : "<");
    for (uint32_t k = 0; k < program->comm->group[now->index].count; k++)
        pp_text_add(text, "%s%s", k ? " " : "",
                    pp_transfer_print(first_of(program, now) + k, token, sizeof token));
    pp_text_add(text, now->kind == PP_COMM_STEP_WAIT ? "" : at_once ? "]" : ">");
}

static void print_batches(const pp_program *program, pp_text *text)
{
    const pp_comm *comm = program->comm;
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            const pp_comm_step *now = &comm->step[s];
            bool waited = now->kind == PP_COMM_STEP_WAIT && s > comm->step_begin[r] &&
                          now[-1].kind == PP_COMM_STEP_POST && now[-1].index == now->index;
            if (waited)
                continue;
            pp_text_add(text, "%s", s > comm->step_begin[r] ? " ; " : "");
            torch_batches(program, now, text);
        }
        pp_text_add(text, "\n");
    }
}

static const struct {
    const char *name, *schedule;
    uint32_t v, shape[3][2];
} old_torch[] = {
    { "1f1b", "1f1b", 1, { { 4, 2 }, { 4, 8 }, { 8, 20 } } },
    { "gpipe", "gpipe", 1, { { 4, 2 }, { 4, 8 } } },
    { "interleaved_v2", "interleaved", 2, { { 4, 8 }, { 4, 10 }, { 8, 20 } } },
    { "interleaved_v4", "interleaved", 4, { { 4, 8 }, { 4, 10 } } },
    { "looped_bfs_v2", "looped-bfs", 2, { { 4, 8 }, { 4, 10 } } },
    { "interleaved_zb_v2", "interleaved-zb", 2, { { 4, 8 } } },
    { "zbv", "zbv", 2, { { 4, 8 }, { 4, 10 } } },
};

enum { OLD_TORCH = sizeof old_torch / sizeof old_torch[0] };

START_TEST(torch_2_6_exchanges_as_its_classes_do)
{
    for (int k = 0; k < 3 && old_torch[_i].shape[k][0]; k++) {
        char name[80];
        uint32_t p = old_torch[_i].shape[k][0];
        uint32_t m = old_torch[_i].shape[k][1];
        bool grouped = strcmp(old_torch[_i].schedule, "interleaved") == 0;
        pp_err err = { 0 };
        pp_text golden PP_CLEANUP(pp_text_free) = { 0 };
        pp_text ours PP_CLEANUP(pp_text_free) = { 0 };
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_order *order PP_CLEANUP(pp_order_free) =
            step_order(old_torch[_i].schedule, p, old_torch[_i].v, m, grouped ? m / (m / p) : 0);
        snprintf(name, sizeof name, "pt26_%s_p%u_m%u", old_torch[_i].name, p, m);
        STEP_OK(lower_with("torch-2.6", order, &program, &err), err);
        print_batches(program, &ours);
        read_trace(name, false, &golden);
        equal_texts(name, &golden, &ours);
    }
}
END_TEST

/* Megatron-FSDP acts by hooks inside of ops (_register_fsdp_hooks), so that its rows are those of
 * Megatron-LM's loops, and none has a mark: here forward_backward_pipelining_without_interleaving
 * by hand. It asserts against overlapped pairs. */
START_TEST(megatron_fsdp_has_the_rows_of_megatron)
{
    pp_err err = { 0 };
    pp_program *pairs = NULL;
    pp_order *combined PP_CLEANUP(pp_order_free) = step_order("combined-1f1b", 2, 2, 4, 2);
    for (uint32_t v = 1; v <= 2; v++) {
        pp_text rows[2] = { { 0 }, { 0 } };
        pp_order *order PP_CLEANUP(pp_order_free) =
            step_order(v == 1 ? "1f1b" : "interleaved", 2, v, 2, v == 1 ? 0 : 2);
        for (int k = 0; k < 2; k++) {
            pp_program *program PP_CLEANUP(pp_program_free) = NULL;
            STEP_OK(lower_with(k ? "megatron-fsdp" : "megatron-overlap", order, &program, &err),
                    err);
            for (size_t s = 0; s < program->comm->step_begin[2]; s++)
                ck_assert_int_ne(program->comm->step[s].kind, PP_COMM_STEP_MARK);
            print_batches(program, &rows[k]);
        }
        equal_texts("megatron-fsdp", &rows[0], &rows[1]);
        if (v == 1)
            ck_assert_str_eq(rows[1].data,
                             "0F0 ; [0SEND_F0] ; 0F1 ; [0SEND_F1 0RECV_B0] ; 0B0 ; [0RECV_B1] ; "
                             "0B1\n[1RECV_F0] ; 1F0 ; 1B0 ; [1SEND_B0 1RECV_F1] ; 1F1 ; 1B1 ; "
                             "[1SEND_B1]\n");
        pp_text_free(&rows[0]);
        pp_text_free(&rows[1]);
    }
    ck_assert_int_eq(lower_with("megatron-fsdp", combined, &pairs, &err), PP_USAGE);
    ck_assert_msg(strstr(err.text, "overlapped pairs"), "%s", err.text);
}
END_TEST

START_TEST(torch_2_13_is_torch)
{
    ck_assert_ptr_eq(pp_framework_find("torch-2.13"), pp_framework_find("torch"));
}
END_TEST

START_TEST(torch_2_6_refuses_steps_that_come_too_early)
{
    pp_err err = { 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("looped-bfs", 4, 2, 2, 0);
    ck_assert_int_eq(lower_with("torch-2.6", order, &program, &err), PP_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "run 4F0 before"));
}
END_TEST

/* Rows of a golden file, lines ended by LF. */
static void read_rows(const char *name, const char *suffix, pp_text *text)
{
    char path[128];
    size_t bytes = 0;
    snprintf(path, sizeof path, "golden/%s.%s.csv", name, suffix);
    char *file PP_CLEANUP(pp_free_text) = step_data(path, &bytes);
    char *rest = file;
    for (char *line; (line = next_line(&rest));)
        pp_text_add(text, "%s\n", line);
}

/* sail-sg 39f2c186, with F = I = W = 1 ms and 1 us per transfer. 1f1b-v is left out, since its
 * passes there count B as I alone. */
START_TEST(zero_bubble_places_transfers_as_sail_does)
{
    static const char *const names[] = { "sail_zb1p", "sail_zb2p", "sail_zbv", "sail_vhalf",
                                         "sail_vmin" };
    for (int k = 0; k < 2; k++) {
        char name[80];
        pp_err err = { 0 };
        pp_text golden PP_CLEANUP(pp_text_free) = { 0 };
        pp_text ours PP_CLEANUP(pp_text_free) = { 0 };
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        snprintf(name, sizeof name, "%s_p%u_m%u", names[_i], shapes[k][0], shapes[k][1]);
        pp_order *order PP_CLEANUP(pp_order_free) = golden_order(name);
        STEP_OK(lower_with("zero-bubble", order, &program, &err), err);
        print_program(program, cells, false, ",", &ours);
        read_rows(name, "sailcomms", &golden);
        equal_texts(name, &golden, &ours);
    }
}
END_TEST

/* The rows of format pytorch-comms under `framework`. */
static void emit_rows(const pp_order *order, const char *framework, pp_text *text)
{
    const pp_format *format = NULL;
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_err err = { 0 };
    pp_companion companion = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    plan->framework = pp_framework_find(framework);
    const pp_export data = { .plan = plan, .order = order };
    STEP_OK(pp_format_get("pytorch-comms", &format, &err), err);
    STEP_OK(format->emit(&data, text, &companion, &err), err);
}

/* PyTorch 2.13's own passes with defer_pp_recv. */
START_TEST(deferred_receives_stand_where_pytorch_puts_them)
{
    static const char *const names[] = { "pt_1f1b_p4_m8",
                                         "pt_1f1b_p8_m32",
                                         "pt_gpipe_p4_m8",
                                         "pt_interleaved_1f1b_v2_p4_m8",
                                         "pt_interleaved_1f1b_v2_p8_m32",
                                         "pt_interleaved_zb1p_v2_p4_m8" };
    pp_text golden PP_CLEANUP(pp_text_free) = { 0 };
    pp_text ours PP_CLEANUP(pp_text_free) = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = golden_order(names[_i]);
    emit_rows(order, "torch-defer-recv", &ours);
    read_rows(names[_i], "deferred", &golden);
    equal_texts(names[_i], &golden, &ours);
}
END_TEST

/* PyTorch's passes over every order of tests/data/golden. */
START_TEST(pytorch_comms_equals_the_golden_rows)
{
    size_t bytes = 0;
    char *list PP_CLEANUP(pp_free_text) = step_data("golden/metrics.csv", &bytes);
    char *rest = list;
    char *fields[1];
    int rows = 0;
    ck_assert_ptr_nonnull(next_line(&rest));
    for (char *line; (line = next_line(&rest)); rows++) {
        pp_text golden PP_CLEANUP(pp_text_free) = { 0 };
        pp_text ours PP_CLEANUP(pp_text_free) = { 0 };
        step_fields(line, fields, 1);
        pp_order *order PP_CLEANUP(pp_order_free) = golden_order(fields[0]);
        emit_rows(order, "ideal", &ours);
        read_rows(fields[0], "comms", &golden);
        equal_texts(fields[0], &golden, &ours);
    }
    ck_assert_int_eq(rows, 37);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor_traces");
    TCase *tc = tcase_create("traces");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, programs_equal_the_traces_of_their_frameworks, 0, TRACES);
    tcase_add_loop_test(tc, torch_2_6_exchanges_as_its_classes_do, 0, OLD_TORCH);
    tcase_add_test(tc, megatron_fsdp_has_the_rows_of_megatron);
    tcase_add_test(tc, torch_2_13_is_torch);
    tcase_add_test(tc, torch_2_6_refuses_steps_that_come_too_early);
    tcase_add_loop_test(tc, zero_bubble_places_transfers_as_sail_does, 0, 5);
    tcase_add_loop_test(tc, deferred_receives_stand_where_pytorch_puts_them, 0, 6);
    tcase_add_test(tc, pytorch_comms_equals_the_golden_rows);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
