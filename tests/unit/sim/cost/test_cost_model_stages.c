/* A stage consists of its own units, and each has a cost of its own. */
#include "sim/cost/cost_model.h"
#include "sim/cost/kernel.h"
#include "sim/plan/recost.h"
#include "tests/support/published.h"

#define TOKENS 4096

static run stages_run(const char *model, int64_t pp, int64_t tp)
{
    run r = { .model = run_model(model),
              .micro_batch_size = 1,
              .seq_length = TOKENS,
              .microbatches = 8,
              .parallel = { .pp = pp, .tp = tp, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    r.switches = stack_switches("every-schedule", &r.parallel);
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

/* bf16. MTP also looks up tokens, in a table of its own if the embedding is on another rank. */
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

/* Interleaved without overlap: each F and I waits for the longer of two exchanges. If the framework
 * synchronises, F and I of every stage contain a gap whenever there is more than one rank. */
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

/* Megatron's zero-bubble fork waits for an input only, whatever the stack of the time overlaps: the
 * transfers of a V stay on its edges, where 1F1B has them. */
START_TEST(exchanges_on_a_v_are_on_its_edges)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = stages_run("gpt22b", 4, 8);
    r.switches = stack_switches("megatron-2021", &r.parallel);
    r.switches.recompute = PP_RECOMPUTE_FULL;
    ck_assert(!r.switches.p2p_overlap);
    pp_costs *plain = run_costs(&r, &hw);
    r.parallel.vpp = 2;
    r.placement = PP_PLACE_V;
    pp_costs *v = run_costs(&r, &hw);
    for (uint32_t s = 0; s + 1 < 8; s++)
        ck_assert_int_eq(v->send_f_ns[s], s == 3 ? 0 : plain->send_f_ns[0]);
    const pp_ns gap = (pp_ns)(1e9 * hw.host_gap_s);
    ck_assert_int_gt(gap, 0);
    ck_assert_int_le(llabs(2 * (v->f_ns[1] - gap) - (plain->f_ns[1] - gap)), 2);
    pp_costs_free(&plain);
    pp_costs_free(&v);
}
END_TEST

/* At least its products at peak speed and, at the peak of the memory, 38 bytes per logit: cast to
 * fp32 (2 + 4), max (4), subtract and exponentiate (4 + 4 each), sum (4), divide (4 + 4). */
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

/* For a small microbatch, the time is that of the host's launches, 20 of them for a forward. */
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

/* Where the host is late, F of a layer takes its launches: 20, half of them for attention and half
 * for what follows, and 2 for each of 4 experts of a GPU. Of the latter half of a layer with
 * experts a graph of the router holds 2 in 10, and 3 of shared experts, that of the preparation 2
 * more. */
START_TEST(graphs_launch_what_they_hold_at_once)
{
    static const struct {
        unsigned graphs;
        int64_t layer;
        double launches;
    } rows[] = {
        { 0, 0, 20 },
        { 1U << PP_GRAPH_ATTENTION, 0, 10 },
        { 1U << PP_GRAPH_ATTENTION | 1U << PP_GRAPH_MLP, 0, 0 },
        { 1U << PP_GRAPH_MOE | 1U << PP_GRAPH_ROUTER | 1U << PP_GRAPH_PREPROCESS, 0, 20 },
        { 0, 9, 28 },
        { 1U << PP_GRAPH_MLP, 9, 28 },
        { 1U << PP_GRAPH_ATTENTION, 9, 18 },
        { 1U << PP_GRAPH_ROUTER, 9, 23 },
        { 1U << PP_GRAPH_ROUTER | 1U << PP_GRAPH_PREPROCESS, 9, 21 },
        { 1U << PP_GRAPH_MOE, 9, 10 },
        { PP_GRAPHS_FULL, 9, 0 },
    };
    pp_hardware hw = run_hardware("h100-80g");
    run r = stages_run("deepseek-v3", 4, 1);
    hw.launch_s = 1;
    r.switches.recompute = PP_RECOMPUTE_NONE;
    r.parallel.dp = r.parallel.ep = 64;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        r.switches.graphs = rows[i].graphs;
        const double f_s = unit(&r, &hw, PP_UNIT_LAYER, rows[i].layer).f_s * hw.sustained;
        ck_assert_msg(rows[i].launches > 0 ? fabs(f_s - rows[i].launches) < 1e-9 : f_s < 0.1,
                      "%zu: %g launches", i, f_s);
    }
    r.switches.moe_shared_expert_overlap = true; /* then they are not before the exchange */
    r.switches.graphs = 1U << PP_GRAPH_ROUTER;
    ck_assert_double_eq_tol(unit(&r, &hw, PP_UNIT_LAYER, 9).f_s * hw.sustained, 26, 1e-9);
}
END_TEST

/* Each token attends to itself and to those before it, up to the window. */
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

/* Vocabulary x hidden over tp: both ends of a loop hold the table; on a V they are one rank. */
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

/* Tokens go to their experts and back: 7 of 8 leave the GPU, through its share of the node's
 * network if every expert is on a node of its own. This happens twice in F and twice in I. */
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
    /* NCCL's all-to-all gets 0.87 / 1.43 of a card (sim/cost/dispatch.c), whatever the speed of
     * kernels in a step */
    const double exchange_s = routed * 7 / 8 / (0.87 / 1.43 * 50e9);
    ck_assert_double_gt(there.f_s - here.f_s, 1.9 * exchange_s);
    ck_assert_double_lt(there.f_s - here.f_s, 2.3 * exchange_s / hw.sustained);
    const double fast_s = there.f_s;
    r.switches.sustained = hw.sustained / 2;
    const pp_unit_cost slow = unit(&r, &hw, PP_UNIT_LAYER, 0);
    ck_assert_double_lt(slow.f_s, 2 * fast_s - 1.9 * exchange_s);
    ck_assert_double_gt(there.i_s - here.i_s, 1.9 * exchange_s);
    /* ep divides the tokens but brings others in return: only the experts' weights are fewer */
    ck_assert_double_eq(there.activation_bytes, here.activation_bytes);
    ck_assert_double_eq_tol(8 * there.expert_parameters, here.expert_parameters, 1e-6);
}
END_TEST

