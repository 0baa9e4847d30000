/* How a tensor travels between stages: channels by communicator and size against published
 * measurements, two-rank collectives, slices; in costs, lanes, memory and plans. */
#include "sim/cost/cost_model.h"
#include "sim/cost/kernel.h"
#include "sim/cost/transfer.h"
#include "tests/support/planning.h"

#include <math.h>

#define MIB 1048576.0

/* nccl-tests sendrecv_perf; ranks, MiB, channels that NCCL's source gives, GB/s measured (0: none).
 * B200 + CX-7 400G (togethercomputer/together-nccl-tests@280e4df2, NCCL 2.29.7); H100 NVSwitch, in
 * rings of 8 and 4 (xxrjun/nccl-tests-cluster@455de4f8dee2, NCCL 2.29.2). */
START_TEST(channels_are_those_of_nccl)
{
    static const struct {
        const char *hardware;
        bool same_node;
        int64_t ranks;
        double mib;
        int64_t channels;
        double gigabytes_per_s;
    } rows[] = {
        { "b200-180g", false, 16, 64, 4, 42.8 },  { "b200-180g", false, 32, 64, 4, 44.4 },
        { "b200-180g", false, 64, 64, 2, 26.2 },  { "b200-180g", false, 128, 64, 1, 14.6 },
        { "b200-180g", false, 256, 64, 1, 14.6 }, { "b200-180g", false, 512, 64, 1, 14.7 },
        { "h100-80g", true, 8, 32, 4, 79.5 },     { "h100-80g", true, 8, 64, 4, 81.8 },
        { "h100-80g", true, 8, 128, 8, 162.5 },   { "h100-80g", true, 8, 256, 16, 299.5 },
        { "h100-80g", true, 8, 512, 32, 355.8 },  { "h100-80g", true, 4, 32, 8, 149 },
        { "h100-80g", true, 4, 64, 8, 157 },      { "h100-80g", true, 4, 128, 8, 163 },
        { "h100-80g", true, 4, 256, 16, 299 },    { "h100-80g", true, 4, 512, 32, 355 },
        { "h100-80g", true, 2, 64, 16, 0 },       { "h100-80g", true, 2, 256, 16, 0 },
        { "h100-80g", true, 2, 512, 32, 0 },      { "h100-80g", false, 16, 1024, 4, 45.9 },
        { "h100-80g", false, 80, 1024, 1, 15.2 }, { "h100-80g", true, 2, 1.0 / 16, 1, 0 },
        { "h100-80g", true, 2, 3.0 / 16, 3, 0 },  { "b200-180g", false, 2, 1.0 / 16, 1, 0 },
        { "b200-180g", false, 16, 0.125, 1, 0 },  { "b200-180g", false, 16, 0.25, 2, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const planning p = planning_of("gpt22b", rows[i].hardware);
        const pp_communicator c = { rows[i].ranks, !rows[i].same_node };
        const double bytes = rows[i].mib * MIB;
        ck_assert_msg(pp_p2p_channels(&p.hardware, rows[i].same_node, c, bytes) == rows[i].channels,
                      "row %zu: %lld channels", i,
                      (long long)pp_p2p_channels(&p.hardware, rows[i].same_node, c, bytes));
        const double rate =
            1e-9 * bytes / pp_message_seconds(&p.hardware, rows[i].same_node, c, bytes);
        if (rows[i].gigabytes_per_s > 0)
            ck_assert_msg(fabs(rate / rows[i].gigabytes_per_s - 1) < 0.11, "row %zu: %g GB/s", i,
                          rate);
    }
    /* one GPU per node, 4 p2p channels: 24.9 GB/s at 10 ranks */
    planning p = planning_of("gpt22b", "h100-80g");
    p.hardware.network_p2p.channels_max = 4;
    ck_assert_int_eq(pp_p2p_channels(&p.hardware, false, (pp_communicator){ 10, true }, 1024 * MIB),
                     2);
}
END_TEST

/* A communicator with a peer on another node gives an NVLink peer no more channels than that peer,
 * with smaller chunks. */
START_TEST(a_far_peer_limits_the_near_ones)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    const double bytes = 512 * MIB;
    ck_assert_int_eq(pp_p2p_channels(&p.hardware, true, (pp_communicator){ 8, false }, bytes), 32);
    ck_assert_int_eq(pp_p2p_channels(&p.hardware, true, (pp_communicator){ 8, true }, bytes), 4);
    ck_assert_int_eq(pp_p2p_channels(&p.hardware, true, (pp_communicator){ 64, true }, bytes), 2);
    /* nor more than it has: if none was measured, one channel stands for the whole link */
    const planning b = planning_of("gpt22b", "b200-180g");
    ck_assert_int_eq(pp_p2p_channels(&b.hardware, true, (pp_communicator){ 16, true }, bytes), 1);
}
END_TEST

