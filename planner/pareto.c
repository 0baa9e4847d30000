#include "planner/pareto.h"

#include "planner/choose_int.h"
#include "sim/alloc.h"

#include <math.h>
#include <stdlib.h>

void pp_pareto_free(pp_pareto **pareto)
{
    if (!*pareto)
        return;
    free((*pareto)->point);
    free(*pareto);
    *pareto = NULL;
}

static void close_search(pp_search *search)
{
    pp_search_close(search);
}

static int compare_points(const void *left, const void *right)
{
    const pp_candidate *a = &((const pp_pareto_point *)left)->candidate;
    const pp_candidate *b = &((const pp_pareto_point *)right)->candidate;
    double x = pp_candidate_score(a, a->step_ns);
    double y = pp_candidate_score(b, b->step_ns);
    if (x != y)
        return x < y ? -1 : 1;
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? -1 : 1;
    return (a->setup > b->setup) - (a->setup < b->setup);
}

/* Everything that may fit is simulated: a slow candidate may be the one that needs least. */
static pp_status simulate_all(pp_search *search, pp_pareto *out, pp_err *err)
{
    out->point = pp_alloc_array(search->count, sizeof *out->point);
    if (!out->point)
        return pp_err_nomem(err);
    for (size_t i = 0; i < search->count; i++) {
        pp_candidate *c = &search->candidate[i];
        if (c->status != PP_CANDIDATE_PRUNED)
            continue;
        pp_status status = pp_candidate_simulate(search, c, err);
        if (status)
            return status;
        if (c->status == PP_CANDIDATE_OK)
            out->point[out->count++].candidate = *c;
    }
    out->simulated = search->simulated;
    return PP_OK;
}

/* Each keeps its place only where it needs less than all that are faster. */
static void keep_front(const pp_search *search, pp_pareto *out)
{
    size_t kept = 0;
    int64_t limit_bytes = search->memory_limit_bytes;
    qsort(out->point, out->count, sizeof *out->point, compare_points);
    for (size_t i = 0; i < out->count; i++) {
        pp_pareto_point now = out->point[i];
        if (now.candidate.peak_bytes > limit_bytes)
            continue;
        now.limit_bytes = limit_bytes;
        limit_bytes = now.candidate.peak_bytes - 1;
        out->point[kept++] = now;
        out->per_gpu |= pp_parallel_gpus(&now.candidate.parallel) !=
                        pp_parallel_gpus(&out->point[0].candidate.parallel);
    }
    out->count = kept;
}

/* The least bound of all setups, made for the point's limit. */
static pp_status bound_point(pp_search *search, pp_pareto_point *point, pp_err *err)
{
    const double gpus = (double)pp_parallel_gpus(&point->candidate.parallel);
    double least = pp_candidate_score(&point->candidate, point->candidate.step_ns);
    search->memory_limit_bytes = point->limit_bytes;
    for (size_t i = 0; i < search->setup_count; i++) {
        pp_setup setup = search->setup[i];
        const pp_candidate on = { .parallel = setup.context.parallel };
        if (!setup.legal || pp_candidate_score(&on, setup.least_step_ns) >= least)
            continue; /* a smaller limit only raises it */
        setup.bound = (pp_bound){ 0 };
        setup.least_step_ns = 0;
        pp_status status = pp_setup_find_bound(search, &setup, err);
        if (status)
            return status;
        if (setup.bound.fits)
            least = fmin(least, pp_candidate_score(&on, setup.least_step_ns));
    }
    point->least_step_ns = (pp_ns)(least / gpus);
    return PP_OK;
}

pp_status pp_pareto_find(const pp_wish *wish, pp_pareto **pareto_out, pp_err *err)
{
    pp_search search PP_CLEANUP(close_search) = { 0 };
    pp_pareto *pareto PP_CLEANUP(pp_pareto_free) = pp_alloc_array(1, sizeof *pareto);
    pp_wish all = *wish;
    if (!pareto)
        return pp_err_nomem(err);
    all.stop = NULL;
    all.max_simulations = 0;
    pp_status status = pp_search_open(&search, &all, err);
    if (status || (status = pp_search_enumerate(&search, err)) ||
        (status = simulate_all(&search, pareto, err)))
        return status;
    if (!pareto->count)
        return pp_search_repair(&search, err);
    keep_front(&search, pareto);
    for (size_t i = 0; i < pareto->count && !status; i++)
        status = bound_point(&search, &pareto->point[i], err);
    if (status)
        return status;
    *pareto_out = pareto;
    pareto = NULL; /* the caller's now */
    return PP_OK;
}

static pp_json *write_point(const pp_pareto_point *point, pp_json_build *build)
{
    const pp_candidate *c = &point->candidate;
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "limit_bytes", point->limit_bytes);
    pp_json_put_int(build, object, "peak_memory_bytes", c->peak_bytes);
    pp_json_put_int(build, object, "peak_memory_rank", c->peak_rank);
    pp_json_put_int(build, object, "step_ns", c->step_ns);
    pp_json_put_int(build, object, "least_step_ns", point->least_step_ns);
    pp_json_put_text(build, object, "schedule", c->schedule->name);
    pp_json_put_int(build, object, "vpp", c->parallel.vpp);
    pp_json_put_int(build, object, "tp", c->parallel.tp);
    pp_json_put_int(build, object, "gpus", pp_parallel_gpus(&c->parallel));
    pp_json_put_int(build, object, "micro_batch_size", c->micro_batch_size);
    pp_json_put_text(build, object, "recompute", pp_recompute_name(c->recompute));
    pp_json_put_text(build, object, "partition", pp_partition_name(c->partition));
    pp_json_put_double(build, object, "tokens_per_s", c->tokens_per_s);
    return object;
}

pp_json *pp_pareto_write(const pp_pareto *pareto, const pp_wish *wish, pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    pp_json *points = pp_json_new_array(build);
    pp_json_put_text(build, root, "format", "ppsim.pareto");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_text(build, root, "model", wish->model->name);
    pp_json_put_text(build, root, "hardware", wish->hardware->name);
    pp_json_put_int(build, root, "pp", wish->parallel.pp);
    pp_json_put_int(build, root, "simulated", (int64_t)pareto->simulated);
    for (size_t i = 0; i < pareto->count; i++)
        pp_json_add(build, points, write_point(&pareto->point[i], build));
    pp_json_put(build, root, "points", points);
    return root;
}

void pp_pareto_csv(const pp_pareto *pareto, pp_text *text)
{
    pp_candidate_csv(NULL, text);
    for (size_t i = 0; i < pareto->count; i++)
        pp_candidate_csv(&pareto->point[i].candidate, text);
}
