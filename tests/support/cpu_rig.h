/* Runs ops of the cpu backend one after the other, each in buffers of exactly the described size
 * between guards. Buffers are full of NaN before use, and are freed as soon as possible. */
#ifndef PPSIM_TESTS_SUPPORT_CPU_RIG_H
#define PPSIM_TESTS_SUPPORT_CPU_RIG_H

#include "runtime/core/compute.h"
#include "runtime/cpu/matmul.h"
#include "runtime/cpu/stack.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const pp_compute pp_compute_cpu;

enum { RIG_STAGES = 4, RIG_MICROBATCHES = 4, RIG_GUARD = 64 };

typedef struct rig_buffer {
    unsigned char *data;
    size_t bytes;
} rig_buffer;

typedef struct rig_kept {
    rig_buffer output, gradient, saved, stash, logits;
} rig_kept;

typedef struct rig {
    pp_compute_work work;
    uint32_t stage_rank[RIG_STAGES];
    pp_costs *costs;
    void *worker; /* holds every stage */
    rig_kept kept[RIG_STAGES][RIG_MICROBATCHES];
    bool real_is_float;
    bool nan_seen;
    /* Used instead of the worker's: weights that a test may change. */
    pp_cpu_model *model;
    void *machine;
    double *weights[RIG_STAGES], *gradients[RIG_STAGES];
    double loss[RIG_MICROBATCHES];
} rig;

/* Check reports every assertion to its parent process, which would take longer than the math. */
#define RIG_CHECK(that, ...)           \
    do {                               \
        if (!(that))                   \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)
#define RIG_OK(call, err) RIG_CHECK((call) == PP_OK, "%s: %s", (err).where, (err).text)

static inline rig_buffer rig_take(int64_t bytes)
{
    rig_buffer b = { .bytes = (size_t)bytes };
    RIG_CHECK(bytes >= 0 && bytes % 64 == 0, "%lld bytes", (long long)bytes);
    if (!bytes)
        return b;
    unsigned char *all = aligned_alloc(64, b.bytes + 2 * RIG_GUARD);
    RIG_CHECK(all, "out of memory");
    memset(all, 0xa5, b.bytes + 2 * RIG_GUARD);
    b.data = all + RIG_GUARD;
    memset(b.data, 0xff, b.bytes); /* NaN as float and as double */
    return b;
}

/* The guards are unchanged, and the last byte was used: the size was neither too small nor too
 * large. used: whether the last byte is checked. */
static inline void rig_give_back(rig_buffer *b, bool used)
{
    if (b->data) {
        unsigned char *all = b->data - RIG_GUARD;
        bool written = false;
        for (int i = 0; i < RIG_GUARD; i++) {
            RIG_CHECK(all[i] == 0xa5, "written %d before the start", RIG_GUARD - i);
            RIG_CHECK(b->data[b->bytes + (size_t)i] == 0xa5, "written %d behind the end", i);
            written = written || b->data[b->bytes - 1 - (size_t)i] != 0xff;
        }
        RIG_CHECK(written || !used, "the last 64 of %zu bytes were never used", b->bytes);
        memset(b->data, 0xff, b->bytes);
        free(all);
    }
    *b = (rig_buffer){ 0 };
}

static inline void rig_release(rig_buffer *b)
{
    rig_give_back(b, true);
}

static inline void rig_look(rig *r, const rig_buffer *b)
{
    for (size_t i = 0; i < b->bytes; i += r->real_is_float ? 4 : 8) {
        double value;
        float narrow;
        memcpy(&value, b->data + i / 8 * 8, 8);
        memcpy(&narrow, b->data + i, 4);
        if (isnan(r->real_is_float ? (double)narrow : value))
            r->nan_seen = true;
    }
}

