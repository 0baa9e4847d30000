/* Free orders for the set-ups in which the named schedules did best: the last part of the search.
 * Method: docs/planning.md, section 9. */
#include "planner/choose_int.h"
#include "planner/instance_costs.h"
#include "planner/order_search.h"
#include "planner/order_walk.h"

#include "sim/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set-ups that are looked at. */
enum { SETUPS_MOST = 3 };

/* Without a budget: so many iterations times ops, which take about half a second; at least and at
 * most so many iterations per set-up. */
#define DEFAULT_WORK 3000000
enum { ITERATIONS_LEAST = 60, ITERATIONS_MOST = 6000 };

/* Where no named order fits there is none to begin with, and making one takes long beyond these. */
#define DISPATCHED_FORWARDS_MAX 3000

static pp_status build_nothing(const pp_shape *shape, pp_order **order_out, pp_err *err)
{
    (void)shape;
    (void)order_out;
    return pp_err_set(err, PP_USAGE, "--schedule", "planned orders are found, not generated");
}

static const pp_schedule planned_schedule = {
    .name = "planned",
    .summary = "an order found for these costs and this memory",
    .build = build_nothing,
};

void pp_planned_free(pp_planned *planned)
{
    for (uint32_t i = 0; i < planned->count; i++)
        pp_order_free(&planned->order[i]);
    free(planned->order);
    *planned = (pp_planned){ 0 };
}

pp_planned *pp_search_planned(const pp_search *search, size_t index)
{
    for (size_t i = 0; i < search->planned_count; i++) {
        if (search->planned[i].candidate == index)
            return &search->planned[i];
    }
    return NULL;
}

/* A set-up worth a search. */
typedef struct prospect {
    size_t setup;
    size_t like;  /* a candidate of it, or of its fused twin: the best one that fits */
    bool seeded;  /* `like` fits: its order is begun with */
    double score; /* of `like`, or of the bound */
} prospect;

typedef struct prospects {
    prospect row[SETUPS_MOST];
    size_t count;
} prospects;

/* Both are one set-up but for whether backwards are split. */
static bool are_twins(const pp_setup *a, const pp_setup *b)
{
    const pp_cost_context *x = &a->context;
    const pp_cost_context *y = &b->context;
    return a->data == b->data && a->partition == b->partition && x->placement == y->placement &&
           x->parallel.tp == y->parallel.tp && x->parallel.vpp == y->parallel.vpp &&
           x->switches.recompute == y->switches.recompute;
}

static bool is_usable(const pp_setup *setup)
{
    return setup->legal && setup->bound.fits && !setup->unseen;
}

/* Split backwards can do all that fused ones can, so the split twin is looked at. */
static size_t split_twin(const pp_search *search, size_t index)
{
    const pp_setup *setup = &search->setup[index];
    for (size_t i = 0; i < search->setup_count && !setup->split; i++) {
        const pp_setup *other = &search->setup[i];
        if (other->split && is_usable(other) && are_twins(setup, other))
            return i;
    }
    return index;
}

static void add_prospect(prospects *list, prospect now)
{
    size_t at = list->count;
    for (size_t i = 0; i < list->count; i++) {
        if (list->row[i].setup != now.setup)
            continue;
        if (list->row[i].score <= now.score)
            return;
        at = i;
    }
    if (at == SETUPS_MOST && list->row[--at].score <= now.score)
        return;
    list->count = at == list->count ? at + 1 : list->count;
    for (; at > 0 && list->row[at - 1].score > now.score; at--)
        list->row[at] = list->row[at - 1];
    list->row[at] = now;
}

static double setup_forwards(const pp_search *search, const pp_setup *setup)
{
    const pp_parallel *parallel = &setup->context.parallel;
    return (double)(parallel->pp * parallel->vpp) *
           (double)search->data[setup->data].workload.microbatches;
}

/* Sorted, best first: set-ups whose bound leaves room below the best step. One in which no named
 * schedule fits is judged by its bound. */
