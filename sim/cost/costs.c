/* Allocates the tables of costs in one block of memory, and parses the short forms of costs, which
 * give one value per kind of op. */
#include "sim/cost/costs.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/job/workload.h"
#include "sim/order/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLES 19       /* [classes * stages] */
#define RANK_TABLES 9   /* [ranks] */
#define STAGE_TABLES 12 /* [stages] */

static pp_status check_size(uint32_t ranks, uint32_t stages, uint32_t microbatches,
                            uint32_t classes, pp_err *err)
{
    const struct {
        const char *what;
        uint32_t count, limit;
    } sizes[] = {
        { "ranks", ranks, PP_RANKS_MAX },
        { "stages", stages, PP_STAGES_MAX },
        { "microbatches", microbatches, (uint32_t)PP_MICROBATCHES_MAX },
        { "classes of microbatches", classes, microbatches },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].count < 1 || sizes[i].count > sizes[i].limit)
            return pp_err_set(err, PP_INPUT, NULL, "%u %s: must be from 1 to %u", sizes[i].count,
                              sizes[i].what, sizes[i].limit);
    }
    return PP_OK;
}

/* Takes the next `count` numbers of the block. */
static int64_t *carve(int64_t **block, size_t count)
{
    int64_t *column = *block;
    *block += count;
    return column;
}

/* Lists the members that point to tables, in the order of the block. */
static void list_tables(pp_costs *costs, int64_t **tables[TABLES], int64_t **per_rank[RANK_TABLES],
                        int64_t **per_stage[STAGE_TABLES])
{
    int64_t **const cells[TABLES] = {
        &costs->f_ns,
        &costs->i_ns,
        &costs->w_ns,
        &costs->b_ns,
        &costs->pair_ns,
        &costs->hidden_ns,
        &costs->send_f_ns,
        &costs->send_b_ns,
        &costs->activation_bytes,
        &costs->stash_bytes,
        &costs->recompute_bytes,
        &costs->logits_bytes,
        &costs->temporary_bytes,
        &costs->output_bytes,
        &costs->message_bytes,
        &costs->again_ns,
        &costs->weight_gradient_bytes,
        &costs->again_bytes,
        &costs->w_extra_bytes,
    };
    int64_t **const ranks[RANK_TABLES] = {
        &costs->parameter_bytes, &costs->gradient_bytes,     &costs->optimizer_bytes,
        &costs->workspace_bytes, &costs->comm_library_bytes, &costs->grad_sync_ns,
        &costs->tied_ns,         &costs->optimizer_ns,       &costs->limit_bytes,
    };
    memcpy(tables, cells, sizeof cells);
    int64_t **const stages[STAGE_TABLES] = {
        &costs->unshard_ns,     &costs->unshard_copy_ns,      &costs->reduce_grad_ns,
        &costs->gathered_bytes, &costs->whole_gradient_bytes, &costs->gradient_shard_bytes,
        &costs->regather_ns,    &costs->regather_first_ns,    &costs->regather_last_ns,
        &costs->kept_bytes,     &costs->passing_bytes,        &costs->reduce_last_ns,
    };
    memcpy(per_rank, ranks, sizeof ranks);
    memcpy(per_stage, stages, sizeof stages);
}

