/* Pipeline ranks that differ in speed, memory and links. The plan adapts, its bounds hold, and
 * overrides that are the same for all ranks change nothing. */
#include "planner/bound/partition.h"
#include "planner/study/cluster.h"
#include "sim/base/random.h"
#include "tests/support/planning.h"

static pp_rank_overrides overrides_of(const char *speed, const char *memory, const char *link)
{
    const char *const texts[] = { speed, memory, link };
    pp_rank_overrides overrides = { 0 };
    pp_err err = { 0 };
    for (int k = 0; k < 3; k++) {
        if (texts[k])
            STEP_OK(pp_rank_overrides_parse((pp_rank_override_kind)k, "--rank-x", texts[k],
                                            &overrides, &err),
                    err);
    }
    return overrides;
}

static pp_plan_request request_with(const planning *p, const pp_rank_overrides *overrides)
{
    pp_plan_request request = request_of(p, 4);
    request.parallel.tp = 2;
    request.seq_length = 4096;
    request.global_batch_size = 32;
    request.overrides = overrides;
    return request;
}

START_TEST(equal_speeds_change_nothing)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides alike PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of("0=1,1=1.0,3=1", NULL, NULL);
    pp_plan_request request = request_with(&p, NULL);
    pp_search_result *plain = choose(&request);
    request.overrides = &alike;
    pp_search_result *same = choose(&request);
    char *a = report_text(plain->plan->prediction);
    char *b = report_text(same->plan->prediction);
    ck_assert_uint_eq(plain->count, same->count);
    for (size_t i = 0; i < plain->count; i++) {
        ck_assert_int_eq(plain->candidate[i].step_ns, same->candidate[i].step_ns);
        ck_assert_int_eq(plain->candidate[i].least_step_ns, same->candidate[i].least_step_ns);
    }
    ck_assert_int_eq(plain->plan->prediction->lower_bound_ns,
                     same->plan->prediction->lower_bound_ns);
    free(a);
    free(b);
    pp_search_result_free(&plain);
    pp_search_result_free(&same);
}
END_TEST

static int64_t layers_of(const pp_plan *plan, uint32_t rank)
{
    pp_placement placement = PP_PLACE_LOOP;
    int64_t layers = 0;
    pp_order_placement(plan->order[0], &placement);
    for (uint32_t s = 0; s < plan->order[0]->stages; s++)
        layers += pp_placement_rank(placement, s, 4) == rank ? plan->partition[s].layers : 0;
    return layers;
}

/* A slow rank gets fewer layers, and the step is shorter than with equally many. */
START_TEST(a_slow_rank_gets_less)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides slow PP_CLEANUP(pp_rank_overrides_free) = overrides_of("2=0.6", NULL, NULL);
    pp_plan_request request = request_with(&p, &slow);
    pp_search_result *found = choose(&request);
    ck_assert_int_lt(layers_of(found->plan, 2), 8);
    request.partition = PP_PARTITION_UNIFORM;
    pp_search_result *uniform = choose(&request);
    ck_assert_int_lt(found->plan->prediction->step_ns, uniform->plan->prediction->step_ns);
    pp_search_result_free(&found);
    pp_search_result_free(&uniform);
}
END_TEST

/* The same total speed or more is never slower; a faster rank gets more layers. */
START_TEST(a_fast_rank_gets_more)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides fast PP_CLEANUP(pp_rank_overrides_free) = overrides_of("1=2", NULL, NULL);
    pp_plan_request request = request_with(&p, NULL);
    pp_search_result *plain = choose(&request);
    request.overrides = &fast;
    pp_search_result *found = choose(&request);
    ck_assert_int_gt(layers_of(found->plan, 1), 8);
    ck_assert_int_lt(found->plan->prediction->step_ns, plain->plan->prediction->step_ns);
    pp_search_result_free(&found);
    pp_search_result_free(&plain);
}
END_TEST