/* work: seed, stage_rank, ranks and costs are set here. */
static inline void rig_open(rig *r, pp_compute_work work)
{
    pp_err err = { 0 };
    const bool holds[RIG_STAGES] = { true, true, true, true };
    *r = (rig){ .work = work };
    ck_assert_uint_le(work.stages, RIG_STAGES);
    ck_assert_uint_le(work.microbatches, RIG_MICROBATCHES);
    for (uint32_t s = 0; s < work.stages; s++)
        r->stage_rank[s] = s;
    r->work.ranks = work.stages;
    r->work.stage_rank = r->stage_rank;
    r->work.seed = work.seed ? work.seed : 7;
    RIG_OK(pp_costs_new(work.stages, work.stages, work.microbatches, work.microbatches, &r->costs,
                        &err),
           err);
    for (uint32_t j = 0; j < work.microbatches; j++)
        r->costs->class_of[j] = j;
    r->work.costs = r->costs;
    RIG_OK(pp_compute_cpu.describe(&r->work, r->costs, &err), err);
    RIG_OK(pp_compute_cpu.open(&r->work, holds, &r->worker, &err), err);
    r->real_is_float = pp_compute_cpu.value_bytes(r->worker) == 4;
    RIG_OK(pp_compute_cpu.begin(r->worker, 0, &err), err);
}

/* Gives the test weights of its own from now on. */
static inline void rig_own_weights(rig *r)
{
    pp_err err = { 0 };
    RIG_OK(pp_cpu_model_new(&r->work, false, &r->model, &err), err);
    RIG_OK(pp_cpu_math_f64.open(NULL, r->model, 0, &r->machine, &err), err);
    for (uint32_t s = 0; s < r->work.stages; s++) {
        const pp_cpu_stage *stage = &r->model->stage[s];
        size_t bytes = pp_cpu_parameter_bytes(r->model, stage);
        r->weights[s] = aligned_alloc(64, bytes);
        r->gradients[s] = aligned_alloc(64, bytes);
        memset(r->gradients[s], 0, bytes);
        for (size_t i = 0; i < pp_cpu_matrix_count(stage); i++) {
            pp_cpu_matrix m = pp_cpu_matrix_at(r->model, stage, i);
            RIG_OK(pp_cpu_math_f64.fill(r->machine, &m, false, r->weights[s] + m.offset / 8, &err),
                   err);
        }
    }
}

static inline void rig_close(rig *r)
{
    for (uint32_t s = 0; s < RIG_STAGES; s++) {
        for (uint32_t j = 0; j < RIG_MICROBATCHES; j++) {
            rig_kept *k = &r->kept[s][j];
            rig_release(&k->output);
            rig_release(&k->gradient);
            rig_release(&k->saved);
            rig_release(&k->stash);
            rig_release(&k->logits);
        }
        free(r->weights[s]);
        free(r->gradients[s]);
    }
    pp_compute_cpu.close(r->worker);
    pp_cpu_math_f64.close(r->machine);
    pp_cpu_model_free(&r->model);
    pp_costs_free(&r->costs);
    ck_assert(!r->nan_seen);
}

static inline void rig_call(rig *r, pp_op op, const pp_op_tensors *tensors)
{
    pp_err err = { 0 };
    if (!r->model) {
        RIG_OK(pp_compute_cpu.run(r->worker, op, tensors, &err), err);
        return;
    }
    const pp_cpu_batch *batch = &r->model->batch[op.microbatch];
    const pp_cpu_layout layout = pp_cpu_layout_of(r->model, &r->model->stage[op.stage], batch);
    const pp_cpu_call call = { &pp_cpu_math_f64,
                               r->machine,
                               r->model,
                               &r->model->stage[op.stage],
                               batch,
                               &layout,
                               r->weights[op.stage],
                               r->gradients[op.stage],
                               &r->loss[op.microbatch],
                               tensors };
    if (op.kind == PP_OP_F)
        pp_cpu_forward(&call);
    if (op.kind == PP_OP_I || op.kind == PP_OP_B)
        pp_cpu_backward_input(&call);
    if (op.kind == PP_OP_W || op.kind == PP_OP_B)
        pp_cpu_backward_weight(&call);
}

