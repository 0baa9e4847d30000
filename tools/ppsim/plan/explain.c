/* ppsim plan --explain: prints which sets of changes make a plan fit, and what each change gives.
 */
#include "tools/ppsim/plan/explain.h"

#include "planner/study/explain.h"
#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12 };

/* A fix, and the options that apply it, as the user would type them. */
typedef struct row {
    const pp_remedy *remedy;
    char options[PP_REPAIR_VALUES_BYTES];
} row;

typedef struct explained {
    const pp_explanation *x;
    row *row; /* [x->remedies]: sorted by GPUs, step time and options */
} explained;

static void explained_free(explained *e)
{
    free(e->row);
}

static int compare_rows(const void *left, const void *right)
{
    const row *a = left;
    const row *b = right;
    const pp_candidate *x = &a->remedy->candidate;
    const pp_candidate *y = &b->remedy->candidate;
    const int64_t gpus[] = { pp_parallel_gpus(&x->parallel), pp_parallel_gpus(&y->parallel) };
    if (gpus[0] != gpus[1])
        return gpus[0] < gpus[1] ? -1 : 1;
    if (x->step_ns != y->step_ns)
        return x->step_ns < y->step_ns ? -1 : 1;
    return strcmp(a->options, b->options);
}

static pp_status list_rows(const pp_explanation *x, explained *e, pp_err *err)
{
    e->x = x;
    e->row = pp_alloc_array(x->remedies + 1, sizeof *e->row);
    if (!e->row)
        return pp_err_nomem(err);
    for (size_t i = 0; i < x->remedies; i++) {
        e->row[i].remedy = &x->remedy[i];
        pp_field_values_print(&x->remedy[i].values, err, e->row[i].options,
                              sizeof e->row[i].options);
    }
    qsort(e->row, x->remedies, sizeof *e->row, compare_rows);
    return PP_OK;
}

/* Writes a change in words: "free recomputation", "tp x 2" */
static const char *name_change(pp_change change, char *buffer, size_t size)
{
    static const char *const names[PP_CHANGE_COUNT] = {
        [PP_CHANGE_RECOMPUTE] = "free recomputation",
        [PP_CHANGE_MICRO_BATCH] = "smaller micro-batches",
        [PP_CHANGE_SCHEDULE] = "free schedule and vpp",
        [PP_CHANGE_ZERO] = "ZeRO-1",
        [PP_CHANGE_SEQUENCE_PARALLEL] = "sequence parallelism",
        [PP_CHANGE_ATTENTION] = "flash attention",
        [PP_CHANGE_PARTITION] = "automatic partition",
        [PP_CHANGE_OUTPUTS] = "outputs not kept",
        [PP_GROWTH_TP] = "tp",
        [PP_GROWTH_PP] = "pp",
        [PP_GROWTH_EP] = "ep and dp",
        [PP_GROWTH_DP] = "dp with ZeRO-1",
    };
    snprintf(buffer, size, "%s%s", names[change], change < PP_CHANGES ? "" : " x 2");
    return buffer;
}

/* Writes the gain in tokens/s, such as "+12.1 %"; steps cannot be compared, since their tokens
 * differ if the batch grows with the GPUs. */
static const char *name_gain(const pp_candidate *asked, const pp_candidate *c, char *buffer,
                             size_t size)
{
    buffer[0] = '\0';
    if (asked->tokens_per_s > 0 && c->tokens_per_s > 0)
        snprintf(buffer, size, "%+.1f %%", 100 * (c->tokens_per_s / asked->tokens_per_s - 1));
    return buffer;
}

static void print_row(const pp_explanation *x, const pp_candidate *c, const char *options,
                      pp_text *text)
{
    char cell[3][32];
    pp_text_add(text, "%6" PRId64 "  %-10s %9s  %-10s  ", pp_parallel_gpus(&c->parallel),
                c->step_ns ? pp_format_duration(cell[0], sizeof cell[0], c->step_ns) : "not known",
                c == &x->asked ? "" : name_gain(&x->asked, c, cell[2], sizeof cell[2]),
                pp_format_bytes(cell[1], sizeof cell[1], c->peak_bytes));
    pp_print_words(text, options, 42, 42);
}

