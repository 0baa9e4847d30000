/* Prints the result of ppsim pack: as text, as JSON, and as a file of lengths in their new order.
 */
#include "tools/ppsim/pack/print.h"

#include "tools/ppsim/base/words.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/plan/sentences.h"
#include "tools/ppsim/report/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const pp_pack_row *best_of(const pp_pack_batch *batch)
{
    return &batch->packed->row[batch->packed->best];
}

/* Returns the row of first fit in its own order, or NULL if there is none or it does not fit. */
static const pp_pack_row *today_of(const pp_pack_batch *batch)
{
    const pp_packed *packed = batch->packed;
    return packed->today != SIZE_MAX && packed->row[packed->today].fits
               ? &packed->row[packed->today]
               : NULL;
}

static const char *name_bound(const pp_pack_bound *bound, char *buffer, size_t size)
{
    if (bound->is_path)
        snprintf(buffer, size, "path of the longest sequence");
    else
        snprintf(buffer, size, "load of rank %" PRIu32, bound->rank);
    return buffer;
}

/* Writes why the row does not exist or does not fit. */
static const char *name_reason(const pp_pack_row *row, char *buffer, size_t size)
{
    char words[PP_REASON_BYTES];
    snprintf(buffer, size, "%.190s", pp_misfit_print(&row->reason, words, sizeof words));
    return buffer;
}

static double percent(pp_ns part, pp_ns whole)
{
    return whole ? 100 * ((double)part / (double)whole - 1) : 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* "of at most 16384 tokens (micro-batch size 2: 2 rows of up to 8192)" */
static const char *name_room(const pp_pack_result *result, char *buffer, size_t size)
{
    const int64_t capacity = pp_packer_capacity(result->packer);
    const int64_t rows = result->request->micro_batch_size;
    const size_t used = (size_t)snprintf(buffer, size, "of at most %" PRId64 " tokens", capacity);
    if (rows > 1)
        snprintf(buffer + used, size - used,
                 " (micro-batch size %" PRId64 ": %" PRId64 " rows of up to %" PRId64 ")", rows,
                 rows, capacity / rows);
    return buffer;
}

static void print_answer(const pp_pack_result *result, const pp_pack_batch *batch, pp_text *text)
{
    char step[3][32];
    char how[120];
    char room[160];
    const pp_pack_row *best = best_of(batch);
    const pp_pack_row *today = today_of(batch);
    const pp_pack_bound *bound = &batch->packed->bound;
    const bool several = batch->packed->grouping.replicas > 1;
    pp_print_line(text, "step", "%s with %" PRIu32 " microbatches%s %s",
                  pp_format_duration(step[0], sizeof step[0], best->step_ns), best->microbatches,
                  several ? " per replica" : "", name_room(result, room, sizeof room));
    pp_print_line(text, "packing", "%s", pp_packing_method_print(&best->method, how, sizeof how));
    if (several)
        pp_print_line(text, "replicas", "the slowest takes %.2f %% longer than their mean",
                      percent(best->step_ns, best->mean_step_ns));
    if (today)
        pp_print_line(text, "first fit", "takes %s with %" PRIu32 " microbatches, %.2f %% longer",
                      pp_format_duration(step[1], sizeof step[1], today->step_ns),
                      today->microbatches, percent(today->step_ns, best->step_ns));
    else
        pp_print_line(text, "first fit", "does not fit the memory");
    pp_text padding PP_CLEANUP(pp_text_free) = { 0 };
    if (result->padded.step_ns)
        pp_padding_say(&result->padded, best->step_ns, &padding);
    pp_print_labelled(text, "padding", &padding);
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&words, "no packing and no order takes less than %s, ",
                pp_format_duration(step[2], sizeof step[2], bound->step_ns));
    if (bound->is_path)
        pp_text_add(&words, "the way of the longest sequence");
    else
        pp_text_add(&words, "the work of rank %" PRIu32, bound->rank);
    pp_text_add(&words, "; this one is %.2f %% above", percent(best->step_ns, bound->step_ns));
    pp_print_labelled(text, "at best", &words);
}

