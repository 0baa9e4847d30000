/* Parses properties of single ranks and applies them to costs that were made without them. */
#include "sim/cost/rank_overrides.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/order/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_field fields[] = { PP_FIELD_RANK_SPEED, PP_FIELD_RANK_MEMORY, PP_FIELD_RANK_LINK };
static const char *const examples[] = { "3=0.8,5=1.1", "3=40GiB", "2:3=25GB/s" };

void pp_rank_overrides_free(pp_rank_overrides *overrides)
{
    free(overrides->item);
    *overrides = (pp_rank_overrides){ 0 };
}

static pp_status wrong(pp_rank_override_kind kind, const char *option, const char *item,
                       const char *why, pp_err *err)
{
    return pp_err_set(err, PP_USAGE, option, "'%.60s' %s; write for example %s", item, why,
                      examples[kind]);
}

static pp_status read_value(const char *text, pp_rank_override *t, pp_err *err)
{
    char *end = NULL;
    switch (t->kind) {
    case PP_RANK_OVERRIDE_MEMORY:
        if (pp_parse_bytes(text, "", &t->bytes, err) || t->bytes < 1)
            return PP_USAGE;
        break;
    case PP_RANK_OVERRIDE_LINK:
        if (pp_parse_rate(text, "", &t->value, err) || !(t->value > 0))
            return PP_USAGE;
        break;
    case PP_RANK_OVERRIDE_SPEED:
        t->value = strtod(text, &end);
        if (!*text || text[strspn(text, "0123456789.")] || *end ||
            !(t->value >= PP_RANK_OVERRIDE_SPEED_MIN && t->value <= PP_RANK_OVERRIDE_SPEED_MAX))
            return PP_USAGE;
    }
    return PP_OK;
}

/* Reads one "RANK=VALUE" or "A:B=VALUE". item is modified. */
static pp_status read_item(char *item, const char *option, pp_rank_override *t, pp_err *err)
{
    char whole[80];
    int64_t rank = 0;
    int64_t other = 0;
    snprintf(whole, sizeof whole, "%s", item);
    char *value = strchr(item, '=');
    char *second = strchr(item, ':');
    if (!value || (t->kind == PP_RANK_OVERRIDE_LINK) != (second && second < value))
        return wrong(t->kind, option, whole,
                     t->kind == PP_RANK_OVERRIDE_LINK ? "is not A:B=RATE" : "is not RANK=VALUE",
                     err);
    *value++ = '\0';
    if (t->kind == PP_RANK_OVERRIDE_LINK)
        *second++ = '\0';
    if (pp_parse_int(item, option, 0, PP_RANKS_MAX - 1, &rank, NULL) ||
        (t->kind == PP_RANK_OVERRIDE_LINK &&
         (pp_parse_int(second, option, 0, PP_RANKS_MAX - 1, &other, NULL) || other == rank)))
        return wrong(t->kind, option, whole, "does not name ranks", err);
    pp_err unread = { 0 };
    if (read_value(value, t, &unread))
        return wrong(t->kind, option, whole,
                     t->kind == PP_RANK_OVERRIDE_SPEED
                         ? "is not a speed from 0.001 to 1000, where 1 is the hardware's"
                         : "has no value with a unit",
                     err);
    t->rank = (uint32_t)(t->kind == PP_RANK_OVERRIDE_LINK && other < rank ? other : rank);
    t->other = (uint32_t)(t->kind != PP_RANK_OVERRIDE_LINK ? 0 : other < rank ? rank : other);
    return PP_OK;
}

static const pp_rank_override *find(const pp_rank_overrides *overrides, pp_rank_override_kind kind,
                                    uint32_t rank, uint32_t other)
{
    for (size_t i = 0; overrides && i < overrides->count; i++) {
        const pp_rank_override *t = &overrides->item[i];
        if (t->kind == kind && t->rank == rank && t->other == other)
            return t;
    }
    return NULL;
}

pp_status pp_rank_overrides_add(const pp_rank_override *override, pp_rank_overrides *overrides,
                                pp_err *err)
{
    void *grown = overrides->item;
    if (find(overrides, override->kind, override->rank, override->other))
        return PP_OK;
    pp_status status =
        pp_grow(&grown, &overrides->capacity, overrides->count + 1, sizeof *override, err);
    if (status)
        return status;
    overrides->item = grown;
    overrides->item[overrides->count++] = *override;
    return PP_OK;
}

pp_status pp_rank_overrides_parse(pp_rank_override_kind kind, const char *option, const char *text,
                                  pp_rank_overrides *overrides, pp_err *err)
{
    do {
        char item[80];
        pp_rank_override t = { .kind = kind };
        size_t bytes = strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)(bytes < 79 ? bytes : 79), text);
        pp_status status = read_item(item, option, &t, err);
        if (status)
            return status;
        if (find(overrides, kind, t.rank, t.other))
            return pp_err_set(err, PP_USAGE, option, "rank %" PRIu32 " is given twice", t.rank);
        if ((status = pp_rank_overrides_add(&t, overrides, err)))
            return status;
        text += bytes + (text[bytes] == ',' && text[bytes + 1]);
        if (*text == ',')
            return pp_err_set(err, PP_USAGE, option, "ends with a comma; write for example %s",
                              examples[kind]);
    } while (*text);
    return PP_OK;
}

