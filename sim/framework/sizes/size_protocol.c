/* Names of the size protocols, what each framework supports of them, and the padding of data and
 * costs. */
#include "sim/framework/sizes/size_protocol.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/minmax.h"
#include "sim/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_transfer_kind in_one_order[2][PP_TENSOR_KINDS] = {
    { PP_SEND_B, PP_RECV_F, PP_SEND_F, PP_RECV_B },
    { PP_SEND_B, PP_RECV_F, PP_SEND_F, PP_RECV_B },
};

static const pp_transfer_kind by_parity[2][PP_TENSOR_KINDS] = {
    { PP_SEND_F, PP_RECV_F, PP_SEND_B, PP_RECV_B },
    { PP_RECV_F, PP_SEND_F, PP_RECV_B, PP_SEND_B },
};

const pp_size_protocol_support pp_size_protocols_megatron = {
    .rounds = 1,
    .bytes = { 24 },
    .gradients = true,
    .sync = true,
    .sync_calls = true,
    .order = in_one_order,
};

const pp_size_protocol_support pp_size_protocols_megatron_overlap = {
    .rounds = 1,
    .bytes = { 24 },
    .gradients = true,
    .sync = true,
    .single = &pp_size_protocols_megatron,
    .order = in_one_order,
};

const pp_size_protocol_support pp_size_protocols_megatron_parity = {
    .rounds = 1,
    .bytes = { 24 },
    .gradients = true,
    .sync = true,
    .order = by_parity,
};

const pp_size_protocol_support pp_size_protocols_torch = {
    .no_message = "a schedule object knows one shape for all its microbatches",
    .rounds = 2,
    .bytes = { 8, 512 },
};

const pp_size_protocol_support pp_size_protocols_graphs = {
    .no_message = "shapes are traced before the first step and compiled into its graphs",
    .no_cache = "shapes are traced before the first step and compiled into its graphs",
    .tensor_by_tensor = true,
};

const pp_size_protocol_support pp_size_protocols_ppsim = {
    .rounds = 1,
    .bytes = { 16 },
    .late_receive = true,
    .resends = true,
};

const pp_size_protocol_support pp_size_protocols_fixed = {
    .no_message = "its tensor shapes are set once, in its configuration",
    .no_cache = "its tensor shapes are set once, in its configuration",
};

static const char *const names[] = { "plan",   "local",  "message",    "cached",
                                     "padded", "bucket", "padded-wire" };

enum { NAMES = sizeof names / sizeof names[0] };

const char *pp_size_protocol_print(const pp_size_protocol *shapes, char *buffer, size_t size)
{
    if (shapes->tokens)
        snprintf(buffer, size, "%s:%" PRId64, names[shapes->kind], shapes->tokens);
    else
        snprintf(buffer, size, "%s", names[shapes->kind]);
    return buffer;
}

pp_status pp_size_protocol_parse(const char *text, pp_size_protocol *shapes_out, pp_err *err)
{
    size_t name = strcspn(text, ":");
    pp_size_protocol parsed = { .kind = PP_SIZES_PLAN };
    size_t k = 0;
    while (*text && k < NAMES && (strlen(names[k]) != name || strncmp(names[k], text, name) != 0))
        k++;
    parsed.kind = (pp_size_protocol_kind)k;
    bool number = text[name] == ':';
    if (k == NAMES || (number && k < PP_SIZES_PADDED) || (!number && k == PP_SIZES_BUCKET))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
                          "'%.64s' is not one of plan, local, message, cached, padded[:MAX], "
                          "bucket:N, padded-wire[:MAX]",
                          text);
    pp_err inner = pp_err_like(err);
    if (number && pp_parse_int(text + name + 1, pp_err_name(err, PP_FIELD_SHAPES), 1,
                               PP_MICROBATCH_TOKENS_MAX, &parsed.tokens, &inner))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES), "%s", inner.text);
    *shapes_out = parsed;
    return PP_OK;
}

