/* Reads the settings of a plan file. Only this file turns their names into enums and handles. */
#include "sim/plan/plan_settings_read.h"

#include "sim/framework/registry.h"
#include "sim/job/sharing_json.h"
#include "sim/plan/plan_json_values.h"

#include <string.h>

enum { NAME_SIZE = 32 };

static pp_status read_p2p(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_json_at at;
    const char *text;
    int kind = 0;
    if (!pp_json_has(root, "p2p"))
        return PP_OK;
    pp_status status = pp_json_get(root, "p2p", &at, err);
    if (status || (status = pp_json_read_text(&at, &text, err)))
        return status;
    while (pp_p2p_names()[kind] && strcmp(pp_p2p_names()[kind], text) != 0)
        kind++;
    if (!pp_p2p_names()[kind])
        return pp_json_fail(&at, err, "is not one of send-recv, all-gather, all-reduce: \"%.32s\"",
                            text);
    plan->p2p = (pp_p2p)kind;
    return PP_OK;
}

static pp_status read_sharing(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_json_at at;
    pp_status status = read_p2p(root, plan, err);
    if (status || !pp_json_has(root, "sharing"))
        return status;
    status = pp_json_get(root, "sharing", &at, err);
    return status ? status : pp_sharing_read(&at, &plan->sharing, err);
}

static pp_status read_hosts(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "launch_ns", "sync_ns", "read_ns", NULL };
    pp_ns *const into[] = { &plan->host.launch_ns, &plan->host.sync_ns, &plan->host.read_ns };
    pp_json_at at;
    pp_status status = PP_OK;
    if (pp_json_has(root, "host")) {
        if ((status = pp_json_get(root, "host", &at, err)) ||
            (status = pp_json_only(&at, keys, err)))
            return status;
        for (size_t i = 0; i < 3 && !status; i++)
            status = pp_json_get_int(&at, keys[i], 0, PP_HOST_NS_MAX, into[i], err);
    }
    if (!status && pp_json_has(root, "shape_message_ns"))
        status = pp_json_get_int(root, "shape_message_ns", 0, PP_HOST_NS_MAX,
                                 &plan->shape_message_ns, err);
    if (!status && pp_json_has(root, "tensors_per_boundary"))
        status =
            pp_json_get_int(root, "tensors_per_boundary", 1, PP_TENSORS_MAX, &plan->tensors, err);
    return status;
}

/* Reports the error `why` at the place of `key`. */
static pp_status refuse(const pp_json_at *root, const char *key, const pp_err *why, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(root, key, &at, err);
    return status ? status : pp_json_fail(&at, err, "%s", why->text);
}

static pp_status read_pytorch(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    char ahead[16];
    pp_err why = pp_err_like(err);
    pp_status status = PP_OK;
    if (pp_json_has(root, "pipeline_runs"))
        status = pp_json_get_int(root, "pipeline_runs", 1, PP_RUNS_MAX, &plan->runs, err);
    if (!status && pp_json_has(root, "max_outstanding_sends"))
        status = pp_json_get_int(root, "max_outstanding_sends", 1, PP_SENDS_MAX,
                                 &plan->pytorch.max_outstanding_sends, err);
    if (status || !pp_json_has(root, "unshard_lookahead") ||
        (status = pp_plan_read_name(root, "unshard_lookahead", ahead, sizeof ahead, err)))
        return status;
    return pp_unshard_lookahead_parse(ahead, &plan->pytorch.unshard_lookahead, &why)
               ? refuse(root, "unshard_lookahead", &why, err)
               : PP_OK;
}

/* Reads the buffer policies. An error names the place of the wrong value. */
static pp_status read_buffers(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "recv_buffers", "send_buffers", "return_outputs" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char name[NAME_SIZE];
        pp_err why = pp_err_like(err);
        pp_status status = pp_plan_read_name(root, keys[i], name, sizeof name, err);
        if (status)
            return status;
        if (pp_buffer_settings_parse(i == 0 ? name : NULL, i == 1 ? name : NULL,
                                     i == 2 ? name : NULL, &plan->buffers, &why))
            return refuse(root, keys[i], &why, err);
    }
    return PP_OK;
}

static pp_status read_comm(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    char comm[NAME_SIZE], lanes[NAME_SIZE];
    pp_err why = pp_err_like(err);
    pp_status status = pp_plan_read_name(root, "comm", comm, sizeof comm, err);
    if (status || (status = pp_plan_read_name(root, "lanes", lanes, sizeof lanes, err)))
        return status;
    if (pp_comm_settings_parse(comm, NULL, &plan->comm, &why))
        return refuse(root, "comm", &why, err);
    if (pp_comm_settings_parse(NULL, lanes, &plan->comm, &why))
        return refuse(root, "lanes", &why, err);
    return PP_OK;
}

static pp_status read_sizes(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    char name[NAME_SIZE];
    pp_err why = pp_err_like(err);
    pp_status status = pp_plan_read_name(root, "shapes", name, sizeof name, err);
    plan->has_sizes = name[0] != '\0';
    if (status || !plan->has_sizes)
        return status;
    return pp_size_protocol_parse(name, &plan->sizes, &why) ? refuse(root, "shapes", &why, err)
                                                            : PP_OK;
}

static pp_status read_recompute(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    const char *const *names = pp_recompute_names();
    pp_json_at at;
    const char *text;
    int how = 0;
    if (!pp_json_has(root, "recompute"))
        return PP_OK;
    pp_status status = pp_json_get(root, "recompute", &at, err);
    if (status || (status = pp_json_read_text(&at, &text, err)))
        return status;
    while (names[how] && strcmp(names[how], text) != 0)
        how++;
    if (!names[how] || how == PP_RECOMPUTE_AUTO)
        return pp_json_fail(
            &at, err, "is not one of none, selective, full, per-stage, per-microbatch: \"%.32s\"",
            text);
    plan->recompute = (pp_recompute)how;
    return PP_OK;
}

static pp_status read_framework(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_json_at at;
    const char *name;
    pp_err why = pp_err_like(err);
    pp_status status = pp_json_get(root, "executor", &at, err);
    if (status || (status = pp_json_read_text(&at, &name, err)))
        return status;
    return pp_framework_get(name, &plan->framework, &why) ? pp_json_fail(&at, err, "%s", why.text)
                                                          : PP_OK;
}

pp_status pp_plan_read_settings(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_status status;
    if ((status = pp_plan_read_name(root, "model", plan->model, sizeof plan->model, err)) ||
        (status =
             pp_plan_read_name(root, "hardware", plan->hardware, sizeof plan->hardware, err)) ||
        (status = read_framework(root, plan, err)) || (status = read_sizes(root, plan, err)) ||
        (status = read_comm(root, plan, err)) || (status = read_sharing(root, plan, err)) ||
        (status = read_buffers(root, plan, err)) || (status = read_hosts(root, plan, err)) ||
        (status = read_pytorch(root, plan, err)) ||
        (status = pp_plan_read_name(root, "compute_settings", plan->compute_settings,
                                    sizeof plan->compute_settings, err)) ||
        (status = read_recompute(root, plan, err)) ||
        (status = pp_plan_read_known(root, "memory_limit_bytes", PP_BYTES_MAX,
                                     &plan->memory_limit_bytes, err)))
        return status;
    return pp_json_has(root, "step_sync")
               ? pp_json_get_bool(root, "step_sync", &plan->step_sync, err)
               : PP_OK;
}
