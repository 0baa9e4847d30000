/* Reads hardware files. Tables list the numbers of each group with their ranges, so that one
 * function reads all of them. The place of every error is a JSON Pointer. */
#include "sim/job/hardware.h"

#include "sim/base/json.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number in a file: plain, or {"value", "source", "status"}. A group of numbers may have "source"
 * and "status" as well. These are for people and are checked but not kept. */
typedef struct number {
    const char *key;
    size_t field; /* offset of a double in the target */
    double low, high;
} number;

#define HARDWARE(name) offsetof(pp_hardware, name)
#define GEMM(name) offsetof(pp_gemm_curve, name)
#define ATTENTION(name) offsetof(pp_attention_curve, name)
#define COLLECTIVE(name) offsetof(pp_collective_curve, name)
#define P2P(name) offsetof(pp_p2p_curve, name)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const number gpu_numbers[] = {
    { "peak_flops_per_s", HARDWARE(peak_flops_per_s), 1e9, 1e18 },
    { "fp32_ratio", HARDWARE(fp32_ratio), 1e-3, 1 },
    { "memory_bytes_per_s", HARDWARE(memory_bytes_per_s), 1e9, 1e15 },
};
static const number kernel_numbers[] = {
    { "elementwise", HARDWARE(elementwise), 0.01, 1 },
    { "kernel_s", HARDWARE(kernel_s), 0, 1e-2 },
    { "launch_s", HARDWARE(launch_s), 0, 1e-2 },
    { "host_gap_s", HARDWARE(host_gap_s), 0, 1 },
    { "step_fixed_s", HARDWARE(step_fixed_s), 0, 100 },
    { "optimizer_bytes_per_parameter", HARDWARE(optimizer_bytes_per_parameter), 0, 1000 },
    { "tp_overlap", HARDWARE(tp_overlap), 0, 1 },
    { "sustained", HARDWARE(sustained), 0.1, 1 },
};
static const number gemm_numbers[] = {
    { "t0_s", GEMM(t0_s), 0, 1e-2 },
    { "e1", GEMM(e1), 0.01, 1 },
    { "k0", GEMM(k0), 0, 1e5 },
    { "e2", GEMM(e2), 0.01, 1 },
    { "fd_flops", GEMM(fd_flops), 1e6, 1e18 },
    { "a", GEMM(a), 0, 1 },
    { "weight_gradient", GEMM(weight_gradient), 0.1, 2 },
    { "scale", GEMM(scale), 0.1, 2 },
};
static const number low_numbers[] = {
    { "t0_s", GEMM(t0_s), 0, 1e-2 },
    { "e1", GEMM(e1), 0.01, 1 },
    { "k0", GEMM(k0), 0, 1e5 },
    { "e2", GEMM(e2), 0.01, 1 },
    { "fd_flops", GEMM(fd_flops), 1e6, 1e18 },
    { "a", GEMM(a), 0, 2 },
    { "peak_ratio", GEMM(peak_ratio), 0.1, 100 },
    { "output_bytes", GEMM(output_bytes), 0, 100 },
};
static const number attention_numbers[] = {
    { "e", ATTENTION(e), 0.001, 1 },
    { "s0", ATTENTION(s0), 0, 1e6 },
    { "b0", ATTENTION(b0), 0, 1e6 },
};
static const number collective_numbers[] = {
    { "a_s", COLLECTIVE(a_s), 0, 1 },
    { "bytes_per_s", COLLECTIVE(bytes_per_s), 1e6, 1e15 },
    { "b0_bytes", COLLECTIVE(b0_bytes), 0, 1e12 },
};
static const number p2p_numbers[] = {
    { "alpha_s", P2P(alpha_s), 0, 1 },
    { "channel_bytes_per_s", P2P(channel_bytes_per_s), 1e6, 1e15 },
    { "link_bytes_per_s", P2P(link_bytes_per_s), 1e6, 1e15 },
};
static const number network_numbers[] = {
    { "bytes_per_s", HARDWARE(network_bytes_per_s), 1e6, 1e15 },
    { "efficiency", HARDWARE(network_efficiency), 0.01, 1 },
    { "hop_s", HARDWARE(network_hop_s), 0, 1 },
};