/* No rank is beyond its own limit; the one with less memory has fewer layers if that helps. */
START_TEST(memory_of_a_rank_is_obeyed)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides small PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(NULL, "1=22GiB", NULL);
    pp_plan_request request = request_with(&p, &small);
    request.memory_limit_bytes = (int64_t)40 << 30;
    pp_search_result *found = choose(&request);
    const pp_report *report = found->plan->prediction;
    uint32_t rank = 0;
    ck_assert_int_le(report->per_rank[1].memory.total_bytes, (int64_t)22 << 30);
    ck_assert_int_le(pp_report_excess(report, request.memory_limit_bytes, &rank), 0);
    ck_assert_int_gt(report->peak_memory_bytes, (int64_t)22 << 30);
    pp_search_result_free(&found);
    pp_rank_overrides none PP_CLEANUP(pp_rank_overrides_free) = overrides_of(NULL, "1=1GiB", NULL);
    request.overrides = &none;
    refuse(&request, PP_INFEASIBLE, "rank 1 short");
}
END_TEST

/* latency + bytes / rate on that pair alone, both ways. */
START_TEST(a_link_has_its_rate)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides link PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(NULL, NULL, "2:1=1GB/s");
    pp_plan_request request = request_with(&p, NULL);
    request.schedule = pp_schedule_find("1f1b");
    request.micro_batch_size = 1;
    request.partition = PP_PARTITION_UNIFORM;
    pp_search_result *plain = choose(&request);
    request.overrides = &link;
    pp_search_result *found = choose(&request);
    const pp_costs *a = plain->plan->costs[0];
    const pp_costs *b = found->plan->costs[0];
    double alpha = p.hardware.node_p2p.alpha_s * 1e9;
    pp_ns takes = (pp_ns)(alpha + (double)b->message_bytes[1] + 0.5);
    ck_assert_int_le(llabs(b->send_f_ns[1] - takes), 1);
    ck_assert_int_eq(b->send_b_ns[2], b->send_f_ns[1]);
    ck_assert_int_eq(b->send_f_ns[0], a->send_f_ns[0]);
    ck_assert_int_eq(b->send_f_ns[2], a->send_f_ns[2]);
    ck_assert_int_gt(found->plan->prediction->step_ns, plain->plan->prediction->step_ns);
    pp_search_result_free(&found);
    pp_search_result_free(&plain);
}
END_TEST

/* Whatever the overrides, every bound is at most the simulated step, and pruning loses nothing. */
START_TEST(bounds_hold)
{
    static const char *const drawn[][3] = {
        { "0=0.5", NULL, NULL },
        { "3=0.7,1=1.3", NULL, "0:1=2GB/s" },
        { "1=0.3,2=3", "0=60GiB,3=70GiB", "2:3=5GB/s,0:3=1GB/s" },
    };
    planning p = planning_of("gpt22b", "h100-80g");
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(drawn[_i][0], drawn[_i][1], drawn[_i][2]);
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.global_batch_size = 16;
    request.overrides = &overrides;
    pp_search_result *choice = choose(&request);
    ck_assert_int_le(choice->plan->prediction->lower_bound_ns,
                     choice->plan->prediction->makespan_ns);
    size_t stride = choice->count / 40 + 1;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        pp_search_result *alone = NULL;
        pp_err err = { 0 };
        ck_assert(c->status != PP_CANDIDATE_OK || c->least_step_ns <= c->step_ns);
        if (i % stride || c->status != PP_CANDIDATE_NOT_SIMULATED)
            continue;
        pp_plan_request one = request;
        one.parallel = c->parallel;
        one.micro_batch_size = c->micro_batch_size;
        one.schedule = c->schedule;
        one.partition = c->partition;
        one.switches.given.recompute = true;
        one.switches.value.recompute = c->recompute;
        if (pp_plan_search(&one, &alone, &err) == PP_OK)
            ck_assert_int_ge(alone->candidate[0].step_ns, choice->candidate[0].step_ns);
        pp_search_result_free(&alone);
    }
    pp_search_result_free(&choice);
}
END_TEST

