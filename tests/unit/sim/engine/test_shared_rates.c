/* Transfers that share NICs and ops that are slowed down: cases worked out by hand, in whole ns. */
#include "sim/base/event_queue.h"
#include "sim/engine/shared_rates.h"
#include "tests/support/step.h"

#include <math.h>

typedef struct move {
    uint32_t from, to;
    pp_ns start_ns, takes_ns;
    bool both;
    pp_ns end_ns; /* expected */
} move;

typedef struct compute {
    uint32_t rank;
    pp_ns start_ns, takes_ns, end_ns;
} compute;

#define RANKS 8

static pp_shared_rates *rates_of(const pp_sharing *sharing, uint32_t transfers)
{
    pp_shared_rates *rates = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_shared_rates_new(sharing, RANKS, transfers, &rates, &err), err);
    return rates;
}

/* All are started at time 0; one op per rank. */
static void expect(const char *name, pp_sharing sharing, const move *moves, size_t count,
                   const compute *ops, size_t op_count)
{
    pp_shared_rates *rates PP_CLEANUP(pp_shared_rates_free) = rates_of(&sharing, (uint32_t)count);
    pp_shared_rates_end end;
    pp_ns last_ns = 0;
    size_t ended = 0;
    for (size_t i = 0; i < op_count; i++)
        pp_shared_rates_compute(rates, ops[i].rank, ops[i].start_ns, ops[i].takes_ns);
    for (size_t i = 0; i < count; i++)
        pp_shared_rates_move(rates, (uint32_t)i, moves[i].from, moves[i].to, moves[i].both,
                             moves[i].start_ns, moves[i].takes_ns);
    while (pp_shared_rates_next(rates, &end)) {
        ck_assert_int_ge(end.end_ns, last_ns);
        last_ns = end.end_ns;
        ended++;
        for (size_t i = 0; !end.transfer && i < op_count; i++) {
            if (ops[i].rank == end.index)
                ck_assert_msg(end.end_ns == ops[i].end_ns, "%s: op of rank %u ends at %lld", name,
                              end.index, (long long)end.end_ns);
        }
        if (end.transfer) {
            ck_assert_msg(end.end_ns == moves[end.index].end_ns, "%s: transfer %u ends at %lld",
                          name, end.index, (long long)end.end_ns);
            ck_assert_int_eq(end.start_ns, moves[end.index].start_ns);
            ck_assert_int_eq(pp_shared_rates_ended_ns(rates, end.index), end.end_ns);
        }
    }
    ck_assert_uint_eq(ended, count + op_count);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Ranks 0 and 1 are on one NIC and send to two others. */
START_TEST(two_on_a_nic_take_twice_as_long)
{
    const pp_sharing nic = { .ranks_per_nic = 2 };
    const move together[] = { { 0, 2, 0, 100, false, 200 }, { 1, 4, 0, 100, false, 200 } };
    const move apart[] = { { 0, 2, 0, 100, false, 150 }, { 1, 4, 50, 100, false, 200 } };
    const move inwards[] = { { 2, 0, 0, 100, false, 150 }, { 4, 1, 50, 100, false, 200 } };
    const move one_rank[] = { { 0, 2, 0, 100, false, 200 }, { 0, 4, 0, 100, false, 200 } };
    const move later[] = { { 0, 2, 0, 100, false, 100 }, { 1, 4, 100, 100, false, 200 } };
    const move three[] = { { 0, 2, 0, 100, false, 300 },
                           { 1, 4, 0, 100, false, 300 },
                           { 0, 6, 0, 100, false, 300 } };
    expect("together", nic, together, 2, NULL, 0);
    expect("apart", nic, apart, 2, NULL, 0);
    expect("inwards", nic, inwards, 2, NULL, 0);
    expect("one rank", nic, one_rank, 2, NULL, 0);
    expect("later", nic, later, 2, NULL, 0);
    expect("three", nic, three, 3, NULL, 0);
    expect("no nic", (pp_sharing){ .comm_slowdown = 1.5 },
           (const move[]){ { 0, 2, 0, 100, false, 100 }, { 1, 4, 0, 100, false, 100 } }, 2, NULL,
           0);
}
END_TEST

/* One direction does not hinder the other; inside a NIC nothing is shared. */
START_TEST(directions_and_neighbours_do_not_share)
{
    const pp_sharing nic = { .ranks_per_nic = 2 };
    const move duplex[] = { { 0, 2, 0, 100, false, 100 }, { 4, 1, 0, 100, false, 100 } };
    const move there_and_back[] = { { 0, 2, 0, 100, false, 100 }, { 2, 0, 0, 100, false, 100 } };
    const move inside[] = { { 0, 1, 0, 100, false, 100 },
                            { 1, 0, 0, 100, false, 100 },
                            { 0, 2, 0, 100, false, 100 } };
    const move back[] = { { 0, 2, 0, 100, true, 200 }, { 4, 1, 0, 100, false, 200 } };
    const move chain[] = { { 0, 2, 0, 100, true, 200 }, { 2, 4, 0, 100, true, 200 } };
    expect("duplex", nic, duplex, 2, NULL, 0);
    expect("there and back", nic, there_and_back, 2, NULL, 0);
    expect("inside", nic, inside, 3, NULL, 0);
    expect("both ways against one", nic, back, 2, NULL, 0);
    expect("both ways in a chain", (pp_sharing){ .ranks_per_nic = 1 }, chain, 2, NULL, 0);
}
END_TEST

/* One NIC per rank. Rank 2 receives three transfers, so each gets a third; 0 -> 1 gets what 0 -> 2
 * leaves, two thirds (an equal split at 0 would give a half, and 200 ns). When it has ended at 150,
 * the others are still bound by 2. 5 -> 6 shares nothing with them. */
START_TEST(shares_are_max_min_fair)
{
    const move moves[] = { { 0, 1, 0, 100, false, 150 },
                           { 0, 2, 0, 100, false, 300 },
                           { 3, 2, 0, 100, false, 300 },
                           { 4, 2, 0, 100, false, 300 },
                           { 5, 6, 0, 100, false, 100 } };
    /* 0 -> 1 has moved 40 by 60, when the short ones end; then halves: 60 / 0.5 =
     * 120 more, by when the other has 20 left */
    const move freed[] = { { 0, 1, 0, 100, false, 180 },
                           { 0, 2, 0, 100, false, 200 },
                           { 3, 2, 0, 20, false, 60 },
                           { 4, 2, 0, 20, false, 60 } };
    expect("asymmetric", (pp_sharing){ .ranks_per_nic = 1 }, moves, COUNT(moves), NULL, 0);
    expect("freed", (pp_sharing){ .ranks_per_nic = 1 }, freed, COUNT(freed), NULL, 0);
}
END_TEST

/* The latency of a transfer passes before it shares the NIC. */
START_TEST(latency_is_not_shared)
{
    const pp_sharing nic = { .ranks_per_nic = 2, .latency_ns = 40, .compute_slowdown = 2 };
    const move both[] = { { 0, 2, 0, 100, false, 160 }, { 1, 4, 0, 100, false, 160 } };
    const move brief[] = { { 0, 2, 0, 100, false, 100 }, { 1, 4, 0, 30, false, 30 } };
    const move beside[] = { { 0, 2, 0, 100, false, 100 } };
    const compute early[] = { { 0, 0, 40, 40 } };
    expect("both", nic, both, 2, NULL, 0);
    expect("nothing but latency", nic, brief, 2, NULL, 0);
    expect("before the bytes", nic, beside, 1, early, 1);
}
END_TEST

/* compute x 2, transfers x 1.25. */
START_TEST(overlap_slows_both_down)
{
    const pp_sharing slow = { .compute_slowdown = 2, .comm_slowdown = 1.25 };
    /* the transfer is slow all the time; the op does 62.5 in 125, and has 37.5 left */
    const move sent[] = { { 0, 1, 0, 100, false, 125 } };
    const compute sender[] = { { 0, 0, 100, 163 } };
    const compute receiver[] = { { 1, 0, 100, 163 } };
    /* compute is slowed down once, though both ends compute */
    const compute ends[] = { { 0, 0, 100, 163 }, { 1, 0, 100, 163 }, { 2, 0, 100, 100 } };
    /* op until 50: 25 done alone in 25, the 25 left take 50 during the transfer; 40 of the transfer
     * are done then, the other 60 run at full speed */
    const move late[] = { { 0, 1, 25, 100, false, 135 } };
    const compute early[] = { { 0, 0, 50, 75 } };
    /* two transfers slow compute down by no more than one does */
    const move two[] = { { 0, 1, 0, 100, false, 125 }, { 2, 0, 0, 100, false, 125 } };
    expect("sender", slow, sent, 1, sender, 1);
    expect("receiver", slow, sent, 1, receiver, 1);
    expect("both ends", slow, sent, 1, ends, 3);
    expect("op ends first", slow, late, 1, early, 1);
    expect("two transfers", slow, two, 2, sender, 1);
}
END_TEST

/* A slowed transfer keeps its share: 250 for the slow one, 200 for the other one, since the whole
 * NIC is free for it only after the first has ended. */
START_TEST(slow_transfers_keep_their_share)
{
    const pp_sharing both = { .ranks_per_nic = 2, .comm_slowdown = 1.25 };
    /* the slow one has moved 80 by 200; the last 20 take 25 at the speed 0.8 */
    const move moves[] = { { 0, 2, 0, 100, false, 225 }, { 1, 4, 0, 100, false, 200 } };
    const compute ops[] = { { 0, 0, 500, 500 } };
    expect("share", both, moves, 2, ops, 1);
}
END_TEST

/* 1/3 and 1.1 are not binary fractions; an end must not be off by a ns because of that, even after
 * hours. */
START_TEST(ends_are_whole_numbers)
{
    for (pp_ns takes_ns = 1; takes_ns < PP_NS_MAX / 100000; takes_ns = takes_ns * 7 + 3) {
        const move three[] = { { 0, 2, 0, takes_ns, false, 3 * takes_ns },
                               { 1, 4, 0, takes_ns, false, 3 * takes_ns },
                               { 0, 6, 0, takes_ns, false, 3 * takes_ns } };
        expect("thirds", (pp_sharing){ .ranks_per_nic = 2 }, three, 3, NULL, 0);
        const move one[] = { { 0, 1, 0, 10 * takes_ns, false, 13 * takes_ns } };
        const compute ops[] = { { 0, 0, 100 * takes_ns, 0 } };
        compute op = ops[0]; /* 13 t during the transfer do 130/11 t; the rest runs at full speed */
        op.end_ns = 13 * takes_ns + (100 * takes_ns * 11 - 130 * takes_ns + 10) / 11;
        expect("tenths", (pp_sharing){ .compute_slowdown = 1.1, .comm_slowdown = 1.3 }, one, 1, &op,
               1);
    }
}
END_TEST

/* Started from the last end, as the engine does; later starts wait. */
START_TEST(work_may_follow_work)
{
    const pp_sharing slow = { .compute_slowdown = 2 };
    pp_shared_rates *rates PP_CLEANUP(pp_shared_rates_free) = rates_of(&slow, 2);
    pp_shared_rates_end end;
    pp_shared_rates_compute(rates, 0, 0, 100);
    ck_assert(pp_shared_rates_next(rates, &end) && !end.transfer && end.end_ns == 100);
    pp_shared_rates_compute(rates, 0, 130, 100);
    pp_shared_rates_move(rates, 1, 0, 1, false, 100, 30);
    ck_assert_int_eq(pp_shared_rates_ended_ns(rates, 1), -1);
    ck_assert(pp_shared_rates_next(rates, &end) && end.transfer && end.index == 1 &&
              end.end_ns == 130);
    ck_assert(pp_shared_rates_next(rates, &end) && !end.transfer && end.end_ns == 230);
    ck_assert_int_eq(end.start_ns, 130);
    ck_assert(!pp_shared_rates_next(rates, &end));
}
END_TEST

/* The same rules without any bookkeeping: every share and every speed is computed again at every
 * end. */
typedef struct reference {
    pp_sharing sharing;
    move move[12];
    compute op[RANKS];
    double left[12], op_left[RANKS], share[12];
    size_t count;
    pp_ns now_ns;
} reference;

static bool moves_now(const reference *r, size_t i)
{
    return r->move[i].start_ns <= r->now_ns && r->move[i].end_ns < 0;
}

static bool computes_now(const reference *r, uint32_t rank)
{
    return r->op[rank].start_ns <= r->now_ns && r->op[rank].end_ns < 0;
}

static bool reference_uses(const reference *r, size_t i, uint32_t nic, bool out)
{
    const uint32_t k = (uint32_t)r->sharing.ranks_per_nic;
    const move *m = &r->move[i];
    if (!moves_now(r, i) || m->from / k == m->to / k)
        return false;
    return nic == (out ? m->from : m->to) / k || (m->both && nic == (out ? m->to : m->from) / k);
}

static void reference_shares(reference *r)
{
    double capacity[2 * RANKS];
    for (size_t l = 0; l < 2 * RANKS; l++)
        capacity[l] = 1;
    for (size_t i = 0; i < r->count; i++)
        r->share[i] = 0;
    for (;;) {
        double least = 2;
        uint32_t tightest = 0;
        for (uint32_t l = 0; l < 2 * RANKS; l++) {
            int users = 0;
            for (size_t i = 0; i < r->count; i++)
                users += r->share[i] <= 0 && reference_uses(r, i, l / 2, l % 2);
            if (users && capacity[l] / users < least) {
                least = capacity[l] / users;
                tightest = l;
            }
        }
        if (least > 1)
            break;
        for (size_t i = 0; i < r->count; i++) {
            if (r->share[i] > 0 || !reference_uses(r, i, tightest / 2, tightest % 2))
                continue;
            r->share[i] = least;
            for (uint32_t l = 0; l < 2 * RANKS; l++)
                capacity[l] -= reference_uses(r, i, l / 2, l % 2) ? least : 0;
        }
    }
    for (size_t i = 0; i < r->count; i++) /* inside a NIC */
        r->share[i] = r->share[i] > 0 ? r->share[i] : 1;
}

static double reference_speed(const reference *r, size_t i)
{
    bool slow = computes_now(r, r->move[i].from) || computes_now(r, r->move[i].to);
    return r->share[i] / (slow ? r->sharing.comm_slowdown : 1);
}

static double reference_op_speed(const reference *r, uint32_t rank)
{
    bool beside = false;
    for (size_t i = 0; i < r->count; i++)
        beside |= moves_now(r, i) && (r->move[i].from == rank || r->move[i].to == rank);
    return beside ? 1 / r->sharing.compute_slowdown : 1;
}

static pp_ns sooner(const reference *r, pp_ns next_ns, double left, double speed)
{
    pp_ns end_ns = r->now_ns + (pp_ns)ceil(left / speed - 1e-6);
    return end_ns < next_ns ? end_ns : next_ns;
}

/* Advances to the next ns at which something starts or ends. */
static void reference_step(reference *r)
{
    pp_ns next_ns = INT64_MAX;
    reference_shares(r);
    double speed[12], op_speed[RANKS];
    for (size_t i = 0; i < r->count; i++) {
        speed[i] = moves_now(r, i) ? reference_speed(r, i) : 0;
        if (speed[i] > 0)
            next_ns = sooner(r, next_ns, r->left[i], speed[i]);
        else if (r->move[i].start_ns > r->now_ns && r->move[i].start_ns < next_ns)
            next_ns = r->move[i].start_ns;
    }
    for (uint32_t k = 0; k < RANKS; k++) {
        op_speed[k] = computes_now(r, k) ? reference_op_speed(r, k) : 0;
        if (op_speed[k] > 0)
            next_ns = sooner(r, next_ns, r->op_left[k], op_speed[k]);
        else if (r->op[k].start_ns > r->now_ns && r->op[k].start_ns < next_ns)
            next_ns = r->op[k].start_ns;
    }
    double passed = (double)(next_ns - r->now_ns);
    r->now_ns = next_ns;
    for (size_t i = 0; i < r->count; i++) {
        r->left[i] -= speed[i] * passed;
        if (speed[i] > 0 && r->left[i] < 1e-6 * speed[i])
            r->move[i].end_ns = next_ns;
    }
    for (uint32_t k = 0; k < RANKS; k++) {
        r->op_left[k] -= op_speed[k] * passed;
        if (op_speed[k] > 0 && r->op_left[k] < 1e-6 * op_speed[k])
            r->op[k].end_ns = next_ns;
    }
}

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return (uint32_t)(*random >> 32) % below;
}