static prospects find_prospects(const pp_search *search, double best_score)
{
    prospects list = { .count = 0 };
    for (size_t i = 0; i < search->count; i++) {
        const pp_candidate *c = &search->candidate[i];
        bool fits = c->status == PP_CANDIDATE_OK;
        size_t k = split_twin(search, c->setup);
        const pp_setup *setup = &search->setup[k];
        double least = pp_candidate_score(c, setup->least_step_ns);
        if (!is_usable(setup) || search->data[setup->data].workload.microbatches == 0 ||
            (!fits && c->status == PP_CANDIDATE_PRUNED))
            continue;
        if (search->wish->orders != PP_ORDERS_PLANNED &&
            least * (1 + 1.0 / PP_MEASURABLE_GAIN) >= best_score)
            continue;
        if (!fits && best_score < HUGE_VAL &&
            setup_forwards(search, setup) > DISPATCHED_FORWARDS_MAX)
            continue;
        if (!fits && search->communicates) /* buffers count too: instances do not know them */
            continue;
        if (search->wish->one_order && search->data[setup->data].workload.replicas > 1)
            continue;
        add_prospect(
            &list, (prospect){ .setup = k,
                               .like = i,
                               .seeded = fits,
                               .score = fits ? pp_candidate_score(c, c->step_ns) : least * 1.05 });
    }
    return list;
}

/* What may be spent on one set-up: iterations, or from one part of the time to another. */
typedef struct purse {
    const pp_wish *wish;
    int64_t iterations; /* 0: time */
    double from, to;
} purse;

static double spent(void *context)
{
    const purse *p = context;
    if (p->iterations)
        return 0;
    double gone = p->wish->spent(p->wish->context);
    return p->to > p->from ? (gone - p->from) / (p->to - p->from) : 1;
}

/* One replica's part of a planned step. */
typedef struct share {
    pp_order *order;
    int64_t makespan;
    bool searched;
} share;

/* The search in one set-up. */
typedef struct ordering {
    pp_search *search;
    const prospect *at;
    const pp_setup *setup;
    bool split;
    pp_cost_set set;
    pp_order *seed;   /* NULL: none */
    share *share;     /* [set.count] */
    pp_limits limits; /* of the replica searched last */
    int64_t makespan; /* of that */
    bool exhausted;   /* all its orders were looked at */
} ordering;

static void ordering_free(ordering *o)
{
    for (uint32_t i = 0; o->share && i < o->set.count; i++)
        pp_order_free(&o->share[i].order);
    free(o->share);
    pp_order_free(&o->seed);
    pp_cost_set_free(&o->set);
}

static void free_ops(uint32_t **ops)
{
    free(*ops);
}

static pp_status make_instance(const ordering *o, uint32_t replica, pp_instance **x_out,
                               pp_err *err)
{
    const pp_cost_context *context = &o->setup->context;
    uint32_t stages = o->set.costs[replica]->stages;
    uint32_t *stage_rank PP_CLEANUP(free_ops) = pp_alloc_array(stages, sizeof *stage_rank);
    if (!stage_rank)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < stages; s++)
        stage_rank[s] = pp_placement_rank(context->placement, s, (uint32_t)context->parallel.pp);
    return pp_instance_from_costs(o->set.costs[replica], stage_rank, o->split,
                                  o->search->memory_limit_bytes, x_out, err);
}

