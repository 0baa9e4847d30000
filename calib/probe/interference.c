/* Probe of the slow-down of compute and transfers by each other: one thread is measured while a
 * second thread does the other activity without a pause. One thread plays both ends of a transfer,
 * so two processors are enough. A timing is voided if the second thread had a processor for less
 * than 90 % of the time. */
#include "calib/measure/ops.h"
#include "calib/measure/ping.h"
#include "calib/probe/probe.h"
#include "calib/samples/environment.h"
#include "runtime/core/clock.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POINTS_MAX = 16, BESIDE_BYTES = 1 << 20, BESIDE_MIX = 0 };

#define BUSY 0.9 /* least share of the time for which the other thread must have a processor */

/* The series: the activity that is measured, and the one that runs meanwhile. */
enum {
    COMPUTE_ALONE,
    COMPUTE_BESIDE_COPY,
    COMPUTE_BESIDE_LINK,
    LINK_ALONE,
    LINK_BESIDE_COMPUTE,
    SERIES,
};

typedef enum activity {
    REST,
    COPY,
    LINK,
    COMPUTE,
    LEAVE,
} activity;

typedef struct pair {
    pp_subject subject;
    pp_point point[POINTS_MAX];
    size_t mix_of[POINTS_MAX];
    pp_mix mix[2];
    pp_ops *ops, *other_ops;
    pp_ping *ping, *other_ping;
    char *from, *to; /* buffers of the other thread's copies */
    bool started;
    pthread_t other;
    clockid_t other_clock;
    pthread_mutex_t lock; /* protects the five members below */
    pthread_cond_t changed;
    activity wanted, doing;
    pp_status other_status;
    pp_err other_err;
    atomic_int now; /* a copy of `wanted` that is read without the lock */
} pair;

static pp_status run_beside(pair *p, activity what, pp_err *err)
{
    if (what == COMPUTE)
        return pp_ops_run(p->other_ops, BESIDE_MIX, PP_OP_F, err);
    if (what == LINK)
        return pp_ping_alone(p->other_ping, BESIDE_BYTES, 1, NULL, err);
    memcpy(p->to, p->from, BESIDE_BYTES);
    __asm__ volatile("" : : "r"(p->to) : "memory"); /* keeps the compiler from removing copies */
    return PP_OK;
}

