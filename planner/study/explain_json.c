/* Writes an explanation as JSON. */
#include "planner/study/explain_json.h"

static pp_json *write_candidate(const pp_candidate *c, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "gpus", pp_parallel_gpus(&c->parallel));
    pp_json_put_int(build, object, "step_ns", c->step_ns);
    pp_json_put_double(build, object, "tokens_per_s", c->tokens_per_s);
    pp_json_put_int(build, object, "peak_memory_bytes", c->peak_bytes);
    pp_json_put_text(build, object, "schedule", c->schedule->name);
    return object;
}

pp_json *pp_explanation_write(const pp_explanation *explanation, pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    pp_json *remedies = pp_json_new_array(build);
    pp_json *effects = pp_json_new_array(build);
    pp_json_put_text(build, root, "format", "ppsim.explanation");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_text(build, root, "miss", explanation->miss);
    pp_json_put_int(build, root, "short_bytes", explanation->short_bytes);
    pp_json_put(build, root, "asked", write_candidate(&explanation->asked, build));
    for (size_t i = 0; i < explanation->remedies; i++) {
        pp_json *object = write_candidate(&explanation->remedy[i].candidate, build);
        pp_json_put_text(build, object, "options", explanation->remedy[i].options);
        pp_json_add(build, remedies, object);
    }
    for (size_t i = 0; i < explanation->effects; i++) {
        const pp_effect *effect = &explanation->effect[i];
        pp_json *object = pp_json_new_object(build);
        pp_json_put_text(build, object, "change", effect->change);
        if (effect->fits || effect->short_bytes)
            pp_json_put_int(build, object, "short_bytes", effect->short_bytes);
        else
            pp_json_put_null(build, object, "short_bytes");
        pp_json_add(build, effects, object);
    }
    pp_json_put(build, root, "remedies", remedies);
    pp_json_put(build, root, "effects", effects);
    return root;
}