/* The heaviest stage over speed is the least of all partitions; all of them are tried. */
START_TEST(partitions_with_speeds_are_exact)
{
    uint64_t seed = 5;
    for (int n = 0; n < 200; n++) {
        pp_ns layer[7];
        double speed[3];
        for (int k = 0; k < 7; k++)
            layer[k] = 10 + (pp_ns)(pp_random_next(&seed) % 90);
        for (int r = 0; r < 3; r++)
            speed[r] = 0.25 * (double)(1 + pp_random_next(&seed) % 8);
        const pp_unit_weights w = { .layers = 7, .layer_ns = layer };
        const pp_partition_params split = { 3, 1, PP_PLACE_LOOP, false, speed };
        pp_stage *stages = NULL;
        pp_ns heaviest = 0;
        pp_ns rank_ns = 0;
        pp_ns best = INT64_MAX;
        pp_err err = { 0 };
        STEP_OK(pp_partition_balance(&w, &split, &stages, &err), err);
        STEP_OK(pp_partition_heaviest(&w, &split, stages, &heaviest, &rank_ns, &err), err);
        for (int64_t a = 1; a < 6; a++) {
            for (int64_t b = a + 1; b < 7; b++) {
                const pp_stage tried[] = { { .layers = a },
                                           { .first_layer = a, .layers = b - a },
                                           { .first_layer = b, .layers = 7 - b } };
                pp_ns now = 0;
                STEP_OK(pp_partition_heaviest(&w, &split, tried, &now, &rank_ns, &err), err);
                best = now < best ? now : best;
            }
        }
        ck_assert_int_eq(heaviest, best);
        free(stages);
    }
}
END_TEST

/* How overrides change costs: durations, bytes over rate, limits; other ranks are unchanged. */
START_TEST(costs_change_where_it_is_said)
{
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of("1=0.5", "2=10MiB", "0:1=1GB/s");
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        step_costs("F=100ns,I=60ns,W=30ns,comm=7ns", 3, 1, 2);
    const uint32_t stage_rank[] = { 0, 1, 2 };
    pp_err err = { 0 };
    for (int s = 0; s < 3; s++) {
        costs->message_bytes[s] = 50;
        costs->again_ns[s] = 40;
    }
    STEP_OK(pp_costs_add_late(costs, &err), err);
    STEP_OK(pp_rank_overrides_apply(&overrides, stage_rank, 5, costs, &err), err);
    ck_assert_int_eq(costs->late->w_ns[1], 2 * (30 + 40)); /* the fused backward is as it was */
    ck_assert_int_eq(costs->late->b_ns[1], 180);
    ck_assert_int_eq(costs->late->limit_bytes[2], 10 << 20);
    ck_assert_int_eq(costs->f_ns[0], 100);
    ck_assert_int_eq(costs->f_ns[1], 200);
    ck_assert_int_eq(costs->b_ns[1], 180);
    ck_assert_int_eq(costs->send_f_ns[0], 55);
    ck_assert_int_eq(costs->send_b_ns[1], 55);
    ck_assert_int_eq(costs->send_f_ns[1], 7);
    ck_assert_int_eq(costs->limit_bytes[2], 10 << 20);
    ck_assert_int_eq(costs->limit_bytes[0], 0);
    costs->message_bytes[0] = 0;
    ck_assert_int_eq(pp_rank_overrides_apply(&overrides, stage_rank, 5, costs, &err), PP_USAGE);
}
END_TEST

static pp_cluster cluster_of(const char *text)
{
    pp_cluster cluster;
    pp_err err = { 0 };
    STEP_OK(pp_cluster_parse(text, strlen(text), "c.json", &cluster, &err), err);
    return cluster;
}

static const char two_classes[] =
    "{\"format\":\"ppsim.cluster\",\"version\":1,\"name\":\"mixed\",\"classes\":["
    "{\"hardware\":\"h100-80g\",\"ranks\":2},{\"hardware\":\"%s\",\"ranks\":2}],"
    "\"links\":[{\"between\":[2,1],\"bytes_per_s\":2.5e10}]}";

/* Layers of an A100 with the requested attention, not with the stack's: unfused attention is bound
 * by memory bandwidth, in which an H100 has less of an advantage. */
START_TEST(classes_are_timed_with_the_switches_given)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    planning other = planning_of("llama3-8b", "a100-80g");
    const pp_hardware hardware[] = { p.hardware, other.hardware };
    double speed[2];
    char text[400];
    snprintf(text, sizeof text, two_classes, "a100-80g");
    const pp_cluster cluster = cluster_of(text);
    for (int flash = 0; flash < 2; flash++) {
        pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
        double relative[2];
        pp_err err = { 0 };
        pp_plan_request request = request_with(&p, NULL);
        request.switches.given.flash_attention = true;
        request.switches.value.flash_attention = flash;
        STEP_OK(pp_cluster_rank_overrides(&cluster, hardware, &request, &overrides, relative, &err),
                err);
        speed[flash] = pp_rank_overrides_speed(&overrides, 3);
    }
    ck_assert_double_gt(speed[0], speed[1] * 1.01);
}
END_TEST

