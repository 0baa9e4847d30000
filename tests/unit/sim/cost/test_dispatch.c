/* What dispatchers exchange, in closed form, and what modules cost that are recomputed. */
#include "sim/cost/dispatch.h"
#include "sim/cost/layer.h"
#include "sim/cost/modules.h"
#include "sim/cost/routing.h"
#include "tests/support/published.h"

#include <math.h>

#define TOKENS 4096

static double hidden_of(const pp_gpu_batch *local)
{
    const pp_work work = pp_layer_work(local);
    return pp_layer_hidden_seconds(local, &work);
}

/* DeepSeek-V3 on H100s without curves of collectives in a node: the links' rate. */
static pp_cost_context context_of(const pp_model *model, const pp_hardware *hw, int64_t ep,
                                  pp_dispatcher kind)
{
    pp_cost_context c = { .model = model,
                          .hardware = hw,
                          .parallel = { .pp = 1, .tp = 1, .cp = 1, .dp = 64, .ep = ep, .vpp = 1 } };
    c.switches = stack_switches("megatron-bridge-2026", &c.parallel);
    c.switches.recompute = PP_RECOMPUTE_NONE;
    c.switches.dispatcher = kind;
    return c;
}

static pp_hardware h100(void)
{
    pp_hardware hw = run_hardware("h100-80g");
    while (hw.collective[hw.collective_count - 1].kind == PP_ALL_TO_ALL)
        hw.collective_count--;
    return hw;
}

static pp_dispatch_cost dispatch(const pp_cost_context *c)
{
    const pp_gpu_batch local = pp_gpu_batch_of(c, TOKENS, (int64_t)TOKENS * TOKENS);
    return pp_dispatch_of(&local);
}

/* Of 256 experts in 8 groups a token has 8 of 4 groups: the probability that it has none of n. */
static double without(double n, double of)
{
    double part = 1;
    for (int i = 0; i < 8; i++)
        part *= (of - n - i) / (of - i);
    return part;
}

/* 64 ranks on 8 nodes, 8 experts per token of 7168 in 16 bits. NCCL sends 7 of 8 copies to other
 * nodes, at 0.87 / 1.43 of the card's rate; DeepEP one to each that is needed in the mean, of which
 * 7 of 8 are others, at 0.87 of it, HybridEP at 0.76. A node has a group of experts. */
START_TEST(a_token_crosses_the_network_as_often_as_its_dispatcher_sends_it)
{
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    const double row = 2.0 * 7168 * TOKENS, card = 50e9;
    const double start = hw.node_p2p.alpha_s + hw.network_p2p.alpha_s;
    const double nodes = 7.0 / 8 * 4 * (1 - without(32, 128));
    const struct {
        pp_dispatcher kind;
        double seconds;
    } rows[] = {
        { PP_DISPATCHER_ALLTOALL, 2 * (8 * row * 7 / 8 / (card * 0.87 / 1.43) + start) },
        { PP_DISPATCHER_DEEPEP, 2 * (row * nodes / (card * 0.87) + start) },
        { PP_DISPATCHER_HYBRIDEP, 2 * (row * nodes / (card * 0.76) + start) },
        { PP_DISPATCHER_DEEPEP_LL,
          8 * row * 7 / 8 / (card * 0.87) * (1 + (1 + 4.0 / 128) / 2) + 2 * start },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_cost_context c = context_of(&model, &hw, 64, rows[i].kind);
        ck_assert_double_eq_tol(dispatch(&c).seconds, rows[i].seconds, 1e-12);
        c.omitted = 1U << PP_EXCHANGE_EP;
        ck_assert_double_eq(dispatch(&c).seconds, 0);
    }
    pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_ALLTOALL);
    c.switches.moe_imbalance = 3;
    ck_assert_double_eq_tol(dispatch(&c).seconds,
                            2 * (8 * row * 7 / 8 / (card * 0.87 / 1.64) + start), 1e-12);
    c = context_of(&model, &hw, 64, PP_DISPATCHER_ALLGATHER);
    const pp_collective_group all = pp_group_of(8, 64, 1);
    ck_assert_double_eq_tol(dispatch(&c).seconds,
                            pp_collective_seconds(&hw, PP_ALL_GATHER, all, 64 * row) +
                                pp_collective_seconds(&hw, PP_REDUCE_SCATTER, all, 64 * row),
                            1e-12);
}
END_TEST

