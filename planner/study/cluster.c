/* Reads a cluster file and turns it into overrides of ranks: speeds, memory limits and links. The
 * speed of a class of machines is the time that all layers of the model take on it, relative to
 * that on the first class. */
#include "planner/study/cluster.h"

#include "sim/base/field.h"
#include "sim/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static pp_status read_class(const pp_json_at *at, pp_cluster *cluster, pp_err *err)
{
    static const char *const keys[] = { "hardware", "ranks", NULL };
    int64_t ranks = 0;
    char *name = cluster->class[cluster->classes].hardware;
    pp_status status = pp_json_only(at, keys, err);
    if (!status)
        status = pp_json_get_name(at, "hardware", name, sizeof cluster->class[0].hardware, err);
    if (!status)
        status = pp_json_get_int(at, "ranks", 1, PP_RANKS_MAX, &ranks, err);
    cluster->class[cluster->classes].ranks = (uint32_t)ranks;
    cluster->classes += !status;
    return status;
}

static uint32_t count_ranks(const pp_cluster *cluster)
{
    uint32_t ranks = 0;
    for (uint32_t k = 0; k < cluster->classes; k++)
        ranks += cluster->class[k].ranks;
    return ranks;
}

static pp_status read_link(const pp_json_at *at, pp_cluster *cluster, pp_err *err)
{
    static const char *const keys[] = { "between", "bytes_per_s", NULL };
    pp_rank_override *link = &cluster->link[cluster->links];
    pp_json_at ends, end;
    size_t count = 0;
    int64_t rank[2] = { 0, 0 };
    const int64_t last = (int64_t)count_ranks(cluster) - 1;
    *link = (pp_rank_override){ .kind = PP_RANK_OVERRIDE_LINK };
    pp_status status = pp_json_only(at, keys, err);
    if (!status)
        status = pp_json_get(at, "between", &ends, err);
    if (!status)
        status = pp_json_count(&ends, &count, err);
    if (!status && count != 2)
        return pp_json_fail(&ends, err, "must name two ranks, not %zu", count);
    for (size_t k = 0; k < 2 && !status; k++) {
        status = pp_json_item(&ends, k, &end, err);
        if (!status)
            status = pp_json_read_int(&end, 0, last, &rank[k], err);
    }
    if (!status && rank[0] == rank[1])
        return pp_json_fail(&ends, err, "a rank has no link to itself; name two ranks");
    if (!status)
        status = pp_json_get_double(at, "bytes_per_s", 1e3, 1e15, &link->value, err);
    link->rank = (uint32_t)(rank[0] < rank[1] ? rank[0] : rank[1]);
    link->other = (uint32_t)(rank[0] < rank[1] ? rank[1] : rank[0]);
    for (uint32_t k = 0; k < cluster->links && !status; k++) {
        if (cluster->link[k].rank == link->rank && cluster->link[k].other == link->other)
            return pp_json_fail(&ends, err, "this link is given twice");
    }
    cluster->links += !status;
    return status;
}

static pp_status read_list(const pp_json_at *root, const char *key, size_t most,
                           pp_status (*read)(const pp_json_at *, pp_cluster *, pp_err *),
                           pp_cluster *cluster, pp_err *err)
{
    pp_json_at list;
    size_t count = 0;
    pp_status status = pp_json_get(root, key, &list, err);
    if (!status)
        status = pp_json_count(&list, &count, err);
    if (!status && (count < 1 || count > most))
        return pp_json_fail(&list, err, "must have 1 to %zu items, not %zu", most, count);
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at at;
        status = pp_json_item(&list, i, &at, err);
        if (!status)
            status = read(&at, cluster, err);
    }
    return status;
}

static bool is_cluster(const pp_json_at *root)
{
    const char *format = "";
    pp_err ignored = { 0 };
    return pp_json_kind_at(root) == PP_JSON_OBJECT &&
           !pp_json_get_text(root, "format", &format, &ignored) &&
           strcmp(format, "ppsim.cluster") == 0;
}