/* A longer message never takes less time, unless it gets more channels. */
START_TEST(a_message_has_at_least_one_channel)
{
    static const char *const names[] = {
        "a100-80g",    "h100-80g",    "h200-141g", "b200-180g", "l40s-48g", "v100-32g",
        "gb200-nvl72", "gb300-nvl72", "b300-288g", "h800-80g",  "h20-96g",  "mi300x-192g",
        "mi325x-256g", "mi355x-288g", "tpu-v5p",   "tpu-v6e",   "trn2",     "v100-16g-mesh"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const planning p = planning_of("gpt22b", names[i]);
        for (int64_t ranks = 2; ranks <= 4096; ranks *= 2) {
            for (double bytes = 1; bytes < 1e10; bytes *= 3) {
                for (int k = 0; k < 4; k++) {
                    const pp_communicator c = { ranks, k % 2 == 1 };
                    const int64_t n = pp_p2p_channels(&p.hardware, k / 2, c, bytes);
                    ck_assert_int_ge(n, 1);
                    ck_assert_int_le(n, 32);
                    ck_assert(pp_message_seconds(&p.hardware, k / 2, c, bytes) > 0);
                }
            }
        }
        ck_assert_double_eq(pp_message_seconds(&p.hardware, true, (pp_communicator){ 8, false }, 0),
                            0);
    }
}
END_TEST

static pp_cost_context context_of(const planning *p, pp_parallel parallel)
{
    pp_cost_context c = { .model = &p->model, .hardware = &p->hardware, .parallel = parallel };
    c.switches = stack_switches("every-schedule", &parallel);
    return c;
}

/* 16 ranks of tp 4: two on a node, 8 nodes. 256 MiB from 0 to 1 (near), from 1 to 2 (far). */
START_TEST(layouts_decide_the_time_of_a_transfer)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    pp_cost_context c = context_of(&p, (pp_parallel){ 16, 4, 1, 1, 1, 1, 0 });
    const pp_hardware *hw = &p.hardware;
    const double bytes = 256 * MIB;
    static const struct {
        pp_communicators layout;
        pp_communicator near, far;
        int64_t near_channels, far_channels;
    } rows[] = {
        { PP_COMMUNICATORS_WORLD, { 64, true }, { 64, true }, 2, 2 },
        { PP_COMMUNICATORS_PP, { 16, true }, { 16, true }, 4, 4 },
        { PP_COMMUNICATORS_PER_EDGE, { 2, false }, { 2, true }, 16, 4 },
    };
    for (size_t i = 0; i < 3; i++) {
        c.switches.communicators = rows[i].layout;
        ck_assert_int_eq(pp_p2p_channels(hw, true, rows[i].near, bytes), rows[i].near_channels);
        ck_assert_int_eq(pp_p2p_channels(hw, false, rows[i].far, bytes), rows[i].far_channels);
        ck_assert_double_eq(pp_transfer_seconds(&c, 0, 1, bytes),
                            pp_message_seconds(hw, true, rows[i].near, bytes));
        ck_assert_double_eq(pp_transfer_seconds(&c, 1, 2, bytes),
                            pp_message_seconds(hw, false, rows[i].far, bytes));
    }
    c.switches.communicators = PP_COMMUNICATORS_DEFAULT;
    ck_assert_double_eq(pp_transfer_seconds(&c, 0, 1, bytes), pp_p2p_seconds(hw, true, 16, bytes));
    ck_assert_double_eq(pp_transfer_seconds(&c, 1, 2, bytes), pp_p2p_seconds(hw, false, 16, bytes));
    /* a pipeline inside a node does not span nodes */
    c.parallel = (pp_parallel){ 8, 1, 1, 4, 1, 1, 0 };
    c.switches.communicators = PP_COMMUNICATORS_PP;
    ck_assert_double_eq(pp_transfer_seconds(&c, 0, 1, bytes),
                        pp_message_seconds(hw, true, (pp_communicator){ 8, true }, bytes));
    c.parallel.dp = 1;
    ck_assert_double_eq(pp_transfer_seconds(&c, 0, 1, bytes),
                        pp_message_seconds(hw, true, (pp_communicator){ 8, false }, bytes));
}
END_TEST

