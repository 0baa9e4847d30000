/* Verifies a pipelined run against a sequential one.
 *
 * Some weights are moved a little, one at a time: central differences of the loss must equal the
 * gradients. Then the steps are repeated sequentially, and gradients, parameters and losses are
 * compared: bit by bit if both sum in the same order, otherwise within a tolerance relative to the
 * largest value of a stage and kind. A compute that has a reference (cuda: cpu in double) is
 * compared with that too. */
#include "runtime/verify/verify.h"

#include "runtime/verify/sequential.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "gradients", "parameters", "losses" };

/* Returns whether a stage sums the gradients of its weights in the order of the microbatches in
 * `microbatch_order`. first: `microbatch_order` is set to the order of this stage. */
static bool follows_order(const pp_program *program, uint32_t rank, uint32_t stage, bool first,
                          uint32_t *microbatch_order)
{
    uint32_t n = 0;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        pp_op op = program->op[i];
        if (op.stage != stage || (op.kind != PP_OP_W && op.kind != PP_OP_B))
            continue;
        if (first)
            microbatch_order[n] = op.microbatch;
        if (microbatch_order[n++] != op.microbatch)
            return false;
    }
    return true;
}

/* Floating-point sums are equal to the bit only in one order. If all stages take the microbatches
 * in the same order, `microbatch_order` becomes that order, for the sequential run. Returns false
 * if they do not; `microbatch_order` is ascending then. */
static bool find_microbatch_order(const pp_program *program, uint32_t *microbatch_order)
{
    bool same = true;
    for (uint32_t s = 0; s < program->stages && same; s++)
        same = follows_order(program, program->stage_rank[s], s, s == 0, microbatch_order);
    for (uint32_t j = 0; j < program->microbatches && !same; j++)
        microbatch_order[j] = j;
    return same;
}

/* All values of all stages in one array: [kinds][stages], gradients first. */
typedef struct values {
    const pp_run_job *job;
    size_t unit;   /* bytes of a value */
    size_t *count; /* [3 * stages] */
    size_t total;  /* values */
} values;

/* Counts the values. worker: one that holds all stages. */
static pp_status count_values(const pp_run_job *job, const void *worker, values *v, pp_err *err)
{
    uint32_t stages = job->program->stages;
    *v = (values){ .job = job, .unit = job->compute->value_bytes(worker) };
    v->count = pp_alloc_array(3 * (size_t)stages, sizeof *v->count);
    if (!v->count)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < 3 * stages; k++) {
        v->count[k] = job->compute->value_count(worker, k % stages, (pp_values)(k / stages));
        v->total += v->count[k];
    }
    return PP_OK;
}

/* Reads the values of the workers of ranks [first, first + count) and leaves the rest of `out` as
 * it is. */
static void read_values(const values *v, uint32_t first, uint32_t count, char *out)
{
    const pp_run_job *job = v->job;
    uint32_t stages = job->program->stages;
    for (uint32_t k = 0; k < 3 * stages; k++) {
        uint32_t rank = job->program->stage_rank[k % stages];
        if (rank >= first && rank < first + count && v->count[k])
            job->compute->value_read(job->worker[rank], k % stages, (pp_values)(k / stages), out);
        out += v->count[k] * v->unit;
    }
}

/* Gathers the values of all ranks in the process of rank 0. */
static pp_status gather(const values *v, char *out, pp_err *err)
{
    const pp_run_job *job = v->job;
    uint32_t stages = job->program->stages;
    uint32_t first = 0;
    uint32_t count = 0;
    job->transport->hosts(job->world, &first, &count);
    read_values(v, first, count, out);
    if (count == job->program->ranks)
        return PP_OK;
    size_t bytes = v->total * v->unit;
    char *all = pp_alloc_array(job->program->ranks, bytes);
    if (!all)
        return pp_err_nomem(err);
    pp_status status = job->transport->all_gather(job->world, first, out, bytes, all, err);
    size_t at = 0;
    for (uint32_t k = 0; k < 3 * stages && !status; k++) {
        size_t part = v->count[k] * v->unit;
        memcpy(out + at, all + job->program->stage_rank[k % stages] * bytes + at, part);
        at += part;
    }
    free(all);
    return status;
}

static double value_at(const values *v, const char *row, size_t index)
{
    double wide;
    float narrow;
    memcpy(&wide, row + index * v->unit, v->unit == 8 ? sizeof wide : 0);
    memcpy(&narrow, row + index * v->unit, v->unit == 4 ? sizeof narrow : 0);
    return v->unit == 8 ? wide : (double)narrow;
}