pp_status pp_costs_new(uint32_t ranks, uint32_t stages, uint32_t microbatches, uint32_t classes,
                       pp_costs **costs_out, pp_err *err)
{
    pp_status status = check_size(ranks, stages, microbatches, classes, err);
    if (status)
        return status;
    const size_t cells = (size_t)classes * stages;
    const size_t head = (sizeof(pp_costs) + sizeof(int64_t) - 1) / sizeof(int64_t);
    const size_t words = head + TABLES * cells + RANK_TABLES * (size_t)ranks +
                         STAGE_TABLES * (size_t)stages + microbatches / 2 + 1;
    int64_t *block = pp_alloc_array(words, sizeof *block);
    if (!block)
        return pp_err_nomem(err);
    pp_costs *costs = (pp_costs *)(void *)block;
    block += head;
    costs->ranks = ranks;
    costs->stages = stages;
    costs->microbatches = microbatches;
    costs->classes = classes;
    int64_t **tables[TABLES];
    int64_t **per_rank[RANK_TABLES];
    int64_t **per_stage[STAGE_TABLES];
    list_tables(costs, tables, per_rank, per_stage);
    for (size_t i = 0; i < TABLES; i++)
        *tables[i] = carve(&block, cells);
    for (size_t i = 0; i < RANK_TABLES; i++)
        *per_rank[i] = carve(&block, ranks);
    for (size_t i = 0; i < STAGE_TABLES; i++)
        *per_stage[i] = carve(&block, stages);
    costs->class_of = (uint32_t *)(void *)block;
    *costs_out = costs;
    return PP_OK;
}

/* Copies costs into `classes` classes, of which class k is the class of_class[k] of the original
 * (NULL: k). class_of is left to the caller. */
static pp_status copy_classes(const pp_costs *costs, uint32_t classes, const uint32_t *of_class,
                              pp_costs **copy_out, pp_err *err)
{
    pp_costs *copy = NULL;
    pp_status status =
        pp_costs_new(costs->ranks, costs->stages, costs->microbatches, classes, &copy, err);
    if (status)
        return status;
    pp_costs from = *costs;
    pp_costs own = *copy;
    int64_t **source[TABLES], **room[TABLES], **tables[TABLES];
    int64_t **source_ranks[RANK_TABLES], **room_ranks[RANK_TABLES], **per_rank[RANK_TABLES];
    int64_t **source_stages[STAGE_TABLES], **room_stages[STAGE_TABLES], **per_stage[STAGE_TABLES];
    *copy = *costs; /* copies the scalars; the pointers to tables are set below */
    copy->late = NULL;
    copy->classes = classes;
    copy->class_of = own.class_of;
    list_tables(&from, source, source_ranks, source_stages);
    list_tables(&own, room, room_ranks, room_stages);
    list_tables(copy, tables, per_rank, per_stage);
    for (size_t i = 0; i < RANK_TABLES; i++) {
        *per_rank[i] = *room_ranks[i];
        memcpy(*per_rank[i], *source_ranks[i], costs->ranks * sizeof(int64_t));
    }
    for (size_t i = 0; i < STAGE_TABLES; i++) {
        *per_stage[i] = *room_stages[i];
        memcpy(*per_stage[i], *source_stages[i], costs->stages * sizeof(int64_t));
    }
    for (size_t i = 0; i < TABLES; i++) {
        *tables[i] = *room[i];
        for (uint32_t k = 0; k < classes; k++)
            memcpy(*tables[i] + (size_t)k * costs->stages,
                   *source[i] + (size_t)(of_class ? of_class[k] : k) * costs->stages,
                   costs->stages * sizeof(int64_t));
    }
    *copy_out = copy;
    return PP_OK;
}

pp_status pp_costs_spread(const pp_costs *costs, pp_costs **spread_out, pp_err *err)
{
    pp_costs *spread = NULL;
    pp_status status = copy_classes(costs, costs->microbatches, costs->class_of, &spread, err);
    if (status)
        return status;
    for (uint32_t j = 0; j < costs->microbatches; j++)
        spread->class_of[j] = j;
    *spread_out = spread;
    return PP_OK;
}

void pp_costs_free(pp_costs **costs)
{
    if (*costs)
        free((*costs)->late);
    free(*costs);
    *costs = NULL;
}