pp_status pp_cluster_parse(const char *text, size_t bytes, const char *file,
                           pp_cluster *cluster_out, pp_err *err)
{
    static const char *const keys[] = { "format", "version", "name", "classes", "links", NULL };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_cluster cluster = { .classes = 0 };
    pp_status status = pp_json_parse(text, bytes, file, &json, err);
    if (status)
        return status;
    const pp_json_at root = pp_json_root(json, file);
    if (!is_cluster(&root)) {
        *cluster_out = cluster;
        return PP_OK;
    }
    status = pp_json_check_format(&root, "ppsim.cluster", 1, err);
    if (!status)
        status = pp_json_only(&root, keys, err);
    if (!status)
        status = pp_json_get_name(&root, "name", cluster.name, sizeof cluster.name, err);
    if (!status && !cluster.name[0])
        return pp_json_fail(&root, err, "\"name\" is empty");
    if (!status)
        status = read_list(&root, "classes", PP_CLUSTER_CLASSES_MAX, read_class, &cluster, err);
    if (!status && pp_json_has(&root, "links"))
        status = read_list(&root, "links", PP_CLUSTER_LINKS_MAX, read_link, &cluster, err);
    if (!status)
        *cluster_out = cluster;
    return status;
}

/* F + I + W of all layers for one full micro-batch. */
static pp_status layers_s(const pp_hardware *hardware, const pp_plan_request *request,
                          double *s_out, pp_err *err)
{
    const int64_t size = request->micro_batch_size ? request->micro_batch_size : 1;
    const int64_t length =
        request->seq_length ? request->seq_length : request->model->max_seq_length;
    pp_cost_context context = { .model = request->model,
                                .hardware = hardware,
                                .parallel = request->parallel };
    int64_t *const degrees[] = {
        &context.parallel.pp, &context.parallel.vpp, &context.parallel.tp,
        &context.parallel.cp, &context.parallel.dp,  &context.parallel.ep
    };
    for (size_t k = 0; k < sizeof degrees / sizeof *degrees; k++)
        *degrees[k] = *degrees[k] ? *degrees[k] : 1;
    double sum = 0;
    pp_status status = PP_OK;
    context.switches = pp_switches_requested(
        &request->switches,
        pp_stack_switches(request->switches.stack, context.hardware, &context.parallel));
    context.switches.recompute = PP_RECOMPUTE_NONE;
    for (int64_t k = 0; k < request->model->layers && !status; k++) {
        pp_unit_cost cost = { .f_s = 0 };
        status = pp_cost_unit(&context, PP_UNIT_LAYER, k, size * length, size * length * length,
                              &cost, err);
        sum += cost.f_s + cost.i_s + cost.w_s;
    }
    *s_out = sum;
    return status;
}

static pp_status add_rank(uint32_t rank, double speed, int64_t bytes, pp_rank_overrides *overrides,
                          pp_err *err)
{
    const pp_rank_override fast = { .kind = PP_RANK_OVERRIDE_SPEED, .rank = rank, .value = speed };
    const pp_rank_override room = { .kind = PP_RANK_OVERRIDE_MEMORY, .rank = rank, .bytes = bytes };
    pp_status status = pp_rank_overrides_add(&fast, overrides, err);
    return status || !bytes ? status : pp_rank_overrides_add(&room, overrides, err);
}

pp_status pp_cluster_rank_overrides(const pp_cluster *cluster, const pp_hardware *hardware,
                                    const pp_plan_request *request, pp_rank_overrides *overrides,
                                    double *speed_out, pp_err *err)
{
    double first_s = 0;
    uint32_t rank = cluster->class[0].ranks;
    if (request->parallel.pp != count_ranks(cluster))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RANKS),
                          "cluster %s has %" PRIu32 " pipeline ranks; give %s %" PRIu32,
                          cluster->name, count_ranks(cluster), pp_err_name(err, PP_FIELD_RANKS),
                          count_ranks(cluster));
    pp_status status = layers_s(&hardware[0], request, &first_s, err);
    speed_out[0] = 1;
    for (uint32_t k = 1; k < cluster->classes && !status; k++) {
        const uint32_t end = rank + cluster->class[k].ranks;
        const int64_t own = hardware[k].memory_bytes - pp_memory_reserve_bytes(&hardware[k]);
        const int64_t limit = request->memory_limit_bytes;
        double own_s = 0;
        if ((status = layers_s(&hardware[k], request, &own_s, err)))
            return status;
        speed_out[k] = first_s / own_s;
        for (; rank < end && !status; rank++)
            status =
                add_rank(rank, speed_out[k], limit && limit < own ? limit : own, overrides, err);
    }
    for (uint32_t k = 0; k < cluster->links && !status; k++)
        status = pp_rank_overrides_add(&cluster->link[k], overrides, err);
    return status;
}