/* A token's rows are copied for its experts and added up again: (1 + 1/2) rows each way for two
 * experts. With several experts on a GPU, what other GPUs sent is sorted by expert, and back: four
 * rows more. Halving the memory bandwidth makes the bytes visible. */
START_TEST(rows_are_sorted_for_several_experts_of_a_gpu)
{
    const double routed = 2 * TOKENS * 4096 * 2; /* two experts per token, bf16 */
    double f_s[2][2];
    for (int several = 0; several < 2; several++) {
        for (int slow = 0; slow < 2; slow++) {
            pp_hardware hw = run_hardware("h100-80g");
            run r = stages_run("mixtral-8x7b", 4, 1);
            r.switches.recompute = PP_RECOMPUTE_NONE;
            r.parallel.dp = 8;
            r.parallel.ep = several ? 4 : 8;
            hw.sustained = 1;
            hw.memory_bytes_per_s /= 1 + slow;
            f_s[several][slow] = unit(&r, &hw, PP_UNIT_LAYER, 0).f_s;
        }
    }
    const pp_hardware hw = run_hardware("h100-80g");
    const double more_s = f_s[1][1] - f_s[1][0] - (f_s[0][1] - f_s[0][0]);
    ck_assert_double_eq_tol(more_s * hw.elementwise * hw.memory_bytes_per_s, 4 * routed,
                            0.01 * routed);
}
END_TEST

/* Each expert has a GEMM of its own, which leaves SMs idle at the end of its last wave: eight
 * experts of an eighth of the rows take longer than one of all rows. */
START_TEST(small_experts_are_slower)
{
    const pp_hardware hw = run_hardware("b200-180g");
    run r = stages_run("mixtral-8x7b", 4, 1);
    pp_model *m = &r.model;
    r.switches.recompute = PP_RECOMPUTE_NONE;
    m->experts = m->experts_per_token = 1;
    const double one_s = unit(&r, &hw, PP_UNIT_LAYER, 0).f_s;
    m->experts = 8;
    const double eight_s = unit(&r, &hw, PP_UNIT_LAYER, 0).f_s;
    ck_assert_double_gt(eight_s, 1.03 * one_s);
}
END_TEST

