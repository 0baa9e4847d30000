/* Writes a plan file. Quantities that are not known are null. */
#include "sim/plan/plan_write.h"

#include "sim/analysis/report_json.h"
#include "sim/analysis/uncertainty_json.h"
#include "sim/cost/costs_json.h"
#include "sim/job/sharing_json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static void put_name(pp_json_build *build, pp_json *object, const char *key, const char *name)
{
    pp_json_put_text(build, object, key, name[0] ? name : NULL);
}

static void put_known(pp_json_build *build, pp_json *object, const char *key, int64_t value)
{
    if (value)
        pp_json_put_int(build, object, key, value);
    else
        pp_json_put_null(build, object, key);
}

static pp_json *write_parallel(const pp_plan *plan, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "pp", plan->parallel.pp);
    pp_json_put_int(build, object, "tp", plan->parallel.tp);
    pp_json_put_int(build, object, "cp", plan->parallel.cp);
    pp_json_put_int(build, object, "dp", plan->parallel.dp);
    pp_json_put_int(build, object, "ep", plan->parallel.ep);
    if (plan->parallel.etp)
        pp_json_put_int(build, object, "etp", plan->parallel.etp);
    pp_json_put_int(build, object, "vpp", plan->parallel.vpp);
    if (plan->sequence_parallel < 0)
        pp_json_put_null(build, object, "sequence_parallel");
    else
        pp_json_put_bool(build, object, "sequence_parallel", plan->sequence_parallel);
    if (plan->zero < 0)
        pp_json_put_null(build, object, "zero");
    else
        pp_json_put_int(build, object, "zero", plan->zero);
    if (plan->dp_replicate > 1)
        pp_json_put_int(build, object, "dp_replicate", plan->dp_replicate);
    if (plan->reshard_after_forward != PP_RESHARD_NEVER) {
        char policy[32];
        pp_json_put_text(build, object, "reshard_after_forward",
                         pp_reshard_print(plan->reshard_after_forward, policy, sizeof policy));
    }
    if (plan->precision != PP_PRECISION_BF16) {
        pp_json_put_text(build, object, "precision", pp_recipe_of(plan->precision)->name);
        pp_json_put_bool(build, object, "low_parameters", plan->low_parameters);
    }
    if (plan->experts && (plan->precision != PP_PRECISION_BF16 || plan->graphs))
        pp_json_put_bool(build, object, "experts", true);
    if (plan->grad_dtype != PP_DTYPE_FP32 && pp_dtype_names()[plan->grad_dtype])
        pp_json_put_text(build, object, "grad_dtype", pp_dtype_names()[plan->grad_dtype]);
    if (plan->moments != PP_MOMENTS_FP32)
        pp_json_put_text(build, object, "optimizer_dtype", pp_moments_names()[plan->moments]);
    if (plan->cp_comm != PP_CP_COMM_RING)
        pp_json_put_text(build, object, "cp_comm", pp_cp_comm_names()[plan->cp_comm]);
    if (plan->cp_comm == PP_CP_COMM_HIERARCHICAL)
        pp_json_put_int(build, object, "cp_inner", plan->cp_inner);
    if (plan->parallel.ep > 1)
        pp_json_put_text(build, object, "moe_dispatcher", pp_dispatcher_names()[plan->dispatcher]);
    if (plan->moe_fp8_dispatch)
        pp_json_put_bool(build, object, "moe_fp8_dispatch", true);
    if (plan->moe_shared_expert_overlap)
        pp_json_put_bool(build, object, "moe_shared_expert_overlap", true);
    if (plan->moe_capacity > 0)
        pp_json_put_double(build, object, "moe_capacity", plan->moe_capacity);
    if (plan->moe_pads)
        pp_json_put_bool(build, object, "moe_pads", true);
    if (plan->moe_kept > 0)
        pp_json_put_double(build, object, "moe_kept", plan->moe_kept);
    if (plan->moe_imbalance > 1)
        pp_json_put_double(build, object, "moe_imbalance", plan->moe_imbalance);
    if (plan->imbalance_count) {
        pp_json *list = pp_json_new_array(build);
        for (uint32_t j = 0; j < plan->imbalance_count; j++)
            pp_json_add_double(build, list, plan->moe_imbalances[j]);
        pp_json_put(build, object, "moe_imbalances", list);
    }
    put_known(build, object, "micro_batch_size", plan->micro_batch_size);
    put_known(build, object, "global_batch_size", plan->global_batch_size);
    put_known(build, object, "seq_length", plan->seq_length);
    return object;
}