START_TEST(random_traffic_follows_the_rules)
{
    uint64_t random = UINT64_C(88172645463325252) + (uint64_t)_i;
    for (int round = 0; round < 60; round++) {
        reference r = { .sharing = { .ranks_per_nic = 1 + draw(&random, 4),
                                     .compute_slowdown = 1 + 0.25 * draw(&random, 4),
                                     .comm_slowdown = 1 + 0.25 * draw(&random, 4) },
                        .count = 1 + draw(&random, 12) };
        for (size_t i = 0; i < r.count; i++) {
            uint32_t from = draw(&random, RANKS);
            uint32_t to = (from + 1 + draw(&random, RANKS - 1)) % RANKS;
            r.move[i] =
                (move){ from, to, draw(&random, 300), 1 + draw(&random, 200), draw(&random, 3) == 0,
                        -1 };
            r.left[i] = (double)r.move[i].takes_ns;
        }
        for (uint32_t k = 0; k < RANKS; k++) {
            r.op[k] = (compute){ k, draw(&random, 400), 1 + draw(&random, 300), -1 };
            r.op_left[k] = (double)r.op[k].takes_ns;
        }
        for (bool left = true; left;) {
            reference_step(&r);
            left = false;
            for (size_t i = 0; i < r.count; i++)
                left |= r.move[i].end_ns < 0;
            for (uint32_t k = 0; k < RANKS; k++)
                left |= r.op[k].end_ns < 0;
        }
        expect("random", r.sharing, r.move, r.count, r.op, RANKS);
    }
}
END_TEST

