/* Reads stack files, by tables of the members of each group, and gives the switches of a stack for
 * a job. */
#include "sim/job/stack.h"

#include "sim/base/json.h"
#include "sim/base/text.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct flag {
    const char *key;
    size_t field;  /* offset of a bool in pp_stack */
    bool optional; /* off if it is absent */
} flag;

#define FEATURE(name)                              \
    {                                              \
#name, offsetof(pp_stack, has.name), false \
    }
#define SETTING(name)                                   \
    {                                                   \
#name, offsetof(pp_stack, switches.name), false \
    }
#define OPTIONAL(name)                                 \
    {                                                  \
#name, offsetof(pp_stack, switches.name), true \
    }

static const flag features[] = {
    FEATURE(sequence_parallel),
    FEATURE(distributed_optimizer),
    FEATURE(context_parallel),
    FEATURE(expert_parallel),
    FEATURE(selective_recompute),
    FEATURE(free_schedules),
    { "recompute_modules", offsetof(pp_stack, has.recompute_modules), true },
};
static const flag settings[PP_STACK_SETTINGS] = {
    SETTING(flash_attention), SETTING(grad_sync_overlap),  SETTING(p2p_overlap),
    SETTING(tp_overlap),      SETTING(tp_overlap_all),     SETTING(fused_wgrad),
    SETTING(fused_loss),      SETTING(transformer_engine), SETTING(scatter_gather),
    SETTING(eager_loss),      OPTIONAL(eager_layers),      OPTIONAL(deterministic),
    OPTIONAL(cuda_graphs),
};

/* Opens an object that has these flags and, with `more`, other members; and its source. */
static pp_status read_flags(const pp_json_at *root, const char *group, const flag *flags,
                            size_t count, const char *const more[], pp_stack *stack,
                            pp_json_at *at_out, pp_err *err)
{
    const char *keys[PP_STACK_SETTINGS + 8] = { "source" }; /* of settings, and a few more */
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
        if (!flags[i].optional || pp_json_has(at_out, flags[i].key))
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

/* A setting with names; the first if it is absent. */
static pp_status read_choice(const pp_json_at *at, const char *key, const char *const names[],
                             int *index_out, pp_err *err)
{
    pp_text known PP_CLEANUP(pp_text_free) = { 0 };
    const char *name = "";
    int k = 0;
    if (!pp_json_has(at, key))
        return PP_OK;
    pp_status status = pp_json_get_text(at, key, &name, err);
    if (status)
        return status;
    for (; names[k] && strcmp(names[k], name) != 0; k++)
        pp_text_add(&known, "%s%s", k ? ", " : "", names[k]);
    *index_out = k;
    return names[k] ? PP_OK
                    : pp_json_fail(at, err, "%s \"%.40s\" is not one of %s", key, name,
                                   known.data ? known.data : "");
}

/* A number of a stack on an architecture: where it is kept, and what it may be. */
typedef struct gpu_number {
    const char *key;
    size_t field; /* of pp_stack_gpu */
    double least, most;
} gpu_number;

static const gpu_number numbers[] = {
    { "sustained", offsetof(pp_stack_gpu, sustained), 0.1, 2 },
    { "sustained_low", offsetof(pp_stack_gpu, sustained_low), 0.1, 2 },
    { "growth", offsetof(pp_stack_gpu, growth), 0, 0.1 },
    { "power_limit", offsetof(pp_stack_gpu, power_limit), 0.2, 1 },
    { "step_offset_s", offsetof(pp_stack_gpu, step_offset_s), 0, 10 },
};

/* Reads a number with its source and how it was found. It stays 0 if it is absent. */
static pp_status read_number(const pp_json_at *at_gpu, const gpu_number *number, pp_stack_gpu *gpu,
                             pp_err *err)
{
    static const char *const keys[] = { "value", "source", "status", NULL };
    static const char *const statuses[] = { "published", "kernel fit", "step fit", "prior" };
    const char *source, *how = "";
    double value = 0;
    pp_json_at at;
    if (!pp_json_has(at_gpu, number->key))
        return PP_OK;
    pp_status status = pp_json_get(at_gpu, number->key, &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = pp_json_get_double(&at, "value", number->least, number->most, &value, err)) ||
        (status = pp_json_get_text(&at, "source", &source, err)) ||
        (status = pp_json_get_text(&at, "status", &how, err)))
        return status;
    memcpy((char *)gpu + number->field, &value, sizeof value);
    for (size_t i = 0; i < COUNT(statuses); i++) {
        if (strcmp(statuses[i], how) == 0)
            return PP_OK;
    }
    return pp_json_fail(
        &at, err, "status \"%.40s\" is not one of published, kernel fit, step fit, prior", how);
}

