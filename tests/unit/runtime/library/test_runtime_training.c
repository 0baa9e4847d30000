/* A toy model trained through pp_runtime.h, compared with a loop over its microbatches and
 * stages. */
#include "tests/support/library_rig.h"

#include <math.h>

enum { WIDE = 5, TOY_STAGES = 8, TOKENS_MAX = 9, TOY_MICROBATCHES = 14 };

/* y = x + tanh(W x), token by token; the loss is half the sum of squares of the last y. The parts
 * of one rank, or all of it. */
typedef struct toy {
    double w[TOY_STAGES][WIDE][WIDE], g[TOY_STAGES][WIDE][WIDE];
    double loss[TOY_MICROBATCHES];
    const uint32_t *tokens; /* [microbatches] */
} toy;

static double toy_input(uint32_t step, uint32_t microbatch, uint32_t token, uint32_t at)
{
    return (double)(rig_mix(step, microbatch, token, at) % 2001) / 1000 - 1;
}

static void toy_forward_stage(const toy *t, uint32_t stage, uint32_t tokens, const double *x,
                              double *y, double *stash)
{
    for (uint32_t n = 0; n < tokens; n++, x += WIDE, y += WIDE, stash += 2 * WIDE) {
        for (int i = 0; i < WIDE; i++) {
            double sum = 0;
            for (int k = 0; k < WIDE; k++)
                sum += t->w[stage][i][k] * x[k];
            stash[i] = x[i];
            stash[WIDE + i] = tanh(sum); /* later: the gradient of the sum */
            y[i] = x[i] + stash[WIDE + i];
        }
    }
}

static void toy_backward_stage(const toy *t, uint32_t stage, uint32_t tokens, const double *dy,
                               double *dx, double *stash)
{
    for (uint32_t n = 0; n < tokens; n++, dy += WIDE, stash += 2 * WIDE) {
        double *sum = stash + WIDE;
        for (int i = 0; i < WIDE; i++)
            sum[i] = dy[i] * (1 - sum[i] * sum[i]);
        for (int k = 0; dx && k < WIDE; k++) {
            dx[k] = dy[k];
            for (int i = 0; i < WIDE; i++)
                dx[k] += sum[i] * t->w[stage][i][k];
        }
        dx = dx ? dx + WIDE : NULL;
    }
}

static void toy_weight_stage(toy *t, uint32_t stage, uint32_t tokens, const double *stash)
{
    for (uint32_t n = 0; n < tokens; n++, stash += 2 * WIDE) {
        for (int i = 0; i < WIDE; i++) {
            for (int k = 0; k < WIDE; k++)
                t->g[stage][i][k] += stash[WIDE + i] * stash[k];
        }
    }
}

static void toy_update(toy *t)
{
    for (int s = 0; s < TOY_STAGES; s++) {
        for (int i = 0; i < WIDE * WIDE; i++) {
            (&t->w[s][0][0])[i] -= 0.01 * (&t->g[s][0][0])[i];
            (&t->g[s][0][0])[i] = 0;
        }
    }
}

static double toy_loss(uint32_t tokens, const double *y)
{
    double sum = 0;
    for (uint32_t k = 0; k < tokens * WIDE; k++)
        sum += y[k] * y[k] / 2;
    return sum;
}

/* Input of the first stage, output of the last one and its gradient (which is the output). */
typedef struct toy_ends {
    double x[TOKENS_MAX * WIDE];
} toy_ends;

static void toy_data(const pp_runtime_op *op, uint32_t tokens, toy_ends *ends)
{
    for (uint32_t k = 0; k < tokens * WIDE; k++)
        ends->x[k] = toy_input(op->step, op->microbatch, k / WIDE, k % WIDE);
}

static int toy_forward(void *user, const pp_runtime_op *op)
{
    toy *t = user;
    toy_ends ends;
    uint32_t tokens = t->tokens[op->microbatch];
    bool last = !op->activation_out;
    toy_data(op, tokens, &ends);
    toy_forward_stage(t, op->stage, tokens, op->activation_in ? op->activation_in : ends.x,
                      last ? op->saved : op->activation_out, op->stash);
    if (last)
        t->loss[op->microbatch] = toy_loss(tokens, op->saved);
    return 0;
}

static int toy_backward_input(void *user, const pp_runtime_op *op)
{
    toy *t = user;
    toy_backward_stage(t, op->stage, t->tokens[op->microbatch],
                       op->gradient_in ? op->gradient_in : op->saved, op->gradient_out, op->stash);
    return 0;
}

static int toy_backward_weight(void *user, const pp_runtime_op *op)
{
    toy *t = user;
    toy_weight_stage(t, op->stage, t->tokens[op->microbatch], op->stash);
    return 0;
}

static int toy_end(void *user, uint32_t rank, uint32_t step)
{
    (void)rank;
    (void)step;
    toy_update(user); /* for stages of other ranks the gradient is 0 */
    return 0;
}

static void toy_sizes(void *context, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out)
{
    const uint32_t *tokens = context;
    size_t bytes = tokens[microbatch] * WIDE * sizeof(double);
    out->message_bytes = bytes;
    out->stash_bytes = 2 * bytes;
    out->saved_bytes = stage == TOY_STAGES - 1 ? bytes : 0;
}