/* Compared with a sorted list, with moves to earlier and later times. */
START_TEST(an_event_queue_gives_the_earliest)
{
    enum { IDS = 97 };
    pp_event_queue events PP_CLEANUP(pp_event_queue_close) = { 0 };
    pp_err err = { 0 };
    pp_ns when_ns[IDS];
    uint64_t random = 88172645463325252ULL;
    STEP_OK(pp_event_queue_open(IDS, &events, &err), err);
    for (int round = 0; round < 20; round++) {
        for (uint32_t k = 0; k < 4 * IDS; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            uint32_t id = k < IDS ? k : (uint32_t)(random >> 32) % IDS;
            when_ns[id] = (pp_ns)(random % 50);
            pp_event_queue_set(&events, id, when_ns[id]);
        }
        uint32_t last = 0;
        pp_ns last_ns = -1;
        for (uint32_t k = 0; k < IDS; k++) {
            uint32_t id = 0;
            pp_ns at_ns = 0;
            ck_assert(pp_event_queue_take(&events, &id, &at_ns));
            ck_assert_int_eq(at_ns, when_ns[id]);
            ck_assert(at_ns > last_ns || (at_ns == last_ns && id > last));
            last = id;
            last_ns = at_ns;
        }
        ck_assert(!pp_event_queue_take(&events, &last, &last_ns));
    }
}
END_TEST

