/* Where the time of the step goes: the parts sum to it, whatever the schedule, framework and costs;
 * and cases worked out by hand. */
#include "sim/base/random.h"
#include "sim/framework/sizes/size_protocol.h"
#include "tests/support/executors.h"
#include "tests/support/planning.h"

/* bare: costs without any exchange, or NULL. */
static pp_why explain(step *s, const pp_costs *bare)
{
    const pp_costs *const without[PP_EXCHANGE_KINDS] = { NULL, bare, NULL };
    pp_why why;
    pp_err err = { 0 };
    STEP_OK(pp_report_why(s->report, s->program, s->timeline, s->costs, bare ? without : NULL, &why,
                          &err),
            err);
    return why;
}

static pp_ns sum_of(const pp_ns *ns, const char *what)
{
    pp_ns sum = 0;
    for (int c = 0; c < PP_WHY_COUNT; c++) {
        ck_assert_msg(ns[c] >= 0, "%s: %s is %lld", what, pp_why_text((pp_why_part)c),
                      (long long)ns[c]);
        sum += ns[c];
    }
    return sum;
}

/* The parts sum exactly to the step, in both lists; causes other than data equal those of the
 * report. */
static void check(step *s, const pp_costs *bare, const char *what)
{
    pp_why why = explain(s, bare);
    const pp_rank_report *slowest = &s->report->per_rank[why.slowest];
    ck_assert_msg(sum_of(why.mean_ns, what) == s->report->step_ns, "%s: mean", what);
    ck_assert_msg(sum_of(why.slowest_ns, what) == s->report->step_ns, "%s: slowest", what);
    for (uint32_t r = 0; r < s->report->ranks; r++)
        ck_assert_int_le(s->report->per_rank[r].busy_ns, slowest->busy_ns);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_COMPUTE] + why.slowest_ns[PP_WHY_COLLECTIVES],
                     slowest->busy_ns);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_IMBALANCE], 0);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_HOST], slowest->idle_ns[PP_IDLE_HOST]);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_SYNC], slowest->idle_ns[PP_IDLE_SYNC]);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_BUFFER], slowest->idle_ns[PP_IDLE_BUFFER]);
    if (s->timeline->comm)
        ck_assert_int_eq(why.slowest_ns[PP_WHY_P2P], slowest->idle_ns[PP_IDLE_LINK]);
}

static pp_ns draw(uint64_t *random, pp_ns most)
{
    return (pp_ns)(pp_random_next(random) % (uint64_t)(most + 1));
}

/* Every op, transfer and part of the step tail has a duration of its own. */
static pp_costs *drawn_costs(uint32_t ranks, uint32_t stages, uint32_t m, uint64_t *random)
{
    pp_costs *c = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_new(ranks, stages, m, m, &c, &err), err);
    for (uint32_t j = 0; j < m; j++)
        c->class_of[j] = j;
    for (size_t k = 0; k < (size_t)m * stages; k++) {
        c->f_ns[k] = draw(random, 1000);
        c->i_ns[k] = draw(random, 1000);
        c->w_ns[k] = draw(random, 1000);
        c->b_ns[k] = c->i_ns[k] + c->w_ns[k];
        c->send_f_ns[k] = k % stages + 1 < stages ? draw(random, 300) : 0;
        c->send_b_ns[k] = k % stages ? draw(random, 300) : 0;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        c->grad_sync_ns[r] = draw(random, 500);
        c->tied_ns[r] = r == 0 || r + 1 == ranks ? 77 : 0;
        c->optimizer_ns[r] = draw(random, 500);
    }
    c->fixed_ns = draw(random, 100);
    return c;
}

/* Ops without collectives are never longer. */
static pp_costs *bare_of(const pp_costs *costs, uint64_t *random)
{
    pp_costs *bare = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_spread(costs, &bare, &err), err);
    for (size_t k = 0; k < (size_t)bare->classes * bare->stages; k++) {
        bare->f_ns[k] = draw(random, bare->f_ns[k]);
        bare->i_ns[k] = draw(random, bare->i_ns[k]);
        bare->b_ns[k] = bare->i_ns[k] + bare->w_ns[k];
    }
    return bare;
}

