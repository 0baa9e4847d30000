/* The cpu backend's losses equal those of docs/explanation/runtime-cpu.md, implemented again in
 * plain loops. */
#include "tests/support/cpu_rig.h"

enum { HIDDEN = 12, HEADS = 3, MLP = 20, VOCAB = 9, LAYERS = 2, LONGEST = 70 };

static const int64_t lengths[] = { 5, 70, 0, 3, 1, 0 };
static const int64_t counted[] = { 5, 66, 0, 3, 1, 0 };

typedef struct reference {
    uint64_t seed;
    bool vocab;
    const double *weights; /* as pp_compute.value_read returns them */
    double x[LONGEST][HIDDEN];
} reference;

static void norm(const double x[HIDDEN], double n[HIDDEN])
{
    double sum = 0;
    for (int i = 0; i < HIDDEN; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < HIDDEN; i++)
        n[i] = x[i] / sqrt(sum / HIDDEN + 1e-6);
}

/* y = x w; w: [in][out] */
static void apply(const double *x, int in, const double *w, int out, double *y)
{
    for (int j = 0; j < out; j++) {
        y[j] = 0;
        for (int i = 0; i < in; i++)
            y[j] += x[i] * w[i * out + j];
    }
}

static void attend(double qkv[LONGEST][3 * HIDDEN], int64_t t, double a[HIDDEN])
{
    const int width = HIDDEN / HEADS;
    for (int head = 0; head < HEADS; head++) {
        const double *q = qkv[t] + head * width;
        double sum = 0;
        memset(a + head * width, 0, (size_t)width * sizeof *a);
        for (int64_t u = 0; u <= t; u++) {
            const double *k = qkv[u] + HIDDEN + head * width;
            double score = 0;
            for (int i = 0; i < width; i++)
                score += q[i] * k[i];
            score = exp(score / sqrt(width));
            sum += score;
            for (int i = 0; i < width; i++)
                a[head * width + i] += score * k[HIDDEN + i];
        }
        for (int i = 0; i < width; i++)
            a[head * width + i] /= sum;
    }
}

static const double *block(reference *r, int64_t length, const double *w)
{
    static double qkv[LONGEST][3 * HIDDEN]; /* one process per test */
    const double *wo = w + 3 * HIDDEN * HIDDEN;
    const double *w1 = wo + HIDDEN * HIDDEN;
    const double *w2 = w1 + HIDDEN * MLP;
    double n[HIDDEN], a[HIDDEN], y[HIDDEN], h[MLP];
    for (int64_t t = 0; t < length; t++) {
        norm(r->x[t], n);
        apply(n, HIDDEN, w, 3 * HIDDEN, qkv[t]);
    }
    for (int64_t t = 0; t < length; t++) {
        attend(qkv, t, a);
        apply(a, HIDDEN, wo, HIDDEN, y);
        for (int i = 0; i < HIDDEN; i++)
            r->x[t][i] += y[i];
        norm(r->x[t], n);
        apply(n, HIDDEN, w1, MLP, h);
        for (int i = 0; i < MLP; i++)
            h[i] *= 0.5 * (1 + tanh(sqrt(2 / acos(-1)) * (h[i] + 0.044715 * pow(h[i], 3))));
        apply(h, MLP, w2, HIDDEN, y);
        for (int i = 0; i < HIDDEN; i++)
            r->x[t][i] += y[i];
    }
    return w2 + MLP * HIDDEN;
}

static uint64_t token(const reference *r, uint64_t sequence, int64_t position)
{
    return pp_cpu_hash(r->seed, PP_CPU_TOKEN, sequence, (uint64_t)position) % VOCAB;
}

static double token_loss(const reference *r, uint64_t sequence, int64_t t, const double *head)
{
    double n[HIDDEN];
    double sum = 0;
    double right = 0;
    if (!r->vocab) {
        for (int i = 0; i < HIDDEN; i++)
            sum += pow(r->x[t][i] - pp_cpu_uniform(r->seed, PP_CPU_TARGET, sequence,
                                                   (uint64_t)(t * HIDDEN + i)),
                       2);
        return sum / HIDDEN;
    }
    norm(r->x[t], n);
    for (uint64_t v = 0; v < VOCAB; v++) {
        double logit = 0;
        for (int i = 0; i < HIDDEN; i++)
            logit += n[i] * head[v * HIDDEN + (uint64_t)i];
        sum += exp(logit);
        if (v == token(r, sequence, t + 1))
            right = logit;
    }
    return log(sum) - right;
}

static double sequence_loss(reference *r, uint64_t sequence, int64_t length)
{
    const double *w = r->weights + (r->vocab ? VOCAB * HIDDEN : 0);
    double sum = 0;
    for (int64_t t = 0; t < length; t++) {
        for (int i = 0; i < HIDDEN; i++)
            r->x[t][i] = r->vocab ? r->weights[token(r, sequence, t) * HIDDEN + (uint64_t)i]
                                  : pp_cpu_uniform(r->seed, PP_CPU_INPUT, sequence,
                                                   (uint64_t)(t * HIDDEN + i));
    }
    for (int layer = 0; layer < LAYERS; layer++)
        w = block(r, length, w);
    for (int64_t t = 0; t < length; t++)
        sum += token_loss(r, sequence, t, w);
    return sum;
}

START_TEST(losses_are_those_of_the_equations)
{
    static const char *const settings[] = { "hidden=12,heads=3,mlp=20",
                                            "hidden=12,heads=3,mlp=20,vocab=9",
                                            "hidden=12,heads=3,mlp=20,vocab=9,tied=on" };
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 2);
    pp_workload data PP_CLEANUP(pp_workload_free) = rig_workload(counted, 2);
    rig r;
    size_t count;
    rig_open(&r, (pp_compute_work){ .stages = LAYERS,
                                    .microbatches = 2,
                                    .workload = &workload,
                                    .data = &data,
                                    .settings = settings[_i] });
    rig_step(&r, RIG_B);
    double *weights = rig_read(&r, PP_VALUES_PARAMETERS, &count);
    double *losses = rig_read(&r, PP_VALUES_LOSSES, &count);
    reference expected = { .seed = r.work.seed, .vocab = _i > 0, .weights = weights };
    uint64_t sequence = 0;
    for (size_t j = 0; j < 2; j++) {
        double loss = 0;
        for (size_t i = 0; i < data.microbatch[j].count; i++)
            loss +=
                sequence_loss(&expected, sequence++, data.lengths[data.microbatch[j].first + i]);
        loss /= 5 + 66 + 3 + 1;
        ck_assert_msg(fabs(losses[j] - loss) <= 1e-12 * loss,
                      "microbatch %zu: %.15g, should be %.15g", j, losses[j], loss);
    }
    free(weights);
    free(losses);
    rig_close(&r);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, losses_are_those_of_the_equations, 0, 3);
}

int main(void)
{
    return rig_main("cpu reference", add);
}