static pp_json *write_layers(const pp_plan *plan, size_t member, pp_json_build *build)
{
    uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    pp_json *layers = pp_json_new_array(build);
    for (uint32_t s = 0; s < stages; s++) {
        const char *stage = (const char *)&plan->partition[s];
        pp_json_add_int(build, layers, *(const int64_t *)(const void *)(stage + member));
    }
    return layers;
}

static pp_json *write_partition(const pp_plan *plan, pp_json_build *build)
{
    uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    pp_json *object = pp_json_new_object(build);
    pp_json_put(build, object, "layers", write_layers(plan, offsetof(pp_stage, layers), build));
    if (plan->recompute == PP_RECOMPUTE_STAGES) {
        pp_json_put(build, object, "full", write_layers(plan, offsetof(pp_stage, full), build));
        pp_json_put(build, object, "selective",
                    write_layers(plan, offsetof(pp_stage, selective), build));
    }
    pp_text layout = { 0 };
    pp_layout_print(plan->partition, stages, &layout);
    if (layout.failed)
        build->failed = true;
    pp_json_put_text(build, object, "layout", layout.data);
    pp_text_free(&layout);
    return object;
}

static pp_json *write_microbatch(const pp_workload *workload, const pp_microbatch *microbatch,
                                 pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "tokens", microbatch->tokens);
    if (workload->length_count == 0) {
        pp_json_put_null(build, object, "sequences");
        return object;
    }
    pp_json *lengths = pp_json_new_array(build);
    for (size_t i = 0; i < microbatch->count; i++)
        pp_json_add_int(build, lengths, workload->lengths[microbatch->first + i]);
    pp_json_put(build, object, "sequences", lengths);
    return object;
}

static pp_json *write_replica(const pp_workload *workload, uint32_t replica, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    const pp_microbatch *first = &workload->microbatch[(size_t)replica * workload->microbatches];
    for (uint32_t j = 0; j < workload->microbatches; j++)
        pp_json_add(build, list, write_microbatch(workload, &first[j], build));
    return list;
}

static pp_json *write_microbatches(const pp_workload *workload, pp_json_build *build)
{
    if (workload->replicas <= 1)
        return write_replica(workload, 0, build);
    pp_json *lists = pp_json_new_array(build);
    for (uint32_t i = 0; i < workload->replicas; i++)
        pp_json_add(build, lists, write_replica(workload, i, build));
    return lists;
}

/* Writes what the stages recompute for one microbatch. */
static pp_json *write_column(const pp_recomputed *of, uint32_t stages, pp_json_build *build)
{
    pp_json *full = pp_json_new_array(build);
    pp_json *selective = pp_json_new_array(build);
    pp_json *object = pp_json_new_object(build);
    for (uint32_t s = 0; s < stages; s++) {
        pp_json_add_int(build, full, of[s].full);
        pp_json_add_int(build, selective, of[s].selective);
    }
    pp_json_put(build, object, "full", full);
    pp_json_put(build, object, "selective", selective);
    return object;
}