/* DeepSeek-V3 sends rows to experts in 8 bits, with a scale for 128 of them; what comes back is
 * added up, and keeps 16. NCCL has no such kernels. */
START_TEST(rows_may_go_to_experts_in_8_bits)
{
    static const pp_dispatcher kinds[] = { PP_DISPATCHER_DEEPEP, PP_DISPATCHER_HYBRIDEP };
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    const double start = hw.node_p2p.alpha_s + hw.network_p2p.alpha_s;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pp_cost_context c = context_of(&model, &hw, 64, kinds[i]);
        const double way = dispatch(&c).seconds / 2 - start;
        c.switches.moe_fp8_dispatch = true;
        ck_assert_double_eq_tol(dispatch(&c).seconds, way * (1 + (1 + 4.0 / 128) / 2) + 2 * start,
                                1e-12);
    }
    for (int k = 0; pp_dispatcher_names()[k]; k++)
        ck_assert_int_eq(pp_dispatcher_has_fp8((pp_dispatcher)k),
                         strstr(pp_dispatcher_names()[k], "ep") != NULL);
}
END_TEST

/* In a node NCCL sends a copy for each expert, DeepEP one for each rank that is needed in the mean:
 * of those with the 4 groups of a token; of both, 7 of 8 leave the GPU. DeepEP's kernels reach 0.85
 * of an H100's links, HybridEP's 0.62. */
START_TEST(one_node_uses_its_links_only)
{
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    const double row = 2.0 * 7168 * TOKENS, links = hw.node_p2p.link_bytes_per_s;
    const double ranks = 4 * (1 - without(32, 128));
    const pp_cost_context copies = context_of(&model, &hw, 8, PP_DISPATCHER_ALLTOALL);
    const pp_cost_context once = context_of(&model, &hw, 8, PP_DISPATCHER_DEEPEP);
    const pp_cost_context sorted = context_of(&model, &hw, 8, PP_DISPATCHER_HYBRIDEP);
    const pp_cost_context none = context_of(&model, &hw, 1, PP_DISPATCHER_DEEPEP);
    ck_assert_double_eq_tol(dispatch(&copies).seconds,
                            2 * (8 * row * 7 / 8 / links + hw.node_p2p.alpha_s), 1e-12);
    ck_assert_double_eq_tol(dispatch(&once).seconds,
                            2 * (ranks * row * 7 / 8 / (0.85 * links) + hw.node_p2p.alpha_s),
                            1e-12);
    ck_assert_double_eq_tol(dispatch(&sorted).seconds,
                            2 * (ranks * row * 7 / 8 / (0.62 * links) + hw.node_p2p.alpha_s),
                            1e-12);
    ck_assert_double_eq(dispatch(&none).seconds, 0);
}
END_TEST

/* Rates of the kernels alone that their authors publish, in GB/s: the bytes of all copies of 4096
 * tokens of 7168 elements to nodes (or to ranks, where all are in one domain of links), with the
 * copy to the own one, over the time. DeepEP: its table of legacy kernels, H800, in 8 bits on the
 * way there, 256 experts in a group per node, of which a token has up to 4; 43 for 2 nodes is what
 * its links can. HybridEP: the page of its branch (Torch API, 16 SMs), 8 experts per rank, none of
 * them in groups. HybridEP's 54 on 2 nodes of H100 are left out: the kernels alone take 0.8 of that
 * time, as they would here. */
