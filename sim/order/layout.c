/* Megatron's pipeline layout string: E embedding, t decoder layer, m MTP module, L loss, stages
 * separated by |, x*n repeats a letter, (..)*n a group (Megatron-LM
 * pipeline_parallel_layer_layout).
 */
#include "sim/order/layout.h"

#include "sim/base/alloc.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_run(pp_text *text, char letter, int64_t count)
{
    if (count == 1)
        pp_text_add(text, "%c", letter);
    else if (count > 1)
        pp_text_add(text, "%c*%" PRId64, letter, count);
}

void pp_layout_print(const pp_stage *stages, uint32_t count, pp_text *text)
{
    for (uint32_t s = 0; s < count; s++) {
        if (s)
            pp_text_add(text, "|");
        print_run(text, 'E', stages[s].embedding);
        print_run(text, 't', stages[s].layers);
        print_run(text, 'm', stages[s].mtp);
        print_run(text, 'L', stages[s].loss);
    }
}

#define EXPANDED_MAX 400000u /* letters: the limits of layers and stages, with room */

static pp_status layout_error(pp_err *err, size_t position, const char *text)
{
    char where[64];
    snprintf(where, sizeof where, "layout:%zu", position + 1);
    return pp_err_set(err, PP_USAGE, where, "%s; write for example Et*3|t*4|t*3L", text);
}

/* Commas have no meaning and may appear anywhere. */
static size_t skip_commas(const char *layout, size_t at)
{
    return at + strspn(layout + at, ",");
}

/* Reads "*n" at *at; the count is 1 if there is none. */
static pp_status read_count(const char *layout, size_t *at, int64_t *count_out, pp_err *err)
{
    *count_out = 1;
    size_t star = skip_commas(layout, *at);
    if (layout[star] != '*')
        return PP_OK;
    size_t c = skip_commas(layout, star + 1);
    bool has_digit = isdigit((unsigned char)layout[c]);
    int64_t count = 0;
    while (isdigit((unsigned char)layout[c]) && count <= EXPANDED_MAX) {
        count = count * 10 + (layout[c] - '0');
        c = skip_commas(layout, c + 1);
    }
    if (!has_digit || count > EXPANDED_MAX)
        return layout_error(err, *at, "'*' needs a count from 0 to 400000 after it");
    *at = c;
    *count_out = count;
    return PP_OK;
}

/* Repeats the text from `begin` on `times` more times; -1 removes it. */
static pp_status repeat(pp_text *out, size_t begin, int64_t times, pp_err *err)
{
    size_t bytes = out->bytes - begin;
    if (bytes == 0 || times == 0)
        return PP_OK;
    if (times < 0) {
        out->bytes = begin;
        out->data[begin] = '\0';
        return PP_OK;
    }
    char *again PP_CLEANUP(pp_free_text) = malloc(bytes);
    if (!again)
        return pp_err_nomem(err);
    memcpy(again, out->data + begin, bytes);
    for (int64_t i = 0; i < times; i++)
        pp_text_add_bytes(out, again, bytes);
    return pp_text_check(out, err);
}

/* Appends a layout without repetitions, that is, with E t m L | only. depth: number of enclosing
 * groups. Stops at ')' or the end. */
static pp_status expand(const char *layout, size_t *at, int depth, pp_text *out, pp_err *err)
{
    while (layout[*at] && layout[*at] != ')') {
        char c = layout[*at];
        size_t begin = out->bytes;
        size_t position = (*at)++;
        int64_t count;
        pp_status status = PP_OK;
        if (c == ',' || c == ' ')
            continue;
        if (c == '(' && depth == 0) {
            if ((status = expand(layout, at, 1, out, err)))
                return status;
            if (layout[*at] != ')')
                return layout_error(err, position, "this '(' has no ')'");
            bool empty = skip_commas(layout, position + 1) == *at;
            (*at)++;
            if (empty || layout[skip_commas(layout, *at)] != '*')
                return layout_error(err, position,
                                    "a group must contain something and be followed by *n");
        } else if (strchr("EtmL|", c)) {
            pp_text_add_bytes(out, &c, 1);
        } else {
            return layout_error(err, position,
                                c == '(' ? "groups cannot be nested"
                                         : "only E t m L | ( ) * are known");
        }
        if ((status = read_count(layout, at, &count, err)))
            return status;
        size_t bytes = out->bytes - begin;
        if (bytes && (uint64_t)count > EXPANDED_MAX / bytes)
            return layout_error(err, position, "the layout is too long");
        if ((status = repeat(out, begin, count - 1, err)))
            return status;
    }
    return layout[*at] == ')' && depth == 0 ? layout_error(err, *at, "this ')' has no '('")
                                            : pp_text_check(out, err);
}

/* Places the letters, which must be in the order of the model, in stages. */
static pp_status place(const char *letters, pp_stage *stages, int64_t layers, int64_t mtp,
                       pp_err *err)
{
    int64_t placed = 0;
    int64_t placed_mtp = 0;
    int embeddings = 0;
    int losses = 0;
    pp_stage *stage = stages;
    for (const char *c = letters; *c; c++) {
        if (*c == '|') {
            stage++;
            stage->first_layer = placed;
        } else if (losses || (*c == 'E' && (placed || embeddings)) || (*c != 'E' && !embeddings) ||
                   (*c == 't' && placed_mtp) || (*c == 'm' && placed < layers)) {
            return layout_error(err, 0,
                                "the order must be: E first, then all t, then all m, and L last");
        } else if (*c == 'E') {
            stage->embedding = true;
            embeddings++;
        } else if (*c == 'L') {
            stage->loss = true;
            losses++;
        } else if (*c == 't') {
            stage->layers++;
            placed++;
        } else {
            stage->mtp++;
            placed_mtp++;
        }
    }
    if (placed != layers || placed_mtp != mtp || !embeddings || !losses)
        return pp_err_set(err, PP_USAGE, "layout",
                          "%" PRId64 " of %" PRId64 " decoder layers, %" PRId64 " of %" PRId64
                          " MTP modules, %d E and %d L placed; each must be "
                          "placed exactly once",
                          placed, layers, placed_mtp, mtp, embeddings, losses);
    return PP_OK;
}

pp_status pp_layout_parse(const char *layout, int64_t layers, int64_t mtp, pp_stage **stages_out,
                          uint32_t *count_out, pp_err *err)
{
    pp_text letters PP_CLEANUP(pp_text_free) = { 0 };
    size_t at = 0;
    pp_text_add(&letters, "%s", "");
    pp_status status = expand(layout, &at, 0, &letters, err);
    if (status || (status = pp_text_check(&letters, err)))
        return status;
    uint32_t count = 1;
    for (const char *c = letters.data; *c; c++)
        count += *c == '|';
    pp_stage *stages = pp_alloc_array(count, sizeof *stages);
    if (!stages)
        return pp_err_nomem(err);
    if ((status = place(letters.data, stages, layers, mtp, err))) {
        free(stages);
        return status;
    }
    *stages_out = stages;
    *count_out = count;
    return PP_OK;
}