static pp_status read_gpu(const pp_json_at *at, pp_stack_gpu *gpu, pp_err *err)
{
    const char *keys[COUNT(numbers) + 2] = { "architecture" };
    for (size_t i = 0; i < COUNT(numbers); i++)
        keys[i + 1] = numbers[i].key;
    pp_status status = pp_json_only(at, keys, err);
    for (size_t i = 0; i < COUNT(numbers) && !status; i++)
        status = read_number(at, &numbers[i], gpu, err);
    return status;
}

/* Reads the architecture of an item of a list. Fails if an earlier one has it, too. */
static pp_status read_architecture(const pp_json_at *list, size_t index, pp_json_at *item_out,
                                   char *name_out, size_t size, pp_err *err)
{
    pp_json_at other;
    char earlier[64] = "";
    pp_status status = pp_json_item(list, index, item_out, err);
    if (!status)
        status = pp_json_get_name(item_out, "architecture", name_out, size, err);
    for (size_t i = 0; i < index && !status; i++) {
        if ((status = pp_json_item(list, i, &other, err)) ||
            (status = pp_json_get_name(&other, "architecture", earlier, sizeof earlier, err)))
            return status;
        if (strcmp(earlier, name_out) == 0)
            return pp_json_fail(item_out, err, "the architecture %s is given twice", name_out);
    }
    return status;
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
        pp_stack_gpu *gpu = &stack->gpu[i];
        pp_json_at at;
        status = read_architecture(&list, i, &at, gpu->architecture, sizeof gpu->architecture, err);
        if (!status)
            status = read_gpu(&at, gpu, err);
    }
    stack->gpu_count = count;
    return status;
}

/* The formats of 8 and 4 bits that a stack trains in. */
static pp_status read_precisions(const pp_json_at *features_at, pp_stack *stack, pp_err *err)
{
    pp_json_at list;
    size_t count = 0;
    pp_status status = pp_json_get(features_at, "precisions", &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    stack->has.precision[PP_PRECISION_BF16] = true;
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at item;
        const char *name = "";
        size_t k = 0;
        if ((status = pp_json_item(&list, i, &item, err)) ||
            (status = pp_json_read_text(&item, &name, err)))
            return status;
        while (k < PP_PRECISIONS && strcmp(pp_precision_names()[k], name) != 0)
            k++;
        if (k == PP_PRECISIONS)
            return pp_json_fail(&item, err, "\"%.40s\" is not the name of a precision", name);
        stack->has.precision[k] = true;
    }
    return status;
}

