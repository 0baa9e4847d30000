/* Every part of a stage's math on the GPU, with its kernels run as C, compared with compute cpu in
 * float. */
#include "runtime/cuda/compute/machine.h"
#include "runtime/cuda/compute/math.h"
#include "runtime/cuda/kernel/kernel.h"
#include "sim/base/alloc.h"
#include "tests/cuda/standin.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sequences shorter and longer than a tile, and of its length; the heads of the last are wide. */
static const int64_t lengths[] = { 5, 70, 1, 32, 33 };
static const int64_t counted[] = { 5, 66, 1, 30, 33 };
static const char *const settings[] = { "hidden=24,heads=3,mlp=40,vocab=13,dtype=%s",
                                        "hidden=300,heads=2,mlp=40,dtype=%s" };

enum { SEQUENCES = 5, TOKENS = 5 + 70 + 1 + 32 + 33, SHAPES = 2 };

/* The same math twice. `loop`: selects shape and type. */
typedef struct both {
    pp_cpu_model *host_model, *model;
    void *host, *gpu; /* machines */
    bool bf16;
    uint64_t state;
} both;

/* A tensor twice. Statistics and sums are always float. */
typedef struct tensor {
    float *host;
    void *gpu;
    size_t count;
    bool sum;
} tensor;

static pp_cpu_model *model_of(const pp_workload *padded, const pp_workload *data, int loop,
                              bool gpu)
{
    char text[96];
    pp_err err = { 0 };
    const uint32_t rank = 0;
    pp_cpu_model *model = NULL;
    snprintf(text, sizeof text, settings[loop % SHAPES], loop >= SHAPES && gpu ? "bf16" : "float");
    const pp_compute_work work = { .ranks = 1,
                                   .stages = 1,
                                   .microbatches = 2,
                                   .stage_rank = &rank,
                                   .workload = padded,
                                   .data = data,
                                   .settings = text,
                                   .seed = 7 };
    ck_assert_msg(!pp_cpu_model_new(&work, gpu, &model, &err), "%s", err.text);
    return model;
}

/* The second microbatch is the one that is used. */
static both open_both(int loop)
{
    static pp_microbatch microbatch[] = { { .count = 1, .tokens = 5 },
                                          { .count = SEQUENCES, .tokens = TOKENS } };
    static pp_workload padded = { .replicas = 1, .microbatches = 2, .microbatch = microbatch };
    static pp_workload data;
    both b = { .bf16 = loop >= SHAPES, .state = 1 };
    pp_err err = { 0 };
    padded.lengths = (int64_t *)(uintptr_t)lengths;
    data = padded;
    data.lengths = (int64_t *)(uintptr_t)counted;
    b.host_model = model_of(&padded, &data, loop, false);
    b.model = model_of(&padded, &data, loop, true);
    ck_assert_msg(!pp_cpu_math_f32.open(NULL, b.host_model, 0, &b.host, &err), "%s", err.text);
    ck_assert_msg(!pp_gpu_math.open(&pp_module_services_table, b.model, 0, &b.gpu, &err), "%s",
                  err.text);
    pp_gpu_math.start(b.gpu);
    return b;
}

static void close_both(both *b)
{
    pp_cpu_math_f32.close(b->host);
    pp_gpu_math.close(b->gpu);
    pp_cpu_model_free(&b->host_model);
    pp_cpu_model_free(&b->model);
}

static const pp_cpu_batch *host_batch(const both *b)
{
    return &b->host_model->batch[1];
}

static const pp_cpu_batch *gpu_batch(const both *b)
{
    return &b->model->batch[1];
}

/* Numbers that both types hold, from -size to size. */
static tensor make(both *b, size_t count, bool sum, double size)
{
    tensor t = { .count = count, .sum = sum };
    pp_err err = { 0 };
    const size_t unit = b->bf16 && !sum ? 2 : 4;
    pp_bf16 *narrow = malloc(count * 2);
    t.host = malloc(count * 4);
    for (size_t i = 0; i < count; i++) {
        pp_store_bf16(&narrow[i],
                      (float)(size * ((double)(pp_random_next(&b->state) >> 11) * 0x1p-52 - 1)));
        t.host[i] = pp_load_bf16(&narrow[i]);
    }
    ck_assert(!pp_gpu_math.take(b->gpu, count * unit, &t.gpu, &err));
    pp_gpu_math.write(b->gpu, t.gpu, unit == 2 ? (void *)narrow : (void *)t.host, count * unit);
    free(narrow);
    return t;
}

/* Checks that the GPU's tensor equals the host's within the precision of their types, and frees
 * it. */