static pp_status check_notes(const pp_json_at *at, pp_err *err)
{
    static const char *const statuses[] = { "published", "kernel fit", "step fit", "prior" };
    const char *text;
    if (pp_json_has(at, "source")) {
        pp_status status = pp_json_get_text(at, "source", &text, err);
        if (status)
            return status;
    }
    if (!pp_json_has(at, "status"))
        return PP_OK;
    pp_status status = pp_json_get_text(at, "status", &text, err);
    if (status)
        return status;
    for (size_t i = 0; i < COUNT(statuses); i++) {
        if (strcmp(statuses[i], text) == 0)
            return PP_OK;
    }
    return pp_json_fail(
        at, err, "status \"%.40s\" is not one of published, kernel fit, step fit, prior", text);
}

/* True if the notes at `at` say that this was measured: by any status, or by `status`. */
static bool is_measured(const pp_json_at *at, const char *status)
{
    const char *text;
    pp_err err = { 0 };
    if (pp_json_kind_at(at) != PP_JSON_OBJECT || !pp_json_has(at, "status") ||
        pp_json_get_text(at, "status", &text, &err))
        return false;
    return status ? strcmp(text, status) == 0 : strcmp(text, "prior") != 0;
}

/* True if the number `key` was fitted to steps. */
static bool fits_steps(const pp_json_at *group, const char *key)
{
    pp_json_at holder;
    pp_err err = { 0 };
    return !pp_json_get(group, key, &holder, &err) && is_measured(&holder, "step fit");
}

/* Finds the number `key`. holder: storage for the cursor of its parent, which must outlive
 * *value_out. */
static pp_status open_number(const pp_json_at *object, const char *key, pp_json_at *holder,
                             pp_json_at *value_out, pp_err *err)
{
    static const char *const keys[] = { "value", "source", "status", NULL };
    pp_status status = pp_json_get(object, key, holder, err);
    if (status)
        return status;
    if (pp_json_kind_at(holder) != PP_JSON_OBJECT) {
        *value_out = *holder;
        return PP_OK;
    }
    status = pp_json_only(holder, keys, err);
    if (!status)
        status = check_notes(holder, err);
    return status ? status : pp_json_get(holder, "value", value_out, err);
}

static pp_status read_numbers(const pp_json_at *object, const number *numbers, size_t count,
                              void *target, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at holder, at;
        double value = 0;
        status = open_number(object, numbers[i].key, &holder, &at, err);
        if (!status)
            status = pp_json_read_double(&at, numbers[i].low, numbers[i].high, &value, err);
        if (!status)
            memcpy((char *)target + numbers[i].field, &value, sizeof value);
    }
    return status;
}

static pp_status read_whole(const pp_json_at *object, const char *key, int64_t low, int64_t high,
                            int64_t *value_out, pp_err *err)
{
    pp_json_at holder, at;
    pp_status status = open_number(object, key, &holder, &at, err);
    return status ? status : pp_json_read_int(&at, low, high, value_out, err);
}

static pp_status read_small(const pp_json_at *object, const char *key, int low, int high,
                            int *value_out, pp_err *err)
{
    int64_t value = 0;
    pp_status status = read_whole(object, key, low, high, &value, err);
    if (!status)
        *value_out = (int)value;
    return status;
}

static pp_status open_group(const pp_json_at *root, const char *key, const char *const keys[],
                            pp_json_at *at_out, pp_err *err)
{
    pp_status status = pp_json_get(root, key, at_out, err);
    if (!status)
        status = pp_json_only(at_out, keys, err);
    return status ? status : check_notes(at_out, err);
}

static pp_status read_gpu(const pp_json_at *root, pp_hardware *hw, pp_err *err)
{
    static const char *const keys[] = { "architecture",
                                        "peak_flops_per_s",
                                        "fp32_ratio",
                                        "memory_bytes",
                                        "memory_bytes_per_s",
                                        "sm_count",
                                        "source",
                                        "status",
                                        NULL };
    pp_json_at at;
    pp_status status = open_group(root, "gpu", keys, &at, err);
    if (!status)
        status = read_numbers(&at, gpu_numbers, COUNT(gpu_numbers), hw, err);
    if (!status && pp_json_has(&at, "architecture"))
        status =
            pp_json_get_name(&at, "architecture", hw->architecture, sizeof hw->architecture, err);
    if (!status)
        status = read_whole(&at, "memory_bytes", 1 << 20, (int64_t)1 << 50, &hw->memory_bytes, err);
    return status ? status : read_small(&at, "sm_count", 1, 100000, &hw->sm_count, err);
}

