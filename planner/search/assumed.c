/* Collects what the request of a search left open and the values that were filled in; the caller
 * turns them into sentences. */
#include "planner/search/assumed.h"

static bool link_measured(const pp_hardware *hardware, bool inside)
{
    const pp_measured_at at = { .kind = PP_MEASURED_MESSAGE,
                                .bytes = 1 << 20,
                                .ranks = 2,
                                .spans = !inside,
                                .other_node = !inside };
    const pp_measured *measured = hardware->measured;
    double ignored;
    return measured && measured->ask(measured->context, &at, &ignored);
}

static pp_link_source link_source(const pp_hardware *hardware, bool inside)
{
    const pp_p2p_curve *link = inside ? &hardware->node_p2p : &hardware->network_p2p;
    if (link_measured(hardware, inside))
        return PP_LINK_MEASURED;
    return link->published ? PP_LINK_PUBLISHED : PP_LINK_COMPUTED;
}

pp_assumed pp_search_assumed(const pp_search *search, const pp_candidate *chosen)
{
    const pp_plan_problem *problem = search->problem;
    const pp_plan_request *request = problem->request;
    const pp_hardware *hardware = request->hardware;
    const bool inside = pp_parallel_gpus(&chosen->parallel) <= hardware->gpus_per_node;
    pp_assumed assumed = {
        .given = { .seq_length = request->seq_length != 0,
                   .global_batch_size = request->global_batch_size != 0,
                   .micro_batch_size = request->micro_batch_size != 0,
                   .group_size = request->group_size != 0,
                   .framework = request->framework != NULL,
                   .memory_limit = request->memory_limit_bytes != 0,
                   .shape_message = request->shape_message_given,
                   .p2p = request->switches.given.p2p,
                   .scatter_gather = request->switches.given.scatter_gather },
        .requested = request->parallel,
        .gpus = request->gpus,
        .stack = request->switches.stack,
        .target = request->target,
        .no_split = request->no_split,
        .lengths = request->lengths != NULL,
        .length_count = request->length_count,
        .group_count = request->group_count,
        .regrouped = request->grouped != NULL,
        .token_counts = search->pool.data[search->pool.setup[chosen->setup].data].shapes,
        .memory_limit_bytes = problem->memory_limit_bytes,
        .memory_reserve_bytes = pp_memory_reserve_bytes(hardware),
        .link_inside_node = inside,
        .link = link_source(hardware, inside),
    };
    if (request->grouped)
        assumed.method = *request->grouped;
    return assumed;
}

bool pp_rank_link_is_used(const pp_rank_override *link, const pp_cost_context *context)
{
    const uint32_t ranks = (uint32_t)context->parallel.pp;
    const uint32_t stages = ranks * (uint32_t)context->parallel.vpp;
    for (uint32_t s = 0; s + 1 < stages; s++) {
        if (pp_rank_override_joins(link, pp_placement_rank(context->placement, s, ranks),
                                   pp_placement_rank(context->placement, s + 1, ranks)))
            return true;
    }
    return false;
}