/* Stages weighed by the class of their ranks beat equal ones, and each class keeps to its own
 * memory. */
START_TEST(two_device_classes_beat_the_uniform_split)
{
    static const char *const others[] = { "a100-80g", "l40s-48g" };
    planning p = planning_of("llama3-8b", "h100-80g");
    planning other = planning_of("llama3-8b", others[_i]);
    const pp_hardware hardware[] = { p.hardware, other.hardware };
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    double speed[2];
    char text[400];
    pp_err err = { 0 };
    snprintf(text, sizeof text, two_classes, others[_i]);
    const pp_cluster cluster = cluster_of(text);
    pp_plan_request request = request_with(&p, NULL);
    STEP_OK(pp_cluster_rank_overrides(&cluster, hardware, &request, &overrides, speed, &err), err);
    ck_assert_double_lt(pp_rank_overrides_speed(&overrides, 3), 0.7);
    ck_assert_double_eq(pp_rank_overrides_speed(&overrides, 3), speed[1]);
    ck_assert_double_eq(pp_rank_overrides_speed(&overrides, 1), 1);
    ck_assert_double_eq(pp_rank_overrides_link_bytes_per_s(&overrides, 1, 2), 2.5e10);
    request.overrides = &overrides;
    pp_search_result *found = choose(&request);
    ck_assert_int_gt(layers_of(found->plan, 0), layers_of(found->plan, 3));
    for (uint32_t r = 0; r < 4; r++)
        ck_assert_int_le(found->plan->prediction->per_rank[r].memory.total_bytes,
                         hardware[r / 2].memory_bytes - pp_memory_reserve_bytes(&hardware[r / 2]));
    request.partition = PP_PARTITION_UNIFORM;
    pp_search_result *uniform = choose(&request);
    ck_assert_int_lt(found->plan->prediction->step_ns * 10, uniform->plan->prediction->step_ns * 9);
    pp_search_result_free(&found);
    pp_search_result_free(&uniform);
}
END_TEST

START_TEST(what_was_said_of_a_rank_stays)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    const pp_hardware hardware[] = { p.hardware, p.hardware };
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of("2=0.25", "3=10GiB", NULL);
    double speed[2];
    char text[400];
    pp_err err = { 0 };
    snprintf(text, sizeof text, two_classes, "h100-80g");
    const pp_cluster cluster = cluster_of(text);
    pp_plan_request request = request_with(&p, NULL);
    STEP_OK(pp_cluster_rank_overrides(&cluster, hardware, &request, &overrides, speed, &err), err);
    ck_assert_double_eq(pp_rank_overrides_speed(&overrides, 2), 0.25);
    ck_assert_double_eq(pp_rank_overrides_speed(&overrides, 3), 1);
    ck_assert_int_eq(pp_rank_overrides_memory_bytes(&overrides, 3), (int64_t)10 << 30);
    request.parallel.pp = 8;
    ck_assert_int_eq(
        pp_cluster_rank_overrides(&cluster, hardware, &request, &overrides, speed, &err), PP_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "ranks 4"));
}
END_TEST