static bool simulate_drawn(const pp_framework *framework, pp_order *order, uint64_t seed,
                           bool hosts)
{
    uint64_t random = seed;
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = order };
    s.costs = drawn_costs(order->ranks, order->stages, order->microbatches, &random);
    pp_costs *bare PP_CLEANUP(pp_costs_free) = bare_of(s.costs, &random);
    if (pp_framework_lower(framework, order, s.costs, NULL, &s.program, &err))
        return false;
    if (s.program->comm && hosts)
        s.program->comm->semantics.host = (pp_host_costs){ 30, 50, 20 };
    if (pp_simulate(s.program, s.costs, &s.timeline, &err))
        return false; /* it hangs on one queue */
    STEP_OK(
        pp_report_build("", framework, s.program, s.timeline, s.costs, seed % 2, &s.report, &err),
        err);
    check(&s, seed % 3 ? bare : NULL, framework->name);
    return true;
}

START_TEST(parts_sum_to_the_step)
{
    const pp_framework *framework = pp_framework_at((size_t)_i);
    int done = 0;
    for (size_t k = 0; k < pp_schedule_count(); k++) {
        const pp_schedule *schedule = pp_schedule_at(k);
        for (uint64_t seed = 1; seed <= 12; seed++) {
            const pp_schedule_params shape = { .ranks = 3 + (uint32_t)(seed % 3),
                                               .chunks = schedule->chunks ? schedule->chunks : 2,
                                               .microbatches = 2 * (3 + (uint32_t)(seed % 3)) };
            pp_order *order = NULL;
            pp_err err = { 0 };
            if (pp_schedule_build(schedule, &shape, &order, &err) == PP_OK)
                done += simulate_drawn(framework, order, seed, seed % 4 == 0);
        }
    }
    ck_assert_int_ge(done, 12);
}
END_TEST

/* GPipe, F = 1, B = 2, free links, p ranks: rank r warms up for r and cools down for 2 r at the
 * least; in the middle the last one has no gap and rank r waits 3 (p - 1 - r). */
START_TEST(gpipe_by_hand)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("gpipe", 4, 1, 8, 0), "F=1ns,B=2ns");
    pp_why why = explain(&s, NULL);
    ck_assert_int_eq(s.report->step_ns, 33);
    ck_assert_uint_eq(why.slowest, 0);
    ck_assert(!why.has_collectives);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_COMPUTE], 24);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_WARM_UP], 0);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_COOL_DOWN], 0);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_DATA], 9);
    /* warm-up (0 + 1 + 2 + 3) / 4 = 1.5, cool-down 3, middle (9 + 6 + 3) / 4 = 4.5: the two halves
     * share the nanosecond that is left, the first of them takes it */
    ck_assert_int_eq(why.mean_ns[PP_WHY_COMPUTE], 24);
    ck_assert_int_eq(why.mean_ns[PP_WHY_WARM_UP], 2);
    ck_assert_int_eq(why.mean_ns[PP_WHY_COOL_DOWN], 3);
    ck_assert_int_eq(why.mean_ns[PP_WHY_DATA], 4);
}
END_TEST

/* One microbatch, two ranks: rank 1 waits for F and then for its transfer. Megatron waits for its
 * send as well. */
START_TEST(a_transfer_is_the_end_of_a_wait)
{
    static const pp_framework *const frameworks[] = { &pp_framework_ideal, &pp_framework_torch,
                                                      &pp_framework_megatron };
    static const pp_ns transfers_ns[] = { 7, 7, 14 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 1, 0) };
    pp_err err = { 0 };
    s.costs = step_costs("F=100ns,B=200ns,comm=7ns", 2, 1, 1);
    s.costs->f_ns[1]++; /* so that the second rank is the one shown */
    STEP_OK(pp_framework_lower(frameworks[_i], s.order, NULL, NULL, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    STEP_OK(
        pp_report_build("", frameworks[_i], s.program, s.timeline, s.costs, true, &s.report, &err),
        err);
    pp_why why = explain(&s, NULL);
    ck_assert_uint_eq(why.slowest, 1);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_WARM_UP], 100);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_P2P], transfers_ns[_i]);
    ck_assert_int_eq(why.slowest_ns[PP_WHY_COOL_DOWN], 214 - transfers_ns[_i]);
}
END_TEST

/* Stage 1 takes 10 ns more per microbatch. The other rank must wait for that, and no more is called
 * imbalance. */
START_TEST(unequal_stages_are_distinguished)
{
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 20, 0) };
    s.costs = step_costs("F=100ns,B=200ns", 2, 1, 20);
    s.costs->f_ns[1] += 10;
    step_simulate(&s);
    pp_why why = explain(&s, NULL);
    pp_ns waits = s.report->per_rank[0].idle_ns[PP_IDLE_DATA];
    ck_assert_uint_eq(why.slowest, 1);
    ck_assert_int_eq(2 * why.mean_ns[PP_WHY_IMBALANCE], 200);
    ck_assert_int_ge(waits, 200);
}
END_TEST

