/* Gathers beside compute, which slow each other down: cases worked out by hand, in whole ns, and
 * drawn ones against a model that goes from event to event. */
#include "sim/engine/sharding_lane.h"
#include "tests/support/step.h"

#include <math.h>

typedef struct rig {
    pp_comm_timeline timeline;
    pp_sharding_lanes *lanes;
} rig;

static void rig_new(rig *r, double compute_factor, double gather_factor)
{
    pp_err err = { 0 };
    *r = (rig){ 0 };
    STEP_OK(pp_sharding_lanes_new(2, compute_factor, gather_factor, &r->timeline, &r->lanes, &err),
            err);
}

static void rig_free(rig *r)
{
    pp_sharding_lanes_free(&r->lanes);
    free(r->timeline.sharding);
}

/* Rank 1, of which rank 0 sees nothing. */
static pp_ns add(rig *r, pp_ns now_ns, pp_ns takes_ns)
{
    const pp_sharding_span span = { .rank = 1, .stage = 7 };
    pp_ns mark = -1;
    pp_err err = { 0 };
    STEP_OK(pp_sharding_lanes_add(r->lanes, now_ns, &span, takes_ns, &mark, &err), err);
    return mark;
}

static pp_ns computes(rig *r, pp_ns now_ns, pp_ns takes_ns)
{
    return pp_sharding_lanes_compute(r->lanes, 1, now_ns, takes_ns);
}

static pp_ns left(rig *r, pp_ns now_ns, pp_ns mark)
{
    return pp_sharding_lanes_left(r->lanes, 1, now_ns, mark);
}

static void spans(const rig *r, size_t i, pp_ns start_ns, pp_ns end_ns)
{
    ck_assert_uint_lt(i, r->timeline.sharding_count);
    ck_assert_int_eq(r->timeline.sharding[i].start_ns, start_ns);
    ck_assert_int_eq(r->timeline.sharding[i].end_ns, end_ns);
    ck_assert_uint_eq(r->timeline.sharding[i].rank, 1);
    ck_assert_uint_eq(r->timeline.sharding[i].stage, 7);
}

/* Compute at 4/5 of its speed, gathers at 2/3. A gather of 1000 takes 1500 beside compute of
 * 10000, which does 1200 meanwhile and ends 300 later. */
START_TEST(a_gather_wholly_beside_compute)
{
    rig r PP_CLEANUP(rig_free);
    rig_new(&r, 1.25, 1.5);
    const pp_ns mark = add(&r, 50, 1000);
    ck_assert_int_eq(computes(&r, 50, 10000), 10300);
    ck_assert_int_eq(left(&r, 10350, mark), 0);
    ck_assert_int_eq(computes(&r, 10350, 100), 100);
    spans(&r, 0, 50, 1550);
    ck_assert_int_eq(pp_sharding_lanes_compute(r.lanes, 0, 60, 1000), 1000);
}
END_TEST

/* Compute of 600 takes 750, in which 500 of the gather's 1000 are done; the rank waits for the
 * others. Then the other way round: it waits for 400, and the remaining 600 take 900. */
START_TEST(a_gather_half_beside_compute)
{
    rig r PP_CLEANUP(rig_free);
    rig_new(&r, 1.25, 1.5);
    pp_ns mark = add(&r, 0, 1000);
    ck_assert_int_eq(computes(&r, 0, 600), 750);
    ck_assert_int_eq(left(&r, 750, mark), 500);
    ck_assert_int_eq(left(&r, 1250, mark), 0);
    spans(&r, 0, 0, 1250);
    mark = add(&r, 2000, 1000);
    ck_assert_int_eq(left(&r, 2400, mark), 600);
    ck_assert_int_eq(computes(&r, 2400, 2000), 2180);
    spans(&r, 1, 2000, 3300);
}
END_TEST

/* Of 400 and 600 the first ends after 600 beside compute. Compute of 1000 takes 1250, in which 833
 * are done; the last 167 follow in the wait. A third one begins when it is queued. */
