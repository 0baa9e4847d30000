#include "runtime/verify.h"

#include "runtime/sequential.h"
#include "sim/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "gradients", "parameters", "losses" };

/* Does every stage see its microbatches' W or B in ascending order? */
static bool is_ordered(const pp_program *program)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (uint32_t s = 0; s < program->stages; s++) {
            int64_t last = -1;
            for (size_t i = program->rank_begin[r]; i < program->rank_begin[r + 1]; i++) {
                pp_op op = program->op[i];
                if (op.stage != s || (op.kind != PP_OP_W && op.kind != PP_OP_B))
                    continue;
                if (op.microbatch < last)
                    return false;
                last = op.microbatch;
            }
        }
    }
    return true;
}

/* All values of all stages in one row: [kinds][stages], gradients first. */
typedef struct values {
    const pp_run_job *job;
    size_t unit;   /* bytes of a value */
    size_t *count; /* [3 * stages] */
    size_t total;  /* values */
} values;

/* worker: one that holds all stages. */
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

/* Reads what the workers of ranks [first, first + count) hold; the rest of `out` stays. */
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

/* What all ranks hold, in the process of rank 0. */
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

/* One stage and kind. */
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
                          " values are infinite or no numbers, which are equal whatever happened; "
                          "lower the learning rate (--compute-settings lr=...)",
                          verdict->endless, verdict->values);
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

static pp_status repeat(pp_sequential *sequential, uint32_t steps, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t n = 0; n < steps && !status; n++)
        status = pp_sequential_step(sequential, n, NULL, err);
    return status;
}

static pp_status compare_all(const values *v, void *sequential, const char *got, char *wanted,
                             pp_verdict *verdict, pp_err *err)
{
    const pp_run_job *job = v->job;
    uint32_t stages = job->program->stages;
    verdict->ordered = is_ordered(job->program);
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

pp_status pp_verify(const pp_run_job *job, uint32_t steps, pp_verdict *verdict_out, pp_err *err)
{
    pp_sequential *sequential PP_CLEANUP(pp_sequential_free) = NULL;
    values v = { 0 };
    uint32_t first = 0;
    uint32_t hosted = 0;
    *verdict_out = (pp_verdict){ 0 };
    if (!job->compute->value_bytes)
        return PP_OK;
    pp_status status =
        pp_sequential_new(job->compute, job->work, job->program, job->costs, &sequential, err);
    if (status || (status = count_values(job, sequential->worker, &v, err)))
        return status;
    char *got = pp_alloc_array(v.total, v.unit);
    char *wanted = pp_alloc_array(v.total, v.unit);
    job->transport->hosts(job->world, &first, &hosted);
    status = got && wanted ? gather(&v, got, err) : pp_err_nomem(err);
    if (!status && first == 0)
        status = repeat(sequential, steps, err);
    if (!status && first == 0)
        status = compare_all(&v, sequential->worker, got, wanted, verdict_out, err);
    free(got);
    free(wanted);
    free(v.count);
    return status;
}