START_TEST(dispatchers_are_as_fast_as_their_authors_measured)
{
    static const struct {
        const char *hardware;
        int64_t ep;
        pp_dispatcher kind;
        double there, back; /* GB/s */
    } rows[] = {
        { "h800-80g", 8, PP_DISPATCHER_DEEPEP, 153, 158 },
        { "h800-80g", 16, PP_DISPATCHER_DEEPEP, 43, 43 },
        { "h800-80g", 32, PP_DISPATCHER_DEEPEP, 58, 57 },
        { "h800-80g", 64, PP_DISPATCHER_DEEPEP, 51, 50 },
        { "h100-80g", 32, PP_DISPATCHER_HYBRIDEP, 47.36, 52.53 },
        { "h100-80g", 64, PP_DISPATCHER_HYBRIDEP, 41.24, 46.57 },
        { "b200-180g", 8, PP_DISPATCHER_HYBRIDEP, 535.94, 530.86 },
        { "gb200-nvl72", 8, PP_DISPATCHER_HYBRIDEP, 550.10, 538.44 },
        { "gb200-nvl72", 16, PP_DISPATCHER_HYBRIDEP, 472.84, 474.48 },
        { "gb200-nvl72", 32, PP_DISPATCHER_HYBRIDEP, 485.50, 423.19 },
        { "gb200-nvl72", 36, PP_DISPATCHER_HYBRIDEP, 469.96, 418.27 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pp_hardware hw = run_hardware(rows[i].hardware);
        const bool grouped = rows[i].kind == PP_DISPATCHER_DEEPEP;
        const int64_t node = hw.gpus_per_node < 72 ? 8 : 72;
        const int64_t nodes = (rows[i].ep + node - 1) / node;
        pp_model model = run_model("deepseek-v3");
        model.experts = grouped ? 256 : 8 * rows[i].ep;
        model.expert_groups = grouped ? nodes : 0;
        model.groups_per_token = grouped ? (nodes < 4 ? nodes : 4) : 0;
        pp_cost_context c = context_of(&model, &hw, rows[i].ep, rows[i].kind);
        c.parallel.dp = rows[i].ep;
        c.switches.moe_fp8_dispatch = grouped;
        const double copies = pp_routing_reached(&model, nodes > 1 ? model.experts / nodes
                                                                   : model.experts / rows[i].ep);
        const double row = 2.0 * 7168 * TOKENS, low = grouped ? (1 + 4.0 / 128) / 2 : 1;
        const pp_dispatch_cost cost = dispatch(&c);
        const double there = low * copies * row / cost.there_seconds / 1e9;
        const double back = copies * row / (cost.seconds - cost.there_seconds) / 1e9;
        ck_assert_msg(
            fabs(there / rows[i].there - 1) < 0.12 && fabs(back / rows[i].back - 1) < 0.12,
            "%s, %d ranks: %g and %g GB/s", rows[i].hardware, (int)rows[i].ep, there, back);
    }
}
END_TEST

static bool half_a_second(void *context, const pp_measured_at *at, double *seconds_out)
{
    const double row = 2.0 * 7168 * TOKENS;
    if (at->kind != PP_MEASURED_ALL_TO_ALL)
        return false;
    ck_assert_double_eq(at->bytes, 8 * row);
    ck_assert(at->ranks == 64 && at->spans);
    *seconds_out = *(double *)context;
    return true;
}

/* A measured all-to-all is NCCL's, and says nothing of DeepEP. */
START_TEST(what_was_measured_is_taken_for_alltoall)
{
    double half = 0.5;
    const pp_measured measured = { .context = &half, .ask = half_a_second };
    pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    const pp_cost_context copies = context_of(&model, &hw, 64, PP_DISPATCHER_ALLTOALL);
    const pp_cost_context once = context_of(&model, &hw, 64, PP_DISPATCHER_DEEPEP);
    const double before = dispatch(&once).seconds;
    hw.measured = &measured;
    ck_assert_double_eq(dispatch(&copies).seconds, 1);
    ck_assert_double_eq(dispatch(&once).seconds, before);
}
END_TEST

/* All copy rows for their experts and add them up; all-to-all also sorts what arrives, where a rank
 * has several experts; HybridEP does all of it on the way. */
START_TEST(kernels_beside_the_exchange)
{
    static const struct {
        int64_t ep;
        pp_dispatcher kind;
        int copies, sorts;
    } rows[] = {
        { 64, PP_DISPATCHER_ALLTOALL, 2, 2 }, { 256, PP_DISPATCHER_ALLTOALL, 2, 0 },
        { 1, PP_DISPATCHER_ALLTOALL, 2, 0 },  { 64, PP_DISPATCHER_DEEPEP, 2, 0 },
        { 64, PP_DISPATCHER_HYBRIDEP, 0, 0 }, { 1, PP_DISPATCHER_HYBRIDEP, 2, 0 },
    };
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    const double row = 2.0 * 7168 * TOKENS;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_cost_context c = context_of(&model, &hw, rows[i].ep, rows[i].kind);
        c.parallel.dp = 256;
        const pp_dispatch_cost cost = dispatch(&c);
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq(cost.bytes[k], k < 2 ? (rows[i].copies ? 9 * row : 0)
                                                     : (rows[i].sorts ? 16 * row : 0));
    }
}
END_TEST