static inline void rig_forward(rig *r, uint32_t s, uint32_t j, pp_op_tensors *t)
{
    const pp_costs *costs = r->costs;
    const size_t row = pp_cost_index(costs, s, j);
    rig_kept *k = &r->kept[s][j];
    int64_t input = s > 0 ? costs->message_bytes[row - 1] : 0;
    k->output = rig_take(costs->message_bytes[row]);
    k->saved = rig_take(costs->activation_bytes[row] - input - costs->stash_bytes[row]);
    k->stash = rig_take(costs->stash_bytes[row]);
    k->logits = rig_take(costs->logits_bytes[row]);
    t->activation_out = k->output.data;
    t->saved = k->saved.data;
    t->stash = k->stash.data;
    t->logits = k->logits.data;
}

static inline void rig_op(rig *r, pp_op_kind kind, uint32_t s, uint32_t j)
{
    const pp_op op = { .kind = (uint8_t)kind, .stage = (uint16_t)s, .microbatch = j };
    rig_kept *k = &r->kept[s][j];
    rig_buffer *input = s > 0 ? &r->kept[s - 1][j].output : NULL;
    rig_buffer *from = s + 1 < r->work.stages ? &r->kept[s + 1][j].gradient : NULL;
    rig_buffer scratch = { 0 };
    pp_op_tensors t = { .stash = k->stash.data };
    if (kind != PP_OP_W) {
        t.activation_in = input ? input->data : NULL;
        t.saved = k->saved.data;
        t.logits = k->logits.data;
    }
    if (kind == PP_OP_F) {
        rig_forward(r, s, j, &t);
    } else if (kind != PP_OP_W) {
        scratch = rig_take(r->costs->temporary_bytes[pp_cost_index(r->costs, s, j)]);
        k->gradient =
            rig_take(s > 0 ? r->costs->message_bytes[pp_cost_index(r->costs, s - 1, j)] : 0);
        t.scratch = scratch.data;
        t.gradient_in = from ? from->data : NULL;
        t.gradient_out = k->gradient.data;
    }
    rig_call(r, op, &t);
    rig_look(r, kind == PP_OP_F ? &k->output : &k->gradient);
    if (kind == PP_OP_I || kind == PP_OP_B) {
        rig_release(&scratch);
        rig_release(&k->saved);
        rig_release(&k->logits);
        if (input)
            rig_release(input);
        if (from)
            rig_release(from);
    }
    if (kind == PP_OP_W || kind == PP_OP_B)
        rig_release(&k->stash);
}

/* One microbatch after the other with B; with I directly followed by W; or all F, then all I from
 * the last microbatch on, then all W in order. */
typedef enum rig_order { RIG_B, RIG_I_W, RIG_LATE, RIG_ORDERS } rig_order;

static inline void rig_forwards(rig *r, uint32_t j)
{
    for (uint32_t s = 0; s < r->work.stages; s++)
        rig_op(r, PP_OP_F, s, j);
}

static inline void rig_backwards(rig *r, pp_op_kind kind, uint32_t j)
{
    for (uint32_t s = r->work.stages; s-- > 0;)
        rig_op(r, kind, s, j);
}

static inline void rig_step(rig *r, rig_order order)
{
    const uint32_t m = r->work.microbatches;
    for (uint32_t j = 0; j < m; j++) {
        rig_forwards(r, j);
        if (order == RIG_LATE)
            continue;
        rig_backwards(r, order == RIG_B ? PP_OP_B : PP_OP_I, j);
        if (order == RIG_I_W)
            rig_backwards(r, PP_OP_W, j);
    }
    for (uint32_t j = m; order == RIG_LATE && j-- > 0;)
        rig_backwards(r, PP_OP_I, j);
    for (uint32_t j = 0; order == RIG_LATE && j < m; j++)
        rig_backwards(r, PP_OP_W, j);
}