void pp_costs_split_late(pp_costs *costs, uint32_t stage, size_t row)
{
    if (stage == 0) {
        costs->w_ns[row] = costs->b_ns[row];
        costs->i_ns[row] = 0;
        costs->stash_bytes[row] = costs->activation_bytes[row] + costs->message_bytes[row];
        costs->w_extra_bytes[row] = costs->recompute_bytes[row] + costs->temporary_bytes[row];
    } else {
        costs->w_ns[row] += costs->again_ns[row];
        costs->stash_bytes[row] = costs->activation_bytes[row] + costs->weight_gradient_bytes[row];
        costs->w_extra_bytes[row] = costs->again_bytes[row];
    }
    costs->again_ns[row] = 0;
    costs->weight_gradient_bytes[row] = 0;
    costs->again_bytes[row] = 0;
}

pp_status pp_costs_add_late(pp_costs *costs, pp_err *err)
{
    pp_costs *late = NULL;
    pp_status status = copy_classes(costs, costs->classes, NULL, &late, err);
    if (status)
        return status;
    memcpy(late->class_of, costs->class_of, costs->microbatches * sizeof *late->class_of);
    for (size_t i = 0; i < (size_t)costs->classes * costs->stages; i++)
        pp_costs_split_late(late, (uint32_t)(i % costs->stages), i);
    free(costs->late);
    costs->late = late;
    return PP_OK;
}

/* One KEY=VALUE of a list that is separated by commas. */
typedef struct key_value {
    char key[16], value[64];
} key_value;

static pp_status next_pair(const char **text, const char *option, const char *example,
                           key_value *pair_out, pp_err *err)
{
    const size_t length = strcspn(*text, ",");
    const size_t key = strcspn(*text, "=,");
    const char *end = *text + length;
    if (key == 0 || key >= length || key >= sizeof pair_out->key ||
        length - key - 1 >= sizeof pair_out->value || length - key == 1)
        return pp_err_set(err, PP_USAGE, option, "'%.*s' is not KEY=VALUE; write for example %s",
                          (int)(length < 80 ? length : 80), *text, example);
    memcpy(pair_out->key, *text, key);
    pair_out->key[key] = '\0';
    memcpy(pair_out->value, *text + key + 1, length - key - 1);
    pair_out->value[length - key - 1] = '\0';
    if (*end == ',' && end[1] == '\0')
        return pp_err_set(err, PP_USAGE, option, "ends with a comma; write for example %s",
                          example);
    *text = *end ? end + 1 : end;
    return PP_OK;
}

/* Turns an error of pp_parse_* into wrong usage, with the same text. */
static pp_status as_usage(const pp_err *from, pp_err *err)
{
    return pp_err_set(err, PP_USAGE, from->where, "%s", from->text);
}

enum { KEY_F, KEY_I, KEY_W, KEY_B, KEY_COMM, KEY_FB, KEY_COUNT };
static const char *const keys[KEY_COUNT] = { "F", "I", "W", "B", "comm", "FB" };

static pp_status find_key(const key_value *pair, size_t count, const char *option, const bool *seen,
                          size_t *key_out, pp_err *err)
{
    for (size_t k = 0; k < count; k++) {
        if (strcmp(keys[k], pair->key) != 0)
            continue;
        if (seen[k])
            return pp_err_set(err, PP_USAGE, option, "%s is given twice", pair->key);
        *key_out = k;
        return PP_OK;
    }
    return pp_err_set(err, PP_USAGE, option, "unknown key '%s'; the keys are %s", pair->key,
                      count == KEY_COUNT ? "F, I, W, B, FB, comm" : "F, I, W, B");
}