static pp_json *write_recomputed(const pp_recompute_table *table, pp_json_build *build)
{
    pp_json *lists = pp_json_new_array(build);
    for (uint32_t r = 0; r < table->replicas; r++) {
        pp_json *list = table->replicas > 1 ? pp_json_new_array(build) : lists;
        for (uint32_t j = 0; j < table->microbatches; j++)
            pp_json_add(build, list,
                        write_column(pp_recompute_table_at(table, r, j), table->stages, build));
        if (table->replicas > 1)
            pp_json_add(build, lists, list);
    }
    return lists;
}

static pp_json *write_set(unsigned set, const char *const *names, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (int k = 0; names[k]; k++) {
        if (set >> k & 1)
            pp_json_add_text(build, list, names[k]);
    }
    return list;
}

static pp_json *write_order(const char *name, const pp_order *order, pp_json_build *build)
{
    char cell[80];
    pp_json *object = pp_json_new_object(build);
    put_name(build, object, "name", name);
    pp_json *rows = pp_json_new_array(build);
    for (uint32_t r = 0; r < order->ranks; r++) {
        pp_json *row = pp_json_new_array(build);
        for (size_t i = order->rank_begin[r]; i < order->rank_begin[r + 1];) {
            i += pp_cell_print(order, i, cell, sizeof cell);
            pp_json_add_text(build, row, cell);
        }
        pp_json_add(build, rows, row);
    }
    pp_json_put(build, object, "ranks", rows);
    return object;
}

static pp_json *write_schedule(const pp_plan *plan, pp_json_build *build)
{
    if (plan->order_count == 1)
        return write_order(plan->schedule, plan->order[0], build);
    pp_json *list = pp_json_new_array(build);
    for (uint32_t i = 0; i < plan->order_count; i++)
        pp_json_add(build, list, write_order(plan->schedule, plan->order[i], build));
    return list;
}

static pp_json *write_costs(const pp_plan *plan, pp_json_build *build)
{
    if (plan->costs_count == 1)
        return pp_costs_write(plan->costs[0], build);
    pp_json *list = pp_json_new_array(build);
    for (uint32_t i = 0; i < plan->costs_count; i++)
        pp_json_add(build, list, pp_costs_write(plan->costs[i], build));
    return list;
}

static pp_json *write_memory_costs(const pp_memory_costs *memory, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "unit", memory->in_bytes ? "bytes" : "activations");
    pp_json_put_double(build, object, "forward",
                       memory->in_bytes ? (double)memory->f_bytes : memory->f);
    pp_json_put_double(build, object, "input",
                       memory->in_bytes ? (double)memory->i_bytes : memory->i);
    pp_json_put_double(build, object, "weight",
                       memory->in_bytes ? (double)memory->w_bytes : memory->w);
    return object;
}

static pp_json *write_notes(const pp_notes *notes, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    for (size_t i = 0; i < notes->count; i++)
        pp_json_put_text(build, object, notes->note[i].key, notes->note[i].value);
    return object;
}

static pp_json *write_provenance(const pp_plan *plan, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    put_name(build, object, "version", plan->version);
    pp_json_put_text(build, object, "command", plan->command);
    pp_json_put_int(build, object, "seed", (int64_t)plan->seed);
    put_name(build, object, "profile_sha256", plan->profile_sha256);
    if (plan->profile_classes.count)
        pp_json_put(build, object, "profile_classes", write_notes(&plan->profile_classes, build));
    return object;
}

/* NULL if there are none. */
static pp_json *write_changes(const pp_stack_changes *changes, pp_json_build *build)
{
    bool any = changes->has_dtype || changes->communicators;
    for (size_t i = 0; i < PP_STACK_SETTINGS; i++)
        any |= changes->to[i] != 0;
    if (!any)
        return NULL;
    pp_json *object = pp_json_new_object(build);
    for (size_t i = 0; i < PP_STACK_SETTINGS; i++) {
        if (changes->to[i])
            pp_json_put_bool(build, object, pp_stack_setting_name(i), changes->to[i] > 0);
    }
    if (changes->has_dtype && pp_dtype_names()[changes->dtype])
        pp_json_put_text(build, object, "dtype", pp_dtype_names()[changes->dtype]);
    if (changes->communicators)
        pp_json_put_text(build, object, "communicators",
                         pp_communicators_names()[changes->communicators - 1]);
    return object;
}

