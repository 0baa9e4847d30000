/* Reads the data of a plan file: partition, microbatches, and what is recomputed. */
#include "sim/plan/plan_data_read.h"

#include "sim/base/alloc.h"
#include "sim/plan/plan_json_values.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MOST = 1 << 20 };

/* Reads the array `key` of all stages. count: pp x vpp. */
static pp_status get_stages(const pp_json_at *at, const char *key, size_t count,
                            pp_json_at *list_out, pp_err *err)
{
    size_t found;
    pp_status status = pp_json_get(at, key, list_out, err);
    if (status || (status = pp_json_count(list_out, &found, err)))
        return status;
    return found == count
               ? PP_OK
               : pp_json_fail(list_out, err, "has %zu stages, but pp x vpp is %zu", found, count);
}

static pp_status read_layers(const pp_json_at *list, size_t s, int64_t most, int64_t *layers_out,
                             pp_err *err)
{
    pp_json_at item;
    pp_status status = pp_json_item(list, s, &item, err);
    return status ? status : pp_json_read_int(&item, 0, most, layers_out, err);
}

/* Reads how many layers each stage recomputes, if the plan has such a list. member: offset in
 * pp_stage. */
static pp_status read_recomputed(const pp_json_at *at, const pp_plan *plan, const char *key,
                                 size_t member, size_t count, pp_err *err)
{
    const bool per_stage = plan->recompute == PP_RECOMPUTE_STAGES;
    pp_json_at list;
    if (per_stage != pp_json_has(at, key))
        return pp_json_fail(at, err,
                            "\"%s\" must be present if, and only if, \"recompute\" is \"%s\"", key,
                            pp_recompute_name(PP_RECOMPUTE_STAGES));
    if (!per_stage)
        return PP_OK;
    pp_status status = get_stages(at, key, count, &list, err);
    for (size_t s = 0; s < count && !status; s++) {
        pp_stage *stage = &plan->partition[s];
        int64_t *layers = (int64_t *)(void *)((char *)stage + member);
        status = read_layers(&list, s, stage->layers - stage->full, layers, err);
    }
    return status;
}

pp_status pp_plan_read_partition(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    static const char *const keys[] = { "layers", "layout", "full", "selective", NULL };
    pp_json_at at;
    pp_json_at layers;
    pp_json_at layout;
    const char *text;
    const size_t count = (size_t)(plan->parallel.pp * plan->parallel.vpp);
    int64_t total = 0;
    int64_t mtp = 0;
    if (!pp_json_has(root, "partition"))
        return PP_OK;
    pp_status status = pp_json_get(root, "partition", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = get_stages(&at, "layers", count, &layers, err)) ||
        (status = pp_json_get(&at, "layout", &layout, err)) ||
        (status = pp_json_read_text(&layout, &text, err)))
        return status;
    for (size_t s = 0; s < count; s++) {
        int64_t n;
        if ((status = read_layers(&layers, s, LAYERS_MOST, &n, err)))
            return status;
        total += n;
    }
    for (const char *c = text; *c; c++) /* the layout decides the number of MTP modules */
        mtp += *c == 'm' ? (c[1] == '*' ? strtol(c + 2, NULL, 10) : 1) : 0;
    pp_stage *stages = NULL;
    uint32_t found = 0;
    pp_err inner = pp_err_like(err);
    status = pp_layout_parse(text, total, mtp, &stages, &found, &inner);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    if (status)
        return pp_json_fail(&layout, err, "%s: %s", inner.where, inner.text);
    plan->partition = stages;
    for (size_t s = 0; s < count; s++) {
        int64_t n;
        if ((status = read_layers(&layers, s, LAYERS_MOST, &n, err)))
            return status;
        if (found != count || stages[s].layers != n)
            return pp_json_fail(&layout, err, "contradicts \"layers\"");
    }
    status = read_recomputed(&at, plan, "full", offsetof(pp_stage, full), count, err);
    return status
               ? status
               : read_recomputed(&at, plan, "selective", offsetof(pp_stage, selective), count, err);
}

