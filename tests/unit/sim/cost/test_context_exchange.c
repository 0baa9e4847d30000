/* What context-parallel ranks exchange in attention, and what it holds for that, by closed forms
 * for each kind (TransformerEngine's context_parallel.py). */
#include "sim/cost/context_exchange.h"
#include "tests/support/published.h"

enum { TOKENS = 32768 };

static pp_cost_context context_of(const pp_model *model, const pp_hardware *hw, int64_t tp,
                                  int64_t cp, pp_cp_comm kind)
{
    pp_cost_context c = { .model = model,
                          .hardware = hw,
                          .parallel = { .pp = 1, .tp = tp, .cp = cp, .dp = 1, .ep = 1, .vpp = 1 } };
    c.switches = stack_switches("every-schedule", &c.parallel);
    c.switches.recompute = PP_RECOMPUTE_NONE;
    c.switches.cp_comm = kind;
    return c;
}

/* Seconds beyond an attention core that takes `core_s` in each direction. */
static pp_work exchange_of(const pp_cost_context *c, double core_s)
{
    const pp_gpu_batch local = pp_gpu_batch_of(c, TOKENS, TOKENS);
    const pp_attention_widths widths = pp_attention_widths_of(&local);
    pp_work work = { .f = core_s, .i = core_s };
    pp_add_context_exchange(&local, &widths, &work);
    work.f -= core_s;
    work.i -= core_s;
    return work;
}

static void check_seconds(double seconds, double expected)
{
    ck_assert_double_eq_tol(seconds, expected, 1e-12 + 1e-9 * expected);
}

/* llama3-70b over tp 2: 32 heads of 128 for queries, 4 for keys and 4 for values. */
static double row_bytes(const pp_cost_context *c, double heads)
{
    return (double)TOKENS / (double)c->parallel.cp * heads * 128 * 2;
}

/* (c - 1) messages with keys and values, twice that with their gradients, less the (c - 1) / c of
 * attention that run at the same time. */
START_TEST(a_ring_exposes_what_attention_does_not_hide)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, 2, 4, PP_CP_COMM_RING);
    const double message = pp_p2p_seconds(&hw, true, 4, row_bytes(&c, 8));
    pp_work w = exchange_of(&c, 0);
    check_seconds(w.f, 3 * message);
    check_seconds(w.i, 6 * message);
    w = exchange_of(&c, 2 * message); /* of which 3/4 hide */
    check_seconds(w.f, 1.5 * message);
    check_seconds(w.i, 4.5 * message);
    w = exchange_of(&c, 4 * message);
    check_seconds(w.f, 0);
    check_seconds(w.i, 3 * message);
    const pp_cost_context far = context_of(&model, &hw, 2, 8, PP_CP_COMM_RING); /* two nodes */
    w = exchange_of(&far, 0);
    check_seconds(w.f, 7 * pp_p2p_seconds(&hw, false, 8, row_bytes(&far, 8)));
}
END_TEST

/* Of these tensors one after the other, in bytes. */
static double all_to_all_seconds(const pp_hardware *hw, pp_collective_group group, double q,
                                 double k, double v, double o)
{
    return pp_all_to_all_seconds(hw, group, q) + pp_all_to_all_seconds(hw, group, k) +
           pp_all_to_all_seconds(hw, group, v) + pp_all_to_all_seconds(hw, group, o);
}

/* Queries, keys, values and the output. */
START_TEST(all_to_all_is_exposed)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, 2, 4, PP_CP_COMM_ALL_TO_ALL);
    const pp_collective_group group = { .ranks = 4, .members = 4 };
    const double seconds = all_to_all_seconds(&hw, group, row_bytes(&c, 32), row_bytes(&c, 4),
                                              row_bytes(&c, 4), row_bytes(&c, 32));
    ck_assert_double_gt(seconds, row_bytes(&c, 72) * 3 / 4 / hw.node_p2p.link_bytes_per_s);
    for (int core = 0; core < 2; core++) {
        const pp_work w = exchange_of(&c, core);
        check_seconds(w.f, seconds);
        check_seconds(w.i, seconds);
    }
}
END_TEST

/* deepseek-v3 over tp 4 and cp 16, two ranks on each of 8 nodes: 7/8 of the 32 heads of 192, 192,
 * 128 and 128 columns leave the node. */