static pp_json *write_stack(const pp_plan_stack *stack, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json *settings = write_changes(&stack->changes, build);
    put_name(build, object, "name", stack->name);
    put_name(build, object, "stands_for", stack->stands_for);
    put_name(build, object, "sha256", stack->sha256);
    if (settings)
        pp_json_put(build, object, "settings", settings);
    return object;
}

static pp_json *write_interval(const pp_plan *plan, pp_json_build *build)
{
    const pp_step_interval *interval = &plan->interval;
    const double step = (double)plan->prediction->step_ns;
    pp_json *object = pp_json_new_object(build);
    pp_json *parts = pp_json_new_object(build);
    for (int k = 0; k < PP_INTERVAL_PARTS; k++)
        pp_json_put_double(build, parts, pp_interval_part_name((pp_interval_part)k),
                           interval->part[k]);
    pp_json_put_double(build, object, "probability", 0.8);
    pp_json_put_int(build, object, "step_low_ns",
                    (int64_t)llround(step * fmax(0, 1 - interval->half)));
    pp_json_put_int(build, object, "step_high_ns", (int64_t)llround(step * (1 + interval->half)));
    pp_json_put_double(build, object, "half", interval->half);
    pp_json_put(build, object, "parts", parts);
    pp_json_put_bool(build, object, "own", interval->own);
    pp_json_put_bool(build, object, "experts", interval->nearest->experts);
    pp_json_put_text(build, object, "hardware", interval->nearest->hardware);
    pp_json_put_text(build, object, "stack", interval->nearest->stack);
    return object;
}

static pp_json *write_host(const pp_host_costs *host, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "launch_ns", host->launch_ns);
    pp_json_put_int(build, object, "read_ns", host->read_ns);
    pp_json_put_int(build, object, "sync_ns", host->sync_ns);
    return object;
}

static void put_settings(const pp_plan *plan, pp_json *object, pp_json_build *build)
{
    const pp_buffer_settings *buffers = &plan->buffers;
    char sizes[32], comm[32];
    pp_json_put_text(build, object, "executor", plan->framework ? plan->framework->name : NULL);
    pp_json_put_text(build, object, "shapes",
                     plan->has_sizes ? pp_size_protocol_print(&plan->sizes, sizes, sizeof sizes)
                                     : NULL);
    pp_json_put_text(build, object, "comm",
                     plan->comm.has_mode ? pp_comm_mode_print(&plan->comm, comm, sizeof comm)
                                         : NULL);
    pp_json_put_text(build, object, "lanes",
                     plan->comm.has_lanes ? pp_lanes_name(plan->comm.lanes) : NULL);
    if (plan->host.launch_ns || plan->host.sync_ns || plan->host.read_ns)
        pp_json_put(build, object, "host", write_host(&plan->host, build));
    if (plan->shape_message_ns)
        pp_json_put_int(build, object, "shape_message_ns", plan->shape_message_ns);
    if (plan->tensors > 1)
        pp_json_put_int(build, object, "tensors_per_boundary", plan->tensors);
    if (plan->runs > 1)
        pp_json_put_int(build, object, "pipeline_runs", plan->runs);
    if (plan->pytorch.max_outstanding_sends)
        pp_json_put_int(build, object, "max_outstanding_sends",
                        plan->pytorch.max_outstanding_sends);
    if (plan->pytorch.unshard_lookahead != PP_LOOKAHEAD_FULL)
        pp_json_put_text(
            build, object, "unshard_lookahead",
            pp_unshard_lookahead_print(plan->pytorch.unshard_lookahead, sizes, sizeof sizes));
    if (buffers->has_recv)
        pp_json_put_text(build, object, "recv_buffers", pp_recv_buffers_name(buffers->recv));
    if (buffers->has_send)
        pp_json_put_text(build, object, "send_buffers", pp_send_buffers_name(buffers->send));
    if (buffers->has_return_outputs)
        pp_json_put_text(build, object, "return_outputs",
                         pp_return_outputs_name(buffers->return_outputs));
    if (plan->p2p != PP_P2P_SEND_RECV)
        pp_json_put_text(build, object, "p2p", pp_p2p_names()[plan->p2p]);
    if (pp_sharing_is_on(&plan->sharing))
        pp_json_put(build, object, "sharing", pp_sharing_write(&plan->sharing, build));
    if (plan->compute_settings[0])
        put_name(build, object, "compute_settings", plan->compute_settings);
    put_name(build, object, "recompute", pp_recompute_name(plan->recompute));
    if (plan->recompute == PP_RECOMPUTE_FULL && plan->recompute_layers > 1)
        pp_json_put_int(build, object, "recompute_layers", plan->recompute_layers);
    if (plan->recompute_modules && plan->recompute_modules != PP_MODULES_CORE)
        pp_json_put(build, object, "recompute_modules",
                    write_set(plan->recompute_modules, pp_recompute_module_names(), build));
    if (plan->graphs)
        pp_json_put(build, object, "cuda_graphs", write_set(plan->graphs, pp_graph_names(), build));
    if (plan->recomputed.of)
        pp_json_put(build, object, "recomputed", write_recomputed(&plan->recomputed, build));
    pp_json_put_bool(build, object, "step_sync", plan->step_sync);
    put_known(build, object, "memory_limit_bytes", plan->memory_limit_bytes);
    if (plan->has_memory_costs)
        pp_json_put(build, object, "memory_costs", write_memory_costs(&plan->memory_costs, build));
    else
        pp_json_put_null(build, object, "memory_costs");
}