static void slowdown_is(const char *text, pp_status expected, double compute_factor,
                        double comm_factor)
{
    pp_sharing s = { 0 };
    pp_err err = { 0 };
    ck_assert_msg(pp_slowdown_parse(text, &s, &err) == expected, "%s: %s", text, err.text);
    ck_assert_double_eq(s.compute_slowdown, compute_factor);
    ck_assert_double_eq(s.comm_slowdown, comm_factor);
}

START_TEST(slowdowns_are_read_strictly)
{
    slowdown_is("compute=1.1,comm=1.3", PP_OK, 1.1, 1.3);
    slowdown_is("comm=2,compute=1", PP_OK, 1, 2);
    slowdown_is("comm=100", PP_OK, 0, 100);
    static const char *const bad[] = { "",
                                       "compute",
                                       "compute=",
                                       "compute=0.9",
                                       "compute=101",
                                       "compute=nan",
                                       "compute=1e1",
                                       "compute=1.1,",
                                       "compute=1.1,compute=1.2",
                                       "compute=1.1 comm=1.2",
                                       "compute=1.1.1",
                                       "link=2",
                                       "compute=00000000000000000000000000000000001" };
    for (size_t i = 0; i < COUNT(bad); i++)
        slowdown_is(bad[i], PP_USAGE, 0, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fluid");
    TCase *tc = tcase_create("fluid");
    tcase_add_test(tc, two_on_a_nic_take_twice_as_long);
    tcase_add_test(tc, directions_and_neighbours_do_not_share);
    tcase_add_test(tc, shares_are_max_min_fair);
    tcase_add_test(tc, latency_is_not_shared);
    tcase_add_test(tc, overlap_slows_both_down);
    tcase_add_test(tc, slow_transfers_keep_their_share);
    tcase_add_test(tc, ends_are_whole_numbers);
    tcase_add_test(tc, work_may_follow_work);
    tcase_add_loop_test(tc, random_traffic_follows_the_rules, 0, 20);
    tcase_add_test(tc, an_event_queue_gives_the_earliest);
    tcase_add_test(tc, slowdowns_are_read_strictly);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
