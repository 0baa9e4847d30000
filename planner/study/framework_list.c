/* Lists the frameworks, size protocols and layouts of communicators that a request leaves open, and
 * finds for each value of a setting how long its best plan takes. Linear in the alternatives for
 * each value; there are at most a few hundred. */
#include "planner/study/framework_list.h"

#include "sim/base/alloc.h"
#include "sim/framework/registry.h"

#include <math.h>

/* The most protocols and layouts of one framework. */
enum { PROTOCOLS_MOST = 3, LAYOUTS_MOST = 3 };

/* Token counts for which a graph is compiled: docs/explanation/shape-overhead.md. */
#define BUCKET_TOKENS 512

bool pp_is_tie(double score, double least)
{
    return score * (PP_MEASURABLE_PART - 1) <= least * PP_MEASURABLE_PART;
}

/* Lists what the framework itself does if sizes differ. Only a framework that reads plans takes the
 * sizes from one. */
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

static void add_framework(pp_framework_choice *h, const pp_framework *named)
{
    static const pp_communicators layouts[] = { PP_COMMUNICATORS_PP, PP_COMMUNICATORS_PER_EDGE,
                                                PP_COMMUNICATORS_WORLD };
    const pp_plan_request *request = h->request;
    const pp_framework *framework = named ? named : &pp_framework_ideal;
    pp_size_protocol protocol[PROTOCOLS_MOST] = { request->exchange.shapes };
    const bool sizes = request->free.shapes && !h->alike;
    const size_t protocols = sizes ? protocols_of(framework, protocol) : 1;
    const size_t count = request->free.communicators ? LAYOUTS_MOST : 1;
    const int zero = request->switches.given.zero ? request->switches.value.zero : 1;
    /* Megatron-FSDP is megatron-overlap if it divides neither gradients nor parameters */
    if (!pp_framework_has_zero(framework, zero) || (framework->shards_ops && zero < 2))
        return;
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
        add_framework(h, request->framework);
    for (size_t i = 0; request->free.framework && named && named[i]; i++)
        add_framework(h, named[i]);
    for (size_t i = 0; request->free.framework && !named && i < pp_framework_count(); i++) {
        if (pp_framework_at(i)->size_protocols) /* not framework ideal */
            add_framework(h, pp_framework_at(i));
    }
    return PP_OK;
}

static bool same_framework(const pp_framework_setting *a, const pp_framework_setting *b)
{
    return a->framework == b->framework;
}

static bool same_value(pp_setting_kind kind, const pp_framework_setting *a,
                       const pp_framework_setting *b)
{
    if (kind == PP_SETTING_FRAMEWORK)
        return same_framework(a, b);
    if (kind == PP_SETTING_SHAPES)
        return a->shapes.kind == b->shapes.kind && a->shapes.tokens == b->shapes.tokens;
    return a->communicators == b->communicators;
}

/* True if both have the same value of the setting and, for protocols and layouts, the same
 * framework. */
static bool same_alternative(pp_setting_kind kind, const pp_framework_setting *a,
                             const pp_framework_setting *b)
{
    return same_value(kind, a, b) && same_framework(a, b);
}

static double known(const pp_framework_setting *a)
{
    return a->score < HUGE_VAL ? a->score : a->rated;
}

/* The best known of all alternatives with the same value of the setting. */
static const pp_framework_setting *best_like(const pp_framework_choice *h, pp_setting_kind kind,
                                             const pp_framework_setting *like)
{
    const pp_framework_setting *best = like;
    for (size_t i = 0; i < h->count; i++) {
        const pp_framework_setting *a = &h->row[i];
        if (same_alternative(kind, a, like) && known(a) < known(best))
            best = a;
    }
    return best;
}

static pp_setting_standing standing_of(const pp_framework_setting *a)
{
    if (a->score < HUGE_VAL)
        return PP_SETTING_SEARCHED;
    if (a->rated < HUGE_VAL && !a->searched)
        return PP_SETTING_RATED;
    return a->seen || a->searched ? PP_SETTING_NOTHING_FITS : PP_SETTING_NOT_KNOWN;
}

static pp_setting_value value_of(const pp_framework_setting *a, const pp_framework_setting *taken)
{
    const pp_candidate *c = &taken->best;
    const double score = a->score < HUGE_VAL ? taken->score : pp_candidate_score(c, c->step_ns);
    const bool same_gpus = pp_parallel_gpus(&a->best.parallel) == pp_parallel_gpus(&c->parallel);
    pp_setting_value value = { .framework = a->framework ? a->framework : &pp_framework_ideal,
                               .shapes = a->shapes,
                               .communicators = a->communicators,
                               .standing = standing_of(a) };
    if (value.standing >= PP_SETTING_NOTHING_FITS)
        return value;
    value.more = known(a) / score - 1;
    if (a->score == HUGE_VAL)
        return value;
    value.step_ns = same_gpus ? a->best.step_ns : 0;
    value.tie = pp_is_tie(a->score, score) && pp_is_tie(score, a->score);
    return value;
}

/* True if it is the first with its value, and that is not the chosen value. */
static bool is_other(const pp_framework_choice *h, pp_setting_kind kind,
                     const pp_framework_setting *a, const pp_framework_setting *taken)
{
    if (same_value(kind, a, taken) || (kind != PP_SETTING_FRAMEWORK && !same_framework(a, taken)))
        return false;
    for (const pp_framework_setting *before = h->row; before < a; before++) {
        if (same_alternative(kind, before, a))
            return false;
    }
    return true;
}

static pp_status describe(const pp_framework_choice *h, pp_setting_kind kind,
                          const pp_framework_setting *taken, pp_setting_choice *choice, pp_err *err)
{
    choice->value = pp_alloc_array(h->count + 1, sizeof *choice->value);
    if (!choice->value)
        return pp_err_nomem(err);
    choice->value[choice->count++] = value_of(taken, taken);
    choice->value[0].step_ns = taken->best.step_ns;
    choice->one_size = kind == PP_SETTING_SHAPES && h->alike;
    for (size_t i = 0; i < h->count; i++) {
        if (is_other(h, kind, &h->row[i], taken))
            choice->value[choice->count++] = value_of(best_like(h, kind, &h->row[i]), taken);
    }
    return PP_OK;
}

pp_status pp_framework_choice_describe(const pp_framework_choice *h,
                                       const pp_framework_setting *taken, pp_search_result *choice,
                                       pp_err *err)
{
    const bool is_free[PP_SETTING_COUNT] = {
        [PP_SETTING_FRAMEWORK] = h->request->free.framework,
        [PP_SETTING_SHAPES] = h->request->free.shapes,
        [PP_SETTING_COMMUNICATORS] = h->request->free.communicators,
    };
    pp_status status = PP_OK;
    for (int k = 0; k < PP_SETTING_COUNT && !status; k++) {
        if (is_free[k])
            status = describe(h, (pp_setting_kind)k, taken, &choice->setting[k], err);
    }
    return status;
}
