/* What is kept of units is found again, and changes no costs. */
#include "sim/cost/unit_cache.h"

#include "planner/bound/partition.h"
#include "tests/support/planning.h"

static void cleanup(pp_unit_cache **cache)
{
    pp_unit_cache_free(cache);
}

/* Batches that differ in one number each have places of their own, which grow in number until no
 * more are kept. */
START_TEST(each_batch_has_a_place)
{
    enum { MANY = 40000 };
    pp_unit_cache *cache PP_CLEANUP(cleanup) = pp_unit_cache_new();
    bool known;
    int64_t kept = 0;
    const pp_batch alike[] = { { 7, 9, 0, 0, 0, NULL }, { 9, 7, 0, 0, 0, NULL },
                               { 7, 9, 3, 0, 0, NULL }, { 7, 9, 0, 3, 0, NULL },
                               { 7, 9, 3, 3, 0, NULL }, { 7, 9, 3, 3, 2, NULL } };
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < sizeof alike / sizeof *alike; k++) {
            size_t *place = pp_unit_cache_at(cache, &alike[k], sizeof *place, &known);
            ck_assert(known == (pass > 0));
            if (known)
                ck_assert_uint_eq(*place, k);
            *place = k;
        }
    }
    pp_unit_cache_clear(cache);
    for (int64_t k = 0; k < 2 * MANY; k++) {
        const pp_batch batch = { .tokens = k % MANY + 1, .square_sum = (k % MANY + 1) * 100 };
        int64_t *place = pp_unit_cache_at(cache, &batch, sizeof *place, &known);
        if (k < MANY) {
            ck_assert(!known);
            kept += place != NULL;
        } else {
            ck_assert(known == (k - MANY < kept));
        }
        if (known)
            ck_assert_int_eq(*place, k - MANY);
        else if (place)
            *place = k;
    }
    ck_assert_int_gt(kept, 30000);
    ck_assert_int_lt(kept, MANY);
}
END_TEST

enum { SEQUENCES = 400, ROW = 13 };

static void read_row(const pp_costs *c, size_t i, int64_t row[ROW])
{
    const int64_t *const tables[ROW] = { c->f_ns,           c->i_ns,
                                         c->w_ns,           c->b_ns,
                                         c->send_f_ns,      c->send_b_ns,
                                         c->stash_bytes,    c->logits_bytes,
                                         c->message_bytes,  c->activation_bytes,
                                         c->output_bytes,   c->temporary_bytes,
                                         c->recompute_bytes };
    for (size_t k = 0; k < ROW; k++)
        row[k] = tables[k][i];
}

/* Tables of pipelines of 1, 2 and 4 chunks with one cache, and of each without. */
START_TEST(a_cache_changes_no_costs)
{
    const planning p = planning_of("llama3-8b", "h100-80g");
    pp_unit_cache *cache PP_CLEANUP(cleanup) = pp_unit_cache_new();
    pp_parallel parallel = { .pp = 4, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 };
    int64_t lengths[SEQUENCES];
    pp_workload workload = { 0 };
    pp_err err = { 0 };
    for (size_t k = 0; k < SEQUENCES; k++)
        lengths[k] = 1 + (int64_t)(k * 7919 % 2047);
    STEP_OK(pp_workload_pack(lengths, SEQUENCES, 2048, 1, 1, 1, &workload, &err), err);
    for (; parallel.vpp <= 4; parallel.vpp *= 2) {
        const uint32_t stages = (uint32_t)(parallel.pp * parallel.vpp);
        pp_cost_context context = { .model = &p.model,
                                    .hardware = &p.hardware,
                                    .parallel = parallel,
                                    .switches = stack_switches("every-schedule", &parallel) };
        context.switches.recompute = PP_RECOMPUTE_SELECTIVE;
        pp_stage *stage = NULL;
        pp_costs *costs[2];
        for (int k = 0; k < 2; k++) {
            context.units = k ? cache : NULL;
            free(stage);
            STEP_OK(pp_partition_uniform(p.model.layers, 0, 4, stages / 4, &stage, &err), err);
            STEP_OK(pp_cost_model_tables(&context, stage, stages, &workload, 0, &costs[k], &err),
                    err);
        }
        ck_assert_uint_eq(costs[0]->classes, costs[1]->classes);
        ck_assert_uint_gt(costs[0]->classes, 100);
        for (size_t i = 0; i < (size_t)costs[0]->classes * stages; i++) {
            int64_t row[2][ROW];
            read_row(costs[0], i, row[0]);
            read_row(costs[1], i, row[1]);
            ck_assert_mem_eq(row[0], row[1], sizeof row[0]);
        }
        free(stage);
        pp_costs_free(&costs[0]);
        pp_costs_free(&costs[1]);
    }
    pp_workload_free(&workload);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unit_cache");
    TCase *tc = tcase_create("cache");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, each_batch_has_a_place);
    tcase_add_test(tc, a_cache_changes_no_costs);
    return step_run(suite);
}