static void toy_sequential_step(toy *t, uint32_t step, uint32_t microbatches)
{
    static double x[TOY_STAGES + 1][TOKENS_MAX * WIDE];
    static double dx[TOY_STAGES + 1][TOKENS_MAX * WIDE];
    static double stash[TOY_STAGES][2 * TOKENS_MAX * WIDE];
    for (uint32_t j = 0; j < microbatches; j++) {
        const pp_runtime_op op = { .step = step, .microbatch = j };
        toy_ends ends;
        toy_data(&op, t->tokens[j], &ends);
        memcpy(x[0], ends.x, sizeof ends.x);
        for (uint32_t s = 0; s < TOY_STAGES; s++)
            toy_forward_stage(t, s, t->tokens[j], x[s], x[s + 1], stash[s]);
        t->loss[j] = toy_loss(t->tokens[j], x[TOY_STAGES]);
        memcpy(dx[TOY_STAGES], x[TOY_STAGES], sizeof dx[0]);
        for (uint32_t s = TOY_STAGES; s-- > 0;) {
            toy_backward_stage(t, s, t->tokens[j], dx[s + 1], dx[s], stash[s]);
            toy_weight_stage(t, s, t->tokens[j], stash[s]);
        }
    }
    toy_update(t);
}

/* Weights after five steps, each with other lengths and numbers of microbatches, are equal to the
 * last bit, since both sum the microbatches of a stage in the same order. */
START_TEST(training_equals_a_sequential_loop)
{
    static const uint32_t microbatches[] = { 8, 14, 9, 12, 10 };
    static toy rank[4];
    static toy whole;
    uint32_t tokens[TOY_MICROBATCHES];
    void *user[] = { &rank[0], &rank[1], &rank[2], &rank[3] };
    pp_runtime_error error;
    const pp_runtime_callbacks callbacks = { .forward = toy_forward,
                                             .backward_input = toy_backward_input,
                                             .backward_weight = toy_backward_weight,
                                             .end = toy_end };
    memset(&whole, 0, sizeof whole);
    whole.tokens = tokens;
    for (uint32_t k = 0; k < sizeof whole.w / sizeof(double); k++)
        (&whole.w[0][0][0])[k] = 0.3 * toy_input(99, k, 0, 0);
    for (int r = 0; r < 4; r++)
        rank[r] = whole;
    double first = 0;
    double loss = 0;
    pp_runtime *runtime = rig_open(4, NULL);
    for (uint32_t step = 0; step < 5; step++) {
        const pp_runtime_plan_spec spec = { .schedule = "zbv",
                                            .ranks = 4,
                                            .microbatches = microbatches[step],
                                            .sizes = toy_sizes,
                                            .context = tokens };
        pp_runtime_plan *plan = NULL;
        for (uint32_t j = 0; j < microbatches[step]; j++)
            tokens[j] = 1 + rig_mix(step, j, 7, 7) % TOKENS_MAX;
        RIG_OK(pp_runtime_plan_new(&spec, &plan, &error), error);
        RIG_OK(pp_runtime_step(runtime, plan, &callbacks, user, NULL, &error), error);
        toy_sequential_step(&whole, step, microbatches[step]);
        uint32_t all = 0;
        loss = 0;
        for (uint32_t j = 0; j < microbatches[step]; j++) {
            const toy *last = &rank[pp_runtime_plan_rank_of(plan, TOY_STAGES - 1)];
            ck_assert(memcmp(&last->loss[j], &whole.loss[j], sizeof(double)) == 0);
            loss += whole.loss[j];
            all += tokens[j];
        }
        loss /= all;
        first = step ? first : loss;
        for (uint32_t s = 0; s < TOY_STAGES; s++)
            ck_assert(memcmp(rank[pp_runtime_plan_rank_of(plan, s)].w[s], whole.w[s],
                             sizeof whole.w[s]) == 0);
        pp_runtime_plan_free(plan);
    }
    ck_assert_double_lt(loss, first);
    pp_runtime_close(runtime);
}
END_TEST

/* The loop itself is correct: compared with central differences of the loss. */
START_TEST(the_loop_has_the_gradient_of_its_loss)
{
    static toy t;
    const uint32_t tokens[] = { 4 };
    const double h = 1e-6;
    memset(&t, 0, sizeof t);
    t.tokens = tokens;
    for (uint32_t k = 0; k < sizeof t.w / sizeof(double); k++)
        (&t.w[0][0][0])[k] = 0.3 * toy_input(99, k, 0, 0);
    toy before = t;
    toy_sequential_step(&t, 0, 1);
    for (int k = 0; k < TOY_STAGES * WIDE * WIDE; k += 7) {
        double *w = &before.w[0][0][0] + k;
        double moved = (*w - (&t.w[0][0][0])[k]) / 0.01;
        toy up = before;
        toy down = before;
        (&up.w[0][0][0])[k] += h;
        (&down.w[0][0][0])[k] -= h;
        toy_sequential_step(&up, 0, 1);
        toy_sequential_step(&down, 0, 1);
        ck_assert_double_eq_tol((up.loss[0] - down.loss[0]) / (2 * h), moved, 1e-6);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library_training");
    TCase *tc = tcase_create("training");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, training_equals_a_sequential_loop);
    tcase_add_test(tc, the_loop_has_the_gradient_of_its_loss);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