static pp_status read_kernels(const pp_json_at *root, pp_hardware *hw, pp_err *err)
{
    static const char *const keys[] = { "elementwise",
                                        "kernel_s",
                                        "launch_s",
                                        "host_gap_s",
                                        "step_fixed_s",
                                        "optimizer_bytes_per_parameter",
                                        "tp_overlap",
                                        "sustained",
                                        "source",
                                        "status",
                                        NULL };
    static const char *const gemm_keys[] = {
        "t0_s",  "e1",     "k0",     "e2", "fd_flops", "a", "weight_gradient",
        "scale", "source", "status", NULL
    };
    pp_json_at at;
    pp_status status = open_group(root, "kernels", keys, &at, err);
    if (!status)
        status = read_numbers(&at, kernel_numbers, COUNT(kernel_numbers), hw, err);
    if (!status) {
        hw->evidence.steps = fits_steps(&at, "sustained");
        status = open_group(root, "gemm", gemm_keys, &at, err);
    }
    if (!status) {
        hw->evidence.steps |= fits_steps(&at, "scale");
        hw->evidence.gemm = is_measured(&at, NULL);
    }
    return status ? status : read_numbers(&at, gemm_numbers, COUNT(gemm_numbers), &hw->gemm, err);
}

/* Calls `read` for every item of the list `key`, at most PP_HARDWARE_CURVES_MAX. */
static pp_status read_list(const pp_json_at *root, const char *key, pp_hardware *hw,
                           pp_status (*read)(const pp_json_at *, pp_hardware *, pp_err *),
                           pp_err *err)
{
    pp_json_at list;
    size_t count = 0;
    pp_status status = pp_json_get(root, key, &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    if (!status && (count < 1 || count > PP_HARDWARE_CURVES_MAX))
        return pp_json_fail(&list, err, "must have 1 to %d curves, not %zu", PP_HARDWARE_CURVES_MAX,
                            count);
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at at;
        status = pp_json_item(&list, i, &at, err);
        if (!status)
            status = read(&at, hw, err);
    }
    return status;
}

/* The curve of a format with fewer than 16 bits. What it shares with that of 16 bits is taken from
 * there. */
static pp_status read_low(const pp_json_at *at, pp_hardware *hw, pp_err *err)
{
    static const char *const keys[] = { "format",       "t0_s",     "e1",     "k0",
                                        "e2",           "fd_flops", "a",      "peak_ratio",
                                        "output_bytes", "source",   "status", NULL };
    const char *name = "";
    size_t format = PP_GEMM_FP8;
    pp_status status = pp_json_only(at, keys, err);
    if (!status)
        status = check_notes(at, err);
    if (!status)
        status = pp_json_get_text(at, "format", &name, err);
    if (status)
        return status;
    while (format < PP_GEMM_FORMATS && strcmp(pp_gemm_format_names()[format], name) != 0)
        format++;
    if (format == PP_GEMM_FORMATS)
        return pp_json_fail(at, err, "format \"%.40s\" is not one of fp8, fp8-block, mxfp8, nvfp4",
                            name);
    hw->low[format] = hw->gemm;
    return read_numbers(at, low_numbers, COUNT(low_numbers), &hw->low[format], err);
}

static pp_status read_attention(const pp_json_at *at, pp_hardware *hw, pp_err *err)
{
    static const char *const keys[] = { "head_dim", "causal", "pass",   "e", "s0",
                                        "b0",       "source", "status", NULL };
    pp_attention_curve *curve = &hw->attention[hw->attention_count];
    const char *pass = "";
    pp_status status = pp_json_only(at, keys, err);
    if (!status)
        status = check_notes(at, err);
    if (!status)
        status = read_small(at, "head_dim", 1, 4096, &curve->head_dim, err);
    if (!status)
        status = pp_json_get_bool(at, "causal", &curve->causal, err);
    if (!status)
        status = pp_json_get_text(at, "pass", &pass, err);
    if (!status && strcmp(pass, "forward") != 0 && strcmp(pass, "backward") != 0)
        return pp_json_fail(at, err, "pass \"%.40s\" is neither forward nor backward", pass);
    if (!status)
        status = read_numbers(at, attention_numbers, COUNT(attention_numbers), curve, err);
    curve->backward = pass[0] == 'b';
    hw->evidence.attention[curve->backward] |= is_measured(at, NULL);
    hw->attention_count += !status;
    return status;
}