/* Folding (Liu et al. 2025, arXiv 2504.14960): 4 groups of 2 ranks that share an expert, or 8 ranks
 * with a whole one, hold as many parameters each. Whole experts read the rows of one rank, not
 * those of both, and nothing is gathered. */
START_TEST(whole_experts_hold_as_much_and_gather_nothing)
{
    const pp_hardware hw = run_hardware("h100-80g");
    run r = stages_run("mixtral-8x7b", 4, 2);
    r.switches.recompute = PP_RECOMPUTE_NONE;
    r.parallel.dp = r.parallel.ep = 4;
    const pp_unit_cost divided = unit(&r, &hw, PP_UNIT_LAYER, 0);
    r.parallel.etp = 2; /* as tp */
    const pp_unit_cost said = unit(&r, &hw, PP_UNIT_LAYER, 0);
    ck_assert_mem_eq(&divided, &said, sizeof said);
    r.parallel.etp = 1;
    r.parallel.ep = 8;
    const pp_unit_cost whole = unit(&r, &hw, PP_UNIT_LAYER, 0);
    const double rows = 2 * TOKENS * 4096 * 2; /* two experts per token, bf16 */
    ck_assert_double_eq_tol(whole.expert_parameters, divided.expert_parameters, 1e-6);
    ck_assert_double_eq_tol(divided.activation_bytes - whole.activation_bytes, rows / 2, 1);
    ck_assert_double_lt(whole.temporary_bytes, divided.temporary_bytes);
    const double gathered_s =
        pp_collective_seconds(&hw, PP_ALL_GATHER, (pp_collective_group){ 2, 2 }, rows) +
        pp_collective_seconds(&hw, PP_REDUCE_SCATTER, (pp_collective_group){ 2, 2 }, rows);
    ck_assert_double_gt(divided.f_s - whole.f_s, 0.9 * gathered_s);
    ck_assert_double_gt(divided.i_s - whole.i_s, 0.9 * gathered_s);
}
END_TEST

/* mixtral-8x7b on four stages of 8 layers: documents of several lengths on two replicas. */
#define M 5

typedef struct recomputed {
    run run;
    pp_hardware hardware;
    pp_cost_context context;
    pp_stage *stages;
    pp_workload workload;
    pp_recompute_table table;
} recomputed;

static void recomputed_setup(recomputed *r)
{
    static const int64_t lengths[2 * M] = { 512, 512, 512, 2048, 512, 512, 512, 512, 2048, 512 };
    size_t end[2 * M];
    pp_err err = { 0 };
    for (size_t i = 0; i < 2 * M; i++)
        end[i] = i + 1;
    *r = (recomputed){ .run = stages_run("mixtral-8x7b", 4, 2),
                       .hardware = run_hardware("h100-80g") };
    r->run.parallel.dp = 2;
    r->context = (pp_cost_context){ .model = &r->run.model,
                                    .hardware = &r->hardware,
                                    .parallel = r->run.parallel,
                                    .switches = r->run.switches,
                                    .recomputed = &r->table };
    r->context.switches.recompute = PP_RECOMPUTE_MICROBATCHES;
    r->stages = run_stages(&r->run.model, 4);
    STEP_OK(pp_workload_group(lengths, end, 2 * M, 4096, 2, &r->workload, &err), err);
    STEP_OK(pp_recompute_table_new(2, M, 4, &r->table, &err), err);
}

static void recomputed_free(recomputed *r)
{
    free(r->stages);
    pp_workload_free(&r->workload);
    pp_recompute_table_free(&r->table);
}

static pp_costs *costs_of(const recomputed *r, uint32_t replica)
{
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_cost_model_build(&r->context, r->stages, 4, &r->workload, replica, &costs, &err),
            err);
    return costs;
}

/* The costs if every microbatch recomputes what the given one does. */
static pp_costs *costs_alike(const recomputed *r, uint32_t replica, uint32_t microbatch)
{
    recomputed alike = *r;
    pp_stage stages[4];
    memcpy(stages, r->stages, sizeof stages);
    for (uint32_t s = 0; s < 4; s++) {
        stages[s].full = pp_recompute_table_at(&r->table, replica, microbatch)[s].full;
        stages[s].selective = pp_recompute_table_at(&r->table, replica, microbatch)[s].selective;
    }
    alike.stages = stages;
    alike.context.switches.recompute = PP_RECOMPUTE_STAGES;
    return costs_of(&alike, replica);
}