static void print_row(const pp_packed *packed, const pp_pack_row *row, pp_text *text)
{
    static const char *const orders[] = { "as given", "light first", "heavy first", "light ends" };
    const bool ramped = row->method.packing == PP_PACKING_RAMPED;
    char step[32];
    char peak[32];
    char reason[200];
    pp_text_add(text, "%-10s %-12s",
                row->method.searched ? "" : pp_packing_name(row->method.packing),
                row->method.searched ? "then moved"
                : ramped             ? orders[PP_SORTING_TENT]
                                     : orders[row->method.sorting]);
    if (!row->fits) {
        name_reason(row, reason, sizeof reason);
        pp_text_add(text, " no: %.*s\n", pp_first_clause(reason), reason);
        return;
    }
    pp_text_add(text, " %12" PRIu32 " %10s %8.2f %% %7.2f %% %10s\n", row->microbatches,
                pp_format_duration(step, sizeof step, row->step_ns),
                percent(row->step_ns, packed->bound.step_ns), 100 * row->bubble_fraction,
                row->peak_bytes ? pp_format_bytes(peak, sizeof peak, row->peak_bytes) : "-");
}

/* Writes the best row of each packing, and first fit in its own order. */
static void print_rows(const pp_packed *packed, pp_text *text)
{
    pp_text_add(text, "\n%-10s %-12s %12s %10s %10s %9s %10s\n", "packing", "order", "microbatches",
                "step", "over bound", "bubble", "peak");
    for (int k = 0; k < PP_PACKING_COUNT; k++) {
        const pp_pack_row *best = NULL;
        const pp_pack_row *moved = NULL;
        const pp_pack_row *today = packed->today == SIZE_MAX ? NULL : &packed->row[packed->today];
        for (size_t i = 0; i < packed->count; i++) {
            const pp_pack_row *row = &packed->row[i];
            if ((int)row->method.packing != k)
                continue;
            if (row->method.searched)
                moved = row;
            else if (!best || row->fits > best->fits ||
                     (row->fits == best->fits && row->step_ns < best->step_ns))
                best = row;
        }
        if (k == PP_PACKING_FIRST_FIT && today && today != best)
            print_row(packed, today, text);
        if (best)
            print_row(packed, best, text);
        if (moved)
            print_row(packed, moved, text);
    }
    pp_text_add(text,
                "order: of the microbatches; light ends: those with less work first and last\n"
                "over bound: over the least time of any packing and order\n");
}

static void print_subject(const pp_pack_result *result, pp_text *text)
{
    const pp_candidate *c = pp_packer_pipeline(result->packer);
    char limit[32];
    pp_print_line(text, "pipeline",
                  "%s on %" PRId64 " x %s: pp %" PRId64 ", tp %" PRId64 ", dp %" PRId64
                  ", schedule %s, recompute %s, executor %s, at most %s per GPU",
                  result->request->model->name, pp_parallel_gpus(&c->parallel),
                  result->request->hardware->name, c->parallel.pp, c->parallel.tp, c->parallel.dp,
                  c->schedule->name, pp_recompute_name(c->recompute),
                  result->request->framework ? result->request->framework->name : "ideal",
                  pp_format_limit(limit, sizeof limit, pp_packer_memory_limit(result->packer)));
}

static int compare_ns(const void *left, const void *right)
{
    const pp_ns a = *(const pp_ns *)left;
    const pp_ns b = *(const pp_ns *)right;
    return (a > b) - (a < b);
}

/* Writes least, median and greatest step time of all batches. */
static void print_spread(const pp_pack_result *result, pp_text *text)
{
    const size_t count = result->count;
    pp_ns *ns = malloc(count * sizeof *ns);
    char step[3][32];
    pp_ns slowest_ns = 0;
    pp_ns mean_ns = 0;
    if (!ns) {
        text->failed = true;
        return;
    }
    for (size_t k = 0; k < count; k++) {
        ns[k] = best_of(&result->batch[k])->step_ns;
        slowest_ns += ns[k];
        mean_ns += best_of(&result->batch[k])->mean_step_ns;
    }
    qsort(ns, count, sizeof *ns, compare_ns);
    pp_print_line(
        text, "one step", "%s at least, %s in the median, %s at most",
        pp_format_duration(step[0], sizeof step[0], ns[0]),
        pp_format_duration(step[1], sizeof step[1], (ns[(count - 1) / 2] + ns[count / 2]) / 2),
        pp_format_duration(step[2], sizeof step[2], ns[count - 1]));
    if (result->batch[0].packed->grouping.replicas > 1)
        pp_print_line(text, "replicas", "the slowest take %.2f %% longer than the mean",
                      percent(slowest_ns, mean_ns));
    free(ns);
}