/* Racks of 72: 256 GPUs are 4 times 64, so that a stage of 64 has a rack, and two of 32 share one;
 * 72 GPUs are one rack, where filled racks would divide stages. */
START_TEST(racks_hold_whole_stages)
{
    const planning p = planning_of("gpt22b", "gb200-nvl72");
    const pp_hardware *hw = &p.hardware;
    const double bytes = 64 * MIB;
    const double near = pp_p2p_seconds(hw, true, 4, bytes),
                 far = pp_p2p_seconds(hw, false, 4, bytes);
    pp_cost_context c = context_of(&p, (pp_parallel){ 4, 8, 1, 8, 1, 1, 0 });
    ck_assert_int_eq(hw->gpus_per_node, 72);
    ck_assert_double_gt(far, 5 * near);
    for (uint32_t rank = 0; rank < 3; rank++)
        ck_assert_double_eq(pp_transfer_seconds(&c, rank, rank + 1, bytes), far);
    c.parallel = (pp_parallel){ 8, 8, 1, 4, 1, 1, 0 };
    for (uint32_t rank = 0; rank < 7; rank++)
        ck_assert_double_eq(pp_transfer_seconds(&c, rank, rank + 1, bytes),
                            pp_p2p_seconds(hw, rank % 2 == 0, 8, bytes));
    c.parallel = (pp_parallel){ 4, 2, 1, 9, 1, 1, 0 };
    for (uint32_t rank = 0; rank < 3; rank++)
        ck_assert_double_eq(pp_transfer_seconds(&c, rank, rank + 1, bytes), near);
}
END_TEST

/* An all-gather of two ranks makes two tensors of each, an all-reduce sums one; by the curves of
 * two ranks: t = a + f B (1 + sqrt(b0/B)) / rate, f = 1/2 of 2 tensors, 1 of one. */
START_TEST(emulated_transfers_cost_a_collective)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    pp_cost_context c = context_of(&p, (pp_parallel){ 16, 4, 1, 1, 1, 1, 0 });
    const double bytes = 64 * MIB;
    c.switches.p2p = PP_P2P_ALL_GATHER;
    ck_assert_double_eq_tol(pp_transfer_seconds(&c, 0, 1, bytes),
                            4.2e-6 + bytes * (1 + sqrt(12e6 / (2 * bytes))) / 299e9, 1e-12);
    /* far: a quarter less than 400 GB/s over 8 GPUs, one hop */
    ck_assert_double_eq_tol(pp_transfer_seconds(&c, 1, 2, bytes),
                            4.2e-6 + bytes / (0.75 * 400e9 / 8) + 30e-6, 1e-12);
    c.switches.p2p = PP_P2P_ALL_REDUCE;
    ck_assert_double_eq_tol(pp_transfer_seconds(&c, 0, 1, bytes),
                            4e-6 + bytes * (1 + sqrt(7.3e6 / bytes)) / 356e9, 1e-12);
    ck_assert_double_eq_tol(pp_transfer_seconds(&c, 1, 2, bytes),
                            4e-6 + bytes / (0.75 * 400e9 / 8) + 2 * 30e-6, 1e-12);
}
END_TEST

/* The tables of docs/explanation/p2p-emulation.md: ctest -R contract.transfer -V. The statements of
 * the text about them are asserted. */
