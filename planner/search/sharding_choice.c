/* Chooses the settings of sharded parameters for the candidate that a search takes, one after the
 * other. It is the last stage of a single search, and simulates one candidate a few times, so that
 * plans take hardly longer to find: these settings change a step by some percent and rarely which
 * candidate is the best. */
#include "planner/search/sharding_choice.h"

#include "planner/candidate/evaluate.h"
#include "planner/search/limit.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <string.h>

/* A rank of PyTorch's pipeline keeps so many stages gathered: with more, it gathers some of them
 * several times in a step. */
#define STAGES_KEPT 3

/* The most numbers of copies that are tried, the smallest ones. */
#define COPIES_MOST 6

static bool is_sharded(const pp_search *search, const pp_setup *setup)
{
    return setup->context.switches.zero == 3 && search->problem->framework->shards;
}

static void set(pp_search *search, size_t index, pp_setting_kind kind,
                const pp_setting_value *value)
{
    pp_candidate *c = &search->pool.candidate[index];
    if (kind == PP_SETTING_LOOKAHEAD) {
        c->unshard_lookahead = value->unshard_lookahead;
    } else {
        c->copies = value->copies;
        search->pool.setup[c->setup].context.switches.dp_replicate = value->copies;
    }
}

/* Simulates the candidate as it is now set. *trial_out: the candidate afterwards. */
static pp_status simulate(pp_search *search, size_t index, pp_candidate *trial_out, pp_err *err)
{
    pp_candidate trial = search->pool.candidate[index];
    const pp_planned *planned = pp_pool_planned(&search->pool, index);
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_cost_set costs PP_CLEANUP(pp_cost_set_free) = { 0 };
    const pp_err refusal = search->progress.refusal;
    pp_status status = pp_pool_costs(&search->pool, &search->pool.setup[trial.setup], &costs, err);
    if (!status && !planned)
        status = pp_candidate_order(search->problem, &trial, costs.costs[0], &order, err);
    if (!status)
        status =
            pp_candidate_simulate_orders(search, &trial, &costs, planned ? planned->order : &order,
                                         planned ? planned->count : 1, err);
    search->progress.refusal = refusal;
    *trial_out = trial;
    return status;
}

/* Takes the trial in place of the candidate. What was found out about its order still holds, and
 * its p95 grows with its step. */
static void take(pp_candidate *c, const pp_candidate *trial)
{
    const pp_candidate before = *c;
    *c = *trial;
    c->reason = before.reason;
    c->p95_ns =
        (pp_ns)((double)before.p95_ns * ((double)c->step_ns / (double)before.step_ns) + 0.5);
}

/* Tries the values of one setting, of which the first is that of the candidate. Moves the taken one
 * to the front. */
static pp_status choose(pp_search *search, size_t index, pp_setting_kind kind,
                        pp_setting_choice *choice, pp_err *err)
{
    pp_candidate *c = &search->pool.candidate[index];
    const bool roomy = c->roomy;
    size_t taken = 0;
    choice->value[0].step_ns = c->step_ns;
    for (size_t i = 1; i < choice->count; i++) {
        pp_setting_value *value = &choice->value[i];
        pp_candidate trial;
        pp_err why = pp_err_like(err);
        value->standing = PP_SETTING_NOT_KNOWN;
        if (pp_search_is_over(search) || !pp_search_affords(search, c))
            continue;
        set(search, index, kind, value);
        const pp_status status = simulate(search, index, &trial, &why);
        if (status == PP_NOMEM)
            return pp_err_nomem(err);
        value->standing = PP_SETTING_NOTHING_FITS;
        if (!status && trial.status == PP_CANDIDATE_OK) {
            value->standing = PP_SETTING_SEARCHED;
            value->step_ns = trial.step_ns;
            value->crowded = roomy && !trial.roomy;
            if (!value->crowded && c->step_ns - trial.step_ns > c->step_ns / PP_MEASURABLE_PART) {
                take(c, &trial);
                taken = i;
            }
        }
        set(search, index, kind, &choice->value[taken]);
    }
    const pp_setting_value first = choice->value[taken];
    memmove(choice->value + 1, choice->value, taken * sizeof first);
    choice->value[0] = first;
    for (size_t i = 0; i < choice->count; i++) {
        pp_setting_value *value = &choice->value[i];
        value->more = value->step_ns ? (double)value->step_ns / (double)c->step_ns - 1 : 0;
        value->tie = fabs(value->more) * PP_MEASURABLE_PART <= 1;
    }
    return PP_OK;
}