/* An H100 has 132 SMs. */
START_TEST(kernels_of_an_exchange_hold_sms)
{
    static const struct {
        int64_t ep;
        pp_dispatcher kind;
        double sms;
    } rows[] = {
        { 8, PP_DISPATCHER_ALLTOALL, 32 },   { 64, PP_DISPATCHER_ALLTOALL, 16 },
        { 8, PP_DISPATCHER_ALLGATHER, 32 },  { 64, PP_DISPATCHER_ALLGATHER, 16 },
        { 64, PP_DISPATCHER_DEEPEP, 20 },    { 64, PP_DISPATCHER_HYBRIDEP, 16 },
        { 8, PP_DISPATCHER_DEEPEP_LL, 132 }, { 1, PP_DISPATCHER_ALLTOALL, 0 },
    };
    pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pp_cost_context c = context_of(&model, &hw, rows[i].ep, rows[i].kind);
        const pp_gpu_batch local = pp_gpu_batch_of(&c, TOKENS, (int64_t)TOKENS * TOKENS);
        ck_assert_double_eq_tol(pp_dispatch_sm_share(&local), rows[i].sms / 132, 1e-12);
    }
    hw.sm_count = 10; /* a GPU with fewer SMs than the kernels want has none left */
    const pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_DEEPEP);
    const pp_gpu_batch local = pp_gpu_batch_of(&c, TOKENS, (int64_t)TOKENS * TOKENS);
    ck_assert_double_eq(pp_dispatch_sm_share(&local), 1);
}
END_TEST

static pp_unit_cost layer(const pp_cost_context *c)
{
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(c, PP_UNIT_LAYER, c->model->layers - 1, TOKENS, (int64_t)TOKENS * TOKENS,
                         &cost, &err),
            err);
    return cost;
}

/* With twice the tokens the busiest rank takes longer and keeps more, of experts alone. */
START_TEST(imbalance_is_of_experts)
{
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_DEEPEP);
    const pp_unit_cost even = layer(&c);
    c.switches.moe_imbalance = 2;
    const pp_unit_cost busy = layer(&c);
    /* of 8 rows per token the experts' inputs, and 3 x 2048 inner columns, all in 16 bits */
    const double kept = 2.0 * 8 * (7168 + 3 * 2048) * TOKENS;
    ck_assert_double_eq(busy.activation_bytes - even.activation_bytes, kept);
    ck_assert_double_gt(busy.f_s, 1.2 * even.f_s);
    ck_assert_double_lt(busy.f_s, 2 * even.f_s);
    ck_assert_double_gt(busy.temporary_bytes, even.temporary_bytes);
    ck_assert_double_eq(busy.parameters, even.parameters);
}
END_TEST

static void check_same(const pp_unit_cost *a, const pp_unit_cost *b)
{
    ck_assert_double_eq(a->f_s, b->f_s);
    ck_assert_double_eq(a->i_s, b->i_s);
    ck_assert_double_eq(a->w_s, b->w_s);
    ck_assert_double_eq(a->activation_bytes, b->activation_bytes);
    ck_assert_double_eq(a->temporary_bytes, b->temporary_bytes);
}