START_TEST(emulation_against_send_receive)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    static const double sizes[] = { 1, 4, 16, 64, 128, 256, 512 };
    static const struct {
        pp_communicators layout;
        pp_p2p p2p;
    } ways[] = { { PP_COMMUNICATORS_WORLD, PP_P2P_SEND_RECV },
                 { PP_COMMUNICATORS_PP, PP_P2P_SEND_RECV },
                 { PP_COMMUNICATORS_PER_EDGE, PP_P2P_SEND_RECV },
                 { PP_COMMUNICATORS_DEFAULT, PP_P2P_ALL_GATHER },
                 { PP_COMMUNICATORS_DEFAULT, PP_P2P_ALL_REDUCE } };
    double us[2][7][5];
    for (int far = 0; far < 2; far++) {
        /* 8 ranks in a node, with replicas in the same node; or 8 ranks of tp 8 on separate nodes,
         * 512 GPUs */
        pp_cost_context c = context_of(&p, far ? (pp_parallel){ 8, 8, 1, 8, 1, 1, 0 }
                                               : (pp_parallel){ 8, 1, 1, 1, 1, 1, 0 });
        printf("| MiB, %s | world | pp | per-edge | all-gather | all-reduce |\n",
               far ? "network" : "NVLink");
        for (size_t i = 0; i < 7; i++) {
            printf("| %g |", sizes[i]);
            for (size_t k = 0; k < 5; k++) {
                c.switches.communicators = ways[k].layout;
                c.switches.p2p = ways[k].p2p;
                us[far][i][k] = 1e6 * pp_transfer_seconds(&c, 0, 1, sizes[i] * MIB);
                printf(" %.0f |", us[far][i][k]);
            }
            printf("\n");
        }
    }
    for (size_t i = 0; i < 7; i++) {
        ck_assert_double_le(us[0][i][4], us[0][i][3]); /* near: reduce before gather */
        ck_assert_double_gt(us[1][i][0], us[1][i][1]); /* far: 512 ranks leave one channel */
        ck_assert_double_lt(us[1][i][1], us[1][i][3]); /* and send/recv is faster than both */
        ck_assert_double_lt(us[1][i][3], us[1][i][4]);
    }
    ck_assert_double_gt(us[0][3][1], 2.5 * us[0][3][3]); /* 64 MiB in a communicator of 8 */
    ck_assert_double_lt(us[0][6][2], us[0][6][3]);       /* 512 MiB: all channels */
}
END_TEST

static int communicators(pp_parallel parallel, pp_placement placement, pp_communicators layout,
                         uint32_t rank)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    pp_cost_context c = context_of(&p, parallel);
    c.placement = placement;
    c.switches.communicators = layout;
    return pp_pipeline_communicators(&c, rank, (uint32_t)(parallel.pp * parallel.vpp));
}

/* One for the pipeline, or one for each neighbour. */
START_TEST(edges_have_a_communicator_each)
{
    const pp_parallel line = { 4, 1, 1, 1, 1, 1, 0 }, loop = { 4, 1, 1, 1, 1, 2, 0 },
                      two = { 2, 1, 1, 1, 1, 2, 0 }, one = { 1, 1, 1, 1, 1, 1, 0 };
    static const pp_communicators whole[] = { PP_COMMUNICATORS_DEFAULT, PP_COMMUNICATORS_WORLD,
                                              PP_COMMUNICATORS_PP };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(communicators(line, PP_PLACE_LOOP, whole[i], 1), 1);
        ck_assert_int_eq(communicators(one, PP_PLACE_LOOP, whole[i], 0), 0);
    }
    static const int line_edges[] = { 1, 2, 2, 1 };
    for (uint32_t r = 0; r < 4; r++) {
        ck_assert_int_eq(communicators(line, PP_PLACE_LOOP, PP_COMMUNICATORS_PER_EDGE, r),
                         line_edges[r]);
        ck_assert_int_eq(communicators(loop, PP_PLACE_LOOP, PP_COMMUNICATORS_PER_EDGE, r), 2);
        ck_assert_int_eq(communicators(loop, PP_PLACE_V, PP_COMMUNICATORS_PER_EDGE, r),
                         line_edges[r]);
    }
    ck_assert_int_eq(communicators(two, PP_PLACE_LOOP, PP_COMMUNICATORS_PER_EDGE, 0), 1);
    ck_assert_int_eq(communicators(one, PP_PLACE_LOOP, PP_COMMUNICATORS_PER_EDGE, 0), 0);
}
END_TEST

/* A plan for 4 ranks of gpt22b: 1f1b; interleaved if the framework runs nothing else, or if lanes
 * matter. */
static pp_search_result *choice_for(const planning *p, const char *framework,
                                    pp_communicators layout, const pp_p2p *p2p)
{
    pp_plan_request request = request_of(p, 4);
    const bool interleaved =
        strcmp(framework, "megatron-overlap") == 0 || strcmp(framework, "torch") == 0;
    request.parallel.tp = 8;
    request.parallel.vpp = interleaved ? 2 : 1;
    request.micro_batch_size = 1;
    request.schedule = pp_schedule_find(interleaved ? "interleaved" : "1f1b");
    request.framework = pp_framework_find(framework);
    request.switches.value.communicators = layout;
    if (p2p) {
        request.switches.value.p2p = *p2p;
        request.switches.given.p2p = true;
    }
    return choose(&request);
}