START_TEST(a_wrong_cluster_is_refused)
{
    static const struct {
        const char *inside, *place;
    } bad[] = {
        { "\"classes\":[]", "#/classes" },
        { "\"classes\":[{\"hardware\":\"a\",\"ranks\":0}]", "#/classes/0/ranks" },
        { "\"classes\":[{\"hardware\":\"a\",\"ranks\":2,\"speed\":1}]", "#/classes/0" },
        { "\"classes\":[{\"ranks\":2}]", "#/classes/0" },
        { "\"classes\":[{\"hardware\":\"a\",\"ranks\":2}],\"links\":[{\"between\":[0,2],"
          "\"bytes_per_s\":1e9}]",
          "#/links/0/between/1" },
        { "\"classes\":[{\"hardware\":\"a\",\"ranks\":2}],\"links\":[{\"between\":[1,1],"
          "\"bytes_per_s\":1e9}]",
          "#/links/0/between" },
        { "\"classes\":[{\"hardware\":\"a\",\"ranks\":2}],\"links\":[{\"between\":[0,1],"
          "\"bytes_per_s\":0}]",
          "#/links/0/bytes_per_s" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pp_cluster cluster;
        char text[400];
        pp_err err = { 0 };
        snprintf(text, sizeof text,
                 "{\"format\":\"ppsim.cluster\",\"version\":1,\"name\":\"c\",%s}", bad[i].inside);
        ck_assert_int_eq(pp_cluster_parse(text, strlen(text), "c.json", &cluster, &err), PP_INPUT);
        ck_assert_msg(strcmp(strchr(err.where, '#'), bad[i].place) == 0, "%s %s", err.where,
                      err.text);
    }
}
END_TEST

/* The number of forwards that rank 0 runs before its first backward. */
static uint32_t forwards_first(const pp_order *order)
{
    uint32_t count = 0;
    while (order->ops[order->rank_begin[0] + count].kind == PP_OP_F)
        count++;
    return count;
}

/* A gradient comes back later over a slow link, so more forwards go before it. */
START_TEST(a_slow_link_moves_the_order)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides link PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(NULL, NULL, "0:1=0.3GB/s");
    pp_plan_request request = request_with(&p, NULL);
    request.orders = PP_ORDERS_PLANNED;
    request.micro_batch_size = 1;
    request.parallel.vpp = 1;
    pp_search_result *plain = choose(&request);
    request.overrides = &link;
    pp_search_result *found = choose(&request);
    ck_assert_uint_gt(forwards_first(found->plan->order[0]), forwards_first(plain->plan->order[0]));
    pp_search_result_free(&plain);
    pp_search_result_free(&found);
}
END_TEST

static pp_plan_request wish_1f1b(const planning *p, const pp_rank_overrides *overrides)
{
    pp_plan_request request = request_with(p, overrides);
    request.micro_batch_size = 1;
    request.parallel.vpp = 1;
    request.schedule = pp_schedule_find("1f1b");
    request.switches.given.recompute = true;
    return request;
}

/* The step with these layers on the stages. */
static pp_ns step_with(pp_plan_request request, const int64_t layers[4])
{
    char layout[64];
    snprintf(layout, sizeof layout, "Et*%d|t*%d|t*%d|t*%dL", (int)layers[0], (int)layers[1],
             (int)layers[2], (int)layers[3]);
    request.partition = PP_PARTITION_LAYOUT;
    request.layout = layout;
    pp_search_result *choice = choose(&request);
    pp_ns step_ns = choice->plan->prediction->step_ns;
    pp_search_result_free(&choice);
    return step_ns;
}

/* 1F1B keeps p - r microbatches on rank r. If a round trip takes longer than their work, the ranks
 * before a slow link wait, and less work on them shortens the round trip. */
START_TEST(a_slow_link_moves_the_partition)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides link PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(NULL, NULL, "2:3=1GB/s");
    pp_plan_request request = wish_1f1b(&p, NULL);
    pp_search_result *plain = choose(&request);
    request.overrides = &link;
    pp_search_result *moved = choose(&request);
    const pp_ns step_ns = moved->plan->prediction->step_ns;
    int64_t before[4], after[4];
    for (uint32_t s = 0; s < 4; s++) {
        before[s] = plain->plan->partition[s].layers;
        after[s] = moved->plan->partition[s].layers;
    }
    ck_assert_int_eq(moved->candidate[0].partition, PP_PARTITION_SHIFTED);
    ck_assert_int_lt(after[2] + after[3], before[2] + before[3]);
    ck_assert_int_lt(100 * step_ns, 92 * step_with(request, before));
    ck_assert_int_eq(step_ns, step_with(request, after));
    for (int k = 0; k < 16; k++) { /* no other place for one layer is better */
        int64_t other[4];
        memcpy(other, after, sizeof other);
        other[k / 4]--;
        other[k % 4]++;
        ck_assert_int_ge(step_with(request, other), step_ns);
    }
    pp_search_result_free(&plain);
    pp_search_result_free(&moved);
}
END_TEST

