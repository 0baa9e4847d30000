/* Prepares the execution of a plan: the data of one replica, its costs with the bytes of the
 * compute backend and the durations of the link, and the lowered program. */
#include "runtime/measure/execution.h"

#include "sim/base/field.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"

#include <math.h>
#include <stdlib.h>

bool pp_execution_given_up(const pp_execution *x)
{
    bool given_up = x->result.given_up;
    for (uint32_t k = 0; k < x->others; k++)
        given_up = given_up || x->other[k]->result.given_up;
    return given_up;
}

void pp_execution_free(pp_execution *x)
{
    if (pp_execution_given_up(x))
        return; /* a thread still uses it */
    for (uint32_t k = 0; k < x->others; k++) {
        pp_execution_free(x->other[k]);
        free(x->other[k]);
    }
    free(x->other);
    free(x->replica);
    if (x->job.transport) /* first: messages of a failed run may still arrive in its result */
        x->job.transport->close(x->job.world);
    pp_run_result_free(&x->result); /* a failed run uses the workers until here */
    for (uint32_t r = 0; x->job.worker && r < x->work.ranks; r++)
        x->job.compute->close(x->job.worker[r]);
    free(x->job.worker);
    pp_timeline_free(&x->predicted);
    pp_timeline_free(&x->replayed);
    pp_report_free(&x->prediction);
    pp_report_free(&x->report);
    if (x->owns_program)
        pp_program_free(&x->program);
    pp_costs_free(&x->costs);
    pp_workload_free(&x->padded);
    pp_meeting_free(&x->meeting); /* after the worlds */
    *x = (pp_execution){ 0 };
}

static uint32_t longest_of(const pp_workload *data, size_t count)
{
    uint32_t longest = 0;
    for (uint32_t j = 1; j < count; j++)
        longest = data->microbatch[j].tokens > data->microbatch[longest].tokens ? j : longest;
    return longest;
}

/* Sets views of the replica's part of the data, which the plan owns. */
static pp_status view_data(const pp_plan *plan, uint32_t replica, pp_execution *x, pp_err *err)
{
    if (!plan->workload.microbatch && plan->sizes.kind == PP_SIZES_PADDED_WIRE)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
            "padded-wire needs a plan with the lengths of its microbatches to be run; "
            "give another protocol, such as padded");
    if (!plan->workload.microbatch)
        return PP_OK;
    x->workload = plan->workload;
    x->workload.replicas = 1;
    if (plan->workload.replicas > 1)
        x->workload.microbatch += (size_t)replica * plan->workload.microbatches;
    x->work.data = &x->workload;
    x->work.workload = &x->workload;
    if (plan->sizes.kind < PP_SIZES_PADDED)
        return PP_OK;
    x->work.workload = &x->padded;
    pp_size_protocol sizes = plan->sizes;
    const size_t all = (size_t)plan->workload.replicas * plan->workload.microbatches;
    if (sizes.kind == PP_SIZES_PADDED_WIRE && !sizes.tokens) /* of all replicas */
        sizes.tokens = plan->workload.microbatch[longest_of(&plan->workload, all)].tokens;
    return pp_workload_pad(&sizes, &x->workload, &x->padded, NULL, err);
}

/* Makes the tensors that stages exchange as large as padded-wire sends them. What a stage computes
 * with is the beginning of such a tensor, so that nothing has to be copied, but its input stays as
 * large until the backward. described: the sizes are those of the compute, which does not pad;
 * otherwise they are the plan's, whose stages keep a copy of the real part. */
static void pad_messages(const pp_execution *x, bool described, pp_costs *costs)
{
    const pp_microbatch *data = x->workload.microbatch;
    const double wire = (double)x->padded.wire_tokens;
    const uint32_t longest = longest_of(&x->workload, costs->microbatches);
    const double times = described ? wire / (double)data[longest].tokens : 1;
    for (uint32_t s = 0; s + 1 < costs->stages; s++) {
        const double most = (double)costs->message_bytes[pp_cost_index(costs, s, longest)];
        const int64_t padded = (int64_t)ceil(most * times);
        for (uint32_t j = 0; j < costs->microbatches; j++) {
            const size_t row = pp_cost_index(costs, s, j);
            const double part = (double)data[j].tokens / wire;
            const int64_t real =
                described ? costs->message_bytes[row] : (int64_t)((double)padded * part + 0.5);
            costs->activation_bytes[row + 1] += padded - real;
            costs->message_bytes[row] = padded;
        }
    }
}

static uint64_t sequences_of(const pp_workload *data, uint32_t replica, double *tokens)
{
    const size_t first = data->replicas > 1 ? (size_t)replica * data->microbatches : 0;
    uint64_t sequences = 0;
    for (size_t j = first; j < first + data->microbatches; j++) {
        sequences += data->microbatch[j].count;
        *tokens += (double)data->microbatch[j].tokens;
    }
    return sequences;
}