static int64_t library_bytes(const pp_search_result *choice, uint32_t rank)
{
    return choice->plan->costs[0]->comm_library_bytes[rank];
}

/* The layout affects lanes and memory and is in the plan, which repeats its prediction. */
START_TEST(plans_carry_the_layout)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    static const struct {
        const char *framework;
        pp_communicators layout;
        const char *lanes;
        int more; /* additional communicators of rank 1, compared with one for the pipeline */
    } rows[] = {
        { "megatron", PP_COMMUNICATORS_DEFAULT, "", 0 },
        { "megatron", PP_COMMUNICATORS_WORLD, "single", 0 },
        { "megatron", PP_COMMUNICATORS_PP, "single", 0 },
        { "megatron", PP_COMMUNICATORS_PER_EDGE, "per-edge", 1 },
        { "ideal", PP_COMMUNICATORS_PER_EDGE, "", 1 },
        /* a lane per peer by itself, one queue in one communicator; edges 0-3, 3-0 too */
        { "megatron-overlap", PP_COMMUNICATORS_DEFAULT, "", 0 },
        { "megatron-overlap", PP_COMMUNICATORS_PP, "single", 0 },
        { "torch", PP_COMMUNICATORS_PER_EDGE, "per-edge", 1 },
    };
    int64_t one_bytes = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_search_result *choice = choice_for(&p, rows[i].framework, rows[i].layout, NULL);
        pp_report *again = NULL;
        pp_err err = { 0 };
        ck_assert_str_eq(choice->plan->comm.has_lanes ? pp_lanes_name(choice->plan->comm.lanes)
                                                      : "",
                         rows[i].lanes);
        if (i == 0)
            one_bytes = library_bytes(choice, 1);
        /* 32 channels of 9 MB (NCCL's buffers of three protocols) */
        ck_assert_int_eq(library_bytes(choice, 1) - one_bytes, rows[i].more * 32 * 9000000LL);
        bool ring = rows[i].more && choice->plan->parallel.vpp > 1; /* rank 0 has two edges there */
        ck_assert_int_eq(library_bytes(choice, 0) - one_bytes, ring * 32 * 9000000LL);
        STEP_OK(pp_plan_simulate(choice->plan, NULL, NULL, NULL, &again, &err), err);
        ck_assert_int_eq(again->step_ns, choice->plan->prediction->step_ns);
        pp_report_free(&again);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* neuronx and xla have no send/recv: unless requested otherwise, their transfers are two-rank
 * all-gathers and all-reduces; those of others are not. */
START_TEST(executors_have_their_own_transfers)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    static const pp_p2p send = PP_P2P_SEND_RECV, gather = PP_P2P_ALL_GATHER;
    const struct {
        const char *framework;
        const pp_p2p *p2p;
        pp_p2p expected;
    } rows[] = {
        { "neuronx", NULL, PP_P2P_ALL_GATHER }, { "neuronx", &send, PP_P2P_SEND_RECV },
        { "megatron", NULL, PP_P2P_SEND_RECV }, { "megatron", &gather, PP_P2P_ALL_GATHER },
        { "xla", NULL, PP_P2P_ALL_REDUCE },     { "xla-fused", NULL, PP_P2P_ALL_REDUCE },
    };
    pp_ns edge_ns[6];
    for (size_t i = 0; i < 6; i++) {
        pp_search_result *choice =
            choice_for(&p, rows[i].framework, PP_COMMUNICATORS_DEFAULT, rows[i].p2p);
        ck_assert_int_eq(choice->plan->p2p, rows[i].expected);
        edge_ns[i] = choice->plan->costs[0]->send_f_ns[0];
        pp_search_result_free(&choice);
    }
    ck_assert_int_eq(edge_ns[0], edge_ns[3]);
    ck_assert_int_eq(edge_ns[1], edge_ns[2]);
    ck_assert_int_ne(edge_ns[0], edge_ns[1]);
    ck_assert_int_gt(edge_ns[4], edge_ns[0]); /* over the network: a second hop */
    ck_assert_int_eq(edge_ns[4], edge_ns[5]);
}
END_TEST

