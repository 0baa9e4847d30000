/* Writes a Pareto front as JSON. */
#include "planner/study/pareto_json.h"

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

pp_json *pp_pareto_write(const pp_pareto *pareto, const pp_plan_request *request,
                         pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    pp_json *points = pp_json_new_array(build);
    pp_json_put_text(build, root, "format", "ppsim.pareto");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_text(build, root, "model", request->model->name);
    pp_json_put_text(build, root, "hardware", request->hardware->name);
    pp_json_put_int(build, root, "pp", request->parallel.pp);
    pp_json_put_int(build, root, "iterations", (int64_t)pareto->simulated);
    for (size_t i = 0; i < pareto->count; i++)
        pp_json_add(build, points, write_point(&pareto->point[i], build));
    pp_json_put(build, root, "points", points);
    return root;
}
