/* ppsim plan --explain: prints which sets of changes make a plan fit, and what each change gives.
 */
#include "tools/ppsim/plan/explain.h"

#include "planner/study/explain.h"
#include "planner/study/explain_json.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 12 };

/* Of tokens/s: steps differ in tokens where the batch grows with the GPUs. "+12.1 %" */
static const char *name_change(const pp_candidate *asked, const pp_candidate *c, char *buffer,
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
                pp_format_duration(cell[0], sizeof cell[0], c->step_ns),
                c == &x->asked ? "" : name_change(&x->asked, c, cell[2], sizeof cell[2]),
                pp_format_bytes(cell[1], sizeof cell[1], c->peak_bytes));
    pp_print_words(text, options, 42, 42);
}

static void print_remedies(const pp_explanation *x, pp_text *text)
{
    char asked[sizeof x->asked.reason + 32];
    pp_text_add(text, "sets of changes that fit, each simulated; no part of a set is enough\n"
                      "  gpus  step        tokens/s  peak        options\n");
    snprintf(asked, sizeof asked, "as asked, if it fitted: %s", x->asked.reason);
    print_row(x, &x->asked, asked, text);
    for (size_t i = 0; i < x->remedies && i < SHOWN; i++)
        print_row(x, &x->remedy[i].candidate, x->remedy[i].options, text);
    if (!x->remedies)
        pp_text_add(text, "  none of up to three changes\n");
    else
        pp_text_add(text, "tokens/s: change against the first row\n");
}

static void print_effects(const pp_explanation *x, pp_text *text)
{
    char cell[2][32];
    pp_text_add(text, "\none change alone          still over by   change\n");
    for (size_t i = 0; i < x->effects; i++) {
        const pp_effect *effect = &x->effect[i];
        const int64_t more_bytes = effect->short_bytes - x->short_bytes;
        if (effect->fits || !effect->short_bytes)
            pp_text_add(text, "  %-23s %s\n", effect->change,
                        effect->fits ? "fits" : "is not legal");
        else
            pp_text_add(text, "  %-23s %-15s %s%s\n", effect->change,
                        pp_format_bytes(cell[0], sizeof cell[0], effect->short_bytes),
                        more_bytes > 0 ? "+" : "",
                        pp_format_bytes(cell[1], sizeof cell[1], more_bytes));
    }
}

static void print_text(const pp_explanation *x, pp_text *text)
{
    print_remedies(x, text);
    print_effects(x, text);
}

pp_status pp_plan_explain(const pp_args *args, const pp_plan_request *request, pp_err *err)
{
    pp_explanation *x PP_CLEANUP(pp_explanation_free) = NULL;
    pp_status status = pp_explain(request, &x, err);
    if (status || !x)
        return status;
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_explanation_write(x, &build);
        return pp_print_json(args, &build, json, err);
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    print_text(x, &text);
    status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
}