/* Compares one microbatch in two tables for the same data. */
static void check_microbatch(const pp_costs *a, const pp_costs *b, uint32_t microbatch)
{
    const struct {
        const int64_t *a, *b;
    } tables[] = {
        { a->f_ns, b->f_ns },
        { a->i_ns, b->i_ns },
        { a->w_ns, b->w_ns },
        { a->b_ns, b->b_ns },
        { a->send_f_ns, b->send_f_ns },
        { a->send_b_ns, b->send_b_ns },
        { a->activation_bytes, b->activation_bytes },
        { a->stash_bytes, b->stash_bytes },
        { a->recompute_bytes, b->recompute_bytes },
        { a->logits_bytes, b->logits_bytes },
        { a->temporary_bytes, b->temporary_bytes },
        { a->output_bytes, b->output_bytes },
        { a->message_bytes, b->message_bytes },
    };
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++) {
        for (uint32_t s = 0; s < 4; s++)
            ck_assert_int_eq(tables[k].a[pp_cost_index(a, s, microbatch)],
                             tables[k].b[pp_cost_index(b, s, microbatch)]);
    }
}

/* Each replica has the even or the odd documents; its fourth or fifth is long. */
START_TEST(microbatches_that_are_alike_cost_what_their_stages_say)
{
    recomputed r;
    recomputed_setup(&r);
    for (uint32_t j = 0; j < 2 * M; j++) {
        for (uint32_t s = 0; s < 4; s++)
            r.table.of[j * 4 + s] = (pp_recomputed){ .full = (int32_t)s, .selective = 3 };
    }
    for (uint32_t replica = 0; replica < 2; replica++) {
        pp_costs *each = costs_of(&r, replica);
        pp_costs *alike = costs_alike(&r, replica, 0);
        ck_assert_uint_eq(each->classes, 2);
        ck_assert_mem_eq(each->class_of, alike->class_of, M * sizeof *each->class_of);
        for (uint32_t j = 0; j < M; j++)
            check_microbatch(each, alike, j);
        ck_assert_mem_eq(each->grad_sync_ns, alike->grad_sync_ns, 4 * sizeof(pp_ns));
        ck_assert_mem_eq(each->parameter_bytes, alike->parameter_bytes, 4 * sizeof(int64_t));
        ck_assert_double_eq(each->model_flops, alike->model_flops);
        pp_costs_free(&each);
        pp_costs_free(&alike);
    }
    recomputed_free(&r);
}
END_TEST

START_TEST(every_microbatch_costs_what_it_recomputes)
{
    recomputed r;
    recomputed_setup(&r);
    for (uint32_t j = 0; j < 2 * M; j++) {
        for (uint32_t s = 0; s < 4; s++)
            r.table.of[j * 4 + s] = (pp_recomputed){ .full = (int32_t)((3 * j + s) % 5),
                                                     .selective = (int32_t)((j + 2 * s) % 4) };
    }
    for (uint32_t replica = 0; replica < 2; replica++) {
        pp_costs *each = costs_of(&r, replica);
        ck_assert_uint_eq(each->classes, M);
        for (uint32_t j = 0; j < M; j++) {
            pp_costs *alike = costs_alike(&r, replica, j);
            check_microbatch(each, alike, j);
            pp_costs_free(&alike);
        }
        pp_costs_free(&each);
    }
    recomputed_free(&r);
}
END_TEST