/* A GPU has 4096 tokens for 8 of 256 experts: 128 rows per expert in the mean. What a rank gets is
 * limited, what all send only if it is less than they have, or padded. */
START_TEST(capacity_limits_what_experts_get)
{
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_ALLTOALL);
    const pp_unit_cost even = layer(&c);
    const double start = 2 * (hw.node_p2p.alpha_s + hw.network_p2p.alpha_s);
    const double all = dispatch(&c).seconds - start, row = 2.0 * 7168 * TOKENS;
    c.switches.moe_imbalance = 1.5;
    const pp_unit_cost busy = layer(&c);
    const double busy_s = dispatch(&c).seconds;
    c.switches.moe_imbalance = 2;
    c.switches.moe_capacity = 1.5;
    pp_unit_cost limited = layer(&c);
    check_same(&limited, &busy);
    c.switches.moe_capacity = 1.495; /* 191.4 rows, rounded up */
    limited = layer(&c);
    check_same(&limited, &busy);
    c.switches.moe_capacity = 1;
    limited = layer(&c);
    check_same(&limited, &even);
    ck_assert_double_eq_tol(dispatch(&c).seconds, all + start, 1e-12);
    c.switches.moe_capacity = 0.5; /* then all drop half of their rows */
    ck_assert_double_eq_tol(dispatch(&c).seconds, all / 2 + start, 1e-12);
    ck_assert_double_eq(dispatch(&c).bytes[0], 5 * row);
    c.switches.moe_capacity = 1.5;
    c.switches.moe_imbalance = 1;
    c.switches.moe_kept = 0.75; /* a quarter was counted as dropped */
    ck_assert_double_eq(dispatch(&c).bytes[0], (1 + 0.75 * 8) * row);
    c.switches.moe_pads = true;
    c.switches.moe_imbalance = 1; /* does not matter */
    const pp_dispatch_cost padded = dispatch(&c);
    ck_assert_double_eq_tol(padded.seconds, 1.5 * all + start, 1e-12);
    ck_assert_double_eq(padded.bytes[0], (1 + 1.5 * 8) * row);
    ck_assert_double_eq(padded.bytes[2], 2 * 1.5 * 8 * row);
    limited = layer(&c);
    ck_assert_double_eq(limited.activation_bytes, busy.activation_bytes);
    ck_assert_double_gt(limited.temporary_bytes, busy.temporary_bytes);
    ck_assert_double_gt(limited.f_s - busy.f_s, padded.seconds - busy_s);
}
END_TEST

/* A row goes to 1.5 times as many nodes in the mean, but never to more than there are. One node has
 * 8 ranks, which then have a group of experts each, as nodes have before. */
START_TEST(padding_reaches_more_nodes)
{
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_HYBRIDEP);
    const double start = 2 * (hw.node_p2p.alpha_s + hw.network_p2p.alpha_s);
    const double nodes = 4 * (1 - without(32, 128)), once = dispatch(&c).seconds - start;
    c.switches.moe_pads = true;
    c.switches.moe_capacity = 1.5;
    ck_assert_double_eq_tol(dispatch(&c).seconds, 1.5 * once + start, 1e-12);
    c.switches.moe_capacity = 4;
    ck_assert_double_eq_tol(dispatch(&c).seconds, 8 / nodes * once + start, 1e-12);
    c.parallel.ep = 8;
    const double most = dispatch(&c).seconds;
    c.switches.moe_capacity = 8 / nodes;
    ck_assert_double_eq_tol(dispatch(&c).seconds, most, 1e-5);
    c.switches.moe_capacity = 1;
    ck_assert_double_lt(dispatch(&c).seconds, 0.6 * most);
}
END_TEST

/* With DeepEP's 20 of 132 SMs gone. The shared expert is an MLP of 2048: its first layer has twice
 * the FLOPs of its second, and an exchange over the network is longer than each. In one node the
 * exchange is shorter, and hides as much of them as 112 SMs compute meanwhile. */