/* Compares the values of one stage and kind. */
static void compare(const values *v, uint32_t k, const char *got, const char *wanted,
                    pp_verdict *verdict)
{
    uint32_t stages = v->job->program->stages;
    double largest = 0;
    double worst = 0;
    for (size_t i = 0; i < v->count[k]; i++) {
        double a = value_at(v, got, i);
        double b = value_at(v, wanted, i);
        verdict->endless += !isfinite(a) || !isfinite(b);
        verdict->differing += memcmp(got + i * v->unit, wanted + i * v->unit, v->unit) != 0;
        largest = fabs(b) > largest ? fabs(b) : largest;
        double off = fabs(a - b);
        worst = off > worst || !(off == off) ? (off == off ? off : (double)INFINITY) : worst;
    }
    verdict->values += v->count[k];
    worst = worst > 0 ? worst / (largest > 0 ? largest : 1) : 0;
    if (worst > verdict->worst) {
        verdict->worst = worst;
        verdict->worst_stage = k % stages;
        verdict->worst_values = (pp_values)(k / stages);
    }
}

static pp_status judge(const pp_verdict *verdict, pp_err *err)
{
    bool equal = verdict->ordered ? verdict->differing == 0 : verdict->worst <= verdict->tolerance;
    if (equal && verdict->endless)
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "nothing was verified: %" PRIu64 " of %" PRIu64
                          " values are infinite or not numbers, so that a comparison shows "
                          "nothing; lower the learning rate (%s lr=...)",
                          verdict->endless, verdict->values,
                          pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS));
    if (equal)
        return PP_OK;
    return pp_err_set(
        err, PP_INFEASIBLE, NULL,
        "verification failed: %" PRIu64 " of %" PRIu64
        " values differ from the sequential run, %s of stage %" PRIu32
        " by %.3g relative (%.g is allowed); the schedule or the transport delivered wrong "
        "tensors",
        verdict->differing, verdict->values, names[verdict->worst_values], verdict->worst_stage,
        verdict->worst, verdict->tolerance);
}

/* Returns the loss of the first microbatch with one weight moved. */
static pp_status loss_with(pp_sequential *s, uint32_t stage, size_t index, double by,
                           double *losses, double *loss_out, pp_err *err)
{
    uint32_t last = s->program->stages - 1;
    s->compute->value_nudge(s->worker, stage, index, by);
    pp_status status = pp_sequential_loss(s, 0, err);
    s->compute->value_nudge(s->worker, stage, index, -by);
    s->compute->value_read(s->worker, last, PP_VALUES_LOSSES, losses);
    *loss_out = losses[0];
    return status;
}

/* Compares the gradient of one weight with a central difference of the loss. */
static pp_status compare_slope(pp_sequential *s, uint32_t stage, size_t index,
                               const double *gradients, size_t count, double *losses,
                               pp_verdict *verdict, pp_err *err)
{
    const double by = 1e-5;
    double above = 0;
    double below = 0;
    double largest = 0;
    pp_status status = loss_with(s, stage, index, by, losses, &above, err);
    if (!status)
        status = loss_with(s, stage, index, -by, losses, &below, err);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        largest = fabs(gradients[i]) > largest ? fabs(gradients[i]) : largest;
    double off = fabs((above - below) / (2 * by) - gradients[index]) / (largest > 0 ? largest : 1);
    verdict->slopes++;
    verdict->worst_slope = off > verdict->worst_slope ? off : verdict->worst_slope;
    if (off <= PP_VERIFY_TOLERANCE_SLOPE)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "verification failed: weight %zu of stage %" PRIu32
                      " has gradient %.9g, but moving it changes the loss by %.9g per unit; the "
                      "backward of this compute does not match its forward",
                      index, stage, gradients[index], (above - below) / (2 * by));
}

/* Does this for weights of all stages, one stage after the other. The worker has the initial
 * weights, and keeps them up to rounding. */
static pp_status compare_slopes(pp_sequential *s, const values *v, pp_verdict *verdict, pp_err *err)
{
    uint32_t stages = s->program->stages;
    uint64_t state = s->work->seed;
    if (v->unit != sizeof(double) || s->program->forward_only || !s->compute->value_nudge)
        return PP_OK;
    double *row = pp_alloc_array(v->total, sizeof *row);
    double *losses = pp_alloc_array(v->total, sizeof *losses);
    pp_status status = row && losses ? PP_OK : pp_err_nomem(err);
    uint32_t wanted =
        stages < PP_VERIFY_SLOPES ? PP_VERIFY_SLOPES / stages * stages : PP_VERIFY_SLOPES;
    for (uint32_t k = 0; k < wanted && !status; k++) {
        uint32_t stage = (uint32_t)((uint64_t)k * stages / wanted);
        size_t count = v->count[stage];
        if (!count)
            continue;
        if (!(status = pp_sequential_gradient(s, 0, err))) {
            s->compute->value_read(s->worker, stage, PP_VALUES_GRADIENTS, row);
            status = compare_slope(s, stage, pp_random_next(&state) % count, row, count, losses,
                                   verdict, err);
        }
    }
    free(row);
    free(losses);
    return status;
}

