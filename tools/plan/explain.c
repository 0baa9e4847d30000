/* ppsim plan --explain: what would make a plan fit. */
#include "planner/explain.h"
#include "tools/plan/plan.h"

#include <inttypes.h>

static void print_text(const pp_explanation *x, pp_text *text)
{
    enum { SHOWN = 12 };
    char cell[2][32];
    pp_text_add(text, "sets of changes that fit, each simulated; no part of a set is enough\n"
                      "  gpus  step        peak         options\n");
    for (size_t i = 0; i < x->remedies && i < SHOWN; i++) {
        const pp_candidate *c = &x->remedy[i].candidate;
        pp_text_add(text, "%6" PRId64 "  %-11s %-11s  %s\n", pp_parallel_gpus(&c->parallel),
                    pp_format_duration(cell[0], sizeof cell[0], c->step_ns),
                    pp_format_bytes(cell[1], sizeof cell[1], c->peak_bytes), x->remedy[i].options);
    }
    if (!x->remedies)
        pp_text_add(text, "  none of up to three changes\n");
    pp_text_add(text, "\none change alone          still short by (now %s)\n",
                pp_format_bytes(cell[0], sizeof cell[0], x->short_bytes));
    for (size_t i = 0; i < x->effects; i++) {
        const pp_effect *effect = &x->effect[i];
        pp_format_bytes(cell[0], sizeof cell[0], effect->short_bytes);
        pp_text_add(text, "  %-23s %s\n", effect->change,
                    effect->fits          ? "fits"
                    : effect->short_bytes ? cell[0]
                                          : "is not legal");
    }
}

pp_status pp_plan_explain(const pp_args *args, const pp_wish *wish, pp_err *err)
{
    pp_explanation *x PP_CLEANUP(pp_explanation_free) = NULL;
    pp_status status = pp_explain(wish, &x, err);
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