START_TEST(shared_experts_compute_beside_the_exchange)
{
    const pp_hardware hw = h100();
    pp_model model = run_model("deepseek-v3");
    pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_DEEPEP);
    const pp_unit_cost apart = layer(&c);
    const pp_gpu_batch local = pp_gpu_batch_of(&c, TOKENS, (int64_t)TOKENS * TOKENS);
    const double shared = pp_module_seconds(&local, PP_MODULE_SHARED_EXPERTS);
    ck_assert_double_gt(dispatch(&c).there_seconds, shared);
    ck_assert_double_gt(hidden_of(&local), 0);
    c.switches.moe_shared_expert_overlap = true;
    const pp_unit_cost beside = layer(&c);
    const double speed = pp_sustained_of(&c);
    ck_assert_double_eq_tol(apart.f_s - beside.f_s, shared / speed, 1e-12);
    ck_assert_double_eq(beside.w_s, apart.w_s); /* W may run elsewhere */
    ck_assert_double_eq(hidden_of(&local), 0);  /* pairs do not hide it, too */
    /* in a fused backward the weight gradients are hidden, too */
    const double inputs = apart.i_s - beside.i_s;
    const double both = inputs + beside.saved_s - apart.saved_s;
    model.shared_ffn = 0;
    c.switches.moe_shared_expert_overlap = false;
    const pp_unit_cost none = layer(&c);
    ck_assert_double_eq_tol(inputs, apart.i_s - none.i_s, 1e-12);
    ck_assert_double_eq_tol(both, apart.i_s - none.i_s + apart.w_s - none.w_s, 1e-12);
    c.switches.moe_shared_expert_overlap = true; /* without shared experts it means nothing */
    ck_assert_double_eq(layer(&c).f_s, none.f_s);
    ck_assert_double_eq(layer(&c).i_s, none.i_s);
    /* one node, and experts that take longer than the exchange: this is hidden, less 20 SMs */
    model.shared_ffn = 16 * 2048;
    c.parallel.ep = 8;
    const pp_dispatch_cost short_one = dispatch(&c);
    const pp_unit_cost node = layer(&c);
    c.switches.moe_shared_expert_overlap = false;
    ck_assert_double_eq_tol(layer(&c).f_s - node.f_s, short_one.seconds * 112 / 132, 1e-12);
    ck_assert_double_eq_tol(layer(&c).i_s - node.i_s, short_one.seconds * 112 / 132, 1e-12);
}
END_TEST

/* Bytes that a layer of DeepSeek-V3 does not keep, counted by hand; time is in I only, and that of
 * the module's forward. */