/* The named order and its makespan, by which replicas are chosen. */
static pp_status begin_replica(ordering *o, uint32_t replica, pp_err *err)
{
    pp_instance *x PP_CLEANUP(pp_instance_free) = NULL;
    pp_walk *walk PP_CLEANUP(pp_walk_free) = NULL;
    uint32_t *ops PP_CLEANUP(free_ops) = NULL;
    pp_status status = make_instance(o, replica, &x, err);
    if (status || (status = pp_walk_new(x, &walk, err)))
        return status;
    ops = pp_alloc_array((size_t)x->ops + 1, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    pp_instance_from_order(x, o->seed, ops);
    if (!pp_walk_set(walk, ops))
        return PP_OK; /* fits nowhere but in the fused twin: to be searched first */
    o->share[replica].makespan = walk->makespan;
    return pp_instance_to_order(x, ops, o->split, &o->share[replica].order, err);
}

static pp_status search_replica(ordering *o, purse *funds, uint32_t replica, pp_err *err)
{
    const pp_wish *wish = o->search->wish;
    share *part = &o->share[replica];
    pp_instance *x PP_CLEANUP(pp_instance_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    uint32_t *ops PP_CLEANUP(free_ops) = NULL;
    pp_status status = make_instance(o, replica, &x, err);
    if (status || (status = pp_instance_bound(x, &o->limits, err)))
        return status;
    ops = pp_alloc_array((size_t)x->ops + 1, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    if (o->seed)
        pp_instance_from_order(x, o->seed, ops);
    int64_t fair = DEFAULT_WORK / ((int64_t)x->ops + 1);
    fair = fair < ITERATIONS_LEAST ? ITERATIONS_LEAST : fair;
    fair = fair > ITERATIONS_MOST ? ITERATIONS_MOST : fair;
    bool timed = funds->to > funds->from;
    const pp_search_budget budget = {
        .iterations = timed               ? 0
                      : funds->iterations ? funds->iterations
                                          : fair,
        .spent = timed ? spent : NULL,
        .context = funds,
        .start = o->seed ? ops : NULL,
        .seed = wish->seed,
        .threads = wish->threads,
    };
    status = pp_search_order(x, o->limits.ticks, &budget, &found, err);
    if (status)
        return status;
    pp_order_free(&part->order);
    part->searched = true;
    o->makespan = part->makespan = found->makespan;
    o->exhausted = found->exhausted;
    return pp_instance_to_order(x, found->ops, o->split, &part->order, err);
}

/* The step is that of the slowest replica, so that one is searched until it is done, and the rest
 * keep the named order. */
static pp_status search_replicas(ordering *o, purse purse_of_all, pp_err *err)
{
    uint32_t count = o->set.count;
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < count; i++)
        o->share[i].makespan = INT64_MAX;
    for (uint32_t i = 0; i < count && count > 1 && o->seed && !status; i++)
        status = begin_replica(o, i, err);
    for (uint32_t n = 0; n < count && !status; n++) {
        uint32_t slowest = 0;
        for (uint32_t i = 1; i < count; i++)
            slowest = o->share[i].makespan > o->share[slowest].makespan ? i : slowest;
        if (o->share[slowest].searched)
            break;
        purse one = purse_of_all;
        one.iterations = one.iterations / count + (one.iterations > 0);
        one.from += (one.to - one.from) * n / count;
        one.to = one.from + (purse_of_all.to - purse_of_all.from) / count;
        status = search_replica(o, &one, slowest, err);
    }
    return status;
}

static pp_status keep(ordering *o, pp_candidate *c, pp_err *err)
{
    pp_search *search = o->search;
    void *grown = search->planned;
    pp_status status = pp_grow(&grown, &search->planned_capacity, search->planned_count + 1,
                               sizeof *search->planned, err);
    if (status)
        return status;
    search->planned = grown;
    grown = search->candidate;
    status = pp_grow(&grown, &search->capacity, search->count + 1, sizeof *search->candidate, err);
    if (status)
        return status;
    search->candidate = grown;
    pp_planned planned = { .candidate = search->count, .count = o->set.count };
    planned.order = pp_alloc_array(o->set.count, sizeof *planned.order);
    if (!planned.order)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < o->set.count; i++) {
        planned.order[i] = o->share[i].order;
        o->share[i].order = NULL;
    }
    search->planned[search->planned_count++] = planned;
    search->candidate[search->count++] = *c;
    return PP_OK;
}

/* Simulates what was found; keeps it where it fits and cannot hang. */
static pp_status try_orders(ordering *o, pp_err *err)
{
    pp_search *search = o->search;
    pp_candidate c = search->candidate[o->at->like];
    pp_order **order = pp_alloc_array(o->set.count, sizeof *order);
    if (!order)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < o->set.count; i++)
        order[i] = o->share[i].order;
    c.schedule = &planned_schedule;
    c.group_size = 0;
    c.setup = (uint32_t)o->at->setup;
    c.legal = true;
    c.least_step_ns = o->setup->least_step_ns;
    pp_err refusal = search->refusal;
    pp_status status = pp_candidate_simulate_orders(search, &c, &o->set, order, o->set.count, err);
    free(order);
    search->refusal = refusal; /* that this order hangs is no rule */
    if (!status && c.status != PP_CANDIDATE_OK)
        snprintf(search->orders, sizeof search->orders,
                 "none that executor %s runs within the memory: %.110s", search->executor->name,
                 c.reason);
    if (status || c.status != PP_CANDIDATE_OK)
        return status;
    double gap = o->limits.ticks ? (double)o->makespan / (double)o->limits.ticks - 1 : 0;
    if (o->exhausted)
        snprintf(c.reason, sizeof c.reason, "no order is faster: all were looked at");
    else
        snprintf(c.reason, sizeof c.reason, "%.2f %% above the bound of any order (%s)", 100 * gap,
                 pp_limit_key(o->limits.largest));
    return keep(o, &c, err);
}