pp_status pp_uniform_costs_parse(const char *text, pp_uniform_costs *out, pp_err *err)
{
    const char *option = pp_err_name(err, PP_FIELD_COSTS);
    pp_ns value[KEY_COUNT] = { 0 };
    bool seen[KEY_COUNT] = { false };
    do {
        key_value pair;
        size_t key = 0;
        pp_status status =
            next_pair(&text, option, "F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms", &pair, err);
        if (!status)
            status = find_key(&pair, KEY_COUNT, option, seen, &key, err);
        if (status)
            return status;
        char where[32];
        snprintf(where, sizeof where, "%s %s", option, pair.key);
        pp_err local = pp_err_like(err);
        if (pp_parse_duration(pair.value, where, &value[key], &local))
            return as_usage(&local, err);
        seen[key] = true;
    } while (*text);
    if (!seen[KEY_F])
        return pp_err_set(err, PP_USAGE, option, "F is missing");
    if (seen[KEY_I] != seen[KEY_W])
        return pp_err_set(err, PP_USAGE, option, "%s is missing: give I and W, or only B",
                          seen[KEY_I] ? "W" : "I");
    if (!seen[KEY_I] && !seen[KEY_B])
        return pp_err_set(err, PP_USAGE, option, "the backward is missing: give I and W, or B");
    if (value[KEY_I] > PP_NS_MAX - value[KEY_W])
        return pp_err_set(err, PP_USAGE, option, "I + W is too long");
    if (seen[KEY_I] && seen[KEY_B] && value[KEY_B] != value[KEY_I] + value[KEY_W])
        return pp_err_set(err, PP_USAGE, option,
                          "B must equal I + W, but B is %" PRId64 " ns and I + W is %" PRId64
                          " ns; leave out B, or I and W",
                          value[KEY_B], value[KEY_I] + value[KEY_W]);
    if (!seen[KEY_I]) {
        value[KEY_I] = value[KEY_B] / 2;
        value[KEY_W] = value[KEY_B] - value[KEY_I];
    }
    const pp_ns back_ns = value[KEY_I] + value[KEY_W];
    const pp_ns longer_ns = value[KEY_F] > back_ns ? value[KEY_F] : back_ns;
    if (seen[KEY_FB] && value[KEY_FB] < longer_ns)
        return pp_err_set(
            err, PP_USAGE, option,
            "FB is an overlapped F and B and cannot be shorter than the longer one: FB is %" PRId64
            " ns, and the longer one %" PRId64 " ns",
            value[KEY_FB], longer_ns);
    *out = (pp_uniform_costs){ value[KEY_F],    value[KEY_I],
                               value[KEY_W],    seen[KEY_B] ? value[KEY_B] : -1,
                               value[KEY_COMM], value[KEY_FB] };
    return PP_OK;
}

pp_status pp_costs_uniform(const pp_uniform_costs *uniform, uint32_t ranks, uint32_t stages,
                           uint32_t microbatches, pp_costs **costs_out, pp_err *err)
{
    pp_costs *costs = NULL;
    pp_status status = pp_costs_new(ranks, stages, microbatches, 1, &costs, err);
    if (status)
        return status;
    const pp_ns b_ns = uniform->b_ns < 0 ? uniform->i_ns + uniform->w_ns : uniform->b_ns;
    costs->has_pairs = uniform->pair_ns > 0;
    for (uint32_t s = 0; s < stages; s++) {
        costs->f_ns[s] = uniform->f_ns;
        costs->i_ns[s] = uniform->i_ns;
        costs->w_ns[s] = uniform->w_ns;
        costs->b_ns[s] = b_ns;
        costs->pair_ns[s] = uniform->pair_ns;
        costs->send_f_ns[s] = s + 1 < stages ? uniform->comm_ns : 0;
        costs->send_b_ns[s] = s > 0 ? uniform->comm_ns : 0;
    }
    *costs_out = costs;
    return PP_OK;
}

/* Reads a signed number, or, if `bytes`, a signed size. */
static pp_status read_change(const char *text, const char *where, bool bytes, double *value_out,
                             int64_t *bytes_out, pp_err *err)
{
    const bool negative = *text == '-';
    const char *digits = text + (negative || *text == '+');
    if (bytes) {
        pp_err local = pp_err_like(err);
        int64_t size = 0;
        if (pp_parse_bytes(digits, where, &size, &local))
            return as_usage(&local, err);
        *bytes_out = negative ? -size : size;
        return PP_OK;
    }
    char *end = NULL;
    const double value = strtod(digits, &end);
    if (!*digits || digits[strspn(digits, "0123456789.eE-")] || *digits == '-' || *end ||
        !(value <= 1e9))
        return pp_err_set(err, PP_USAGE, where,
                          "'%s' is not a number of activations; write for example "
                          "F=1,I=-0.5,W=-0.5, or all with units: F=1GiB,I=-512MiB,W=-512MiB",
                          text);
    *value_out = negative ? -value : value;
    return PP_OK;
}