static pp_status read_alias(const pp_json_at *root, pp_stack *stack, pp_err *err)
{
    static const char *const keys[] = { "format",         "version",    "name",
                                        "summary",        "stands_for", "on",
                                        "free_schedules", "source",     NULL };
    static const char *const item_keys[] = { "architecture", "stands_for", NULL };
    const char *source;
    pp_json_at list, item;
    size_t count = 0;
    pp_status status = pp_json_only(root, keys, err);
    if (status ||
        (status = pp_json_get_name(root, "stands_for", stack->stands_for, sizeof stack->stands_for,
                                   err)) ||
        (status = pp_json_get_bool(root, "free_schedules", &stack->has.free_schedules, err)) ||
        (status = pp_json_get_text(root, "source", &source, err)) ||
        (status = pp_json_get(root, "on", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    if (count > PP_STACK_GPUS_MAX)
        return pp_json_fail(&list, err, "has %zu architectures, but the limit is %d", count,
                            PP_STACK_GPUS_MAX);
    for (size_t i = 0; i < count && !status; i++) {
        pp_stack_alias *on = &stack->on[stack->on_count++];
        if ((status = read_architecture(&list, i, &item, on->architecture, sizeof on->architecture,
                                        err)) ||
            (status = pp_json_only(&item, item_keys, err)))
            return status;
        status = pp_json_get_name(&item, "stands_for", on->stack, sizeof on->stack, err);
    }
    return status;
}

static pp_status read_stack(const pp_json_at *root, pp_stack *stack, pp_err *err)
{
    static const char *const keys[] = { "format",   "version",  "name", "summary",
                                        "features", "settings", "gpus", NULL };
    static const char *const lists[] = { "precisions", NULL };
    static const char *const names[] = { "grad_dtype",
                                         "dtype",
                                         "cp_comm",
                                         "moe_dispatcher",
                                         "moe_fp8_dispatch",
                                         "moe_shared_expert_overlap",
                                         NULL };
    int exchange = PP_CP_COMM_RING, dispatcher = PP_DISPATCHER_ALLTOALL;
    pp_switches *s = &stack->switches;
    pp_json_at at;
    pp_status status = pp_json_only(root, keys, err);
    if (status ||
        (status =
             read_flags(root, "features", features, COUNT(features), lists, stack, &at, err)) ||
        (status = read_precisions(&at, stack, err)) ||
        (status =
             read_flags(root, "settings", settings, COUNT(settings), names, stack, &at, err)) ||
        (status = read_dtype(&at, "grad_dtype", &s->grad_dtype, err)) ||
        (status = read_dtype(&at, "dtype", &s->dtype, err)) ||
        (status = read_choice(&at, "cp_comm", pp_cp_comm_names(), &exchange, err)) ||
        (status = read_choice(&at, "moe_dispatcher", pp_dispatcher_names(), &dispatcher, err)) ||
        (pp_json_has(&at, "moe_fp8_dispatch") &&
         (status = pp_json_get_bool(&at, "moe_fp8_dispatch", &s->moe_fp8_dispatch, err))) ||
        (pp_json_has(&at, "moe_shared_expert_overlap") &&
         (status = pp_json_get_bool(&at, "moe_shared_expert_overlap", &s->moe_shared_expert_overlap,
                                    err))))
        return status;
    s->cp_comm = (pp_cp_comm)exchange;
    s->dispatcher = (pp_dispatcher)dispatcher;
    return read_gpus(root, stack, err);
}

pp_status pp_stack_parse(const char *text, size_t bytes, const char *file, pp_stack *stack_out,
                         pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    const pp_json_at root = pp_json_root(json, file);
    pp_stack stack = { 0 };
    if ((status = pp_json_check_format(&root, "ppsim.stack", 1, err)) ||
        (status = pp_json_get_name(&root, "name", stack.name, sizeof stack.name, err)) ||
        (status = pp_json_get_name(&root, "summary", stack.summary, sizeof stack.summary, err)) ||
        (status = pp_json_has(&root, "stands_for") ? read_alias(&root, &stack, err)
                                                   : read_stack(&root, &stack, err)))
        return status;
    *stack_out = stack;
    return PP_OK;
}

const char *pp_stack_stands_for(const pp_stack *alias, const pp_hardware *hardware)
{
    for (size_t i = 0; i < alias->on_count && hardware; i++) {
        if (strcmp(alias->on[i].architecture, hardware->architecture) == 0)
            return alias->on[i].stack;
    }
    return alias->stands_for;
}

void pp_stack_resolve(const pp_stack *meant, pp_stack *alias)
{
    memmove(alias->stands_for, meant->name, strlen(meant->name) + 1);
    const bool free_schedules = alias->has.free_schedules;
    alias->has = meant->has;
    alias->has.free_schedules |= free_schedules;
    alias->switches = meant->switches;
    memcpy(alias->gpu, meant->gpu, sizeof alias->gpu);
    alias->gpu_count = meant->gpu_count;
}

const char *pp_stack_meant(const pp_stack *stack)
{
    return stack->stands_for[0] ? stack->stands_for : stack->name;
}

const char *pp_stack_print(const char *name, const char *stands_for, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s%s%s%s", name, stands_for[0] ? " (" : "", stands_for,
             stands_for[0] ? ")" : "");
    return buffer;
}

const char *pp_stack_setting_name(size_t index)
{
    return settings[index].key;
}

/* The place of a setting in switches: those of a stack are part of it. */
static size_t offset_of(size_t index)
{
    return settings[index].field - offsetof(pp_stack, switches);
}

static bool setting_of(const pp_switches *switches, size_t index)
{
    bool on;
    memcpy(&on, (const char *)switches + offset_of(index), sizeof on);
    return on;
}

pp_stack_changes pp_stack_changes_of(const pp_switches *stack, const pp_switches *job)
{
    pp_stack_changes changes = { .has_dtype = job->dtype != stack->dtype,
                                 .dtype = job->dtype,
                                 .communicators = job->communicators };
    for (size_t i = 0; i < PP_STACK_SETTINGS; i++) {
        const bool on = setting_of(job, i);
        if (on != setting_of(stack, i))
            changes.to[i] = on ? 1 : -1;
    }
    return changes;
}

void pp_stack_change(const pp_stack_changes *changes, pp_switches *switches)
{
    for (size_t i = 0; i < PP_STACK_SETTINGS; i++) {
        const bool on = changes->to[i] > 0;
        if (changes->to[i])
            memcpy((char *)switches + offset_of(i), &on, sizeof on);
    }
    if (changes->has_dtype)
        switches->dtype = changes->dtype;
    switches->communicators = changes->communicators;
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
        s.growth = stack->gpu[i].growth;
        s.power_limit = stack->gpu[i].power_limit;
        s.step_offset_s = stack->gpu[i].step_offset_s;
    }
    return s;
}
