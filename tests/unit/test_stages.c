/* What a stage is made of: its own units, each with a cost of its own. */
#include "sim/cost_model.h"
#include "sim/kernel.h"
#include "tests/contract/published.h"

#define TOKENS 4096

static run stages_run(const char *model, int64_t pp, int64_t tp)
{
    run r = { .model = run_model(model),
              .micro_batch_size = 1,
              .seq_length = TOKENS,
              .microbatches = 8,
              .parallel = { .pp = pp, .tp = tp, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    pp_err err = { 0 };
    STEP_OK(pp_stack_find("current", tp, &r.switches, &err), err);
    r.switches.recompute = PP_RECOMPUTE_FULL;
    return r;
}

static pp_unit_cost unit(const run *r, const pp_hardware *hw, pp_unit_kind kind, int64_t layer)
{
    const pp_cost_context c = {
        .model = &r->model, .hardware = hw, .parallel = r->parallel, .switches = r->switches
    };
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(&c, kind, layer, TOKENS, (int64_t)TOKENS * TOKENS, &cost, &err), err);
    return cost;
}

static void add(pp_unit_cost *sum, pp_unit_cost one)
{
    sum->f_s += one.f_s;
    sum->i_s += one.i_s;
    sum->w_s += one.w_s;
    sum->activation_bytes += one.activation_bytes;
    sum->logits_bytes += one.logits_bytes;
    sum->recompute_bytes = fmax(sum->recompute_bytes, one.recompute_bytes);
}

/* Layers 0 to 2 are dense, 61 of them do not divide by 4; the last stage has MTP and head. Layers
 * are recomputed one after the other, so their transients do not add up. */
START_TEST(a_stage_costs_the_sum_of_its_units)
{
    pp_hardware hw = run_hardware("h100-80g");
    hw.host_gap_s = 0;
    const run r = stages_run("deepseek-v3", 4, 1);
    pp_stage *stages = run_stages(&r.model, 4);
    pp_costs *c = run_costs(&r, &hw);
    for (uint32_t s = 0; s < 4; s++) {
        pp_unit_cost sum = { 0 };
        for (int64_t l = 0; l < stages[s].layers; l++)
            add(&sum, unit(&r, &hw, PP_UNIT_LAYER, stages[s].first_layer + l));
        if (s == 0)
            add(&sum, unit(&r, &hw, PP_UNIT_EMBEDDING, 0));
        if (s == 3) {
            add(&sum, unit(&r, &hw, PP_UNIT_MTP, 0));
            add(&sum, unit(&r, &hw, PP_UNIT_LOSS, 0));
        }
        ck_assert_double_eq_tol((double)c->f_ns[s], 1e9 * sum.f_s, 1);
        ck_assert_double_eq_tol((double)c->i_ns[s], 1e9 * sum.i_s, 1);
        ck_assert_double_eq_tol((double)c->w_ns[s], 1e9 * sum.w_s, 1);
        ck_assert_double_eq_tol((double)c->activation_bytes[s], sum.activation_bytes, 1);
        ck_assert_double_eq_tol((double)c->logits_bytes[s], sum.logits_bytes, 1);
        ck_assert_double_eq_tol((double)c->recompute_bytes[s], sum.recompute_bytes, 1);
    }
    ck_assert_int_eq(stages[0].layers, 16);
    ck_assert_int_eq(stages[1].layers, 15);
    ck_assert_double_gt(unit(&r, &hw, PP_UNIT_EMBEDDING, 0).f_s, 0);
    ck_assert_double_gt(unit(&r, &hw, PP_UNIT_LAYER, 3).f_s,
                        1.1 * unit(&r, &hw, PP_UNIT_LAYER, 2).f_s);
    free(stages);
    pp_costs_free(&c);
}
END_TEST

/* bf16. MTP looks tokens up too, in a table of its own where the embedding is on another rank. */
START_TEST(a_rank_holds_the_parameters_of_its_units)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const run r = stages_run("deepseek-v3", 4, 1);
    const double table = 129280.0 * 7168;
    pp_stage *stages = run_stages(&r.model, 4);
    pp_costs *c = run_costs(&r, &hw);
    for (uint32_t s = 0; s < 4; s++) {
        double sum = s == 3 ? table : 0;
        for (int64_t l = 0; l < stages[s].layers; l++)
            sum += unit(&r, &hw, PP_UNIT_LAYER, stages[s].first_layer + l).parameters;
        if (s == 0)
            sum += unit(&r, &hw, PP_UNIT_EMBEDDING, 0).parameters;
        if (s == 3)
            sum += unit(&r, &hw, PP_UNIT_MTP, 0).parameters +
                   unit(&r, &hw, PP_UNIT_LOSS, 0).parameters;
        ck_assert_double_eq_tol((double)c->parameter_bytes[s], 2 * sum, 1);
    }
    ck_assert_double_eq(unit(&r, &hw, PP_UNIT_EMBEDDING, 0).parameters, table);
    free(stages);
    pp_costs_free(&c);
}
END_TEST

