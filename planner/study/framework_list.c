/* Which frameworks, shape protocols and layouts of communicators there are to choose from, and what
 * came of the choice, in words. */
#include "planner/study/framework_list.h"

#include "sim/base/alloc.h"
#include "sim/framework/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of one framework. */
enum { PROTOCOLS_MOST = 3, LAYOUTS_MOST = 3 };

/* Sizes that a graph is compiled for: docs/shape-overhead.md. */
#define BUCKET_TOKENS 512

bool pp_is_tie(double score, double least)
{
    return score * (PP_MEASURABLE_GAIN - 1) <= least * PP_MEASURABLE_GAIN;
}

/* What the framework itself does where sizes differ. Only who reads plans has the sizes from one.
 */
static size_t protocols_of(const pp_framework *framework, pp_size_protocol list[PROTOCOLS_MOST])
{
    const pp_size_protocol_support *setting = framework->size_protocols;
    const pp_size_protocol padded = { .kind = PP_SIZES_PADDED };
    const pp_size_protocol bucket = { .kind = PP_SIZES_BUCKET, .tokens = BUCKET_TOKENS };
    size_t count = 0;
    if (!setting || setting->resends)
        list[count++] = (pp_size_protocol){ .kind = PP_SIZES_PLAN };
    list[count++] = padded;
    if (!setting || setting->resends || framework->graphs)
        list[count++] = bucket;
    else if (!setting->no_message)
        list[count++] = (pp_size_protocol){ .kind = PP_SIZES_MESSAGE };
    return count;
}

static void add_executor(pp_framework_choice *h, const pp_framework *named)
{
    static const pp_communicators layouts[] = { PP_COMMUNICATORS_PP, PP_COMMUNICATORS_PER_EDGE,
                                                PP_COMMUNICATORS_WORLD };
    const pp_plan_request *request = h->request;
    const pp_framework *framework = named ? named : &pp_framework_ideal;
    pp_size_protocol protocol[PROTOCOLS_MOST] = { request->exchange.shapes };
    const bool sizes = request->free.shapes && !h->alike;
    const size_t protocols = sizes ? protocols_of(framework, protocol) : 1;
    const size_t count = request->free.communicators ? LAYOUTS_MOST : 1;
    for (size_t i = 0; i < protocols; i++) {
        for (size_t k = 0; k < count; k++)
            h->row[h->count++] = (pp_framework_setting){
                .framework = named,
                .shapes = protocol[i],
                .communicators = request->free.communicators
                                     ? layouts[k]
                                     : request->switches.value.communicators,
                .rated = HUGE_VAL,
                .least = HUGE_VAL,
                .score = HUGE_VAL,
            };
    }
}

static bool are_alike(const pp_plan *plan)
{
    const pp_workload *w = &plan->workload;
    for (size_t j = 1; j < (size_t)w->replicas * w->microbatches; j++) {
        if (w->microbatch[j].tokens != w->microbatch[0].tokens)
            return false;
    }
    return true;
}

pp_status pp_framework_choice_list(pp_framework_choice *h, pp_err *err)
{
    const pp_plan_request *request = h->request;
    const pp_framework *const *named = request->free.frameworks;
    h->row = pp_alloc_array(pp_framework_count() * PROTOCOLS_MOST * LAYOUTS_MOST, sizeof *h->row);
    if (!h->row)
        return pp_err_nomem(err);
    h->alike = !request->lengths || are_alike(h->base->plan);
    if (!request->free.framework)
        add_executor(h, request->framework);
    for (size_t i = 0; request->free.framework && named && named[i]; i++)
        add_executor(h, named[i]);
    for (size_t i = 0; request->free.framework && !named && i < pp_framework_count(); i++) {
        if (pp_framework_at(i)->size_protocols) /* ideal has no habits */
            add_executor(h, pp_framework_at(i));
    }
    return PP_OK;
}

typedef enum setting {
    EXECUTOR,
    SHAPES,
    COMMUNICATORS,
} setting;

static const char *name_of(setting kind, const pp_framework_setting *a, char *buffer, size_t size)
{
    if (kind == SHAPES)
        return pp_size_protocol_print(&a->shapes, buffer, size);
    snprintf(buffer, size, "%s",
             kind == COMMUNICATORS ? pp_communicators_names()[a->communicators - 1]
             : a->framework        ? a->framework->name
                                   : "ideal");
    return buffer;
}

static bool same_value(setting kind, const pp_framework_setting *a, const pp_framework_setting *b)
{
    char x[64];
    char y[64];
    return strcmp(name_of(kind, a, x, sizeof x), name_of(kind, b, y, sizeof y)) == 0;
}

static double known(const pp_framework_setting *a)
{
    return a->score < HUGE_VAL ? a->score : a->rated;
}

/* Of all with its value of the habit, the best known; protocols and layouts are those of one
 * framework. */
