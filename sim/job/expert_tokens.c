/* Reads the tokens of experts, and keeps what follows from them for each number of ranks that the
 * experts may be divided by: so a search over degrees looks them up. */
#include "sim/job/expert_tokens.h"

#include "sim/base/alloc.h"
#include "sim/base/json.h"
#include "sim/job/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define COUNT_MAX ((int64_t)1 << 31) /* of tokens of an expert: sums of 2^20 fit 64 bits */

void pp_expert_tokens_free(pp_expert_tokens *tokens)
{
    free(tokens->ep);
    free(tokens->imbalance);
    *tokens = (pp_expert_tokens){ 0 };
}

static void free_json(pp_json **json)
{
    pp_json_free(json);
}

/* Finds the numbers of ranks, above 1, that divide the experts. */
static pp_status find_degrees(pp_expert_tokens *tokens, pp_err *err)
{
    for (int64_t ep = 2; ep <= tokens->experts; ep++)
        tokens->degrees += tokens->experts % ep == 0;
    tokens->ep = pp_alloc_array(tokens->degrees + 1, sizeof *tokens->ep);
    tokens->imbalance =
        pp_alloc_array(tokens->degrees * tokens->microbatches + 1, sizeof *tokens->imbalance);
    if (!tokens->ep || !tokens->imbalance)
        return pp_err_nomem(err);
    size_t k = 0;
    for (int64_t ep = 2; ep <= tokens->experts; ep++) {
        if (tokens->experts % ep == 0)
            tokens->ep[k++] = ep;
    }
    return PP_OK;
}

/* Adds the imbalance of a layer, of which there are `layers`. counts: [experts], is overwritten. */
static pp_status add_layer(const pp_json_at *at, size_t layers, uint32_t microbatch,
                           int64_t *counts, pp_expert_tokens *tokens, pp_err *err)
{
    int64_t all = 0, dropped = 0;
    size_t count = 0;
    pp_status status = pp_json_count(at, &count, err);
    if (!status && (int64_t)count != tokens->experts)
        return pp_json_fail(at, err,
                            "has the tokens of %zu experts, but the first of the file has %" PRId64,
                            count, tokens->experts);
    for (size_t e = 0; e < count && !status; e++) {
        pp_json_at item;
        if (!(status = pp_json_item(at, e, &item, err)) &&
            !(status = pp_json_read_int(&item, 0, COUNT_MAX, &counts[e], err)))
            all += counts[e];
    }
    if (status)
        return status;
    if (all == 0)
        return pp_json_fail(at, err, "no expert has a token; leave out what did not run");
    const double limit = ceil(tokens->capacity * (double)all / (double)count);
    for (size_t e = 0; e < count; e++) {
        if (limit > 0 && limit < (double)counts[e]) {
            dropped += counts[e] - (int64_t)limit;
            counts[e] = (int64_t)limit;
        }
    }
    tokens->kept -= (double)dropped / (double)all / (double)layers / tokens->microbatches;
    for (size_t k = 0; k < tokens->degrees; k++) {
        const int64_t own = tokens->experts / tokens->ep[k];
        int64_t most = 0, here = 0;
        for (int64_t e = 0; e < tokens->experts; e++) {
            here = (e % own ? here : 0) + counts[e];
            most = here > most ? here : most;
        }
        tokens->imbalance[k * tokens->microbatches + microbatch] +=
            (double)most * (double)tokens->ep[k] / (double)all / (double)layers;
    }
    return PP_OK;
}

/* The first item, and whether it is an array; fails if there is none. */
static pp_status open_first(const pp_json_at *at, const char *of, size_t *count_out,
                            pp_json_at *first_out, pp_err *err)
{
    pp_status status = pp_json_count(at, count_out, err);
    if (!status && *count_out == 0)
        return pp_json_fail(at, err, "has no %s", of);
    return status ? status : pp_json_item(at, 0, first_out, err);
}

static pp_status add_microbatch(const pp_json_at *at, uint32_t microbatch, int64_t *counts,
                                pp_expert_tokens *tokens, pp_err *err)
{
    pp_json_at layer;
    size_t layers = 0;
    pp_status status = open_first(at, "counts of tokens", &layers, &layer, err);
    if (status || pp_json_kind_at(&layer) != PP_JSON_ARRAY)
        return status ? status : add_layer(at, 1, microbatch, counts, tokens, err);
    for (size_t l = 0; l < layers && !status; l++) {
        if (!(status = pp_json_item(at, l, &layer, err)))
            status = add_layer(&layer, layers, microbatch, counts, tokens, err);
    }
    return status;
}

static pp_status add_all(const pp_json_at *root, pp_expert_tokens *tokens, pp_err *err)
{
    pp_json_at first, item;
    size_t microbatches = 0, experts = 0;
    pp_status status = open_first(root, "microbatches", &microbatches, &first, err);
    if (!status)
        status = open_first(&first, "counts of tokens", &experts, &item, err);
    if (!status && pp_json_kind_at(&item) == PP_JSON_ARRAY)
        status = pp_json_count(&item, &experts, err);
    if (status)
        return status;
    if (microbatches > PP_EXPERT_TOKENS_MICROBATCHES_MAX || experts < 1 ||
        experts > PP_MODEL_EXPERTS_MAX)
        return pp_json_fail(
            root, err,
            "has %zu microbatches of %zu experts; at most %d of 1 to %" PRId64 " are read",
            microbatches, experts, PP_EXPERT_TOKENS_MICROBATCHES_MAX, PP_MODEL_EXPERTS_MAX);
    tokens->microbatches = (uint32_t)microbatches;
    tokens->experts = (int64_t)experts;
    int64_t *counts PP_CLEANUP(pp_free_array) = pp_alloc_array(experts, sizeof *counts);
    if (!counts)
        return pp_err_nomem(err);
    tokens->kept = 1;
    status = find_degrees(tokens, err);
    for (uint32_t j = 0; j < tokens->microbatches && !status; j++) {
        if (!(status = pp_json_item(root, j, &item, err)))
            status = add_microbatch(&item, j, counts, tokens, err);
    }
    return status;
}

pp_status pp_expert_tokens_parse(const char *text, size_t bytes, const char *name, double capacity,
                                 pp_expert_tokens *tokens_out, pp_err *err)
{
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_expert_tokens tokens PP_CLEANUP(pp_expert_tokens_free) = { .capacity = capacity };
    pp_status status = pp_json_parse(text, bytes, name, &json, err);
    if (status)
        return status;
    const pp_json_at root = pp_json_root(json, name);
    if ((status = add_all(&root, &tokens, err)))
        return status;
    *tokens_out = tokens;
    tokens = (pp_expert_tokens){ 0 };
    return PP_OK;
}

/* [microbatches], or NULL if the degree is 1. */
static const double *row_of(const pp_expert_tokens *tokens, int64_t ep)
{
    for (size_t k = 0; k < tokens->degrees; k++) {
        if (tokens->ep[k] == ep)
            return tokens->imbalance + k * tokens->microbatches;
    }
    return NULL;
}

double pp_expert_tokens_imbalance(const pp_expert_tokens *tokens, uint32_t microbatch, int64_t ep)
{
    const double *row = row_of(tokens, ep);
    return row ? fmax(1, row[microbatch % tokens->microbatches]) : 1;
}

double pp_expert_tokens_mean(const pp_expert_tokens *tokens, int64_t ep)
{
    const double *row = row_of(tokens, ep);
    double sum = 0;
    for (uint32_t j = 0; row && j < tokens->microbatches; j++)
        sum += row[j];
    return row ? fmax(1, sum / tokens->microbatches) : 1;
}