static pp_status plan_setup(pp_search *search, const prospect *at, purse funds, pp_err *err)
{
    ordering o PP_CLEANUP(
        ordering_free) = { .search = search, .at = at, .setup = &search->setup[at->setup] };
    pp_candidate *like = &search->candidate[at->like];
    pp_err why = { 0 };
    pp_status status = pp_setup_costs(search, o.setup, &o.set, err);
    if (status)
        return status;
    o.split = o.setup->split;
    o.share = pp_alloc_array(o.set.count, sizeof *o.share);
    if (!o.share)
        return pp_err_nomem(err);
    if (at->seeded)
        status = pp_candidate_order(search, like, o.set.costs[0], &o.seed, err);
    if (status)
        return status;
    status = search_replicas(&o, funds, &why);
    if (status == PP_INPUT || status == PP_INFEASIBLE)
        return PP_OK; /* too large for an instance, or no order fits */
    if (status) {
        *err = why;
        return status;
    }
    return try_orders(&o, err);
}

/* Equal parts of what the budget leaves; false when nothing is left. */
static bool fill_purse(const pp_search *search, size_t index, size_t count, double begin,
                       purse *purse_out)
{
    const pp_wish *wish = search->wish;
    *purse_out = (purse){ .wish = wish };
    if (wish->stop && wish->spent) {
        double part = (1 - begin) / (double)count;
        purse_out->from = begin + (double)index * part;
        purse_out->to = purse_out->from + part;
        return !search->stopped && begin < 1;
    }
    if (!wish->max_simulations)
        return true;
    int64_t left = (int64_t)wish->max_simulations - (int64_t)search->simulated;
    purse_out->iterations = left / (int64_t)(count - index);
    return purse_out->iterations > 0;
}

static void say_result(pp_search *search, const pp_candidate *named, const pp_candidate *found,
                       bool taken, bool tried)
{
    char *text = search->orders;
    size_t size = sizeof search->orders;
    if (!found && (!named || search->orders[0]))
        return;
    if (!found && tried) {
        snprintf(text, size, "not searched: the budget was used up");
        return;
    }
    if (!found) {
        snprintf(text, size, "no free order can be measurably faster than %s",
                 named->schedule->name);
    } else if (!named) {
        snprintf(text, size, "found where no named schedule fits; %.90s", found->reason);
    } else {
        double score = pp_candidate_score(named, named->step_ns);
        double gain = 1 - pp_candidate_score(found, found->step_ns) / score;
        bool small = gain * PP_MEASURABLE_GAIN < 1;
        snprintf(text, size, "%s%.2f %% %s than %s, the best named schedule; %.90s",
                 taken && !small ? "" : "no measurable gain: the best one found is ",
                 100 * (gain < 0 ? -gain : gain), gain < 0 ? "slower" : "faster",
                 named->schedule->name, found->reason);
    }
}

pp_status pp_search_plan_orders(pp_search *search, size_t *best, pp_err *err)
{
    const pp_wish *wish = search->wish;
    bool must = wish->orders == PP_ORDERS_PLANNED;
    size_t named = *best;
    if (wish->orders == PP_ORDERS_NAMED || wish->schedule || wish->only)
        return PP_OK;
    const pp_candidate *c = named == SIZE_MAX ? NULL : &search->candidate[named];
    double score = c ? pp_candidate_score(c, c->step_ns) : HUGE_VAL;
    prospects list = find_prospects(search, score);
    double begin = wish->spent ? wish->spent(wish->context) : 0;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < list.count; i++) {
        purse funds;
        size_t count = search->count;
        if (!fill_purse(search, i, list.count, begin, &funds))
            continue;
        pp_status status = plan_setup(search, &list.row[i], funds, err);
        if (status)
            return status;
        if (search->count == count)
            continue;
        const pp_candidate *now = &search->candidate[count];
        const pp_candidate *best_now = found == SIZE_MAX ? NULL : &search->candidate[found];
        if (!best_now ||
            pp_candidate_score(now, now->step_ns) < pp_candidate_score(best_now, best_now->step_ns))
            found = count;
    }
    if (found == SIZE_MAX && must && named != SIZE_MAX)
        return pp_err_set(err, PP_INFEASIBLE, "--schedule",
                          "no order was found that executor %s can run within the memory and the "
                          "budget; leave the option out or give more --budget",
                          search->executor->name);
    c = named == SIZE_MAX ? NULL : &search->candidate[named];
    const pp_candidate *f = found == SIZE_MAX ? NULL : &search->candidate[found];
    bool taken = f && (must || !c ||
                       pp_candidate_score(f, f->step_ns) * PP_MEASURABLE_GAIN <
                           score * (PP_MEASURABLE_GAIN - 1));
    say_result(search, c, f, taken, list.count > 0);
    *best = taken ? found : named;
    return PP_OK;
}
