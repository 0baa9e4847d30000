/* Chains of the search and the scratch memory of its threads: allocation, copies, and the
 * microbatches sorted by their work. The searches that use a chain are in anneal.c and
 * local_search.c. Memory per chain and per thread grows linearly with the number of ops. */
#include "planner/order/chain.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

pp_status pp_search_chain_new(const pp_order_problem *problem, uint64_t seed, uint32_t index,
                              pp_search_chain *chain, pp_err *err)
{
    pp_rng rng = { seed };
    for (uint32_t k = 0; k <= index; k++)
        chain->rng.state = pp_rng_bits(&rng);
    chain->dispatched = chain->makespan = chain->best = INT64_MAX;
    chain->ops = pp_alloc_array(2 * ((size_t)problem->ops + 1), sizeof *chain->ops);
    if (!chain->ops)
        return pp_err_nomem(err);
    chain->best_ops = chain->ops + problem->ops;
    return pp_policy_new(problem, &chain->policy, err);
}

void pp_search_chain_free(pp_search_chain *chain)
{
    pp_policy_free(&chain->policy);
    free(chain->ops);
}

void pp_search_chain_adopt(const pp_order_problem *problem, pp_search_chain *to,
                           const pp_search_chain *from)
{
    pp_policy_copy(problem, &to->policy, &from->policy);
    memcpy(to->ops, from->ops, problem->ops * sizeof *to->ops);
    to->dispatched = from->dispatched;
    to->makespan = from->makespan;
}

static void rank_by_work(const pp_order_problem *x, pp_search_scratch *scratch)
{
    const uint32_t m = x->microbatches;
    (void)pp_policy_sort(x, scratch->by_work);
    for (uint32_t from = 0, to; from < m; from = to) {
        const int64_t work = pp_order_problem_work_of(x, scratch->by_work[from]);
        for (to = from; to < m && pp_order_problem_work_of(x, scratch->by_work[to]) == work;)
            to++;
        for (uint32_t k = from; k < to; k++) {
            scratch->lighter[scratch->by_work[k]] = from;
            scratch->heavier[scratch->by_work[k]] = m - to;
        }
    }
}

pp_status pp_search_scratch_new(const pp_order_problem *problem, pp_search_scratch *scratch,
                                pp_err *err)
{
    pp_status status = pp_dispatch_new(problem, &scratch->dispatch, err);
    if (status || (status = pp_movable_order_new(problem, &scratch->order, err)) ||
        (status = pp_policy_new(problem, &scratch->trial, err)) ||
        (status = pp_policy_new(problem, &scratch->now, err)))
        return status;
    scratch->path = pp_alloc_array((size_t)problem->ops + 1, sizeof *scratch->path);
    scratch->by_rank = pp_alloc_array((size_t)problem->ops + 1, sizeof *scratch->by_rank);
    scratch->block = pp_alloc_array((size_t)problem->ops + 1, sizeof *scratch->block);
    scratch->by_work =
        pp_alloc_array(3 * (size_t)problem->microbatches + 1, sizeof *scratch->by_work);
    if (!scratch->path || !scratch->by_rank || !scratch->block || !scratch->by_work)
        return pp_err_nomem(err);
    scratch->lighter = scratch->by_work + problem->microbatches;
    scratch->heavier = scratch->lighter + problem->microbatches;
    rank_by_work(problem, scratch);
    return PP_OK;
}

void pp_search_scratch_free(pp_search_scratch *scratch)
{
    pp_dispatch_free(&scratch->dispatch);
    pp_movable_order_free(&scratch->order);
    pp_policy_free(&scratch->trial);
    pp_policy_free(&scratch->now);
    free(scratch->path);
    free(scratch->by_rank);
    free(scratch->block);
    free(scratch->by_work);
}