START_TEST(two_gathers_in_a_row)
{
    rig r PP_CLEANUP(rig_free);
    rig_new(&r, 1.25, 1.5);
    const pp_ns first = add(&r, 0, 400), second = add(&r, 0, 600);
    ck_assert_int_eq(computes(&r, 0, 1000), 1250);
    ck_assert_int_eq(left(&r, 1250, first), 0);
    ck_assert_int_eq(left(&r, 1250, second), 167);
    ck_assert_int_eq(left(&r, 1300, second), 117);
    const pp_ns third = add(&r, 5000, 90);
    ck_assert_int_eq(left(&r, 5000, third), 90);
    pp_sharding_lanes_finish(r.lanes);
    spans(&r, 0, 0, 600);
    spans(&r, 1, 600, 1417);
    spans(&r, 2, 5000, 5090);
}
END_TEST

/* A rank that waits slows nothing down. What takes no time leaves no span. */
START_TEST(a_gather_under_a_waiting_rank)
{
    rig r PP_CLEANUP(rig_free);
    rig_new(&r, 1.25, 1.5);
    const pp_ns mark = add(&r, 100, 1000);
    ck_assert_int_eq(left(&r, 100, 0), 0);
    ck_assert_int_eq(left(&r, 100, mark), 1000);
    ck_assert_int_eq(left(&r, 1100, mark), 0);
    ck_assert_int_eq(add(&r, 1100, 0), mark);
    spans(&r, 0, 100, 1100);
    ck_assert_uint_eq(r.timeline.sharding_count, 1);
    rig same PP_CLEANUP(rig_free); /* factors that are not given are 1 */
    rig_new(&same, 0, 0);
    add(&same, 0, 1000);
    ck_assert_int_eq(computes(&same, 0, 700), 700);
    ck_assert_int_eq(left(&same, 700, 1000), 300);
}
END_TEST

/* Drawn gathers, ops and waits, against speeds that are followed from event to event in doubles.
 * Each op and each gather is rounded by at most half a ns. */
START_TEST(drawn_gathers_progress_piece_by_piece)
{
    rig r PP_CLEANUP(rig_free);
    const double f = 1 + 0.3 * _i, g = 1 + 0.17 * (_i % 4);
    rig_new(&r, f, g);
    double end[200], work[200], at = 0;
    pp_ns now_ns = 0;
    size_t count = 0, next = 0;
    uint64_t state = (uint64_t)_i + 1;
    for (size_t k = 0; k < 300; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const pp_ns takes_ns = (pp_ns)(1 + (state >> 40) % 1000);
        const int kind = (int)((state >> 33) % 3);
        if (kind == 0 && count < 200) {
            add(&r, now_ns, takes_ns);
            work[count++] = (double)takes_ns;
            continue;
        }
        double own = (double)takes_ns, begin = at;
        while (own > 1e-9) { /* until the op or the wait ends */
            const bool runs = next < count;
            const double speed = kind == 1 && runs ? 1 / f : 1, rate = kind == 1 ? 1 / g : 1;
            const double span = runs ? fmin(own / speed, work[next] / rate) : own / speed;
            own -= span * speed;
            at += span;
            if (runs && (work[next] -= span * rate) < 1e-9)
                end[next++] = at;
        }
        now_ns += kind == 1 ? computes(&r, now_ns, takes_ns) : takes_ns;
        ck_assert_double_eq_tol((double)now_ns, at, 0.5 * (double)(k + 1));
        ck_assert_double_ge(at, begin);
    }
    while (next < count) {
        at += work[next];
        end[next++] = at;
    }
    pp_sharding_lanes_finish(r.lanes);
    ck_assert_uint_eq(r.timeline.sharding_count, count);
    ck_assert_uint_gt(count, 50);
    for (size_t i = 0; i < count; i++) {
        ck_assert_double_eq_tol((double)r.timeline.sharding[i].end_ns, end[i], 100);
        ck_assert(i == 0 || r.timeline.sharding[i].start_ns >= r.timeline.sharding[i - 1].end_ns);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding_lane");
    TCase *tc = tcase_create("sharding_lane");
    tcase_add_test(tc, a_gather_wholly_beside_compute);
    tcase_add_test(tc, a_gather_half_beside_compute);
    tcase_add_test(tc, two_gathers_in_a_row);
    tcase_add_test(tc, a_gather_under_a_waiting_rank);
    tcase_add_loop_test(tc, drawn_gathers_progress_piece_by_piece, 0, 12);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
