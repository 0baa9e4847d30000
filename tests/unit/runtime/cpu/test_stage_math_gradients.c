/* The cpu backend's backward is the derivative of its forward. */
#include "tests/support/cpu_rig.h"

static const int64_t lengths[] = { 5, 7, 0, 3, 0 };

static const struct {
    const char *settings;
    bool tied;
} models[] = {
    { "hidden=8,heads=2,mlp=12", false },
    { "hidden=8,heads=2,mlp=12,vocab=11", false },
    { "hidden=8,heads=2,mlp=12,vocab=11,tied=on", true },
};

static double loss_of(rig *r)
{
    double sum = 0;
    for (uint32_t j = 0; j < r->work.microbatches; j++) {
        rig_forwards(r, j);
        sum += r->loss[j];
        for (uint32_t s = 0; s < r->work.stages; s++) {
            rig_give_back(&r->kept[s][j].output, true);
            rig_give_back(&r->kept[s][j].saved, true);
            rig_give_back(&r->kept[s][j].stash, false); /* the backward's place */
        }
    }
    return sum;
}

/* A difference of fourth order. other: the same weight on the other stage, or NULL. */
static double difference(rig *r, double *weight, double *other)
{
    static const double step[] = { 1, -1, 2, -2 };
    static const double factor[] = { 8, -8, -1, 1 };
    const double before = *weight;
    const double e = 1e-3;
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        *weight = before + step[i] * e;
        if (other)
            *other = *weight;
        sum += factor[i] * loss_of(r);
    }
    *weight = before;
    if (other)
        *other = before;
    return sum / (12 * e);
}

/* Checks `count` random weights of columns from `first` up to `end`. */
static void check_part(rig *r, uint32_t s, const pp_cpu_matrix *m, size_t first, size_t end,
                       const pp_cpu_matrix *twin)
{
    double *w = r->weights[s] + m->offset / 8;
    const double *g = r->gradients[s] + m->offset / 8;
    const uint32_t last = r->work.stages - 1;
    int nonzero = 0;
    for (uint64_t i = 0; i < 24; i++) {
        size_t row = pp_cpu_hash(1, PP_CPU_TOKEN, i, 0) % m->rows;
        size_t column = first + pp_cpu_hash(1, PP_CPU_TOKEN, i, 1) % (end - first);
        size_t at = row * m->columns + column;
        double expected = g[at];
        double *other = twin ? r->weights[last] + twin->offset / 8 + at : NULL;
        if (twin)
            expected += r->gradients[last][twin->offset / 8 + at];
        double found = difference(r, w + at, other);
        ck_assert_msg(fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-11,
                      "stage %u matrix %d weight %zu: %.12g, analytic %.12g", s, (int)m->what, at,
                      found, expected);
        nonzero += fabs(expected) > 1e-6;
    }
    ck_assert_int_gt(nonzero, 8); /* otherwise the test would check nothing */
}

static void check_stage(rig *r, uint32_t s, bool tied)
{
    const uint32_t last = r->work.stages - 1;
    const pp_cpu_stage *stage = &r->model->stage[s];
    pp_cpu_matrix twin = pp_cpu_matrix_at(r->model, &r->model->stage[last],
                                          pp_cpu_matrix_count(&r->model->stage[last]) - 1);
    for (size_t i = 0; i < pp_cpu_matrix_count(stage); i++) {
        pp_cpu_matrix m = pp_cpu_matrix_at(r->model, stage, i);
        bool shared = tied && m.what == PP_CPU_WEIGHT_EMBEDDING;
        if (shared && s == last)
            continue;                                       /* checked with the first stage's */
        size_t parts = m.what == PP_CPU_WEIGHT_QKV ? 3 : 1; /* queries, keys, values */
        for (size_t p = 0; p < parts; p++)
            check_part(r, s, &m, p * m.columns / parts, (p + 1) * m.columns / parts,
                       shared ? &twin : NULL);
    }
}

START_TEST(backward_is_the_derivative_of_forward)
{
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 2);
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = 2,
                                    .microbatches = 2,
                                    .workload = &workload,
                                    .settings = models[_i].settings });
    rig_own_weights(&r);
    rig_step(&r, RIG_I_W);
    for (uint32_t s = 0; s < 2; s++)
        check_stage(&r, s, models[_i].tied);
    rig_close(&r);
}
END_TEST

/* Padded tokens are not part of the loss, so the derivative holds there too; a tile of queries is
 * shorter than its sequence here (hidden 2: 18 tokens of 36). */
START_TEST(derivative_holds_over_tiles_and_padding)
{
    static const int64_t long_lengths[] = { 30, 6, 0 };
    static const int64_t short_lengths[] = { 30, 4, 0 };
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(long_lengths, 1);
    pp_workload data PP_CLEANUP(pp_workload_free) = rig_workload(short_lengths, 1);
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = 2,
                                    .microbatches = 1,
                                    .workload = &workload,
                                    .data = &data,
                                    .settings = "hidden=8,heads=4,mlp=8,vocab=5" });
    rig_own_weights(&r);
    ck_assert_int_lt(pp_cpu_tile(r.model, &r.model->batch[0], 30), 30);
    rig_step(&r, RIG_B);
    for (uint32_t s = 0; s < 2; s++)
        check_stage(&r, s, false);
    rig_close(&r);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, backward_is_the_derivative_of_forward, 0, 3);
    tcase_add_test(tc, derivative_holds_over_tiles_and_padding);
}

int main(void)
{
    return rig_main("cpu gradients", add);
}