/* Checks gradients on a separate worker, since weights that were moved and moved back are no longer
 * the same to the bit. */
static pp_status check_slopes(const pp_run_job *job, const values *v,
                              const volatile sig_atomic_t *stop, pp_verdict *verdict, pp_err *err)
{
    pp_sequential *sequential PP_CLEANUP(pp_sequential_free) = NULL;
    pp_status status =
        pp_sequential_new(job->compute, job->work, job->program, job->costs, &sequential, err);
    if (status)
        return status;
    sequential->stop = stop;
    return compare_slopes(sequential, v, verdict, err);
}

static pp_status compare_all(const values *v, void *sequential, const char *got, char *wanted,
                             pp_verdict *verdict, pp_err *err)
{
    const pp_run_job *job = v->job;
    uint32_t stages = job->program->stages;
    verdict->tolerance = verdict->ordered ? 0
                         : v->unit == 8   ? PP_VERIFY_TOLERANCE_DOUBLE
                                          : PP_VERIFY_TOLERANCE_FLOAT;
    size_t at = 0;
    for (uint32_t k = 0; k < 3 * stages; k++) {
        if (v->count[k])
            job->compute->value_read(sequential, k % stages, (pp_values)(k / stages), wanted + at);
        compare(v, k, got + at, wanted + at, verdict);
        at += v->count[k] * v->unit;
    }
    for (size_t i = v->total - v->count[3 * stages - 1]; i < v->total; i++)
        verdict->loss += value_at(v, got, i);
    verdict->compared = true;
    return judge(verdict, err);
}

/* Finds the largest difference between the values `got` and those of a sequential run of the
 * reference. */
static pp_status compare_reference(const values *v, pp_sequential *s, const char *got,
                                   pp_verdict *verdict, pp_err *err)
{
    uint32_t stages = v->job->program->stages;
    double *wanted = pp_alloc_array(v->total, sizeof *wanted);
    pp_status status = wanted ? PP_OK : pp_err_nomem(err);
    uint32_t worst = 0;
    for (uint32_t k = 0; k < 3 * stages && !status; k++) {
        double largest = 0;
        double most = 0;
        if (v->count[k])
            s->compute->value_read(s->worker, k % stages, (pp_values)(k / stages), wanted);
        for (size_t i = 0; i < v->count[k]; i++) {
            double off = fabs(value_at(v, got, i) - wanted[i]);
            largest = fabs(wanted[i]) > largest ? fabs(wanted[i]) : largest;
            most = off > most || !(off == off) ? (off == off ? off : (double)INFINITY) : most;
        }
        most = most > 0 ? most / (largest > 0 ? largest : 1) : 0;
        worst = most > verdict->worst_reference ? k : worst;
        verdict->worst_reference = fmax(verdict->worst_reference, most);
        got += v->count[k] * v->unit;
    }
    free(wanted);
    if (status || verdict->worst_reference <= verdict->reference_tolerance)
        return status;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "verification failed: %s of stage %" PRIu32
                      " differ by %.3g relative from those of compute %s in double (%.g is "
                      "allowed); the math of compute %s is wrong",
                      names[worst / stages], worst % stages, verdict->worst_reference,
                      s->compute->name, verdict->reference_tolerance, v->job->compute->name);
}

static pp_status check_reads(const pp_run_job *job, uint32_t first, uint32_t hosted, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t r = first; r < first + hosted && job->compute->check && !status; r++)
        status = job->compute->check(job->worker[r], err);
    return status;
}

/* The sequential runs of all replicas. */
typedef struct replicas {
    pp_sequential **run; /* [count] */
    uint32_t count;
} replicas;

static void replicas_free(replicas *all)
{
    for (uint32_t k = 0; all->run && k < all->count; k++)
        pp_sequential_free(&all->run[k]);
    free(all->run);
}

/* ordered_out: all ranks of all replicas sum in one order, which the sequential runs then have. */
static pp_status replicas_new(const pp_run_job *const *replica, uint32_t count,
                              const volatile sig_atomic_t *stop, replicas *all, bool *ordered_out,
                              pp_err *err)
{
    pp_status status = PP_OK;
    *all = (replicas){ .run = pp_alloc_array(count, sizeof *all->run), .count = count };
    if (!all->run)
        return pp_err_nomem(err);
    *ordered_out = true;
    for (uint32_t k = 0; k < count && !status; k++) {
        const pp_run_job *job = replica[k];
        status =
            pp_sequential_new(job->compute, job->work, job->program, job->costs, &all->run[k], err);
        if (status)
            break;
        all->run[k]->stop = stop;
        if (!find_microbatch_order(job->program, all->run[k]->microbatch_order))
            *ordered_out = false;
    }
    return status;
}