START_TEST(all_to_all_crosses_the_network)
{
    const pp_model model = run_model("deepseek-v3");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, 4, 16, PP_CP_COMM_ALL_TO_ALL);
    const pp_collective_group group = { .ranks = 16, .members = 2 };
    const double column = TOKENS / 16.0 * 32 * 2;
    const double rate = hw.network_efficiency * hw.network_bytes_per_s / hw.gpus_per_node;
    const pp_work w = exchange_of(&c, 0);
    check_seconds(w.f, all_to_all_seconds(&hw, group, column * 192, column * 192, column * 128,
                                          column * 128));
    ck_assert_double_eq_tol(w.f, column * 640 * 7 / 8 / rate, 0.1 * w.f);
}
END_TEST

/* All rows of keys and of values are gathered; in the backward again, and then their gradients are
 * reduced. */
START_TEST(an_all_gather_is_exposed)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, 2, 4, PP_CP_COMM_ALL_GATHER);
    const pp_collective_group group = { .ranks = 4, .members = 4 };
    const double whole = 4 * row_bytes(&c, 4);
    const double gather = 2 * pp_collective_seconds(&hw, PP_ALL_GATHER, group, whole);
    const double scatter = 2 * pp_collective_seconds(&hw, PP_REDUCE_SCATTER, group, whole);
    const pp_work w = exchange_of(&c, 1);
    ck_assert_double_gt(scatter, 0);
    check_seconds(w.f, gather);
    check_seconds(w.i, gather + scatter);
}
END_TEST

/* tp 2 and cp 8: all-to-all among the 4 ranks of a node, then one step of a ring to the other
 * node. */
START_TEST(a_hierarchy_has_both)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, 2, 8, PP_CP_COMM_HIERARCHICAL);
    const pp_collective_group group = { .ranks = 4, .members = 4 };
    const double inside = all_to_all_seconds(&hw, group, row_bytes(&c, 32), row_bytes(&c, 4),
                                             row_bytes(&c, 4), row_bytes(&c, 32));
    const double message = pp_p2p_seconds(&hw, false, 2, row_bytes(&c, 8));
    pp_work w = exchange_of(&c, 0);
    check_seconds(w.f, inside + message);
    check_seconds(w.i, inside + 2 * message);
    w = exchange_of(&c, 3 * message); /* half of it hides */
    check_seconds(w.f, inside);
    check_seconds(w.i, inside + 0.5 * message);
}
END_TEST

START_TEST(without_context_parallelism_nothing_is_exchanged)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    for (int kind = 0; pp_cp_comm_names()[kind]; kind++) {
        pp_cost_context c = context_of(&model, &hw, 2, 1, (pp_cp_comm)kind);
        check_seconds(exchange_of(&c, 0).f, 0);
        c.parallel.cp = 4;
        c.omitted = 1 << PP_EXCHANGE_CP;
        check_seconds(exchange_of(&c, 0).i, 0);
    }
}
END_TEST

/* A node of h100-80g has 8 GPUs; llama3-70b has 64 heads for queries and 8 for keys and values,
 * deepseek-v3 128 for both. */
START_TEST(groups_inside_a_node_share_the_heads)
{
    static const struct {
        const char *model;
        int64_t tp, cp, inner;
        bool all; /* all-to-all is possible */
    } cases[] = {
        { "llama3-70b", 1, 8, 8, true },   { "llama3-70b", 1, 16, 8, false },
        { "llama3-70b", 2, 8, 4, false },  { "llama3-70b", 4, 4, 2, false },
        { "llama3-70b", 8, 4, 1, false },  { "llama3-70b", 16, 2, 1, false },
        { "llama3-70b", 1, 12, 4, false }, { "deepseek-v3", 4, 16, 2, true },
        { "gpt22b", 1, 6, 2, false },
    };
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_model model = run_model(cases[i].model);
        pp_cost_context c =
            context_of(&model, &hw, cases[i].tp, cases[i].cp, PP_CP_COMM_HIERARCHICAL);
        const int64_t inner = pp_context_inner(&c);
        pp_err err = { 0 };
        ck_assert_msg(inner == cases[i].inner, "case %zu: %d", i, (int)inner);
        ck_assert_int_eq(pp_cost_context_check(&c, &err), PP_OK);
        c.switches.cp_comm = PP_CP_COMM_ALL_TO_ALL;
        ck_assert_int_eq(pp_context_inner(&c), cases[i].cp);
        ck_assert_msg(pp_cost_context_check(&c, &err) == (cases[i].all ? PP_OK : PP_USAGE),
                      "case %zu", i);
        ck_assert(cases[i].all || strcmp(err.where, "cp_comm") == 0);
    }
}
END_TEST