/* Replica 0 has lengths 512, 512, 512, 512, 2048. */
START_TEST(classes_are_of_equal_length_and_recomputation)
{
    static const struct {
        int32_t full[M];
        uint32_t classes, class_of[M];
    } cases[] = {
        { { 0, 0, 0, 0, 0 }, 2, { 0, 0, 0, 0, 1 } }, { { 1, 1, 1, 1, 1 }, 2, { 0, 0, 0, 0, 1 } },
        { { 1, 0, 0, 1, 0 }, 3, { 0, 1, 1, 0, 2 } }, { { 0, 0, 0, 0, 1 }, 2, { 0, 0, 0, 0, 1 } },
        { { 4, 3, 2, 1, 0 }, 5, { 0, 1, 2, 3, 4 } }, { { 2, 1, 2, 1, 2 }, 3, { 0, 1, 0, 1, 2 } },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        recomputed r;
        recomputed_setup(&r);
        for (uint32_t j = 0; j < M; j++)
            r.table.of[j * 4 + 3].full = cases[k].full[j];
        pp_costs *costs = costs_of(&r, 0);
        ck_assert_uint_eq(costs->classes, cases[k].classes);
        ck_assert_mem_eq(costs->class_of, cases[k].class_of, sizeof cases[k].class_of);
        pp_costs_free(&costs);
        recomputed_free(&r);
    }
}
END_TEST

/* The time of attention alone, in units of both sums, so that each affects it. */
static bool measured_attention(void *context, const pp_measured_at *at, double *seconds_out)
{
    (void)context;
    *seconds_out = 1e-6 * at->longest + 1e-5 * at->tiles;
    return at->kind == PP_MEASURED_ATTENTION_FWD || at->kind == PP_MEASURED_ATTENTION_BWD;
}

/* Equal tokens and sums of squares (1 + 25 + 36 = 4 + 9 + 49): 0 and 1 differ in tiles of 128
 * alone, 2 and 3 in the longest alone. 4 recomputes more than 0. */
START_TEST(measured_attention_distinguishes_microbatches)
{
    static const int64_t lengths[] = { 100, 500, 600, 1000, 200, 300, 700, 1000, 128,
                                       640, 768, 256, 384,  896, 100, 500, 600,  1000 };
    static const size_t end[M] = { 4, 8, 11, 14, 18 };
    static const uint32_t class_of[] = { 0, 1, 2, 3, 4 };
    const pp_measured measured = { .ask = measured_attention };
    recomputed r;
    pp_err err = { 0 };
    recomputed_setup(&r);
    pp_workload_free(&r.workload);
    pp_recompute_table_free(&r.table);
    STEP_OK(pp_workload_group(lengths, end, M, 4096, 1, &r.workload, &err), err);
    STEP_OK(pp_recompute_table_new(1, M, 4, &r.table, &err), err);
    r.hardware.measured = &measured;
    r.context.parallel.dp = 1;
    for (uint32_t i = 0; i < M * 4; i++)
        r.table.of[i] = (pp_recomputed){ .full = 1, .selective = i / 4 == 4 ? 3 : 2 };
    pp_costs *each = costs_of(&r, 0);
    ck_assert_uint_eq(each->classes, 5);
    ck_assert_mem_eq(each->class_of, class_of, sizeof class_of);
    for (uint32_t j = 0; j < M; j++) {
        pp_costs *alike = costs_alike(&r, 0, j);
        check_microbatch(each, alike, j);
        pp_costs_free(&alike);
    }
    pp_costs_free(&each);
    recomputed_free(&r);
}
END_TEST

/* Padding changes the costs, not the table. */
START_TEST(a_plan_is_costed_again_with_its_table)
{
    recomputed r;
    pp_plan *plan = NULL;
    pp_workload padded = { 0 };
    pp_size_protocol shapes;
    pp_err err = { 0 };
    recomputed_setup(&r);
    for (uint32_t j = 0; j < 2 * M; j++)
        r.table.of[j * 4 + j % 4].full = (int32_t)(j % 3);
    STEP_OK(pp_plan_new(&plan, &err), err);
    plan->parallel = r.run.parallel;
    plan->partition = r.stages;
    plan->recomputed = r.table;
    plan->workload = r.workload;
    r.context.recomputed = NULL;
    for (int pad = 0; pad < 2; pad++) {
        plan->sizes.kind = pad ? PP_SIZES_PADDED : PP_SIZES_PLAN;
        STEP_OK(pp_plan_recost(&r.context, plan, &err), err);
        recomputed expected = r;
        expected.context.recomputed = &r.table;
        STEP_OK(pp_size_protocol_parse("padded", &shapes, &err), err);
        if (pad) {
            STEP_OK(pp_workload_pad(&shapes, &r.workload, &padded, NULL, &err), err);
            expected.workload = padded;
        }
        for (uint32_t replica = 0; replica < 2; replica++) {
            pp_costs *costs = costs_of(&expected, replica);
            ck_assert_uint_eq(plan->costs[replica]->classes, costs->classes);
            for (uint32_t j = 0; j < M; j++)
                check_microbatch(plan->costs[replica], costs, j);
            pp_costs_free(&costs);
        }
    }
    pp_workload_free(&padded);
    plan->partition = NULL; /* these belong to the setup */
    plan->recomputed.of = NULL;
    plan->workload = (pp_workload){ 0 };
    pp_plan_free(&plan);
    recomputed_free(&r);
}
END_TEST