/* Checks the rules for both forms; f, i and w may be in activations or in bytes. */
static pp_status check_changes(const bool *seen, double f, double i, double w, double rounding,
                               pp_err *err)
{
    const char *option = pp_err_name(err, PP_FIELD_MEMORY_COSTS);
    if (!seen[KEY_F] || !(seen[KEY_B] ? !seen[KEY_I] && !seen[KEY_W] : seen[KEY_I] && seen[KEY_W]))
        return pp_err_set(err, PP_USAGE, option, "needs F, I and W (or F and B)");
    if (!(f > 0))
        return pp_err_set(err, PP_USAGE, option, "F must be positive, not %g", f);
    if (i > 0 || w > 0)
        return pp_err_set(
            err, PP_USAGE, option,
            "I and W release memory, so they must not be positive; they are %g and %g", i, w);
    if (fabs(f + i + w) > rounding)
        return pp_err_set(err, PP_USAGE, option, "F + I + W must be 0, not %g", f + i + w);
    return PP_OK;
}

pp_status pp_memory_costs_parse(const char *text, pp_memory_costs *out, pp_err *err)
{
    const char *option = pp_err_name(err, PP_FIELD_MEMORY_COSTS);
    double value[KEY_COMM] = { 0 };
    int64_t size[KEY_COMM] = { 0 };
    bool seen[KEY_COMM] = { false };
    const bool in_bytes = strpbrk(strchr(text, '=') ? strchr(text, '=') : text, "kKMGT") != NULL ||
                          strstr(text, "B,") != NULL;
    do {
        key_value pair;
        size_t key = 0;
        pp_status status = next_pair(&text, option, "F=1,I=-0.5,W=-0.5", &pair, err);
        if (!status)
            status = find_key(&pair, KEY_COMM, option, seen, &key, err);
        char where[32];
        snprintf(where, sizeof where, "%s %s", option, status ? "" : pair.key);
        if (!status)
            status = read_change(pair.value, where, in_bytes, &value[key], &size[key], err);
        if (status)
            return status;
        seen[key] = true;
    } while (*text);
    pp_memory_costs costs = { .in_bytes = in_bytes };
    if (in_bytes) {
        costs.f_bytes = size[KEY_F];
        costs.i_bytes = seen[KEY_B] ? size[KEY_B] / 2 : size[KEY_I];
        costs.w_bytes = seen[KEY_B] ? size[KEY_B] - costs.i_bytes : size[KEY_W];
        const double unit = size[KEY_F] > 0 ? (double)size[KEY_F] : 1.0;
        costs.f = size[KEY_F] > 0 ? 1.0 : 0.0;
        costs.i = (double)costs.i_bytes / unit;
        costs.w = (double)costs.w_bytes / unit;
        if (costs.f_bytes + costs.i_bytes + costs.w_bytes != 0)
            costs.w += 1.0; /* makes the check report a sum that is not 0, whatever the rounding */
    } else {
        costs.f = value[KEY_F];
        costs.i = seen[KEY_B] ? value[KEY_B] / 2 : value[KEY_I];
        costs.w = seen[KEY_B] ? value[KEY_B] / 2 : value[KEY_W];
    }
    pp_status status = check_changes(seen, costs.f, costs.i, costs.w, 1e-9 * costs.f, err);
    if (!status)
        *out = costs;
    return status;
}

void pp_costs_set_memory(pp_costs *costs, const pp_memory_costs *memory)
{
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t i = 0; i < cells; i++) {
        costs->activation_bytes[i] = memory->f_bytes;
        costs->stash_bytes[i] = -memory->w_bytes;
    }
    costs->has_memory = true;
}