/* llama3-70b over cp 4, in bytes per token: queries and output have 8192 columns, keys and values
 * 2048 together. */
START_TEST(what_is_kept_and_held_depends_on_the_kind)
{
    static const struct {
        pp_cp_comm kind;
        int64_t cp, kept, forward, backward;
    } cases[] = {
        { PP_CP_COMM_RING, 1, 0, 0, 0 },
        { PP_CP_COMM_RING, 4, 0, 2 * 4 * (2048 + 8192), 2 * (8192 + 3 * 2048) },
        { PP_CP_COMM_ALL_TO_ALL, 4, 2 * 8192, 2 * (8192 + 2048), 2 * 8192 },
        { PP_CP_COMM_ALL_GATHER, 4, 2 * 8192, 2 * 2 * 4 * 2048, 2 * 4 * 4 * 2048 },
        { PP_CP_COMM_HIERARCHICAL, 4, 2 * 8192, 2 * (8192 + 2048), 2 * 8192 }, /* one node */
        { PP_CP_COMM_HIERARCHICAL, 16, 2 * 8192, 2 * (2 * (2048 + 8192) + 8192 + 2048),
          2 * (8192 + 3 * 2048 + 8192) },
    };
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_cost_context c = context_of(&model, &hw, 1, cases[i].cp, cases[i].kind);
        const pp_gpu_batch local = pp_gpu_batch_of(&c, TOKENS, TOKENS);
        const pp_attention_widths a = pp_attention_widths_of(&local);
        pp_cost_context one = c;
        pp_unit_cost cost[2];
        pp_err err = { 0 };
        one.parallel.cp = 1; /* as many tokens on a GPU */
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, TOKENS, TOKENS, &cost[0], &err), err);
        STEP_OK(pp_cost_unit(&one, PP_UNIT_LAYER, 0, TOKENS / cases[i].cp, TOKENS, &cost[1], &err),
                err);
        const double tokens = (double)TOKENS / (double)cases[i].cp;
        ck_assert_double_eq(cost[0].activation_bytes - cost[1].activation_bytes,
                            tokens * (double)cases[i].kept);
        ck_assert_double_eq(pp_context_held_bytes(&local, &a, false), (double)cases[i].forward);
        ck_assert_double_eq(pp_context_held_bytes(&local, &a, true), (double)cases[i].backward);
    }
}
END_TEST

/* In 8 bits the projection keeps its input quantized, and attention its own output in 16 bits,
 * whatever is exchanged. */
START_TEST(in_8_bits_the_outputs_are_two_anyway)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    double bytes[2];
    for (int k = 0; k < 2; k++) {
        pp_cost_context c =
            context_of(&model, &hw, 1, 4, k ? PP_CP_COMM_ALL_TO_ALL : PP_CP_COMM_RING);
        pp_unit_cost cost;
        pp_err err = { 0 };
        c.switches.precision = PP_PRECISION_FP8;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, TOKENS, TOKENS, &cost, &err), err);
        bytes[k] = cost.activation_bytes;
    }
    ck_assert_double_eq(bytes[0], bytes[1]);
}
END_TEST

/* gpt22b over cp 16, with h = 6144: the ring's buffers and outputs of 16 steps, 2 x 16 x 3h, while
 * the 5h + 16h that the MLP will keep are not there yet. */
START_TEST(long_rings_are_the_fullest_instant_of_a_layer)
{
    const pp_model model = run_model("gpt22b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, 1, 16, PP_CP_COMM_RING);
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, TOKENS, TOKENS, &cost, &err), err);
    ck_assert_double_eq(cost.temporary_bytes, TOKENS / 16.0 * (96 - 21) * 6144);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context_exchange");
    TCase *tc = tcase_create("context_exchange");
    tcase_add_test(tc, a_ring_exposes_what_attention_does_not_hide);
    tcase_add_test(tc, all_to_all_is_exposed);
    tcase_add_test(tc, all_to_all_crosses_the_network);
    tcase_add_test(tc, an_all_gather_is_exposed);
    tcase_add_test(tc, a_hierarchy_has_both);
    tcase_add_test(tc, without_context_parallelism_nothing_is_exchanged);
    tcase_add_test(tc, groups_inside_a_node_share_the_heads);
    tcase_add_test(tc, what_is_kept_and_held_depends_on_the_kind);
    tcase_add_test(tc, in_8_bits_the_outputs_are_two_anyway);
    tcase_add_test(tc, long_rings_are_the_fullest_instant_of_a_layer);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