/* The sequential run of one replica on the reference backend, whose tensors have sizes of their
 * own. costs_out: those sizes, which the run uses. *sequential_out stays NULL if the backend is not
 * here. */
static pp_status new_reference(const pp_run_job *job, const uint32_t *microbatch_order,
                               pp_verdict *verdict, pp_costs **costs_out,
                               pp_sequential **sequential_out, pp_err *err)
{
    const pp_compute *compute = NULL;
    char settings[PP_SETTINGS_MAX];
    pp_compute_work work = *job->work;
    pp_err missing = pp_err_like(err);
    pp_status status =
        job->compute->reference(&work, &compute, &verdict->reference_tolerance, settings, err);
    if (status || (status = pp_costs_spread(job->costs, costs_out, err)))
        return status;
    work.settings = settings;
    work.costs = *costs_out;
    status = compute->describe(&work, *costs_out, &missing);
    if (status == PP_UNAVAILABLE)
        return PP_OK;
    if (status)
        return pp_err_set(err, status, missing.where, "%s", missing.text);
    status = pp_sequential_new(compute, &work, job->program, *costs_out, sequential_out, err);
    if (status)
        return status;
    (*sequential_out)->work = job->work; /* that of this function ends with it */
    memcpy((*sequential_out)->microbatch_order, microbatch_order,
           job->program->microbatches * sizeof *microbatch_order);
    return PP_OK;
}

/* Repeats the steps of all replicas on the reference backend. verdict->referred stays false if it
 * is not here. */
static pp_status check_reference(const values *v, const pp_run_job *const *replica,
                                 const replicas *sequential, uint32_t own, uint32_t steps,
                                 const char *got, pp_verdict *verdict, pp_err *err)
{
    const uint32_t count = sequential->count;
    replicas all PP_CLEANUP(replicas_free) = { .count = count };
    pp_costs **costs = pp_alloc_array(count, sizeof *costs);
    pp_status status = PP_OK;
    all.run = pp_alloc_array(count, sizeof *all.run);
    if (!costs || !all.run)
        status = pp_err_nomem(err);
    for (uint32_t k = 0; k < count && !status; k++) {
        status = new_reference(replica[k], sequential->run[k]->microbatch_order, verdict, &costs[k],
                               &all.run[k], err);
        verdict->referred = !status && all.run[k];
        if (!verdict->referred)
            break;
        all.run[k]->stop = sequential->run[k]->stop;
    }
    for (uint32_t n = 0; n < steps && verdict->referred && !status; n++)
        status = pp_sequential_step_all(all.run, count, n, err);
    if (!status && verdict->referred)
        status = compare_reference(v, all.run[own], got, verdict, err);
    for (uint32_t k = 0; costs && k < count; k++)
        pp_costs_free(&costs[k]);
    free(costs);
    return status;
}

pp_status pp_verify(const pp_run_job *job, uint32_t steps, const volatile sig_atomic_t *stop,
                    pp_verdict *verdict_out, pp_err *err)
{
    const pp_run_job *const *replica = job->replica ? job->replica : &job;
    const uint32_t count = job->replica ? job->work->replicas : 1;
    replicas all PP_CLEANUP(replicas_free) = { 0 };
    values v = { 0 };
    uint32_t first = 0;
    uint32_t hosted = 0;
    *verdict_out = (pp_verdict){ 0 };
    if (!job->compute->value_bytes)
        return PP_OK;
    pp_status status = replicas_new(replica, count, stop, &all, &verdict_out->ordered, err);
    if (status)
        return status;
    const pp_sequential *own = all.run[count > 1 ? job->work->replica : 0];
    if ((status = count_values(job, own->worker, &v, err)))
        return status;
    char *got = pp_alloc_array(v.total, v.unit);
    char *wanted = pp_alloc_array(v.total, v.unit);
    job->transport->hosts(job->world, &first, &hosted);
    status = got && wanted ? gather(&v, got, err) : pp_err_nomem(err);
    if (!status)
        status = check_reads(job, first, hosted, err);
    if (!status && first == 0)
        status = check_slopes(job, &v, stop, verdict_out, err);
    for (uint32_t n = 0; n < steps && !status && first == 0; n++)
        status = pp_sequential_step_all(all.run, count, n, err);
    if (!status && first == 0)
        status = compare_all(&v, own->worker, got, wanted, verdict_out, err);
    if (!status && first == 0 && job->compute->check)
        status = job->compute->check(own->worker, err);
    if (!status && first == 0 && job->compute->reference)
        status = check_reference(&v, replica, &all, count > 1 ? job->work->replica : 0, steps, got,
                                 verdict_out, err);
    free(got);
    free(wanted);
    free(v.count);
    return status;
}