/* All that PyTorch 2.15 has; 3 is full. A file for a target cannot say it. */
static pp_status choose_lookahead(pp_search *search, size_t index, pp_setting_choice *choice,
                                  pp_err *err)
{
    static const int32_t values[] = { PP_LOOKAHEAD_FULL, PP_LOOKAHEAD_AUTO, 1, 2 };
    const pp_plan_request *request = search->problem->request;
    const pp_candidate *c = &search->pool.candidate[index];
    if (request->given_sharding.unshard_lookahead || request->target ||
        !search->problem->framework->lower_set || c->parallel.vpp <= STAGES_KEPT)
        return PP_OK;
    choice->value = pp_alloc_array(sizeof values / sizeof *values, sizeof *choice->value);
    if (!choice->value)
        return pp_err_nomem(err);
    for (; choice->count < sizeof values / sizeof *values; choice->count++)
        choice->value[choice->count].unshard_lookahead = values[choice->count];
    return choose(search, index, PP_SETTING_LOOKAHEAD, choice, err);
}

/* True if so many copies may be better than one: each is inside a node or takes whole nodes, and is
 * divided (a copy per replica is no FSDP in torchtitan, and refused by AutoModel). */
static bool is_useful(const pp_cost_context *context, int64_t copies)
{
    const pp_parallel *p = &context->parallel;
    const int64_t node = pp_hardware_node_part(context->hardware, p);
    const int64_t gpus = p->tp * p->cp * p->dp / copies;
    const int64_t experts = pp_parallel_expert_gpus(p) / p->ep;
    const int64_t kept = context->switches.reshard_after_forward;
    const int64_t dense = p->dp * p->cp / copies;
    if (copies >= p->dp || p->dp % copies != 0 ||
        (context->model->experts > 0 && experts % copies != 0))
        return false;
    if (kept > 0 && (kept >= dense || dense % kept != 0 ||
                     (context->model->experts > 0 && experts / copies % kept != 0)))
        return false;
    return gpus <= node ? node % gpus == 0 : gpus % node == 0;
}

static pp_status choose_copies(pp_search *search, size_t index, pp_setting_choice *choice,
                               pp_err *err)
{
    const pp_candidate *c = &search->pool.candidate[index];
    const pp_cost_context *context = &search->pool.setup[c->setup].context;
    if (search->problem->request->given_sharding.copies)
        return PP_OK;
    choice->value = pp_alloc_array(COPIES_MOST, sizeof *choice->value);
    if (!choice->value)
        return pp_err_nomem(err);
    choice->value[choice->count++].copies = 1;
    for (int64_t n = 2; n < c->parallel.dp && choice->count < COPIES_MOST; n++) {
        if (is_useful(context, n))
            choice->value[choice->count++].copies = n;
    }
    if (choice->count > 1)
        return choose(search, index, PP_SETTING_COPIES, choice, err);
    choice->count = 0; /* there is nothing to choose */
    return PP_OK;
}

/* The end of the step depends on the copies, and with it the bound. */
static pp_status bound_again(pp_search *search, size_t index, pp_err *err)
{
    pp_candidate *c = &search->pool.candidate[index];
    pp_setup *setup = &search->pool.setup[c->setup];
    pp_status status = pp_search_bound_again(search->problem, &search->pool, setup, err);
    if (status)
        return status;
    c->least_step_ns = setup->least_step_ns;
    c->bound = setup->bound.part;
    c->bound_rank = setup->bound.part_rank[setup->bound.part];
    if (c->reason.kind == PP_REASON_STEP_GAP)
        c->reason.gap = (double)c->step_ns / (double)c->least_step_ns - 1;
    return PP_OK;
}

pp_status pp_search_choose_sharding(pp_search *search, size_t index, pp_setting_choice *choice,
                                    pp_err *err)
{
    pp_candidate *c = &search->pool.candidate[index];
    const int64_t copies = c->copies;
    if (search->problem->request->jitter || !is_sharded(search, &search->pool.setup[c->setup]))
        return PP_OK;
    c->searched_ns = c->step_ns;
    pp_status status = choose_copies(search, index, &choice[PP_SETTING_COPIES], err);
    if (!status)
        status = choose_lookahead(search, index, &choice[PP_SETTING_LOOKAHEAD], err);
    if (!status && c->copies > 1 && c->copies != copies)
        status = bound_again(search, index, err);
    return status;
}