START_TEST(sequence_parallel_tensors_travel_in_slices)
{
    const pp_hardware hw = run_hardware("h100-80g");
    run r = stages_run("llama3-8b", 4, 4);
    pp_ns send_ns[2] = { 0 };
    for (int on = 0; on < 2; on++) {
        r.switches.sequence_parallel = on;
        pp_costs *c = run_costs(&r, &hw);
        ck_assert_int_eq(c->message_bytes[0], TOKENS * 4096 * 2 / (on ? 4 : 1));
        send_ns[on] = c->send_f_ns[0];
        pp_costs_free(&c);
    }
    ck_assert_int_lt(send_ns[1], send_ns[0]);
}
END_TEST

/* Interleaved without overlap: each F and I waits for the longer of two exchanges. A gap where the
 * framework synchronises: in F and I of every stage where there is more than one rank. */
START_TEST(exchanges_and_gaps_are_in_the_ops)
{
    pp_hardware hw = run_hardware("a100-80g");
    run r = stages_run("gpt22b", 4, 8);
    r.parallel.vpp = 2;
    for (int gap_us = 0; gap_us < 101; gap_us += 100) {
        hw.host_gap_s = 1e-6 * gap_us;
        r.switches.p2p_overlap = true;
        pp_costs *overlapped = run_costs(&r, &hw);
        r.switches.p2p_overlap = false;
        pp_costs *waiting = run_costs(&r, &hw);
        const pp_ns forward = overlapped->send_f_ns[1], backward = overlapped->send_b_ns[1];
        const pp_ns waits = (forward > backward ? forward : backward) + 1000 * gap_us;
        ck_assert_int_gt(forward, 0);
        ck_assert_int_le(llabs(waiting->f_ns[1] - overlapped->f_ns[1] - waits), 1);
        ck_assert_int_le(llabs(waiting->i_ns[1] - overlapped->i_ns[1] - waits), 1);
        ck_assert_int_eq(waiting->w_ns[1], overlapped->w_ns[1]);
        pp_costs_free(&overlapped);
        pp_costs_free(&waiting);
    }
}
END_TEST

/* No less than its products at peak speed and, at the peak of the memory, 38 bytes per logit: cast
 * to fp32 (2 + 4), max (4), subtract and exponentiate (4 + 4 each), sum (4), divide (4 + 4). */
START_TEST(the_loss_passes_over_its_logits)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const run r = stages_run("llama3-8b", 4, 1);
    const double logits = TOKENS * 128256.0;
    const double products_s = 2 * logits * 4096 / hw.peak_flops_per_s;
    const double passes_s = 38 * logits / hw.memory_bytes_per_s;
    const pp_unit_cost head = unit(&r, &hw, PP_UNIT_LOSS, 0);
    ck_assert_double_gt(head.f_s, products_s + passes_s);
    ck_assert_double_lt(head.f_s, 2 * (products_s + passes_s));
}
END_TEST

/* Of a small microbatch the host's launches take the time, 20 of them for a forward. */
START_TEST(small_microbatches_take_their_launches)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const run r = stages_run("llama3-8b", 4, 8);
    const pp_cost_context c = {
        .model = &r.model, .hardware = &hw, .parallel = r.parallel, .switches = r.switches
    };
    pp_unit_cost one, large;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, 16, 16 * 16, &one, &err), err);
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, 8192, 512 * 16 * 16, &large, &err), err);
    ck_assert_double_eq_tol(one.f_s, 20 * hw.launch_s / hw.sustained, 1e-12);
    ck_assert_double_lt(large.f_s, 512 * one.f_s / 4);
}
END_TEST

