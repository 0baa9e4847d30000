/* Jobs on nodes: how many GPUs of each node a job has, and which groups stay inside one. */
#include "sim/job/hardware.h"

#include "tests/support/step.h"

#include <check.h>

/* Of trays of 4, as NVL72. */
static const pp_hardware rack = { .gpus_per_node = 72, .gpus_per_tray = 4 };
static const pp_hardware server = { .gpus_per_node = 8, .gpus_per_tray = 8 };

typedef struct part_case {
    const pp_hardware *hardware;
    pp_parallel parallel; /* pp, tp, cp, dp */
    int64_t part;
    bool straddles;
} part_case;

static const part_case cases[] = {
    /* one rack holds the job, whatever tp is */
    { &rack, { 1, 8, 1, 8, 1, 1, 0 }, 64, false },
    { &rack, { 2, 32, 1, 1, 1, 1, 0 }, 64, false },
    { &rack, { 9, 8, 1, 1, 1, 1, 0 }, 72, false },
    { &rack, { 4, 5, 1, 1, 1, 1, 0 }, 20, false },
    /* equal parts: 4 x 64, 2 x 72, 8 x 72, 2 x 48, 2 x 40 */
    { &rack, { 4, 8, 1, 8, 1, 1, 0 }, 64, false },
    { &rack, { 2, 8, 1, 9, 1, 1, 0 }, 72, false },
    { &rack, { 8, 8, 1, 9, 1, 1, 0 }, 72, false },
    { &rack, { 1, 16, 1, 6, 1, 1, 0 }, 48, false },
    { &rack, { 2, 40, 1, 1, 1, 1, 0 }, 40, false },
    { &rack, { 1, 64, 1, 4, 1, 1, 0 }, 64, false },
    /* 144 in whole groups of 16: 48, not 72 */
    { &rack, { 1, 16, 1, 9, 1, 1, 0 }, 48, false },
    { &rack, { 1, 8, 2, 9, 1, 1, 0 }, 48, false },
    { &rack, { 1, 8, 1, 20, 1, 1, 0 }, 40, false },
    /* equal parts would need many more racks, 25 for 14: the last one is incomplete */
    { &rack, { 1, 8, 1, 125, 1, 1, 0 }, 72, false },
    { &rack, { 1, 8, 1, 25, 1, 1, 0 }, 72, false },
    { &rack, { 1, 8, 1, 31, 1, 1, 0 }, 72, false },
    { &rack, { 1, 32, 1, 7, 1, 1, 0 }, 64, false },
    { &rack, { 1, 8, 5, 7, 1, 1, 0 }, 40, false },
    /* more than a rack */
    { &rack, { 1, 128, 1, 1, 1, 1, 0 }, 72, true },
    /* context parallelism that no rack holds leaves tensor parallelism inside */
    { &rack, { 1, 8, 16, 1, 1, 1, 0 }, 64, false },
    /* servers are filled */
    { &server, { 1, 2, 1, 2, 1, 1, 0 }, 8, false },
    { &server, { 1, 4, 1, 3, 1, 1, 0 }, 8, false },
    { &server, { 1, 3, 1, 4, 1, 1, 0 }, 8, true },
    { &server, { 4, 8, 1, 8, 1, 1, 0 }, 8, false },
    { &server, { 1, 16, 1, 4, 1, 1, 0 }, 8, true },
};

START_TEST(jobs_take_parts_of_nodes)
{
    const part_case *c = &cases[_i];
    ck_assert_int_eq(pp_hardware_node_part(c->hardware, &c->parallel), c->part);
    ck_assert_int_eq(pp_hardware_tp_straddles(c->hardware, &c->parallel), c->straddles);
}
END_TEST

/* A part is never more than a node or the job, and is whole trays or the job; groups that fit in
 * trays stay whole, and take at most a third more racks than filled ones. */
START_TEST(parts_are_possible)
{
    for (int64_t tp = 1; tp <= 72; tp++) {
        for (int64_t dp = 1; dp <= 200; dp++) {
            const pp_parallel p = { 1, tp, 1, dp, 1, 1, 0 };
            const int64_t gpus = tp * dp, part = pp_hardware_node_part(&rack, &p);
            ck_assert_int_ge(part, 1);
            ck_assert_int_le(part, gpus < 72 ? gpus : 72);
            ck_assert(part == gpus || part % 4 == 0);
            const int64_t unit = tp % 4 == 0 ? tp : tp % 2 == 0 ? 2 * tp : 4 * tp;
            const int64_t most = 72 / unit * unit;
            if (gpus > 72 && most) {
                ck_assert_int_eq(part % unit, 0);
                ck_assert_int_le(3 * ((gpus + part - 1) / part), 4 * ((gpus + most - 1) / most));
            }
        }
    }
}
END_TEST

/* Before the other degrees are known, tp counts alone. */
START_TEST(unknown_degrees_do_not_matter)
{
    const pp_parallel some = { .tp = 16 }, many = { .tp = 128 };
    ck_assert(!pp_hardware_tp_straddles(&rack, &some));
    ck_assert(pp_hardware_tp_straddles(&rack, &many));
    ck_assert(pp_hardware_tp_straddles(&server, &some));
    ck_assert_int_eq(pp_hardware_node_part(&rack, &some), 72);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hardware");
    TCase *tc = tcase_create("hardware");
    tcase_add_loop_test(tc, jobs_take_parts_of_nodes, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tc, parts_are_possible);
    tcase_add_test(tc, unknown_degrees_do_not_matter);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