static const pp_framework_setting *best_like(const pp_framework_choice *h, setting kind,
                                             const pp_framework_setting *like)
{
    const pp_framework_setting *best = like;
    for (size_t i = 0; i < h->count; i++) {
        const pp_framework_setting *a = &h->row[i];
        if (same_value(kind, a, like) && (kind == EXECUTOR || same_value(EXECUTOR, a, like)) &&
            known(a) < known(best))
            best = a;
    }
    return best;
}

/* How much is known of an alternative: the lines are in this order. */
typedef enum standing {
    SEARCHED,
    RATED,
    NOTHING_FITS,
    NOT_KNOWN,
    STANDINGS,
} standing;

static standing standing_of(const pp_framework_setting *a)
{
    if (a->score < HUGE_VAL)
        return SEARCHED;
    if (a->rated < HUGE_VAL && !a->searched)
        return RATED;
    return a->seen || a->searched ? NOTHING_FITS : NOT_KNOWN;
}

/* "torch 1.927 s (+3.66 %)" */
static void add_cost(setting kind, const pp_framework_setting *a, const pp_framework_setting *taken,
                     pp_text *text)
{
    char name[64];
    char step[32] = "";
    const pp_candidate *c = &taken->best;
    const double score = a->score < HUGE_VAL ? taken->score : pp_candidate_score(c, c->step_ns);
    const bool same_gpus = pp_parallel_gpus(&a->best.parallel) == pp_parallel_gpus(&c->parallel);
    pp_text_add(text, "%s", name_of(kind, a, name, sizeof name));
    if (standing_of(a) >= NOTHING_FITS)
        return;
    if (same_gpus && a->score < HUGE_VAL)
        pp_text_add(text, " %s", pp_format_duration(step, sizeof step, a->best.step_ns));
    const double share = 100 * (known(a) / score - 1);
    const double more = fabs(share) < 0.005 ? 0 : share; /* no -0.00 */
    if (a->score == HUGE_VAL)
        pp_text_add(text, " %+.2f %%", more);
    else
        pp_text_add(text, " (%+.2f %%%s)", more,
                    pp_is_tie(a->score, score) && pp_is_tie(score, a->score) ? ", a tie" : "");
}

/* Is it the first of its value, and not the taken one's? */
static bool is_other(const pp_framework_choice *h, setting kind, const pp_framework_setting *a,
                     const pp_framework_setting *taken)
{
    if (same_value(kind, a, taken) || (kind != EXECUTOR && !same_value(EXECUTOR, a, taken)))
        return false;
    for (const pp_framework_setting *before = h->row; before < a; before++) {
        if (same_value(kind, before, a) && (kind == EXECUTOR || same_value(EXECUTOR, before, a)))
            return false;
    }
    return true;
}

static void add_words(const pp_framework_choice *h, setting kind, const pp_framework_setting *taken,
                      pp_text *text)
{
    static const char *const heads[STANDINGS] = { "", "not searched, by a named schedule: ",
                                                  "nothing found that runs and fits: ",
                                                  "not known (budget): " };
    char name[64];
    char step[32];
    bool others = false;
    pp_text_add(text, "%s, %s", name_of(kind, taken, name, sizeof name),
                pp_format_duration(step, sizeof step, taken->best.step_ns));
    for (standing s = SEARCHED; s < STANDINGS; s++) {
        bool begun = false;
        for (size_t i = 0; i < h->count; i++) {
            if (!is_other(h, kind, &h->row[i], taken))
                continue;
            const pp_framework_setting *a = best_like(h, kind, &h->row[i]);
            others = true;
            if (standing_of(a) != s)
                continue;
            pp_text_add(text, "%s%s", begun ? ", " : "; ", begun ? "" : heads[s]);
            add_cost(kind, a, taken, text);
            begun = true;
        }
    }
    if (kind == SHAPES && h->alike)
        pp_text_add(text, "; all microbatches have one size");
    else if (!others)
        pp_text_add(text, "; there is no other");
}

pp_status pp_framework_choice_describe(const pp_framework_choice *h,
                                       const pp_framework_setting *taken, pp_search_result *choice,
                                       pp_err *err)
{
    const struct {
        setting kind;
        bool free;
        const char *key;
    } rows[] = {
        { EXECUTOR, h->request->free.framework, "executor choice" },
        { SHAPES, h->request->free.shapes, "shapes choice" },
        { COMMUNICATORS, h->request->free.communicators, "communicators choice" },
    };
    pp_notes *notes[] = { &choice->plan->assumptions, &choice->plan->prediction->assumptions };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        if (!rows[i].free)
            continue;
        add_words(h, rows[i].kind, taken, &text);
        pp_status status = pp_text_check(&text, err);
        for (size_t k = 0; k < 2 && !status; k++)
            status = pp_notes_add(notes[k], err, rows[i].key, "%s", text.data);
        if (status)
            return status;
        snprintf(choice->setting[i], sizeof choice->setting[i], "%s", text.data);
    }
    return PP_OK;
}