static void print_batches(const pp_pack_result *result, pp_text *text)
{
    char room[160];
    char step[3][32];
    pp_ns sum[3] = { 0 };
    bool fits = true;
    for (size_t k = 0; k < result->count; k++) {
        const pp_pack_row *today = today_of(&result->batch[k]);
        sum[0] += best_of(&result->batch[k])->step_ns;
        sum[1] += today ? today->step_ns : 0;
        sum[2] += result->batch[k].packed->bound.step_ns;
        fits = fits && today;
    }
    pp_print_line(text, "steps", "%s for %zu batches, in microbatches %s",
                  pp_format_duration(step[0], sizeof step[0], sum[0]), result->count,
                  name_room(result, room, sizeof room));
    print_spread(result, text);
    if (fits)
        pp_print_line(text, "first fit", "takes %s, %.2f %% longer",
                      pp_format_duration(step[1], sizeof step[1], sum[1]), percent(sum[1], sum[0]));
    pp_print_line(text, "at best",
                  "no packing of these batches and no order takes less than %s; these are %.2f %% "
                  "above",
                  pp_format_duration(step[2], sizeof step[2], sum[2]), percent(sum[0], sum[2]));
}

static void print_batch_rows(const pp_pack_result *result, pp_text *text)
{
    char step[2][32];
    pp_text_add(text, "\n%5s  %-10s %12s %11s %11s %9s %10s\n", "batch", "packing", "microbatches",
                "step", "first fit", "longer", "over bound");
    for (size_t k = 0; k < result->count; k++) {
        const pp_pack_row *best = best_of(&result->batch[k]);
        const pp_pack_row *today = today_of(&result->batch[k]);
        pp_text_add(text, "%5zu  %-10s %12" PRIu32 " %11s %11s %7.2f %% %8.2f %%\n", k + 1,
                    pp_packing_name(best->method.packing), best->microbatches,
                    pp_format_duration(step[0], sizeof step[0], best->step_ns),
                    today ? pp_format_duration(step[1], sizeof step[1], today->step_ns) : "-",
                    today ? percent(today->step_ns, best->step_ns) : 0.0,
                    percent(best->step_ns, result->batch[k].packed->bound.step_ns));
    }
}

void pp_pack_print(const pp_pack_result *result, const char *file, bool verbose, pp_text *text)
{
    const bool one = result->count == 1;
    if (one)
        print_answer(result, &result->batch[0], text);
    else
        print_batches(result, text);
    pp_print_note(text, result->assumed, PP_NOTE_LONG, "long");
    print_subject(result, text);
    if (!file)
        pp_print_line(text, "next", "add -o packed.json, then give plan --lengths packed.json");
    else if (one)
        pp_print_line(text, "next", "give plan --lengths %.200s", file);
    if (!verbose)
        pp_print_line(text, file && !one ? "next" : "", "--verbose: %s",
                      one ? "all packings that were tried" : "each batch");
    else if (one)
        print_rows(result->batch[0].packed, text);
    else
        print_batch_rows(result, text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static pp_json *write_row(const pp_pack_row *row, pp_json_build *build)
{
    char reason[200];
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "packing", pp_packing_name(row->method.packing));
    pp_json_put_text(build, object, "order", pp_sorting_name(row->method.sorting));
    pp_json_put_bool(build, object, "searched", row->method.searched);
    pp_json_put_text(build, object, "reason",
                     row->fits ? NULL : name_reason(row, reason, sizeof reason));
    if (!row->step_ns)
        return object;
    pp_json_put_int(build, object, "microbatches", row->microbatches);
    pp_json_put_int(build, object, "step_ns", row->step_ns);
    pp_json_put_int(build, object, "mean_step_ns", row->mean_step_ns);
    pp_json_put_double(build, object, "bubble_fraction", row->bubble_fraction);
    pp_json_put_int(build, object, "peak_memory_bytes", row->peak_bytes);
    return object;
}

/* Returns the bin of the k-th microbatch of the file that -o writes, which belongs to replica k mod
 * replicas. */
static size_t bin_in_turn(const pp_grouping *grouping, size_t k)
{
    return k % grouping->replicas * grouping->microbatches + k / grouping->replicas;
}

static pp_json *write_grouping(const pp_pack_batch *batch, pp_json_build *build)
{
    const pp_grouping *g = &batch->packed->grouping;
    pp_json *list = pp_json_new_array(build);
    for (size_t k = 0; k < (size_t)g->replicas * g->microbatches; k++) {
        const size_t bin = bin_in_turn(g, k);
        pp_json *microbatch = pp_json_new_array(build);
        for (size_t i = bin ? g->end[bin - 1] : 0; i < g->end[bin]; i++)
            pp_json_add_int(build, microbatch, (int64_t)(batch->first + g->sequence[i]));
        pp_json_add(build, list, microbatch);
    }
    return list;
}

static pp_json *write_batch(const pp_pack_batch *batch, pp_json_build *build)
{
    const pp_packed *packed = batch->packed;
    const pp_pack_row *today = today_of(batch);
    char bound[64];
    pp_json *object = write_row(best_of(batch), build);
    pp_json_put_int(build, object, "sequences", (int64_t)batch->count);
    pp_json_put_int(build, object, "lower_bound_ns", packed->bound.step_ns);
    pp_json_put_text(build, object, "bound_name", name_bound(&packed->bound, bound, sizeof bound));
    pp_json_put_double(build, object, "gap",
                       percent(best_of(batch)->step_ns, packed->bound.step_ns) / 100);
    if (today)
        pp_json_put_int(build, object, "first_fit_step_ns", today->step_ns);
    else
        pp_json_put_null(build, object, "first_fit_step_ns");
    pp_json_put_int(build, object, "simulations", packed->simulated);
    pp_json_put(build, object, "grouping", write_grouping(batch, build));
    pp_json *rows = pp_json_new_array(build);
    for (size_t i = 0; i < packed->count; i++)
        pp_json_add(build, rows, write_row(&packed->row[i], build));
    pp_json_put(build, object, "rows", rows);
    return object;
}

static pp_json *write_pipeline(const pp_pack_result *result, pp_json_build *build)
{
    const pp_candidate *c = pp_packer_pipeline(result->packer);
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "model", result->request->model->name);
    pp_json_put_text(build, object, "hardware", result->request->hardware->name);
    pp_json_put_text(build, object, "schedule", c->schedule->name);
    pp_json_put_text(build, object, "recompute", pp_recompute_name(c->recompute));
    pp_json_put_text(build, object, "executor",
                     result->request->framework ? result->request->framework->name : "ideal");
    pp_json_put_int(build, object, "pp", c->parallel.pp);
    pp_json_put_int(build, object, "vpp", c->parallel.vpp);
    pp_json_put_int(build, object, "tp", c->parallel.tp);
    pp_json_put_int(build, object, "cp", c->parallel.cp);
    pp_json_put_int(build, object, "dp", c->parallel.dp);
    pp_json_put_int(build, object, "ep", c->parallel.ep);
    if (c->parallel.etp)
        pp_json_put_int(build, object, "etp", c->parallel.etp);
    pp_json_put_int(build, object, "memory_limit_bytes", pp_packer_memory_limit(result->packer));
    pp_json_put_int(build, object, "microbatch_tokens", pp_packer_capacity(result->packer));
    return object;
}