pp_status pp_host_costs_parse(const char *text, pp_host_costs *host_out, pp_err *err)
{
    static const char *const keys[] = { "launch=", "sync=", "read=" };
    pp_host_costs host = { 0 };
    pp_ns *const into[] = { &host.launch_ns, &host.sync_ns, &host.read_ns };
    bool given[3] = { false };
    while (*text) {
        char value[40];
        size_t bytes = strcspn(text, ",");
        size_t k = 0;
        while (k < 3 && strncmp(text, keys[k], strlen(keys[k])) != 0)
            k++;
        size_t skip = k < 3 ? strlen(keys[k]) : 0;
        if (k == 3 || given[k] || bytes - skip >= sizeof value)
            return pp_err_set(
                err, PP_USAGE, pp_err_name(err, PP_FIELD_HOST),
                "'%.*s' is not one of launch=TIME, sync=TIME, read=TIME, or occurs twice",
                (int)(bytes < 64 ? bytes : 64), text);
        snprintf(value, sizeof value, "%.*s", (int)(bytes - skip), text + skip);
        pp_err inner = pp_err_like(err);
        if (pp_parse_duration(value, pp_err_name(err, PP_FIELD_HOST), into[k], &inner))
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_HOST), "%s", inner.text);
        if (*into[k] > PP_HOST_NS_MAX)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_HOST),
                              "'%s' is more than 1000 s", value);
        given[k] = true;
        text += bytes + (text[bytes] == ',');
    }
    *host_out = host;
    return PP_OK;
}

/* The number of tokens of a microbatch after padding. */
static int64_t padded_tokens(const pp_size_protocol *shapes, int64_t longest, int64_t tokens)
{
    if (shapes->kind == PP_SIZES_BUCKET)
        return (tokens + shapes->tokens - 1) / shapes->tokens * shapes->tokens;
    if (shapes->kind == PP_SIZES_PADDED)
        return shapes->tokens ? shapes->tokens : longest;
    return tokens;
}

/* The number of tokens of every tensor on the wire; 0: that of its microbatch. */
static int64_t wire_tokens(const pp_size_protocol *shapes, int64_t longest)
{
    if (shapes->kind != PP_SIZES_PADDED_WIRE)
        return 0;
    return shapes->tokens ? shapes->tokens : longest;
}

static pp_status check_padding(const pp_size_protocol *shapes, const pp_workload *from, uint32_t j,
                               int64_t longest, pp_err *err)
{
    int64_t tokens = from->microbatch[j].tokens;
    const bool on_wire = shapes->kind == PP_SIZES_PADDED_WIRE;
    int64_t padded =
        on_wire ? wire_tokens(shapes, longest) : padded_tokens(shapes, longest, tokens);
    if (padded < tokens)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_SHAPES),
                          "microbatch %" PRIu32 " has %" PRId64 " tokens, more than %s:%" PRId64
                          " holds; give at least %s:%" PRId64,
                          j % from->microbatches, tokens, names[shapes->kind], shapes->tokens,
                          names[shapes->kind], longest);
    int64_t last = from->length_count
                       ? from->lengths[from->microbatch[j].first + from->microbatch[j].count - 1]
                       : tokens;
    if ((!on_wire && last + (padded - tokens) > PP_LENGTH_MAX) || padded > PP_MICROBATCH_TOKENS_MAX)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_SHAPES),
                          "pads microbatch %" PRIu32 " to %" PRId64
                          " tokens, beyond the limit of %" PRId64 " for one sequence",
                          j % from->microbatches, padded, PP_LENGTH_MAX);
    return PP_OK;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static pp_status count_shapes(const pp_workload *w, size_t count, uint32_t *shapes_out, pp_err *err)
{
    int64_t *tokens = pp_alloc_array(count, sizeof *tokens);
    if (!tokens)
        return pp_err_nomem(err);
    for (size_t j = 0; j < count; j++)
        tokens[j] = w->microbatch[j].tokens;
    qsort(tokens, count, sizeof *tokens, by_value);
    *shapes_out = count > 0;
    for (size_t j = 1; j < count; j++)
        *shapes_out += tokens[j] != tokens[j - 1];
    free(tokens);
    return PP_OK;
}

/* Extends the last sequence to the end of the row, as frameworks do that pad packed rows, since
 * their attention kernels allow no gaps (in NeMo's packed data set, the last cu_seqlens is the
 * row's length). Since microbatches may share their lengths, each gets a copy. */