static pp_status read_collective(const pp_json_at *at, pp_hardware *hw, pp_err *err)
{
    static const char *const keys[] = { "kind",     "ranks",  "a_s",    "bytes_per_s",
                                        "b0_bytes", "source", "status", NULL };
    static const char *const kinds[PP_COLLECTIVES] = { "all_reduce", "all_gather", "reduce_scatter",
                                                       "all_to_all" };
    pp_collective_curve *curve = &hw->collective[hw->collective_count];
    const char *name = "";
    pp_status status = pp_json_only(at, keys, err);
    if (!status)
        status = check_notes(at, err);
    if (!status)
        status = pp_json_get_text(at, "kind", &name, err);
    if (status)
        return status;
    size_t kind = 0;
    while (kind < COUNT(kinds) && strcmp(kinds[kind], name) != 0)
        kind++;
    if (kind == COUNT(kinds))
        return pp_json_fail(at, err,
                            "kind \"%.40s\" is not one of all_reduce, all_gather, "
                            "reduce_scatter, all_to_all",
                            name);
    curve->kind = (pp_collective)kind;
    status = read_small(at, "ranks", 2, 1 << 20, &curve->ranks, err);
    if (!status)
        status = read_numbers(at, collective_numbers, COUNT(collective_numbers), curve, err);
    hw->evidence.collective[curve->kind] |= is_measured(at, NULL);
    hw->collective_count += !status;
    return status;
}

static pp_status read_p2p(const pp_json_at *parent, pp_p2p_curve *curve, pp_err *err)
{
    static const char *const keys[] = { "published",        "alpha_s",  "channel_bytes_per_s",
                                        "link_bytes_per_s", "channels", "channels_max",
                                        "source",           "status",   NULL };
    pp_json_at at;
    pp_status status = open_group(parent, "p2p", keys, &at, err);
    if (!status)
        status = pp_json_get_bool(&at, "published", &curve->published, err);
    if (!status)
        status = read_numbers(&at, p2p_numbers, COUNT(p2p_numbers), curve, err);
    if (!status)
        status = read_small(&at, "channels", 1, 1024, &curve->channels, err);
    return status ? status : read_small(&at, "channels_max", 1, 1024, &curve->channels_max, err);
}

static pp_status read_links(const pp_json_at *root, pp_hardware *hw, pp_err *err)
{
    static const char *const node_keys[] = { "gpus", "tray", "p2p", "source", "status", NULL };
    static const char *const network_keys[] = { "bytes_per_s", "efficiency", "hop_s", "p2p",
                                                "source",      "status",     NULL };
    pp_json_at at;
    pp_status status = open_group(root, "node", node_keys, &at, err);
    if (!status)
        status = read_small(&at, "gpus", 1, 1 << 20, &hw->gpus_per_node, err);
    hw->gpus_per_tray = hw->gpus_per_node;
    if (!status && pp_json_has(&at, "tray"))
        status = read_small(&at, "tray", 1, hw->gpus_per_node, &hw->gpus_per_tray, err);
    if (!status)
        status = read_p2p(&at, &hw->node_p2p, err);
    if (!status)
        status = open_group(root, "network", network_keys, &at, err);
    if (!status)
        status = read_numbers(&at, network_numbers, COUNT(network_numbers), hw, err);
    return status ? status : read_p2p(&at, &hw->network_p2p, err);
}

/* Checks that every pass of attention and every collective has a curve. */
static pp_status check_curves(const pp_json_at *root, const pp_hardware *hw, pp_err *err)
{
    bool pass[2] = { false, false };
    bool kind[PP_COLLECTIVES] = { false };
    for (size_t i = 0; i < hw->attention_count; i++)
        pass[hw->attention[i].backward] = true;
    for (size_t i = 0; i < hw->collective_count; i++)
        kind[hw->collective[i].kind] = true;
    if (!pass[0] || !pass[1])
        return pp_json_fail(root, err, "\"attention\" needs a forward and a backward curve");
    if (!kind[PP_ALL_REDUCE] || !kind[PP_ALL_GATHER] || !kind[PP_REDUCE_SCATTER])
        return pp_json_fail(root, err,
                            "\"collectives\" needs all_reduce, all_gather and "
                            "reduce_scatter");
    return PP_OK;
}

