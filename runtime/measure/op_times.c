/* Measures what ops take on this machine: each stage and microbatch in turn on one worker, the
 * mean of five passes after one to warm up, while other threads do the same work, as the other
 * ranks of a run will. */
#include "runtime/measure/op_times.h"

#include "runtime/verify/sequential.h"
#include "sim/base/processors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MEASURED_PASSES 5
#define NEIGHBOURS_MAX 63

/* A thread that does the same work while ops are measured, because in a run all ranks compute at
 * once and share caches, memory and clocks. */
typedef struct load_thread {
    pp_sequential *sequential;
    pthread_t thread;
    atomic_bool *over;
    bool started;
} load_thread;

static void *keep_busy(void *argument)
{
    const load_thread *n = argument;
    pp_err ignored = { 0 };
    while (!atomic_load(n->over) && !pp_sequential_step(n->sequential, 0, NULL, &ignored))
        ;
    return NULL;
}

/* Starts the load threads. If memory or threads do not suffice there is less load than in the run,
 * which is not a failure. */
static void start_load(const pp_run_plan_options *options, const pp_execution *x, load_thread *n,
                       atomic_bool *over)
{
    pp_err ignored = { 0 };
    n->over = over;
    if (!pp_sequential_new(options->compute, &x->work, x->program, x->costs, &n->sequential,
                           &ignored))
        n->sequential->stop = options->stop;
    if (n->sequential)
        n->started = pthread_create(&n->thread, NULL, keep_busy, n) == 0;
}

static void stop_load(load_thread *n)
{
    if (n->started)
        pthread_join(n->thread, NULL);
    pp_sequential_free(&n->sequential);
}

static void divide(pp_ns *table, size_t count, pp_ns by)
{
    for (size_t i = 0; i < count; i++)
        table[i] = (table[i] + by / 2) / by;
}

/* Takes means over all passes, not medians, because a step is the sum of its ops including slow
 * ones. */
static pp_status time_ops(pp_sequential *sequential, pp_costs *costs, pp_err *err)
{
    const size_t count = (size_t)costs->classes * costs->stages;
    pp_costs *sum PP_CLEANUP(pp_costs_free) = NULL;
    pp_status status = pp_sequential_step(sequential, 0, NULL, err); /* warms up */
    if (status || (status = pp_costs_spread(costs, &sum, err)))
        return status;
    pp_ns *const from[] = { sum->f_ns, sum->i_ns, sum->w_ns, sum->b_ns };
    pp_ns *const to[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    for (size_t k = 0; k < 4; k++)
        memset(from[k], 0, count * sizeof *from[k]);
    for (uint32_t n = 0; n < MEASURED_PASSES && !status; n++)
        status = pp_sequential_step(sequential, n, sum, err);
    for (size_t k = 0; k < 4 && !status; k++) {
        divide(from[k], count, MEASURED_PASSES);
        memcpy(to[k], from[k], count * sizeof *to[k]);
    }
    return status;
}

pp_status pp_measure_ops(const pp_run_plan_options *options, pp_execution *x, pp_err *err)
{
    pp_sequential *sequential PP_CLEANUP(pp_sequential_free) = NULL;
    load_thread load_threads[NEIGHBOURS_MAX] = { 0 };
    atomic_bool over = false;
    uint32_t processors = pp_processors();
    const uint64_t ranks = (uint64_t)x->work.ranks * (x->work.replicas ? x->work.replicas : 1);
    pp_status status =
        pp_sequential_new(options->compute, &x->work, x->program, x->costs, &sequential, err);
    if (status)
        return status;
    sequential->stop = options->stop;
    for (uint32_t k = 0; k < NEIGHBOURS_MAX && !options->compute->memory; k++) {
        if (k + 1 < ranks && k + 1 < processors)
            start_load(options, x, &load_threads[k], &over);
    }
    status = time_ops(sequential, x->costs, err);
    atomic_store(&over, true);
    for (uint32_t k = 0; k < NEIGHBOURS_MAX; k++)
        stop_load(&load_threads[k]);
    return status;
}