static pp_status read_microbatch(const pp_json_at *item, pp_workload *workload, size_t index,
                                 size_t *capacity, pp_err *err)
{
    static const char *const keys[] = { "tokens", "sequences", NULL };
    pp_microbatch *mb = &workload->microbatch[index];
    pp_json_at list;
    size_t count;
    pp_status status = pp_json_only(item, keys, err);
    if (status ||
        (status = pp_json_get_int(item, "tokens", 1, PP_MICROBATCH_TOKENS_MAX, &mb->tokens, err)))
        return status;
    mb->square_sum = 0;
    mb->first = workload->length_count;
    if (!pp_json_has(item, "sequences"))
        return PP_OK;
    if ((status = pp_json_get(item, "sequences", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    void *grown = workload->lengths;
    status = pp_grow(&grown, capacity, workload->length_count + count, sizeof(int64_t), err);
    if (status)
        return status;
    workload->lengths = grown;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        pp_json_at at;
        int64_t length;
        if ((status = pp_json_item(&list, i, &at, err)) ||
            (status = pp_json_read_int(&at, 1, PP_LENGTH_MAX, &length, err)))
            return status;
        sum += length;
        mb->square_sum += length * length;
        workload->lengths[workload->length_count++] = length;
        if (sum > mb->tokens)
            break;
    }
    mb->count = count;
    if (sum != mb->tokens)
        return pp_json_fail(item, err, "the sequences do not sum to %" PRId64 " tokens",
                            mb->tokens);
    return PP_OK;
}

/* There is one list, or one per data-parallel replica, all equally long. */
pp_status pp_plan_read_microbatches(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    pp_workload *workload = &plan->workload;
    pp_json_at at;
    pp_json_at first;
    size_t count;
    size_t m;
    size_t capacity = 0;
    if (!pp_json_has(root, "microbatches"))
        return PP_OK;
    pp_status status = pp_json_get(root, "microbatches", &at, err);
    if (status || (status = pp_json_count(&at, &count, err)))
        return status;
    if (count == 0)
        return pp_json_fail(&at, err, "is empty; a step needs a microbatch");
    if ((status = pp_json_item(&at, 0, &first, err)))
        return status;
    bool nested = pp_json_kind_at(&first) == PP_JSON_ARRAY;
    workload->replicas = nested ? (uint32_t)count : 1;
    m = count;
    if (nested && (status = pp_json_count(&first, &m, err)))
        return status;
    if (nested && (count != (size_t)plan->parallel.dp || m == 0))
        return pp_json_fail(&at, err,
                            "must hold one list of microbatches, none empty, for each "
                            "of the %" PRId64 " data-parallel ranks",
                            plan->parallel.dp);
    if (m > (size_t)PP_MICROBATCHES_MAX || count > (size_t)PP_MICROBATCHES_MAX)
        return pp_json_fail(&at, err, "more than %" PRId64 " microbatches", PP_MICROBATCHES_MAX);
    workload->microbatches = (uint32_t)m;
    workload->microbatch = pp_alloc_array(m * workload->replicas, sizeof(pp_microbatch));
    if (!workload->microbatch)
        return pp_err_nomem(err);
    for (size_t r = 0; r < workload->replicas; r++) {
        pp_json_at list = at;
        size_t here = m;
        if (nested && ((status = pp_json_item(&at, r, &list, err)) ||
                       (status = pp_json_count(&list, &here, err))))
            return status;
        if (here != m)
            return pp_json_fail(
                &list, err,
                "has %zu microbatches, but the first list has %zu; all lists must be equally long",
                here, m);
        for (size_t j = 0; j < m; j++) {
            pp_json_at item;
            if ((status = pp_json_item(&list, j, &item, err)) ||
                (status = read_microbatch(&item, workload, r * m + j, &capacity, err)))
                return status;
        }
    }
    return PP_OK;
}

/* Reads what the stages recompute for one microbatch. of: [stages]. */
static pp_status read_column(const pp_json_at *at, const pp_plan *plan, uint32_t stages,
                             pp_recomputed *of, pp_err *err)
{
    static const char *const keys[] = { "full", "selective", NULL };
    pp_json_at lists[2];
    pp_status status = pp_json_only(at, keys, err);
    for (int k = 0; k < 2 && !status; k++)
        status = get_stages(at, keys[k], stages, &lists[k], err);
    for (uint32_t s = 0; s < stages && !status; s++) {
        pp_json_at item;
        int64_t full, selective;
        const int64_t layers = plan->partition[s].layers;
        if ((status = pp_json_item(&lists[0], s, &item, err)) ||
            (status = pp_json_read_int(&item, 0, layers, &full, err)) ||
            (status = pp_json_item(&lists[1], s, &item, err)) ||
            (status = pp_json_read_int(&item, 0, layers - full, &selective, err)))
            return status;
        of[s] = (pp_recomputed){ (int32_t)full, (int32_t)selective };
    }
    return status;
}

/* Reads what is recomputed for all microbatches of a replica. capacity: of plan->recomputed.of,
 * which grows with what was read, so that a short file cannot request much memory. */
static pp_status read_columns(const pp_json_at *list, pp_plan *plan, uint32_t replica,
                              size_t *capacity, pp_err *err)
{
    pp_recompute_table *table = &plan->recomputed;
    size_t count;
    pp_status status = pp_json_count(list, &count, err);
    if (!status && count != table->microbatches)
        return pp_json_fail(list, err, "has %zu entr%s, but \"microbatches\" has %" PRIu32, count,
                            count == 1 ? "y" : "ies", table->microbatches);
    for (uint32_t j = 0; j < table->microbatches && !status; j++) {
        const size_t columns = (size_t)replica * table->microbatches + j + 1;
        pp_json_at item;
        void *of = table->of;
        if ((status = pp_json_item(list, j, &item, err)) ||
            (status = pp_grow(&of, capacity, columns * table->stages, sizeof *table->of, err)))
            return status;
        table->of = of;
        status =
            read_column(&item, plan, table->stages, pp_recompute_table_at(table, replica, j), err);
    }
    return status;
}

/* There is one list, or one per replica, as for the microbatches. */
pp_status pp_plan_read_recomputed(const pp_json_at *root, pp_plan *plan, pp_err *err)
{
    const pp_workload *workload = &plan->workload;
    const bool per_microbatch = plan->recompute == PP_RECOMPUTE_MICROBATCHES;
    pp_json_at at, list;
    size_t count, capacity = 0;
    if (per_microbatch != pp_json_has(root, "recomputed"))
        return pp_json_fail(
            root, err, "\"recomputed\" must be present if, and only if, \"recompute\" is \"%s\"",
            pp_recompute_name(PP_RECOMPUTE_MICROBATCHES));
    if (!per_microbatch)
        return PP_OK;
    if (!plan->partition || !workload->microbatch)
        return pp_json_fail(root, err, "\"recomputed\" needs \"partition\" and \"microbatches\"");
    plan->recomputed =
        (pp_recompute_table){ .replicas = workload->replicas,
                              .microbatches = workload->microbatches,
                              .stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp) };
    pp_status status = pp_json_get(root, "recomputed", &at, err);
    if (status || (status = pp_json_count(&at, &count, err)) ||
        (count && (status = pp_json_item(&at, 0, &list, err))))
        return status;
    const bool nested = count && pp_json_kind_at(&list) == PP_JSON_ARRAY;
    if ((nested ? count : 1) != workload->replicas)
        return pp_json_fail(&at, err, "has %zu list%s, but \"microbatches\" has %" PRIu32,
                            nested ? count : 1, nested && count > 1 ? "s" : "", workload->replicas);
    for (uint32_t r = 0; r < workload->replicas && !status; r++) {
        list = at;
        if (!nested || !(status = pp_json_item(&at, r, &list, err)))
            status = read_columns(&list, plan, r, &capacity, err);
    }
    return status;
}