static void refuse(const recomputed *r, uint32_t replica, pp_status expected, const char *text)
{
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(
        pp_cost_model_build(&r->context, r->stages, 4, &r->workload, replica, &costs, &err),
        expected);
    ck_assert_ptr_nonnull(strstr(err.text, text));
    ck_assert_ptr_null(costs);
}

START_TEST(a_table_has_the_shape_of_its_workload)
{
    recomputed r;
    recomputed_setup(&r);
    const pp_recomputed bad[] = { { 9, 0 }, { 0, 9 }, { 5, 4 }, { -1, 0 }, { 0, -1 } };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        r.table.of[(M + 2) * 4 + 1] = bad[k];
        pp_costs *other = costs_of(&r, 0);
        pp_costs_free(&other);
        refuse(&r, 1, PP_INPUT, "of its 8 layers for microbatch 2 of replica 1");
    }
    r.table.of[(M + 2) * 4 + 1] = (pp_recomputed){ 5, 3 }; /* all 8 */
    pp_costs *other = costs_of(&r, 1);
    pp_costs_free(&other);
    pp_recompute_table wrong = r.table;
    r.context.recomputed = &wrong;
    wrong.replicas = 1;
    refuse(&r, 0, PP_USAGE, "1 replicas of 5 microbatches on 4 stages, but there are 2, 5 and 4");
    wrong = r.table;
    wrong.microbatches = M + 1;
    refuse(&r, 0, PP_USAGE, "6 microbatches");
    wrong = r.table;
    wrong.stages = 3;
    refuse(&r, 0, PP_USAGE, "3 stages");
    r.context.recomputed = NULL;
    refuse(&r, 0, PP_USAGE, "0 replicas");
    recomputed_free(&r);
}
END_TEST

static pp_costs *chunked(const run *base, const pp_hardware *hw, int64_t layers)
{
    run r = *base;
    r.switches.recompute_layers = layers;
    return run_costs(&r, hw);
}

/* Chunks of n layers keep one input each, and n layers are recomputed at a time; it takes as long.
 * Llama3-70b has 20 layers per stage here. In deepseek-v3, stage 0 has 3 dense layers and 12 with
 * experts, which are larger: a chunk of 13 has 12 of these at most. */
START_TEST(recomputed_chunks_keep_their_first_input)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const run dense = stages_run("llama3-70b", 4, 1), moe = stages_run("deepseek-v3", 4, 1);
    const int64_t sizes[] = { 0, 1, 2, 3, 7, 20, 100 };
    const double input = 2.0 * TOKENS * (double)dense.model.hidden;
    pp_costs *each = run_costs(&dense, &hw);
    const size_t at = pp_cost_index(each, 1, 0);
    ck_assert_int_eq(each->activation_bytes[at], 20 * (int64_t)input);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const int64_t n = sizes[k] ? sizes[k] : 1, chunk = n < 20 ? n : 20;
        pp_costs *c = chunked(&dense, &hw, sizes[k]);
        ck_assert_int_eq(c->activation_bytes[at], (20 + n - 1) / n * (int64_t)input);
        ck_assert_int_eq(c->recompute_bytes[at], chunk * each->recompute_bytes[at]);
        ck_assert_int_eq(c->f_ns[at], each->f_ns[at]);
        ck_assert_int_eq(c->b_ns[at], each->b_ns[at]);
        pp_costs_free(&c);
    }
    pp_costs_free(&each);
    const double small = unit(&moe, &hw, PP_UNIT_LAYER, 0).recompute_bytes;
    const double large = unit(&moe, &hw, PP_UNIT_LAYER, 60).recompute_bytes;
    pp_stage *stages = run_stages(&moe.model, 4);
    const int64_t experts = stages[0].layers - 3;
    pp_costs *mixed = chunked(&moe, &hw, experts + 1);
    ck_assert_double_gt(large, small);
    ck_assert_int_le(llabs(mixed->recompute_bytes[0] - (int64_t)((double)experts * large + small)),
                     1);
    pp_costs_free(&mixed);
    free(stages);
}
END_TEST