/* Sets what a replica has to know of those with which it trains: how many sequences come before its
 * own, and how many tokens the loss counts. */
static void join_replicas(const pp_plan *plan, const pp_run_plan_options *options,
                          pp_compute_work *work)
{
    work->replica = options->replica;
    work->replicas = options->replicas;
    work->zero = options->zero;
    for (uint32_t k = 0; k < options->replicas; k++) {
        const uint64_t sequences = !plan->workload.microbatch
                                       ? work->microbatches
                                       : sequences_of(&plan->workload, k, &work->step_tokens);
        work->sequences_before += k < options->replica ? sequences : 0;
    }
}

static pp_status make_work(const pp_plan *plan, const pp_run_plan_options *options, pp_execution *x,
                           pp_err *err)
{
    uint32_t replica = options->replica;
    const pp_order *order = plan->order[plan->order_count > 1 ? replica : 0];
    x->order = order;
    pp_status status = pp_order_one_rank(order, pp_err_name(err, PP_FIELD_RUNTIME), err);
    if (!status)
        status = pp_costs_spread(plan->costs[plan->costs_count > 1 ? replica : 0], &x->costs, err);
    if (status)
        return status;
    x->costs->has_pairs = x->costs->has_hidden = false; /* a rank does one op at a time */
    x->costs->shards_ops = false;                       /* and gathers and reduces between them */
    x->work = (pp_compute_work){ .ranks = order->ranks,
                                 .stages = order->stages,
                                 .microbatches = order->microbatches,
                                 .stage_rank = order->stage_rank,
                                 .partition = plan->partition,
                                 .costs = x->costs,
                                 .settings = options->settings,
                                 .seed = options->seed,
                                 .forward_only = pp_order_forward_only(order),
                                 .split = pp_order_splits_backward(order) };
    join_replicas(plan, options, &x->work);
    status = view_data(plan, replica, x, err);
    if (!status && options->compute->describe)
        status = options->compute->describe(&x->work, x->costs, err);
    if (!status && x->padded.wire_tokens)
        pad_messages(x, options->compute->describe, x->costs);
    return status;
}

static pp_status on_link(const pp_link *link, int64_t bytes, pp_ns *takes_ns, pp_err *err)
{
    double latency_s = (double)link->latency_ns * 1e-9;
    return pp_ns_from_seconds(latency_s + (double)bytes / link->bytes_per_s,
                              pp_err_name(err, PP_FIELD_LINK), takes_ns, err);
}

/* Sets the durations of transfers to those of the link. */
static pp_status apply_link(const pp_link *link, pp_costs *costs, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t k = 0; k < (size_t)costs->classes * costs->stages && !status; k++) {
        bool below = costs->has_memory && k % costs->stages;
        int64_t bytes = costs->has_memory ? costs->message_bytes[k] : 0;
        if (link->kind == PP_LINK_FREE) {
            costs->send_f_ns[k] = costs->send_b_ns[k] = 0;
        } else if (link->kind == PP_LINK_THROTTLE) {
            status = on_link(link, bytes, &costs->send_f_ns[k], err);
            if (!status)
                status = on_link(link, below ? costs->message_bytes[k - 1] : 0,
                                 &costs->send_b_ns[k], err);
        }
    }
    return status;
}

pp_plan pp_plan_as_executed(const pp_plan *plan, const pp_transport *transport,
                            pp_communicators communicators)
{
    pp_plan ours = *plan;
    bool queues = transport && transport->has_queues;
    ours.framework = queues ? &pp_framework_zero_bubble : &pp_framework_ppsim;
    ours.comm.has_lanes = false;
    ours.buffers = (pp_buffer_settings){ .has_recv = false };
    ours.host = (pp_host_costs){ 0 };
    ours.sharing = (pp_sharing){ 0 };
    ours.shape_message_ns = 0;
    ours.p2p = PP_P2P_SEND_RECV;
    ours.step_sync = true;
    if (queues) {
        ours.comm.has_lanes = true;
        ours.comm.lanes = pp_communicators_lanes(communicators);
        ours.buffers = (pp_buffer_settings){
            .has_recv = true, .recv = PP_RECV_ON_POST, .has_send = true, .send = PP_SEND_UNTIL_DONE
        };
    }
    return ours;
}

pp_status pp_execution_prepare(const pp_plan *plan, const pp_run_plan_options *options,
                               pp_execution *x, pp_err *err)
{
    if (plan->runs > 1)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RUNS),
                          "the runtime of ppsim runs the schedule once per step; run a plan that "
                          "was made without it");
    pp_status status = make_work(plan, options, x, err);
    if (status)
        return status;
    if (options->zero < 2)
        x->costs->sharded = false; /* a replica holds all of its parameters here */
    if ((status = apply_link(&options->link, x->costs, err)) || x->program)
        return status;
    x->owns_program = true;
    return pp_plan_lower(plan, x->order, x->costs, &x->program, err);
}
