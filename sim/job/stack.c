/* Reads stack files, by tables of the members of each group, and gives the switches of a stack for
 * a job. */
#include "sim/job/stack.h"

#include "sim/base/json.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct flag {
    const char *key;
    size_t field; /* offset of a bool in pp_stack */
} flag;

#define FEATURE(name)                       \
    {                                       \
#name, offsetof(pp_stack, has.name) \
    }
#define SETTING(name)                            \
    {                                            \
#name, offsetof(pp_stack, switches.name) \
    }

static const flag features[] = {
    FEATURE(sequence_parallel), FEATURE(distributed_optimizer), FEATURE(context_parallel),
    FEATURE(expert_parallel),   FEATURE(selective_recompute),   FEATURE(free_schedules),
};
static const flag settings[] = {
    SETTING(flash_attention), SETTING(grad_sync_overlap),  SETTING(p2p_overlap),
    SETTING(tp_overlap),      SETTING(tp_overlap_all),     SETTING(fused_wgrad),
    SETTING(fused_loss),      SETTING(transformer_engine), SETTING(scatter_gather),
};

/* Opens an object that has these flags and, with `more`, other members; and its source. */
static pp_status read_flags(const pp_json_at *root, const char *group, const flag *flags,
                            size_t count, const char *const more[], pp_stack *stack,
                            pp_json_at *at_out, pp_err *err)
{
    const char *keys[16] = { "source" };
    const char *source;
    size_t used = 1;
    for (size_t i = 0; i < count; i++)
        keys[used++] = flags[i].key;
    for (size_t i = 0; more[i]; i++)
        keys[used++] = more[i];
    pp_status status = pp_json_get(root, group, at_out, err);
    if (!status)
        status = pp_json_only(at_out, keys, err);
    if (!status)
        status = pp_json_get_text(at_out, "source", &source, err);
    for (size_t i = 0; i < count && !status; i++) {
        bool on = false;
        status = pp_json_get_bool(at_out, flags[i].key, &on, err);
        memcpy((char *)stack + flags[i].field, &on, sizeof on);
    }
    return status;
}

static pp_status read_dtype(const pp_json_at *at, const char *key, pp_dtype *dtype_out, pp_err *err)
{
    const char *name = "";
    pp_status status = pp_json_get_text(at, key, &name, err);
    for (size_t i = 0; pp_dtype_names()[i] && !status; i++) {
        if (strcmp(pp_dtype_names()[i], name) == 0) {
            *dtype_out = (pp_dtype)i;
            return PP_OK;
        }
    }
    return status ? status
                  : pp_json_fail(at, err, "%s \"%.40s\" is not one of bf16, fp16, fp32", key, name);
}

/* A speed, with a source and how the number was found. */
static pp_status read_gpu(const pp_json_at *at, pp_stack_gpu *gpu, pp_err *err)
{
    static const char *const keys[] = { "architecture", "sustained", "sustained_low",
                                        "source",       "status",    NULL };
    static const char *const statuses[] = { "published", "kernel fit", "step fit", "prior" };
    const char *source, *how = "";
    pp_status status = pp_json_only(at, keys, err);
    if (status ||
        (status = pp_json_get_name(at, "architecture", gpu->architecture, sizeof gpu->architecture,
                                   err)) ||
        (status = pp_json_get_double(at, "sustained", 0.1, 2, &gpu->sustained, err)) ||
        (status = pp_json_get_double(at, "sustained_low", 0.1, 2, &gpu->sustained_low, err)) ||
        (status = pp_json_get_text(at, "source", &source, err)) ||
        (status = pp_json_get_text(at, "status", &how, err)))
        return status;
    for (size_t i = 0; i < COUNT(statuses); i++) {
        if (strcmp(statuses[i], how) == 0)
            return PP_OK;
    }
    return pp_json_fail(
        at, err, "status \"%.40s\" is not one of published, kernel fit, step fit, prior", how);
}

static pp_status read_gpus(const pp_json_at *root, pp_stack *stack, pp_err *err)
{
    pp_json_at list;
    size_t count = 0;
    pp_status status = pp_json_get(root, "gpus", &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    if (!status && count > PP_STACK_GPUS_MAX)
        return pp_json_fail(&list, err, "has %zu architectures, but the limit is %d", count,
                            PP_STACK_GPUS_MAX);
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at at;
        status = pp_json_item(&list, i, &at, err);
        if (!status)
            status = read_gpu(&at, &stack->gpu[i], err);
    }
    stack->gpu_count = count;
    return status;
}

pp_status pp_stack_parse(const char *text, size_t bytes, const char *file, pp_stack *stack_out,
                         pp_err *err)
{
    static const char *const keys[] = { "format",   "version",  "name", "summary",
                                        "features", "settings", "gpus", NULL };
    static const char *const none[] = { NULL };
    static const char *const dtypes[] = { "grad_dtype", "dtype", NULL };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    const pp_json_at root = pp_json_root(json, file);
    pp_json_at at;
    pp_stack stack = { 0 };
    if ((status = pp_json_check_format(&root, "ppsim.stack", 1, err)) ||
        (status = pp_json_only(&root, keys, err)) ||
        (status = pp_json_get_name(&root, "name", stack.name, sizeof stack.name, err)) ||
        (status = pp_json_get_name(&root, "summary", stack.summary, sizeof stack.summary, err)) ||
        (status =
             read_flags(&root, "features", features, COUNT(features), none, &stack, &at, err)) ||
        (status =
             read_flags(&root, "settings", settings, COUNT(settings), dtypes, &stack, &at, err)) ||
        (status = read_dtype(&at, "grad_dtype", &stack.switches.grad_dtype, err)) ||
        (status = read_dtype(&at, "dtype", &stack.switches.dtype, err)) ||
        (status = read_gpus(&root, &stack, err)))
        return status;
    *stack_out = stack;
    return PP_OK;
}

pp_switches pp_stack_switches(const pp_stack *stack, const pp_hardware *hardware,
                              const pp_parallel *parallel)
{
    pp_switches s = stack->switches;
    s.recompute = PP_RECOMPUTE_AUTO;
    s.sequence_parallel = stack->has.sequence_parallel && parallel->tp > 1;
    s.zero = stack->has.distributed_optimizer && parallel->dp * parallel->cp > 1;
    for (size_t i = 0; i < stack->gpu_count && hardware; i++) {
        if (strcmp(stack->gpu[i].architecture, hardware->architecture) != 0)
            continue;
        s.sustained = stack->gpu[i].sustained;
        s.sustained_low = stack->gpu[i].sustained_low;
    }
    return s;
}