static void same(both *b, tensor *t, const char *what)
{
    const size_t unit = b->bf16 && !t->sum ? 2 : 4;
    const double allowed = b->bf16 ? 0x1p-6 : 2e-6;
    char *got = malloc(t->count * 4);
    double off = 0;
    double most = 0;
    pp_err err = { 0 };
    ck_assert_msg(!pp_gpu_math.finish(b->gpu, &err), "%s", err.text);
    pp_gpu_math.read(b->gpu, got, t->gpu, t->count * unit);
    for (size_t i = 0; i < t->count; i++) {
        const float value =
            unit == 2 ? pp_load_bf16((pp_bf16 *)(void *)got + i) : *((float *)(void *)got + i);
        const double away = fabs((double)value - (double)t->host[i]);
        off = away <= off ? off : away; /* NaN too */
        most = fmax(most, fabs((double)t->host[i]));
    }
    if (!(off <= allowed * most))
        ck_abort_msg("%s is off by %g of %g", what, off, most);
    ck_assert_msg(most > 0, "%s is zero", what);
    pp_gpu_math.give(b->gpu, t->gpu);
    free(got);
    free(t->host);
    pp_gpu_math.start(b->gpu);
}

START_TEST(norms_agree)
{
    both b = open_both(_i);
    const int64_t h = b.model->settings.hidden;
    const size_t count = TOKENS * (size_t)h;
    tensor x = make(&b, count, false, 2), normed = make(&b, count, false, 1);
    tensor inverse = make(&b, TOKENS, true, 1), d = make(&b, count, false, 3);
    tensor residual = make(&b, count, false, 3), gradient = make(&b, count, false, 1);
    pp_math_norm host = { TOKENS, h, x.host, normed.host, inverse.host, NULL, NULL };
    pp_math_norm gpu = { TOKENS, h, x.gpu, normed.gpu, inverse.gpu, NULL, NULL };
    pp_cpu_math_f32.norm_forward(b.host, &host);
    pp_gpu_math.norm_forward(b.gpu, &gpu);
    host = (pp_math_norm){ TOKENS, h, d.host, normed.host, inverse.host, NULL, gradient.host };
    gpu = (pp_math_norm){ TOKENS, h, d.gpu, normed.gpu, inverse.gpu, NULL, gradient.gpu };
    pp_cpu_math_f32.norm_backward(b.host, &host);
    pp_gpu_math.norm_backward(b.gpu, &gpu);
    host.residual = host.gradient = residual.host; /* may be one */
    gpu.residual = gpu.gradient = residual.gpu;
    pp_cpu_math_f32.norm_backward(b.host, &host);
    pp_gpu_math.norm_backward(b.gpu, &gpu);
    same(&b, &inverse, "the inverse root mean square");
    same(&b, &normed, "norm");
    same(&b, &gradient, "the gradient of norm");
    same(&b, &residual, "the gradient of norm with a residual");
    same(&b, &x, "the input of norm");
    same(&b, &d, "the gradient that norm got");
    close_both(&b);
}
END_TEST

START_TEST(gelu_agrees)
{
    both b = open_both(_i);
    tensor h = make(&b, 1000, false, 6), g = make(&b, 1000, false, 1), d = make(&b, 1000, false, 2);
    pp_cpu_math_f32.gelu_forward(b.host, 1000, h.host, g.host);
    pp_gpu_math.gelu_forward(b.gpu, 1000, h.gpu, g.gpu);
    pp_cpu_math_f32.gelu_backward(b.host, 1000, d.host, h.host);
    pp_gpu_math.gelu_backward(b.gpu, 1000, d.gpu, h.gpu);
    same(&b, &g, "GELU");
    same(&b, &h, "the gradient of GELU");
    same(&b, &d, "the gradient that GELU got");
    close_both(&b);
}
END_TEST

START_TEST(attention_agrees)
{
    both b = open_both(_i);
    const size_t h = (size_t)b.model->settings.hidden, heads = (size_t)b.model->settings.heads;
    tensor qkv = make(&b, TOKENS * 3 * h, false, 1.5), out = make(&b, TOKENS * h, false, 1);
    tensor lse = make(&b, TOKENS * heads, true, 1), d = make(&b, TOKENS * h, false, 1);
    float *scores = malloc(4 * TOKENS * 70 * sizeof *scores);
    char *scratch = NULL;
    size_t bytes = TOKENS * (2 * h + heads) * sizeof(float) + 64;
    void *taken = NULL;
    pp_err err = { 0 };
    ck_assert(!pp_gpu_math.take(b.gpu, bytes, &taken, &err));
    scratch = taken;
    const pp_math_attention host = { qkv.host, out.host, lse.host, d.host, scores };
    const pp_math_attention gpu = { qkv.gpu, out.gpu, lse.gpu, d.gpu, scratch };
    pp_cpu_math_f32.attention_forward(b.host, host_batch(&b), &host);
    pp_gpu_math.attention_forward(b.gpu, gpu_batch(&b), &gpu);
    pp_cpu_math_f32.attention_backward(b.host, host_batch(&b), &host);
    pp_gpu_math.attention_backward(b.gpu, gpu_batch(&b), &gpu);
    same(&b, &out, "attention");
    same(&b, &lse, "the log of the denominators");
    same(&b, &qkv, "the gradient of queries, keys and values");
    pp_gpu_math.give(b.gpu, taken);
    same(&b, &d, "the gradient that attention got");
    free(scores);
    close_both(&b);
}
END_TEST