static void print_remedies(const explained *e, pp_text *text)
{
    const pp_explanation *x = e->x;
    char why[PP_REASON_BYTES];
    char asked[sizeof why + 32];
    pp_text_add(text, "sets of changes tried that fit, each simulated; no part of a set is enough\n"
                      "  gpus  step        tokens/s  peak        options\n");
    snprintf(asked, sizeof asked, "as asked, if it fitted: %s",
             pp_misfit_print(&x->asked.reason, why, sizeof why));
    print_row(x, &x->asked, asked, text);
    for (size_t i = 0; i < x->remedies && i < SHOWN; i++)
        print_row(x, &e->row[i].remedy->candidate, e->row[i].options, text);
    if (!x->remedies)
        pp_text_add(text, x->stopped ? "  none of those tried before the budget ended\n"
                                     : "  none of up to three changes\n");
    else
        pp_text_add(text, "tokens/s: change against the first row\n");
}

static void print_effects(const pp_explanation *x, pp_text *text)
{
    char cell[3][32];
    pp_text_add(text, "\none change alone          still over by   change\n");
    for (size_t i = 0; i < x->effects; i++) {
        const pp_effect *effect = &x->effect[i];
        const int64_t more_bytes = effect->short_bytes - x->short_bytes;
        if (effect->fits || effect->undecided || !effect->short_bytes)
            pp_text_add(text, "  %-23s %s\n", name_change(effect->change, cell[2], sizeof cell[2]),
                        effect->fits        ? "fits"
                        : effect->undecided ? "not known (budget)"
                                            : "is not legal");
        else
            pp_text_add(
                text, "  %-23s %-15s %s%s\n", name_change(effect->change, cell[2], sizeof cell[2]),
                pp_format_bytes(cell[0], sizeof cell[0], effect->short_bytes),
                more_bytes > 0 ? "+" : "", pp_format_bytes(cell[1], sizeof cell[1], more_bytes));
    }
}

static pp_json *write_candidate(const pp_candidate *c, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "gpus", pp_parallel_gpus(&c->parallel));
    pp_json_put_int(build, object, "step_ns", c->step_ns);
    pp_json_put_double(build, object, "tokens_per_s", c->tokens_per_s);
    pp_json_put_int(build, object, "peak_memory_bytes", c->peak_bytes);
    pp_json_put_text(build, object, "schedule", c->schedule->name);
    return object;
}

static pp_json *write_explanation(const explained *e, pp_json_build *build)
{
    const pp_explanation *x = e->x;
    char miss[PP_REPAIR_MISS_BYTES];
    pp_json *root = pp_json_new_object(build);
    pp_json *remedies = pp_json_new_array(build);
    pp_json *effects = pp_json_new_array(build);
    pp_json_put_text(build, root, "format", "ppsim.explanation");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_text(
        build, root, "miss",
        pp_repair_describe(x->memory_limit_bytes, x->certain, &x->asked, miss, sizeof miss));
    pp_json_put_int(build, root, "short_bytes", x->short_bytes);
    pp_json_put(build, root, "asked", write_candidate(&x->asked, build));
    for (size_t i = 0; i < x->remedies; i++) {
        pp_json *object = write_candidate(&e->row[i].remedy->candidate, build);
        pp_json_put_text(build, object, "options", e->row[i].options);
        pp_json_add(build, remedies, object);
    }
    for (size_t i = 0; i < x->effects; i++) {
        const pp_effect *effect = &x->effect[i];
        char cell[32];
        pp_json *object = pp_json_new_object(build);
        pp_json_put_text(build, object, "change", name_change(effect->change, cell, sizeof cell));
        if (effect->fits || (effect->short_bytes && !effect->undecided))
            pp_json_put_int(build, object, "short_bytes", effect->short_bytes);
        else
            pp_json_put_null(build, object, "short_bytes");
        pp_json_add(build, effects, object);
    }
    pp_json_put(build, root, "remedies", remedies);
    pp_json_put(build, root, "effects", effects);
    return root;
}

pp_status pp_plan_explain(const pp_args *args, const pp_plan_request *request,
                          pp_progress_line *progress, pp_err *err)
{
    pp_explanation *x PP_CLEANUP(pp_explanation_free) = NULL;
    pp_status status = pp_explain(request, &x, err);
    pp_progress_line_end(progress);
    if (status || !x)
        return status;
    explained e PP_CLEANUP(explained_free) = { 0 };
    if ((status = list_rows(x, &e, err)))
        return status;
    if (x->stopped)
        pp_remark("the budget ended before all sets of changes were tried");
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = write_explanation(&e, &build);
        status = pp_print_json(args, &build, json, err);
        if (status || !pp_prints_words(args))
            return status;
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    print_remedies(&e, &text);
    print_effects(x, &text);
    return pp_print_answer(args, &text, err);
}