pp_json *pp_pack_write(const pp_pack_result *result, pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    pp_json *batches = pp_json_new_array(build);
    pp_ns step_ns = 0;
    pp_ns least_ns = 0;
    for (size_t k = 0; k < result->count; k++) {
        pp_json_add(build, batches, write_batch(&result->batch[k], build));
        step_ns += best_of(&result->batch[k])->step_ns;
        least_ns += result->batch[k].packed->bound.step_ns;
    }
    pp_json_put_text(build, root, "format", "ppsim.pack");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put(build, root, "pipeline", write_pipeline(result, build));
    pp_json_put(build, root, "batches", batches);
    pp_json_put_int(build, root, "step_ns", step_ns);
    pp_json_put_int(build, root, "lower_bound_ns", least_ns);
    if (result->padded.step_ns)
        pp_json_put_int(build, root, "padded_step_ns", result->padded.step_ns);
    pp_json_put_int(build, root, "left_over", (int64_t)result->left_over);
    return root;
}

/* ---- lengths -------------------------------------------------------------------------------- */

static void print_batch_lengths(const pp_pack_batch *batch, pp_text *text)
{
    const pp_grouping *g = &batch->packed->grouping;
    const size_t bins = (size_t)g->replicas * g->microbatches;
    for (size_t k = 0; k < bins; k++) {
        const size_t bin = bin_in_turn(g, k);
        const size_t begin = bin ? g->end[bin - 1] : 0;
        pp_text_add(text, "%s", k ? ",\n[" : "[[");
        for (size_t i = begin; i < g->end[bin]; i++)
            pp_text_add(text, "%s%" PRId64, i > begin ? ", " : "", batch->lengths[g->sequence[i]]);
        pp_text_add(text, "]");
    }
    pp_text_add(text, "]");
}

void pp_pack_print_lengths(const pp_pack_result *result, pp_text *text)
{
    for (size_t k = 0; k < result->count; k++) {
        if (result->count > 1)
            pp_text_add(text, "%s", k ? ",\n" : "[");
        print_batch_lengths(&result->batch[k], text);
    }
    pp_text_add(text, result->count > 1 ? "]\n" : "\n");
}