static void lengthen(const pp_size_protocol *shapes, const pp_workload *from, size_t count,
                     int64_t longest, pp_workload *to)
{
    size_t next = 0;
    for (size_t j = 0; j < count; j++) {
        const pp_microbatch *old = &from->microbatch[j];
        int64_t more = padded_tokens(shapes, longest, old->tokens) - old->tokens;
        int64_t last = from->lengths[old->first + old->count - 1];
        memcpy(to->lengths + next, from->lengths + old->first, old->count * sizeof *to->lengths);
        to->lengths[next + old->count - 1] += more;
        to->microbatch[j] = (pp_microbatch){
            .tokens = old->tokens + more,
            .square_sum = old->square_sum - last * last + (last + more) * (last + more),
            .first = next,
            .count = old->count,
        };
        next += old->count;
    }
}

pp_status pp_workload_pad(const pp_size_protocol *shapes, const pp_workload *from,
                          pp_workload *workload_out, uint32_t *shapes_out, pp_err *err)
{
    size_t count = (size_t)from->replicas * from->microbatches;
    size_t lengths = 0;
    int64_t longest = 0;
    if (!from->length_count)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
                          "padding needs the sequence lengths of every microbatch");
    for (size_t j = 0; j < count; j++) {
        lengths += from->microbatch[j].count;
        longest = from->microbatch[j].tokens > longest ? from->microbatch[j].tokens : longest;
    }
    for (size_t j = 0; j < count; j++) {
        pp_status status = check_padding(shapes, from, (uint32_t)j, longest, err);
        if (status)
            return status;
    }
    pp_workload made PP_CLEANUP(pp_workload_free) = *from;
    made.microbatch = pp_alloc_array(count, sizeof *made.microbatch);
    made.lengths = pp_alloc_array(lengths, sizeof *made.lengths);
    made.length_count = lengths;
    made.wire_tokens = wire_tokens(shapes, longest);
    if (!made.microbatch || !made.lengths)
        return pp_err_nomem(err);
    lengthen(shapes, from, count, longest, &made);
    pp_status status = shapes_out ? count_shapes(&made, count, shapes_out, err) : PP_OK;
    if (status)
        return status;
    *workload_out = made;
    made = (pp_workload){ 0 }; /* the caller's now */
    return PP_OK;
}

/* Gives all transfers of a stage the longest duration and the largest size of any microbatch. */
static void pad_transfers(pp_costs *costs)
{
    int64_t *const tables[] = { costs->send_f_ns, costs->send_b_ns, costs->message_bytes };
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++) {
        for (uint32_t s = 0; s < costs->stages; s++) {
            int64_t most = 0;
            for (uint32_t j = 0; j < costs->microbatches; j++)
                most = pp_max(most, tables[k][pp_cost_index(costs, s, j)]);
            for (uint32_t class = 0; class < costs->classes; class ++)
                tables[k][(size_t) class * costs->stages + s] = most;
        }
    }
}

pp_status pp_costs_pad(const pp_size_protocol *shapes, pp_costs *costs, pp_err *err)
{
    if (shapes->kind < PP_SIZES_PADDED)
        return PP_OK;
    if (shapes->tokens)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
                          "%s needs the costs of lengths that do not occur, which only a model "
                          "gives; use %s or %s, or %s (the longest microbatch)",
                          shapes->kind == PP_SIZES_BUCKET   ? "bucket:N"
                          : shapes->kind == PP_SIZES_PADDED ? "padded:MAX"
                                                            : "padded-wire:MAX",
                          pp_err_name(err, PP_FIELD_ASK_PLAN_MODEL),
                          pp_err_name(err, PP_FIELD_ASK_SHAPES_MODEL),
                          shapes->kind == PP_SIZES_PADDED_WIRE ? "padded-wire" : "padded");
    if (shapes->kind == PP_SIZES_PADDED_WIRE) {
        pad_transfers(costs);
        if (costs->late)
            pad_transfers(costs->late);
        return PP_OK;
    }
    pp_ns longest_ns = -1;
    uint32_t longest = 0;
    for (uint32_t j = 0; j < costs->microbatches; j++) {
        pp_ns sum_ns = 0;
        size_t row = (size_t)costs->class_of[j] * costs->stages;
        for (size_t s = row; s < row + costs->stages; s++)
            sum_ns += costs->f_ns[s] + costs->b_ns[s];
        if (sum_ns > longest_ns) {
            longest_ns = sum_ns;
            longest = costs->class_of[j];
        }
    }
    for (uint32_t j = 0; j < costs->microbatches; j++) {
        costs->class_of[j] = longest;
        if (costs->late)
            costs->late->class_of[j] = longest;
    }
    return PP_OK;
}