/* Exchanges what the first and the last stage share, like the interpreter. */
static inline void rig_tie(rig *r)
{
    const uint32_t last = r->work.stages - 1;
    size_t bytes = pp_compute_cpu.tied_bytes(r->worker);
    void *first = malloc(bytes ? bytes : 1);
    void *second = malloc(bytes ? bytes : 1);
    if (bytes) {
        pp_compute_cpu.tied_get(r->worker, 0, first);
        pp_compute_cpu.tied_get(r->worker, last, second);
        pp_compute_cpu.tied_put(r->worker, 0, second);
        pp_compute_cpu.tied_put(r->worker, last, first);
    }
    free(first);
    free(second);
}

/* Values of all stages in order, as double. The caller frees. */
static inline double *rig_read(const rig *r, pp_values which, size_t *count_out)
{
    size_t count = 0;
    for (uint32_t s = 0; s < r->work.stages; s++)
        count += pp_compute_cpu.value_count(r->worker, s, which);
    double *values = malloc(count * sizeof *values + 8);
    double *next = values;
    for (uint32_t s = 0; s < r->work.stages; s++) {
        size_t n = pp_compute_cpu.value_count(r->worker, s, which);
        pp_compute_cpu.value_read(r->worker, s, which, next);
        for (size_t i = n; r->real_is_float && i-- > 0;) {
            float value;
            memcpy(&value, (char *)next + 4 * i, 4);
            next[i] = (double)value;
        }
        next += n;
    }
    for (size_t i = 0; i < count; i++)
        RIG_CHECK(!isnan(values[i]), "value %zu is not a number", i);
    *count_out = count;
    return values;
}

/* Largest difference, relative to the largest value; 0 means equal bits (but for the sign of 0). */
static inline double rig_compare(const rig *a, const rig *b, pp_values which)
{
    size_t na, nb;
    double *x = rig_read(a, which, &na);
    double *y = rig_read(b, which, &nb);
    double off = 0, most = 0;
    ck_assert_uint_eq(na, nb);
    ck_assert_uint_gt(na, 0);
    for (size_t i = 0; i < na; i++) {
        off = fmax(off, fabs(x[i] - y[i]));
        most = fmax(most, fabs(x[i]));
    }
    free(x);
    free(y);
    ck_assert(most > 0);
    return off / most;
}

static inline double rig_loss(const rig *r)
{
    size_t count;
    double *losses = rig_read(r, PP_VALUES_LOSSES, &count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += losses[i];
    free(losses);
    return sum;
}

/* Makes microbatches of given sequences. lengths: 0 ends a microbatch. Free with
 * pp_workload_free. */
static inline pp_workload rig_workload(const int64_t *lengths, uint32_t microbatches)
{
    pp_workload w = { .replicas = 1, .microbatches = microbatches };
    w.microbatch = calloc(microbatches, sizeof *w.microbatch);
    w.lengths = calloc(64, sizeof *w.lengths);
    for (uint32_t j = 0; j < microbatches; j++, lengths++) {
        w.microbatch[j].first = w.length_count;
        for (; *lengths; lengths++) {
            w.lengths[w.length_count++] = *lengths;
            w.microbatch[j].count++;
            w.microbatch[j].tokens += *lengths;
            w.microbatch[j].square_sum += *lengths * *lengths;
        }
    }
    return w;
}

/* cases: the tests of one file. */
static inline int rig_main(const char *name, void (*add)(TCase *tc))
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 100);
    pp_err err = { 0 };
    pp_cpu_blas blas;
    if (pp_cpu_blas_open(&blas, &err)) /* built without OpenBLAS */
        return err.status == PP_UNAVAILABLE && strstr(err.text, "tools/setup") ? 77 : EXIT_FAILURE;
    add(tc);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