/* A link as fast as any, one whose latency an order hides, and a requested partition. */
START_TEST(a_link_that_costs_nothing_moves_nothing)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides fast PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(NULL, NULL, "2:3=1000GB/s");
    pp_rank_overrides slow PP_CLEANUP(pp_rank_overrides_free) =
        overrides_of(NULL, NULL, "2:3=1GB/s");
    for (int k = 0; k < 3; k++) {
        pp_plan_request request = wish_1f1b(&p, NULL);
        request.schedule = k == 1 ? NULL : request.schedule;
        request.orders = k == 1 ? PP_ORDERS_BETTER : PP_ORDERS_NAMED;
        request.partition = k == 2 ? PP_PARTITION_UNIFORM : PP_PARTITION_AUTO;
        pp_search_result *plain = choose(&request);
        request.overrides = k ? &slow : &fast;
        pp_search_result *same = choose(&request);
        ck_assert_int_eq(same->candidate[0].partition, plain->candidate[0].partition);
        for (uint32_t s = 0; s < 4; s++)
            ck_assert_int_eq(same->plan->partition[s].layers, plain->plan->partition[s].layers);
        pp_search_result_free(&plain);
        pp_search_result_free(&same);
    }
}
END_TEST

START_TEST(nonsense_is_refused)
{
    static const struct {
        pp_rank_override_kind kind;
        const char *text;
    } bad[] = {
        { PP_RANK_OVERRIDE_SPEED, "" },
        { PP_RANK_OVERRIDE_SPEED, "3" },
        { PP_RANK_OVERRIDE_SPEED, "3=0" },
        { PP_RANK_OVERRIDE_SPEED, "3=-1" },
        { PP_RANK_OVERRIDE_SPEED, "3=nan" },
        { PP_RANK_OVERRIDE_SPEED, "a=1" },
        { PP_RANK_OVERRIDE_SPEED, "3=1,3=2" },
        { PP_RANK_OVERRIDE_SPEED, "3=1," },
        { PP_RANK_OVERRIDE_SPEED, "1:2=1" },
        { PP_RANK_OVERRIDE_MEMORY, "1=5" },
        { PP_RANK_OVERRIDE_MEMORY, "1=0" },
        { PP_RANK_OVERRIDE_LINK, "1=5GB/s" },
        { PP_RANK_OVERRIDE_LINK, "1:1=5GB/s" },
        { PP_RANK_OVERRIDE_LINK, "1:2=5" },
        { PP_RANK_OVERRIDE_LINK, "1:2=1GB/s,2:1=2GB/s" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
        pp_err err = { 0 };
        ck_assert_msg(pp_rank_overrides_parse(bad[i].kind, "--x", bad[i].text, &overrides, &err) ==
                          PP_USAGE,
                      "%s", bad[i].text);
        ck_assert(err.text[0]);
    }
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides beyond PP_CLEANUP(pp_rank_overrides_free) = overrides_of("4=0.5", NULL, NULL);
    pp_plan_request request = request_with(&p, &beyond);
    refuse(&request, PP_USAGE, "there is no rank 4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_traits");
    TCase *tc = tcase_create("rank_traits");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, equal_speeds_change_nothing);
    tcase_add_test(tc, a_slow_rank_gets_less);
    tcase_add_test(tc, a_fast_rank_gets_more);
    tcase_add_test(tc, memory_of_a_rank_is_obeyed);
    tcase_add_test(tc, a_link_has_its_rate);
    tcase_add_loop_test(tc, bounds_hold, 0, 3);
    tcase_add_test(tc, partitions_with_speeds_are_exact);
    tcase_add_test(tc, costs_change_where_it_is_said);
    tcase_add_test(tc, classes_are_timed_with_the_switches_given);
    tcase_add_loop_test(tc, two_device_classes_beat_the_uniform_split, 0, 2);
    tcase_add_test(tc, what_was_said_of_a_rank_stays);
    tcase_add_test(tc, a_wrong_cluster_is_refused);
    tcase_add_test(tc, a_slow_link_moves_the_order);
    tcase_add_test(tc, a_slow_link_moves_the_partition);
    tcase_add_test(tc, a_link_that_costs_nothing_moves_nothing);
    tcase_add_test(tc, nonsense_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