static void *accompany(void *argument)
{
    pair *p = argument;
    pp_status status = PP_OK;
    pp_err err = pp_err_like(&p->other_err);
    pthread_mutex_lock(&p->lock);
    while (p->wanted != LEAVE) {
        if (p->doing != p->wanted) {
            p->doing = p->wanted;
            pthread_cond_broadcast(&p->changed);
        }
        activity what = p->doing;
        if (what == REST || status) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        while (!status && atomic_load_explicit(&p->now, memory_order_relaxed) == (int)what)
            status = run_beside(p, what, &err);
        pthread_mutex_lock(&p->lock);
        p->other_status = status;
        p->other_err = err;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Makes the other thread do `what`, and waits until it does. */
static pp_status demand(pair *p, activity what, pp_err *err)
{
    pthread_mutex_lock(&p->lock);
    p->wanted = what;
    atomic_store(&p->now, (int)what);
    pthread_cond_broadcast(&p->changed);
    while (what != LEAVE && p->doing != what)
        pthread_cond_wait(&p->changed, &p->lock);
    pp_status status = p->other_status;
    if (status)
        pp_err_set(err, status, p->other_err.where, "%s", p->other_err.text);
    pthread_mutex_unlock(&p->lock);
    return status;
}

static void pair_close(void *state)
{
    pair *p = state;
    pp_err ignored = { 0 };
    if (!p)
        return;
    if (p->started) {
        (void)!demand(p, LEAVE, &ignored);
        pthread_join(p->other, NULL);
    }
    pp_ops_free(&p->ops);
    pp_ops_free(&p->other_ops);
    pp_ping_free(&p->ping);
    pp_ping_free(&p->other_ping);
    free(p->from);
    free(p->to);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static pp_status pair_prepare(void *context, size_t point, pp_err *err)
{
    static const activity beside[SERIES] = {
        [COMPUTE_ALONE] = REST, [COMPUTE_BESIDE_COPY] = COPY,    [COMPUTE_BESIDE_LINK] = LINK,
        [LINK_ALONE] = REST,    [LINK_BESIDE_COMPUTE] = COMPUTE,
    };
    pair *p = context;
    const uint32_t series = p->point[point].series;
    if (series < LINK_ALONE) {
        pp_status status = pp_ops_begin(p->ops, p->mix_of[point], err);
        if (status)
            return status;
    }
    return demand(p, beside[series], err);
}

static void pair_release(void *context, size_t point)
{
    pp_err ignored = { 0 };
    (void)point;
    (void)!demand(context, REST, &ignored); /* the next prepare reports a failure */
}

static int64_t other_ns(const pair *p)
{
    struct timespec now = { 0 };
    clock_gettime(p->other_clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static pp_status pair_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                          pp_err *err)
{
    pair *p = context;
    const uint32_t series = p->point[point].series;
    const bool alone = series == COMPUTE_ALONE || series == LINK_ALONE;
    pp_status status = PP_OK;
    int64_t other_began_ns = other_ns(p);
    int64_t began_ns = pp_clock_now_ns();
    if (series >= LINK_ALONE) {
        size_t bytes = (size_t)p->point[point].at[PP_VARIABLE_BYTES];
        status = pp_ping_alone(p->ping, bytes, runs, timing, err);
    } else {
        pp_timing_begin(timing);
        for (uint32_t i = 0; i < runs && !status; i++)
            status = pp_ops_run(p->ops, p->mix_of[point], PP_OP_F, err);
        pp_timing_end(timing, 0, runs);
    }
    double took_ns = (double)(pp_clock_now_ns() - began_ns);
    if (!alone && (double)(other_ns(p) - other_began_ns) < BUSY * took_ns)
        timing->lap[0].preemptions++; /* the other thread was preempted */
    return status;
}

static void add_compute(pair *p, size_t mix)
{
    for (uint32_t series = COMPUTE_ALONE; series <= COMPUTE_BESIDE_LINK; series++) {
        size_t at = p->subject.point_count++;
        p->mix_of[at] = mix;
        p->point[at] = pp_point_of(series, 1);
        pp_mix_variables(&p->mix[mix], p->point[at].at);
    }
}

static void add_link(pair *p, size_t bytes)
{
    for (uint32_t series = LINK_ALONE; series <= LINK_BESIDE_COMPUTE; series++) {
        size_t at = p->subject.point_count++;
        p->point[at] = pp_point_of(series, 1);
        p->point[at].at[PP_VARIABLE_BYTES] = (double)bytes;
    }
}

static void add_points(pair *p, pp_probe_scale scale)
{
    p->mix[0] = pp_mix_one(scale == PP_PROBE_TINY ? 32 : 128);
    p->mix[1] = pp_mix_skewed(512);
    add_compute(p, 0);
    add_link(p, BESIDE_BYTES);
    if (scale == PP_PROBE_FULL) {
        add_compute(p, 1);
        add_link(p, 65536);
        add_link(p, 4 * BESIDE_BYTES);
    }
}

static pp_status make(pair *p, const pp_probe_options *options, pp_err *err)
{
    const pp_transport *transport;
    const size_t mixes = options->scale == PP_PROBE_FULL ? 2 : 1;
    pp_status status;
    p->from = pp_alloc_array(BESIDE_BYTES, 1);
    p->to = pp_alloc_array(BESIDE_BYTES, 1);
    if (!p->from || !p->to)
        return pp_err_nomem(err);
    if ((status = pp_environment_need_two_cores(err)) ||
        (status = pp_ops_new(options, PP_OPS_MIDDLE, p->mix, mixes, &p->ops, err)) ||
        (status = pp_ops_new(options, PP_OPS_MIDDLE, p->mix, mixes, &p->other_ops, err)) ||
        (status = pp_ops_begin(p->other_ops, BESIDE_MIX, err)) ||
        (status = pp_transport_get("threads", &transport, err)) ||
        (status = pp_ping_new(transport, 4 * BESIDE_BYTES, &p->ping, err)) ||
        (status = pp_ping_new(transport, BESIDE_BYTES, &p->other_ping, err)))
        return status;
    int code = pthread_create(&p->other, NULL, accompany, p);
    p->started = code == 0;
    if (!code)
        code = pthread_getcpuclockid(p->other, &p->other_clock);
    return code ? pp_err_set(err, PP_UNAVAILABLE, NULL, "cannot start a second thread: %s",
                             strerror(code))
                : PP_OK;
}

static pp_status pair_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[SERIES] = {
        [COMPUTE_ALONE] = { .class_name = "compute_alone" },
        [COMPUTE_BESIDE_COPY] = { .class_name = "compute_beside_copy" },
        [COMPUTE_BESIDE_LINK] = { .class_name = "compute_beside_link" },
        [LINK_ALONE] = { .class_name = "link_alone", .link = true, .ranks = 2 },
        [LINK_BESIDE_COMPUTE] = { .class_name = "link_beside_compute", .link = true, .ranks = 2 },
    };
    pair *p = pp_alloc_array(1, sizeof *p);
    if (!p)
        return pp_err_nomem(err);
    pthread_mutex_init(&p->lock, NULL); /* cannot fail with default attributes on Linux */
    pthread_cond_init(&p->changed, NULL);
    p->other_err = pp_err_like(err);
    atomic_init(&p->now, REST);
    p->subject = (pp_subject){ .source = "probe interference, thread time",
                               .stopwatch = PP_STOPWATCH_THREAD,
                               .series = series,
                               .series_count = SERIES,
                               .point = p->point,
                               .context = p,
                               .prepare = pair_prepare,
                               .release = pair_release,
                               .run = pair_run };
    add_points(p, options->scale);
    pp_status status = make(p, options, err);
    if (status) {
        pair_close(p);
        return status;
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_interference = {
    .name = "interference",
    .summary = "slow-down of compute and transfers while they overlap, for",
    .setting = PP_FIELD_OVERLAP_SLOWDOWN,
    .share = 15,
    .open = pair_open,
    .close = pair_close,
};