START_TEST(modules_free_what_they_compute)
{
    static const double bytes[PP_MODULES] = {
        [PP_MODULE_CORE_ATTN] = 4 * 128,
        [PP_MODULE_LAYERNORM] = 2 * 2 * 7168,
        [PP_MODULE_MLA_UP_PROJ] = 2 * 128 * (192 + 192 + 128),
        [PP_MODULE_MLP] = 0, /* the last layer has experts */
        [PP_MODULE_MOE_ACT] = 2 * 8 * 2048,
        [PP_MODULE_SHARED_EXPERTS] = 2 * 3 * 2048,
        [PP_MODULE_MOE] = 2 * 8 * 7168 + 13 * 256 + 2 * 8 * 3 * 2048 + 2 * 3 * 2048,
    };
    const pp_hardware hw = h100();
    const pp_model model = run_model("deepseek-v3");
    pp_cost_context c = context_of(&model, &hw, 64, PP_DISPATCHER_DEEPEP);
    const pp_unit_cost none = layer(&c);
    c.switches.recompute = PP_RECOMPUTE_SELECTIVE;
    for (int k = 0; k < PP_MODULES; k++) {
        c.switches.recompute_modules = 1U << k;
        const pp_unit_cost some = layer(&c);
        const pp_gpu_batch local = pp_gpu_batch_of(&c, TOKENS, (int64_t)TOKENS * TOKENS);
        const double seconds = pp_module_seconds(&local, (pp_recompute_module)k);
        ck_assert_double_eq_tol(none.activation_bytes - some.activation_bytes, bytes[k] * TOKENS,
                                1e-3);
        ck_assert_double_eq_tol(some.i_s - none.i_s, seconds / pp_sustained_of(&c), 1e-12);
        ck_assert_double_eq(some.f_s, none.f_s);
        ck_assert_double_eq(some.w_s, none.w_s);
        ck_assert_int_eq(seconds > 0, bytes[k] > 0);
    }
    /* what is within another counts once */
    c.switches.recompute_modules = 1U << PP_MODULE_MOE;
    const pp_unit_cost moe = layer(&c);
    c.switches.recompute_modules |= 1U << PP_MODULE_MOE_ACT | 1U << PP_MODULE_SHARED_EXPERTS;
    ck_assert_double_eq(layer(&c).activation_bytes, moe.activation_bytes);
    ck_assert_double_eq(layer(&c).i_s, moe.i_s);
    /* nothing is as long as all, and the attention core is what no set means */
    c.switches.recompute = PP_RECOMPUTE_FULL;
    ck_assert_double_lt(moe.i_s, layer(&c).i_s);
    c.switches.recompute = PP_RECOMPUTE_SELECTIVE;
    c.switches.recompute_modules = 0;
    const pp_unit_cost core = layer(&c);
    c.switches.recompute_modules = PP_MODULES_CORE;
    ck_assert_double_eq(layer(&c).i_s, core.i_s);
}
END_TEST

/* Flash attention keeps next to nothing, so that its core is not worth its time; norms, activation
 * functions and the queries, keys and values of MLA are. Dense models have the core. */
START_TEST(cheap_modules_are_chosen)
{
    const pp_hardware hw = h100();
    const pp_model mla = run_model("deepseek-v3"), dense = run_model("llama3-70b");
    const pp_cost_context c = context_of(&mla, &hw, 64, PP_DISPATCHER_DEEPEP);
    const pp_cost_context d = context_of(&dense, &hw, 1, PP_DISPATCHER_DEEPEP);
    const unsigned chosen = pp_modules_worth(&c);
    ck_assert_uint_eq(pp_modules_worth(&d), PP_MODULES_CORE);
    ck_assert(chosen >> PP_MODULE_LAYERNORM & 1 && chosen >> PP_MODULE_MLA_UP_PROJ & 1 &&
              chosen >> PP_MODULE_MOE_ACT & 1);
    pp_cost_context beside = c;
    beside.switches.moe_shared_expert_overlap = true;
    const unsigned shared = 1U << PP_MODULE_SHARED_EXPERTS;
    ck_assert_uint_eq(pp_modules_worth(&beside), chosen & ~shared);
    ck_assert(!(chosen >> PP_MODULE_CORE_ATTN & 1) && !(chosen >> PP_MODULE_MOE & 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch");
    TCase *tc = tcase_create("experts");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_token_crosses_the_network_as_often_as_its_dispatcher_sends_it);
    tcase_add_test(tc, rows_may_go_to_experts_in_8_bits);
    tcase_add_test(tc, one_node_uses_its_links_only);
    tcase_add_test(tc, dispatchers_are_as_fast_as_their_authors_measured);
    tcase_add_test(tc, what_was_measured_is_taken_for_alltoall);
    tcase_add_test(tc, kernels_beside_the_exchange);
    tcase_add_test(tc, kernels_of_an_exchange_hold_sms);
    tcase_add_test(tc, imbalance_is_of_experts);
    tcase_add_test(tc, capacity_limits_what_experts_get);
    tcase_add_test(tc, padding_reaches_more_nodes);
    tcase_add_test(tc, shared_experts_compute_beside_the_exchange);
    tcase_add_test(tc, modules_free_what_they_compute);
    tcase_add_test(tc, cheap_modules_are_chosen);
    return step_run(suite);
}