/* A collective is never buffered: with it, an eager step is a rendezvous step. */
START_TEST(a_collective_is_never_eager)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    static const pp_p2p kinds[] = { PP_P2P_SEND_RECV, PP_P2P_ALL_GATHER };
    for (int i = 0; i < 2; i++) {
        pp_search_result *choice = choice_for(&p, "deepspeed", PP_COMMUNICATORS_DEFAULT, &kinds[i]);
        pp_report *report = NULL;
        pp_err err = { 0 };
        STEP_OK(pp_comm_settings_parse("eager:1GiB", NULL, &choice->plan->comm, &err), err);
        STEP_OK(pp_plan_simulate(choice->plan, NULL, NULL, NULL, &report, &err), err);
        pp_ns link_ns[2] = { 0, 0 }; /* an eager sender does not wait for the link */
        for (uint32_t r = 0; r < 4; r++) {
            link_ns[0] += report->per_rank[r].idle_ns[PP_IDLE_LINK];
            link_ns[1] += choice->plan->prediction->per_rank[r].idle_ns[PP_IDLE_LINK];
        }
        ck_assert_int_eq(link_ns[0] < link_ns[1], !i);
        ck_assert_int_eq(link_ns[0] == link_ns[1], i);
        pp_report_free(&report);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* 1/tp of the bytes, and a gather at the other end. It has no effect if tensors are already sliced
 * (sequence parallelism) or tp is 1. */
START_TEST(scatter_gather_is_a_switch)
{
    const planning p = planning_of("gpt22b", "h100-80g");
    for (int sequence_parallel = 0; sequence_parallel < 2; sequence_parallel++) {
        int64_t bytes[2];
        pp_ns edge_ns[2];
        for (int on = 0; on < 2; on++) {
            pp_plan_request request = request_of(&p, 4);
            request.parallel.tp = 8;
            request.parallel.vpp = 1;
            request.micro_batch_size = 1;
            request.schedule = pp_schedule_find("1f1b");
            request.switches.value.sequence_parallel = sequence_parallel;
            request.switches.value.scatter_gather = on;
            request.switches.given.sequence_parallel = request.switches.given.scatter_gather = true;
            pp_search_result *choice = choose(&request);
            bytes[on] = choice->plan->costs[0]->message_bytes[0];
            edge_ns[on] = choice->plan->costs[0]->send_f_ns[0];
            pp_search_result_free(&choice);
        }
        if (sequence_parallel) {
            ck_assert_int_eq(bytes[0], bytes[1]);
            ck_assert_int_eq(edge_ns[0], edge_ns[1]);
            continue;
        }
        const double whole = 2048.0 * 6144 * 2;
        ck_assert_int_eq(bytes[0], (int64_t)whole);
        ck_assert_int_eq(bytes[1], (int64_t)whole / 8);
        const double seconds =
            pp_p2p_seconds(&p.hardware, false, 4, whole / 8) +
            pp_collective_seconds(&p.hardware, PP_ALL_GATHER, (pp_collective_group){ 8, 8 }, whole);
        ck_assert_int_eq(edge_ns[1], (pp_ns)(seconds * 1e9 + 0.5));
    }
}
END_TEST

/* Only the old stacks use scatter-gather by default. */
START_TEST(stacks_know_scatter_gather)
{
    static const struct {
        const char *stack;
        bool scatter_gather;
    } rows[] = { { "megatron-2021", true },
                 { "megatron-2022", true },
                 { "every-schedule", false } };
    for (size_t i = 0; i < 3; i++) {
        pp_switches s;
        s = stack_switches(rows[i].stack, &(pp_parallel){ .tp = 8 });
        ck_assert_int_eq(s.scatter_gather, rows[i].scatter_gather);
        ck_assert_int_eq(s.p2p, PP_P2P_SEND_RECV);
        ck_assert_int_eq(s.communicators, PP_COMMUNICATORS_DEFAULT);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transfers");
    TCase *tc = tcase_create("transfers");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, channels_are_those_of_nccl);
    tcase_add_test(tc, a_far_peer_limits_the_near_ones);
    tcase_add_test(tc, a_message_has_at_least_one_channel);
    tcase_add_test(tc, layouts_decide_the_time_of_a_transfer);
    tcase_add_test(tc, racks_hold_whole_stages);
    tcase_add_test(tc, emulated_transfers_cost_a_collective);
    tcase_add_test(tc, emulation_against_send_receive);
    tcase_add_test(tc, edges_have_a_communicator_each);
    tcase_add_test(tc, plans_carry_the_layout);
    tcase_add_test(tc, executors_have_their_own_transfers);
    tcase_add_test(tc, a_collective_is_never_eager);
    tcase_add_test(tc, scatter_gather_is_a_switch);
    tcase_add_test(tc, stacks_know_scatter_gather);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