START_TEST(inputs_and_losses_agree)
{
    both b = open_both(_i);
    const size_t h = (size_t)b.model->settings.hidden, v = (size_t)b.model->settings.vocab;
    const size_t width = v ? v : h;
    tensor x = make(&b, TOKENS * h, false, 1), rows = make(&b, TOKENS * width, false, 4);
    tensor embedding = make(&b, (v ? v : 1) * h, false, 1), sum = make(&b, 1, true, 1);
    tensor gradient = make(&b, (v ? v : 1) * h, true, 1);
    pp_cpu_math_f32.first_input(b.host, host_batch(&b), v ? embedding.host : NULL, x.host);
    pp_gpu_math.first_input(b.gpu, gpu_batch(&b), v ? embedding.gpu : NULL, x.gpu);
    pp_cpu_math_f32.loss(b.host, host_batch(&b), rows.host, sum.host);
    pp_gpu_math.loss(b.gpu, gpu_batch(&b), rows.gpu, sum.gpu);
    if (v) {
        pp_cpu_math_f32.embedding_gradient(b.host, host_batch(&b), x.host, gradient.host);
        pp_gpu_math.embedding_gradient(b.gpu, gpu_batch(&b), x.gpu, gradient.gpu);
    }
    same(&b, &sum, "the loss");
    same(&b, &rows, "the gradient of the loss");
    same(&b, &gradient, "the gradient of the embedding");
    same(&b, &x, "the first input");
    same(&b, &embedding, "the embedding");
    close_both(&b);
}
END_TEST

START_TEST(products_agree)
{
    both b = open_both(_i);
    for (int form = PP_MATH_AB; form <= PP_MATH_ATB; form++) {
        tensor left = make(&b, 9 * 11, false, 1), right = make(&b, 11 * 7, false, 1);
        tensor to = make(&b, 9 * 7, form == PP_MATH_ATB, 1);
        pp_math_product p = { (pp_math_form)form, 9, 7, 11, left.host, right.host, to.host, true };
        pp_cpu_math_f32.product(b.host, &p);
        p.a = left.gpu;
        p.b = right.gpu;
        p.c = to.gpu;
        pp_gpu_math.product(b.gpu, &p);
        same(&b, &to, "a product");
        same(&b, &left, "its left side");
        same(&b, &right, "its right side");
    }
    close_both(&b);
}
END_TEST

START_TEST(updates_agree)
{
    both b = open_both(_i);
    tensor w = make(&b, 777, false, 1), g = make(&b, 777, true, 1), sum = make(&b, 777, true, 1);
    const pp_cpu_matrix matrix = { .rows = 7, .columns = 111, .scale = 0.5 };
    pp_err err = { 0 };
    tensor master = make(&b, 777, true, 1);
    pp_cpu_math_f32.update(b.host, 777, 0.25, g.host, NULL, w.host);
    pp_gpu_math.update(b.gpu, 777, 0.25, g.gpu, NULL, w.gpu);
    pp_cpu_math_f32.add(b.host, 777, g.host, sum.host);
    pp_gpu_math.add(b.gpu, 777, g.host, sum.gpu);
    same(&b, &w, "the weights");
    same(&b, &sum, "a sum of gradients");
    w = make(&b, 777, false, 1); /* the old content does not matter */
    memcpy(w.host, master.host, 777 * sizeof *w.host);
    pp_cpu_math_f32.update(b.host, 777, 0.25, g.host, NULL, w.host);
    pp_cpu_math_f32.update(b.host, 777, 0.25, g.host, NULL, master.host);
    pp_gpu_math.update(b.gpu, 777, 0.25, g.gpu, master.gpu, w.gpu);
    same(&b, &w, "weights that have masters");
    same(&b, &master, "the masters");
    same(&b, &g, "the gradient");
    w = make(&b, 777, false, 1);
    ck_assert(!pp_cpu_math_f32.fill(b.host, &matrix, false, w.host, &err));
    ck_assert(!pp_gpu_math.fill(b.gpu, &matrix, false, w.gpu, &err));
    same(&b, &w, "first weights");
    close_both(&b);
}
END_TEST

int main(void)
{
    pp_err err = { 0 };
    pp_cpu_model *model = NULL;
    void *machine = NULL;
    const pp_compute_work none = { .settings = "dtype=float" };
    if (pp_cpu_model_new(&none, false, &model, &err) ||
        pp_cpu_math_f32.open(NULL, model, 0, &machine, &err)) {
        puts("skipped: built without OpenBLAS");
        return 77;
    }
    pp_cpu_math_f32.close(machine);
    pp_cpu_model_free(&model);
    Suite *suite = suite_create("kernels");
    TCase *tc = tcase_create("kernels");
    tcase_add_loop_test(tc, norms_agree, 0, 2 * SHAPES);
    tcase_add_loop_test(tc, gelu_agrees, 0, 2 * SHAPES);
    tcase_add_loop_test(tc, attention_agrees, 0, 2 * SHAPES);
    tcase_add_loop_test(tc, inputs_and_losses_agree, 0, 2 * SHAPES);
    tcase_add_loop_test(tc, products_agree, 0, 2 * SHAPES);
    tcase_add_loop_test(tc, updates_agree, 0, 2 * SHAPES);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