/* Microbatches 0 and 2 have twice the mean of tokens on their busiest rank, 1 and 3 have 1.5
 * times: each costs as all do with that imbalance. */
START_TEST(each_microbatch_costs_by_its_imbalance)
{
    const pp_hardware hw = run_hardware("h100-80g");
    double imbalance[] = { 2, 1.5 };
    int64_t ep = 8;
    const pp_expert_tokens tokens = {
        .microbatches = 2, .degrees = 1, .ep = &ep, .imbalance = imbalance
    };
    run r = stages_run("mixtral-8x7b", 4, 1);
    r.parallel.dp = r.parallel.ep = ep;
    pp_stage *stages = run_stages(&r.model, 4);
    pp_workload workload PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_workload_fixed(4, 1, TOKENS, &workload, &err), err);
    pp_cost_context context = {
        .model = &r.model, .hardware = &hw, .parallel = r.parallel, .switches = r.switches
    };
    pp_costs *each = NULL, *alike = NULL;
    context.expert_tokens = &tokens;
    STEP_OK(pp_cost_model_build(&context, stages, 4, &workload, 0, &each, &err), err);
    ck_assert_uint_eq(each->classes, 2);
    context.expert_tokens = NULL;
    for (uint32_t j = 0; j < 4; j++) {
        context.switches.moe_imbalance = imbalance[j % 2];
        STEP_OK(pp_cost_model_build(&context, stages, 4, &workload, 0, &alike, &err), err);
        for (uint32_t s = 0; s < 4; s++) {
            const size_t a = pp_cost_index(each, s, j), b = pp_cost_index(alike, s, j);
            ck_assert_int_eq(each->f_ns[a], alike->f_ns[b]);
            ck_assert_int_eq(each->b_ns[a], alike->b_ns[b]);
            ck_assert_int_eq(each->activation_bytes[a], alike->activation_bytes[b]);
        }
        pp_costs_free(&alike);
    }
    ck_assert_int_gt(each->f_ns[pp_cost_index(each, 0, 0)], each->f_ns[pp_cost_index(each, 0, 1)]);
    pp_costs_free(&each);
    free(stages);
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
    tcase_add_test(tc, exchanges_on_a_v_are_on_its_edges);
    tcase_add_test(tc, the_loss_passes_over_its_logits);
    tcase_add_test(tc, small_microbatches_take_their_launches);
    tcase_add_test(tc, graphs_launch_what_they_hold_at_once);
    tcase_add_test(tc, a_window_limits_the_attention);
    tcase_add_test(tc, a_tied_embedding_is_held_by_both_ends);
    tcase_add_test(tc, experts_elsewhere_cost_two_exchanges);
    tcase_add_test(tc, rows_are_sorted_for_several_experts_of_a_gpu);
    tcase_add_test(tc, small_experts_are_slower);
    tcase_add_test(tc, whole_experts_hold_as_much_and_gather_nothing);
    tcase_add_test(tc, microbatches_that_are_alike_cost_what_their_stages_say);
    tcase_add_test(tc, every_microbatch_costs_what_it_recomputes);
    tcase_add_test(tc, classes_are_of_equal_length_and_recomputation);
    tcase_add_test(tc, measured_attention_distinguishes_microbatches);
    tcase_add_test(tc, a_plan_is_costed_again_with_its_table);
    tcase_add_test(tc, a_table_has_the_shape_of_its_workload);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, each_microbatch_costs_by_its_imbalance);
    tcase_add_test(tc, recomputed_chunks_keep_their_first_input);
    return step_run(suite);
}