pp_status pp_rank_overrides_check(const pp_rank_overrides *overrides, uint32_t ranks, pp_err *err)
{
    for (size_t i = 0; overrides && i < overrides->count; i++) {
        const pp_rank_override *t = &overrides->item[i];
        uint32_t last = t->kind == PP_RANK_OVERRIDE_LINK ? t->other : t->rank;
        if (last >= ranks)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, fields[t->kind]),
                              "there is no rank %" PRIu32 "; the last of the %" PRIu32
                              " ranks is %" PRIu32,
                              last, ranks, ranks - 1);
    }
    return PP_OK;
}

double pp_rank_overrides_speed(const pp_rank_overrides *overrides, uint32_t rank)
{
    const pp_rank_override *t = find(overrides, PP_RANK_OVERRIDE_SPEED, rank, 0);
    return t ? t->value : 1;
}

int64_t pp_rank_overrides_memory_bytes(const pp_rank_overrides *overrides, uint32_t rank)
{
    const pp_rank_override *t = find(overrides, PP_RANK_OVERRIDE_MEMORY, rank, 0);
    return t ? t->bytes : 0;
}

double pp_rank_overrides_link_bytes_per_s(const pp_rank_overrides *overrides, uint32_t rank,
                                          uint32_t other)
{
    const pp_rank_override *t = find(overrides, PP_RANK_OVERRIDE_LINK, rank < other ? rank : other,
                                     rank < other ? other : rank);
    return t ? t->value : 0;
}

bool pp_rank_override_joins(const pp_rank_override *link, uint32_t rank, uint32_t other)
{
    return link->kind == PP_RANK_OVERRIDE_LINK && ((link->rank == rank && link->other == other) ||
                                                   (link->rank == other && link->other == rank));
}

static pp_status slow_down(pp_costs *costs, size_t cell, double speed, pp_err *err)
{
    pp_ns *const times[] = { &costs->f_ns[cell],    &costs->i_ns[cell],    &costs->w_ns[cell],
                             &costs->b_ns[cell],    &costs->pair_ns[cell], &costs->hidden_ns[cell],
                             &costs->again_ns[cell] };
    bool sum = costs->b_ns[cell] == costs->i_ns[cell] + costs->w_ns[cell];
    pp_status status = PP_OK;
    for (size_t k = 0; k < sizeof times / sizeof *times && !status; k++)
        status = pp_ns_from_seconds(1e-9 * (double)*times[k] / speed,
                                    pp_err_name(err, PP_FIELD_RANK_SPEED), times[k], err);
    if (sum)
        costs->b_ns[cell] = costs->i_ns[cell] + costs->w_ns[cell];
    return status;
}

/* Sets the duration of a tensor of `bytes` from stage s to its neighbour. */
static pp_status set_link(const pp_rank_overrides *overrides, const uint32_t *stage_rank,
                          uint32_t s, uint32_t to, pp_ns latency_ns, int64_t bytes, pp_ns *ns,
                          pp_err *err)
{
    double rate = pp_rank_overrides_link_bytes_per_s(overrides, stage_rank[s], stage_rank[to]);
    if (stage_rank[s] == stage_rank[to] || !(rate > 0))
        return PP_OK;
    if (bytes < 1)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RANK_LINK),
                          "the sizes of transfers are unknown here; give a plan, or a costs file "
                          "with \"message_bytes\"");
    pp_status status =
        pp_ns_from_seconds((double)bytes / rate, pp_err_name(err, PP_FIELD_RANK_LINK), ns, err);
    *ns += latency_ns;
    return status;
}

pp_status pp_rank_overrides_apply(const pp_rank_overrides *overrides, const uint32_t *stage_rank,
                                  pp_ns latency_ns, pp_costs *costs, pp_err *err)
{
    pp_status status = pp_rank_overrides_check(overrides, costs->ranks, err);
    for (uint32_t r = 0; r < costs->ranks && !status; r++) {
        if (pp_rank_overrides_memory_bytes(overrides, r))
            costs->limit_bytes[r] = pp_rank_overrides_memory_bytes(overrides, r);
    }
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t cell = 0; cell < cells && !status; cell++) {
        uint32_t s = (uint32_t)(cell % costs->stages);
        double speed = pp_rank_overrides_speed(overrides, stage_rank[s]);
        status = speed == 1 ? PP_OK : slow_down(costs, cell, speed, err);
        if (!status && s + 1 < costs->stages)
            status = set_link(overrides, stage_rank, s, s + 1, latency_ns,
                              costs->message_bytes[cell], &costs->send_f_ns[cell], err);
        if (!status && s > 0)
            status = set_link(overrides, stage_rank, s, s - 1, latency_ns,
                              costs->message_bytes[cell - 1], &costs->send_b_ns[cell], err);
    }
    return status || !costs->late ? status : pp_costs_add_late(costs, err);
}
