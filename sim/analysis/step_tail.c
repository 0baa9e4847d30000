/* The end of a step after the last op: a rank updates its parameters when its own gradients are
 * reduced and, with a barrier, when all ranks are done; holders of a tied embedding also wait
 * for each other. Linear in the ranks. */
#include "sim/analysis/step_tail.h"

/* What an update waits for: the last op of some rank, then its gradient sync, then the reduction of
 * the tied embedding. */
typedef struct chain {
    pp_ns last_end_ns, synced_ns, reduced_ns;
} chain;

static const chain never = { PP_NEVER, PP_NEVER, PP_NEVER };

bool pp_step_tail_chained(const pp_framework *framework)
{
    return framework && framework->post_validates;
}

static chain synced(const pp_costs *costs, const pp_ns *last_end_ns, uint32_t rank)
{
    pp_ns end_ns = last_end_ns[rank];
    if (end_ns == PP_NEVER)
        return never;
    pp_ns synced_ns = end_ns + costs->grad_sync_ns[rank];
    return (chain){ end_ns, synced_ns, synced_ns };
}

/* The holder of the tied embedding that is ready last. */
static chain last_holder(const pp_costs *costs, const pp_ns *last_end_ns)
{
    chain last = never;
    for (uint32_t r = 0; r < costs->ranks; r++) {
        chain one = synced(costs, last_end_ns, r);
        if (costs->tied_ns[r] && one.synced_ns > last.synced_ns)
            last = one;
    }
    return last;
}

static chain reduced(const pp_costs *costs, const pp_ns *last_end_ns, chain holder, uint32_t rank)
{
    if (!costs->tied_ns[rank] || holder.synced_ns == PP_NEVER)
        return synced(costs, last_end_ns, rank);
    holder.reduced_ns = holder.synced_ns + costs->tied_ns[rank];
    return holder;
}

void pp_step_tail_pass(const pp_costs *costs, bool chained, pp_ns *end_ns)
{
    const chain holder = last_holder(costs, end_ns);
    chain before = never;
    for (uint32_t r = 0; r < costs->ranks; r++) {
        chain own = reduced(costs, end_ns, holder, r);
        if (chained && before.reduced_ns > own.reduced_ns)
            own = before;
        before = own;
        end_ns[r] = own.reduced_ns == PP_NEVER
                        ? PP_NEVER
                        : own.reduced_ns + costs->optimizer_ns[r] + costs->fixed_ns;
    }
}

/* The part of [from, to] after the makespan. */
static pp_ns exposed(pp_ns from_ns, pp_ns to_ns, pp_ns makespan_ns)
{
    from_ns = from_ns > makespan_ns ? from_ns : makespan_ns;
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* The rank that ends the step, and when it has updated. */
typedef struct ending {
    chain critical;
    pp_ns updated_ns;
} ending;

static ending find_end(const pp_costs *costs, const pp_ns *last_end_ns, bool step_sync,
                       bool chained)
{
    const chain holder = last_holder(costs, last_end_ns);
    chain before = never;
    chain critical = never;
    pp_ns optimizer_ns = 0;
    pp_ns slowest_ns = 0;
    for (uint32_t r = 0; r < costs->ranks; r++) {
        chain own = reduced(costs, last_end_ns, holder, r);
        pp_ns update_ns = costs->optimizer_ns[r];
        if (chained && before.reduced_ns > own.reduced_ns)
            own = before;
        before = own;
        slowest_ns = update_ns > slowest_ns ? update_ns : slowest_ns;
        if (own.reduced_ns + (step_sync ? 0 : update_ns) >
            critical.reduced_ns + (step_sync ? 0 : optimizer_ns)) {
            critical = own;
            optimizer_ns = update_ns;
        }
    }
    if (step_sync)
        optimizer_ns = slowest_ns;
    return (ending){ critical, critical.reduced_ns + optimizer_ns };
}

pp_ns pp_step_tail_step_end(const pp_costs *costs, const pp_ns *last_end_ns, bool step_sync,
                            bool chained)
{
    return find_end(costs, last_end_ns, step_sync, chained).updated_ns + costs->fixed_ns;
}

pp_step_tail pp_step_tail_of(const pp_costs *costs, const pp_ns *last_end_ns, pp_ns makespan_ns,
                             bool step_sync, bool chained)
{
    const ending end = find_end(costs, last_end_ns, step_sync, chained);
    const chain critical = end.critical;
    return (pp_step_tail){
        .grad_sync_ns = exposed(critical.last_end_ns, critical.synced_ns, makespan_ns),
        .tied_ns = exposed(critical.synced_ns, critical.reduced_ns, makespan_ns),
        .optimizer_ns = exposed(critical.reduced_ns, end.updated_ns, makespan_ns),
        .fixed_ns = costs->fixed_ns,
    };
}