/* False if it was read from a file and then simulated with other settings. */
static bool is_as_in_file(const pp_plan *plan)
{
    return plan->predicted_in_file_ns == 0 ||
           (plan->prediction && plan->prediction->step_ns == plan->predicted_in_file_ns);
}

pp_json *pp_plan_write(const pp_plan *plan, pp_json_build *build)
{
    pp_placement placement = PP_PLACE_LOOP;
    bool placed = pp_order_placement(plan->order[0], &placement);
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "format", "ppsim.plan");
    pp_json_put_int(build, object, "version", 1);
    put_name(build, object, "model", plan->model);
    put_name(build, object, "hardware", plan->hardware);
    if (plan->stack.name[0])
        pp_json_put(build, object, "stack", write_stack(&plan->stack, build));
    pp_json_put(build, object, "parallel", write_parallel(plan, build));
    pp_json_put_text(build, object, "placement", placed ? pp_placement_name(placement) : NULL);
    if (plan->partition)
        pp_json_put(build, object, "partition", write_partition(plan, build));
    else
        pp_json_put_null(build, object, "partition");
    if (plan->workload.microbatch)
        pp_json_put(build, object, "microbatches", write_microbatches(&plan->workload, build));
    else
        pp_json_put_null(build, object, "microbatches");
    pp_json_put(build, object, "schedule", write_schedule(plan, build));
    pp_json_put(build, object, "costs", write_costs(plan, build));
    put_settings(plan, object, build);
    pp_json_put(build, object, "assumptions", write_notes(&plan->assumptions, build));
    if (plan->elsewhere[0] && is_as_in_file(plan))
        pp_json_put_text(build, object, "elsewhere", plan->elsewhere);
    if (plan->interval.nearest && plan->prediction && is_as_in_file(plan))
        pp_json_put(build, object, "interval", write_interval(plan, build));
    if (plan->prediction)
        pp_json_put(build, object, "prediction", pp_report_write(plan->prediction, build));
    else
        pp_json_put_null(build, object, "prediction");
    pp_json_put(build, object, "provenance", write_provenance(plan, build));
    return object;
}