/* Each token sees itself and what is in front of it, up to the window. */
START_TEST(a_window_limits_the_attention)
{
    const pp_hardware hw = run_hardware("h100-80g");
    run r = stages_run("llama3-8b", 4, 1);
    const double all = unit(&r, &hw, PP_UNIT_LAYER, 0).model_flops;
    const double seconds = unit(&r, &hw, PP_UNIT_LAYER, 0).f_s;
    r.model.sliding_window = TOKENS;
    ck_assert_double_eq(unit(&r, &hw, PP_UNIT_LAYER, 0).model_flops, all);
    r.model.sliding_window = 1024;
    double pairs = 0; /* not seen */
    for (int64_t k = 1024; k < TOKENS; k++)
        pairs += (double)(k + 1 - 1024);
    /* two products of 2 x head_dim 128 on 32 heads, three times with the backward; counted full,
     * that is twice what causal attention computes */
    const double saved = 3 * 2 * 2 * (2 * pairs) * 128 * 32;
    const double less = unit(&r, &hw, PP_UNIT_LAYER, 0).model_flops;
    ck_assert_double_eq_tol((all - less) / saved, 1, 1e-3);
    ck_assert_double_lt(unit(&r, &hw, PP_UNIT_LAYER, 0).f_s, seconds);
}
END_TEST

/* Vocabulary x hidden over tp: both ends of a loop hold the table, on a V they are one rank. */
START_TEST(a_tied_embedding_is_held_by_both_ends)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = stages_run("gpt22b", 4, 8);
    r.parallel.vpp = 2;
    int64_t bytes[2] = { 0 };
    for (int v = 0; v < 2; v++) {
        r.placement = v ? PP_PLACE_V : PP_PLACE_LOOP;
        pp_costs *c = run_costs(&r, &hw);
        for (int rank = 0; rank < 4; rank++)
            bytes[v] += c->parameter_bytes[rank];
        pp_costs_free(&c);
    }
    const int64_t table = 51200 / 8 * 6144;
    ck_assert_int_eq(bytes[0] - bytes[1], 2 * table);
}
END_TEST

/* Tokens go to their experts and back: 7 of 8 leave the GPU, at its part of the node's network
 * where every expert lives on a node of its own. Twice in F, twice in I. */
START_TEST(experts_elsewhere_cost_two_exchanges)
{
    pp_hardware hw = run_hardware("h100-80g");
    run r = stages_run("mixtral-8x7b", 4, 1);
    hw.gpus_per_node = 1;
    hw.network_bytes_per_s = 50e9;
    r.switches.recompute = PP_RECOMPUTE_NONE;
    r.parallel.dp = 8;
    const pp_unit_cost here = unit(&r, &hw, PP_UNIT_LAYER, 0);
    r.parallel.ep = 8;
    const pp_unit_cost there = unit(&r, &hw, PP_UNIT_LAYER, 0);
    const double routed = 2 * TOKENS * 4096 * 2; /* two experts per token, bf16 */
    const double exchange_s = routed * 7 / 8 / (hw.network_efficiency * 50e9);
    ck_assert_double_gt(there.f_s - here.f_s, 1.9 * exchange_s);
    ck_assert_double_lt(there.f_s - here.f_s, 2.3 * exchange_s / hw.sustained);
    ck_assert_double_gt(there.i_s - here.i_s, 1.9 * exchange_s);
    /* what ep divides it gets back from the others: only the experts' weights are fewer */
    ck_assert_double_eq(there.activation_bytes, here.activation_bytes);
    ck_assert_double_eq_tol(8 * there.expert_parameters, here.expert_parameters, 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stages");
    TCase *tc = tcase_create("stages");
    tcase_add_test(tc, a_stage_costs_the_sum_of_its_units);
    tcase_add_test(tc, a_rank_holds_the_parameters_of_its_units);
    tcase_add_test(tc, sequence_parallel_tensors_travel_in_slices);
    tcase_add_test(tc, exchanges_and_gaps_are_in_the_ops);
    tcase_add_test(tc, the_loss_passes_over_its_logits);
    tcase_add_test(tc, small_microbatches_take_their_launches);
    tcase_add_test(tc, a_window_limits_the_attention);
    tcase_add_test(tc, a_tied_embedding_is_held_by_both_ends);
    tcase_add_test(tc, experts_elsewhere_cost_two_exchanges);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