/* The part by which ops are longer than their bare costs, and never more than the ops. */
START_TEST(collectives_are_a_part_of_the_ops)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("1f1b", 2, 1, 4, 0), "F=100ns,B=200ns");
    pp_costs *bare PP_CLEANUP(pp_costs_free) = step_costs("F=90ns,B=170ns", 2, 1, 4);
    pp_why why = explain(&s, bare);
    ck_assert(why.has_collectives);
    ck_assert_int_eq(why.mean_ns[PP_WHY_COLLECTIVES], 4 * 40);
    ck_assert_int_eq(why.mean_ns[PP_WHY_COMPUTE], 4 * 260);
}
END_TEST

/* A plan contains its model: tensor-parallel exchange is there with tp 2, and not with tp 1.
 * Lengths, replicas and padding do not change the sum. */
START_TEST(plans_tell_collectives_apart)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[64];
    for (size_t k = 0; k < 64; k++)
        lengths[k] = 100 + (int64_t)(k * 7919 % 4000);
    for (int k = 0; k < 4; k++) {
        pp_plan_request request = request_of(&p, 4);
        request.parallel.tp = k ? 2 : 1;
        request.why = true;
        if (k > 1) {
            request.parallel.dp = 2;
            request.lengths = lengths;
            request.length_count = 64;
            request.seq_length = 4096;
            request.framework = &pp_framework_torch;
            if (k == 3)
                request.exchange.shapes.kind = PP_SIZES_PADDED;
        }
        pp_search_result *choice = choose(&request);
        const pp_report *report = choice->plan->prediction;
        ck_assert(report->has_why && report->why.has_collectives);
        ck_assert_int_eq(sum_of(report->why.mean_ns, "plan"), report->step_ns);
        ck_assert_int_eq(sum_of(report->why.slowest_ns, "plan"), report->step_ns);
        ck_assert_msg((report->why.mean_ns[PP_WHY_COLLECTIVES] > 0) == (k > 0), "case %d", k);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* Each group of more than one GPU has its share of the exchange, and the shares sum to all of it,
 * also in the result of a search that did not request the breakdown. */
START_TEST(plans_tell_kinds_of_exchange_apart)
{
    planning p = planning_of("mixtral-8x7b", "h100-80g");
    for (int k = 0; k < 1 << PP_EXCHANGE_KINDS; k++) {
        pp_plan_request request = request_of(&p, 4);
        request.parallel.tp = 1 + (k >> PP_EXCHANGE_TP & 1);
        request.parallel.cp = 1 + (k >> PP_EXCHANGE_CP & 1);
        request.parallel.ep = 1 + (k >> PP_EXCHANGE_EP & 1);
        request.parallel.dp = 8;
        request.seq_length = 4096;
        request.memory_limit_bytes = PP_BYTES_MAX;
        pp_search_result *choice = choose(&request);
        const pp_why *why = &choice->why;
        pp_ns sum_ns[2] = { 0 };
        ck_assert(!choice->plan->prediction->has_why);
        ck_assert_int_eq(sum_of(why->mean_ns, "plan"), choice->plan->prediction->step_ns);
        for (int kind = 0; kind < PP_EXCHANGE_KINDS; kind++) {
            sum_ns[0] += why->exchange_mean_ns[kind];
            sum_ns[1] += why->exchange_slowest_ns[kind];
            /* the ring of cp overlaps with attention if that is longer */
            if (kind != PP_EXCHANGE_CP || !(k >> kind & 1))
                ck_assert_msg((why->exchange_mean_ns[kind] > 0) == (k >> kind & 1),
                              "case %d, kind %d: %lld", k, kind,
                              (long long)why->exchange_mean_ns[kind]);
        }
        ck_assert_int_eq(sum_ns[0], why->mean_ns[PP_WHY_COLLECTIVES]);
        ck_assert_int_eq(sum_ns[1], why->slowest_ns[PP_WHY_COLLECTIVES]);
        pp_search_result_free(&choice);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("why");
    TCase *tc = tcase_create("why");
    tcase_add_loop_test(tc, parts_sum_to_the_step, 0, (int)pp_framework_count());
    tcase_add_test(tc, gpipe_by_hand);
    tcase_add_loop_test(tc, a_transfer_is_the_end_of_a_wait, 0, 3);
    tcase_add_test(tc, unequal_stages_are_distinguished);
    tcase_add_test(tc, collectives_are_a_part_of_the_ops);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, plans_tell_collectives_apart);
    tcase_add_test(tc, plans_tell_kinds_of_exchange_apart);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