pp_status pp_hardware_parse(const char *text, size_t bytes, const char *file,
                            pp_hardware *hardware_out, pp_err *err)
{
    static const char *const keys[] = { "format",  "version", "name",      "summary", "gpu",
                                        "kernels", "gemm",    "attention", "node",    "collectives",
                                        "network", "formats", NULL };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, file);
    pp_hardware hw = { 0 };
    status = pp_json_check_format(&root, "ppsim.hardware", 1, err);
    if (!status)
        status = pp_json_only(&root, keys, err);
    if (!status)
        status = pp_json_get_name(&root, "name", hw.name, sizeof hw.name, err);
    if (!status)
        status = pp_json_get_name(&root, "summary", hw.summary, sizeof hw.summary, err);
    if (!status)
        status = read_gpu(&root, &hw, err);
    if (!status)
        status = read_kernels(&root, &hw, err);
    if (!status && pp_json_has(&root, "formats"))
        status = read_list(&root, "formats", &hw, read_low, err);
    if (!status)
        status = read_list(&root, "attention", &hw, read_attention, err);
    if (!status)
        status = read_list(&root, "collectives", &hw, read_collective, err);
    if (!status)
        status = read_links(&root, &hw, err);
    if (!status)
        status = check_curves(&root, &hw, err);
    if (!status)
        *hardware_out = hw;
    return status;
}

/* The largest number of GPUs of a node that are whole trays and whole groups of `unit`, and divide
 * `whole`; 0 if there is none. */
static int64_t largest_part(const pp_hardware *hw, int64_t unit, int64_t whole)
{
    const int64_t tray = hw->gpus_per_tray;
    for (int64_t part = hw->gpus_per_node / tray * tray; part > 0; part -= tray) {
        if (part % unit == 0 && whole % part == 0)
            return part;
    }
    return 0;
}

int64_t pp_hardware_node_part(const pp_hardware *hw, const pp_parallel *parallel)
{
    const int64_t node = hw->gpus_per_node, gpus = pp_parallel_gpus(parallel);
    const int64_t units[] = { parallel->tp * parallel->cp, parallel->tp };
    if (hw->gpus_per_tray == node)
        return node;
    if (gpus <= node)
        return gpus > 0 ? gpus : node;
    for (size_t i = 0; i < COUNT(units); i++) {
        const int64_t most = largest_part(hw, units[i], 0);
        const int64_t equal = largest_part(hw, units[i], gpus);
        if (equal && 3 * (gpus / equal) <= 4 * ((gpus + most - 1) / most))
            return equal;
        if (most)
            return most;
    }
    return node;
}

bool pp_hardware_is_measured(const pp_hardware *hw, pp_hardware_part part)
{
    const pp_hardware_evidence *e = &hw->evidence;
    const bool parts[] = {
        [PP_PART_GEMM] = e->gemm,
        [PP_PART_ATTENTION] = e->attention[0] && e->attention[1],
        [PP_PART_COLLECTIVES] = e->collective[0] && e->collective[1] && e->collective[2],
        [PP_PART_MESSAGES] = hw->node_p2p.published || hw->network_p2p.published,
        [PP_PART_STEPS] = e->steps,
    };
    return parts[part];
}

const char *pp_hardware_part_name(pp_hardware_part part)
{
    static const char *const names[] = { [PP_PART_GEMM] = "gemm",
                                         [PP_PART_ATTENTION] = "attention",
                                         [PP_PART_COLLECTIVES] = "collectives",
                                         [PP_PART_MESSAGES] = "messages",
                                         [PP_PART_STEPS] = "steps" };
    return names[part];
}

bool pp_hardware_tp_straddles(const pp_hardware *hw, const pp_parallel *parallel)
{
    pp_parallel p = *parallel;
    int64_t *const free[] = { &p.pp, &p.cp, &p.dp };
    for (size_t i = 0; i < COUNT(free); i++)
        *free[i] += *free[i] == 0;
    return pp_hardware_node_part(hw, &p) % p.tp != 0;
}

void pp_hardware_unknown(const char *name, pp_hardware *hardware_out)
{
    const pp_p2p_curve link = { .channel_bytes_per_s = INFINITY,
                                .link_bytes_per_s = INFINITY,
                                .channels = 1 };
    *hardware_out = (pp_hardware){
        .summary = "nothing but measurements",
        .peak_flops_per_s = INFINITY,
        .fp32_ratio = 1,
        .memory_bytes_per_s = INFINITY,
        .sm_count = 1,
        .elementwise = 1,
        .sustained = 1,
        .gemm = { .e1 = 1, .e2 = 1, .fd_flops = 1, .weight_gradient = 1, .scale = 1 },
        .gpus_per_node = INT_MAX,
        .gpus_per_tray = INT_MAX,
        .node_p2p = link,
        .network_p2p = link,
        .network_bytes_per_s = INFINITY,
        .network_efficiency = 1,
    };
    snprintf(hardware_out->name, sizeof hardware_out->name, "%s", name);
}
