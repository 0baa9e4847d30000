/* Reads and writes the "gpus" of a profile (docs/reference/formats.md): the states of GPUs before
 * and after each probe. Unknown facts are left out. */
#include "calib/measure/gpu_state_json.h"

/* Numeric fields that are stored under JSON keys of the same name. */
#define NUMBER_MAP(X) X(sm_mhz) X(memory_mhz) X(power_w) X(power_limit_w) X(celsius)

pp_json *pp_gpu_states_write(const pp_gpu_states *states, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json *list = pp_json_new_array(build);
    for (uint32_t i = 0; i < states->count; i++) {
        const pp_gpu_state *s = &states->state[i];
        pp_json *item = pp_json_new_object(build);
        pp_json_put_text(build, item, "probe", s->probe);
        pp_json_put_bool(build, item, "after", s->after);
        pp_json_put_int(build, item, "gpu", s->gpu);
        pp_json_put_text(build, item, "name", s->name[0] ? s->name : NULL);
#define PUT(key)     \
    if (s->key >= 0) \
        pp_json_put_double(build, item, #key, s->key);
        NUMBER_MAP(PUT)
#undef PUT
        if (s->reasons >= 0)
            pp_json_put_int(build, item, "reasons", s->reasons);
        pp_json_add(build, list, item);
    }
    pp_json_put_text(build, object, "driver", states->driver[0] ? states->driver : NULL);
    pp_json_put_text(build, object, "lacks", states->lacks[0] ? states->lacks : NULL);
    pp_json_put(build, object, "states", list);
    return object;
}

static pp_status read_state(const pp_json_at *at, pp_gpu_state *s, pp_err *err)
{
    static const char *const keys[] = { "probe",
                                        "after",
                                        "gpu",
                                        "name",
                                        "reasons",
#define KEY(key) #key,
                                        NUMBER_MAP(KEY)
#undef KEY
                                            NULL };
    int64_t index = 0;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = pp_json_get_name(at, "probe", s->probe, sizeof s->probe, err)) ||
        (status = pp_json_get_bool(at, "after", &s->after, err)) ||
        (status = pp_json_get_int(at, "gpu", 0, INT32_MAX, &index, err)) ||
        (status = pp_json_get_optional_name(at, "name", s->name, sizeof s->name, err)))
        return status;
    s->gpu = (int32_t)index;
    s->reasons = -1;
    if (pp_json_has(at, "reasons") &&
        (status = pp_json_get_int(at, "reasons", 0, UINT32_MAX, &s->reasons, err)) != PP_OK)
        return status;
#define READ(key)                                                               \
    s->key = -1;                                                                \
    if (pp_json_has(at, #key) &&                                                \
        (status = pp_json_get_double(at, #key, 0, 1e6, &s->key, err)) != PP_OK) \
        return status;
    NUMBER_MAP(READ)
#undef READ
    return PP_OK;
}

pp_status pp_gpu_states_read(const pp_json_at *at, pp_gpu_states *states_out, pp_err *err)
{
    static const char *const keys[] = { "driver", "lacks", "states", NULL };
    pp_json_at list, item;
    size_t count = 0;
    pp_status status;
    if ((status = pp_json_only(at, keys, err)) ||
        (status = pp_json_get_optional_name(at, "driver", states_out->driver,
                                            sizeof states_out->driver, err)) ||
        (status = pp_json_get_optional_name(at, "lacks", states_out->lacks,
                                            sizeof states_out->lacks, err)) ||
        (status = pp_json_get(at, "states", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    for (size_t i = 0; i < count && i < PP_GPU_STATES_MAX; i++) {
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = read_state(&item, &states_out->state[i], err)))
            return status;
        states_out->count++;
    }
    return PP_OK;
}
