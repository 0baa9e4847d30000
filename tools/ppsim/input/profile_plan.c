/* Applies --profile to a plan that is read from a file: it must be the profile that the plan was
 * made from, unless --recost gives the plan new costs. */
#include "tools/ppsim/input/profile_plan.h"

#include "sim/cost/context_exchange.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/input/load.h"
#include "tools/ppsim/input/profile_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static size_t find_entry(const pp_profile *profile, const char *name)
{
    char found[96];
    for (size_t i = 0; i < profile->count; i++) {
        if (profile->entry[i].fitted &&
            strcmp(pp_entry_name(profile, i, found, sizeof found), name) == 0)
            return i;
    }
    return PP_ENTRY_NONE;
}

/* Writes the first class that differs, and how many more do: "stage_f was affine: a 1e-4, b 2e-6,
 * is affine: ...". */
static pp_status describe_difference(const pp_plan *plan, const pp_profile *profile, pp_text *text,
                                     pp_err *err)
{
    size_t more = 0;
    for (size_t i = 0; i < plan->profile_classes.count; i++) {
        const pp_note *was = &plan->profile_classes.note[i];
        const size_t entry = find_entry(profile, was->key);
        pp_text now PP_CLEANUP(pp_text_free) = { 0 };
        if (entry != PP_ENTRY_NONE) {
            pp_status status = pp_entry_describe(&profile->entry[entry], &now, err);
            if (status)
                return status;
        }
        if (now.data && strcmp(now.data, was->value) == 0)
            continue;
        if (text->bytes)
            more++;
        else
            pp_text_add(text, "%s was %s and is now %s", was->key, was->value,
                        now.data ? now.data : "not measured there");
    }
    if (more)
        pp_text_add(text, "; %zu more differ", more);
    return pp_text_check(text, err);
}

static pp_status refuse(const pp_profile_in_use *use, const pp_plan *plan, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = describe_difference(plan, use->profile, &text, err);
    if (status)
        return status;
    return pp_err_set(err, PP_USAGE, "--profile",
                      "the plan was not made from %.100s%s%s; add --recost to use its order, "
                      "partition and data with the costs of this profile",
                      use->path,
                      !plan->profile_sha256[0] ? ", nor from another profile"
                      : text.bytes
                          ? ": "
                          : ": the parts that the plan used are the same, but others differ",
                      text.bytes ? text.data : "");
}

static pp_status load_model(const pp_args *args, const pp_plan *plan, pp_model *model_out,
                            pp_err *err)
{
    const char *name = pp_args_text(args, "--model");
    pp_err why = pp_err_like(err);
    if (name || !plan->model[0])
        return name ? pp_load_model(name, model_out, err)
                    : pp_err_set(err, PP_USAGE, "--model",
                                 "is missing, and the plan does not name its model");
    if (pp_load_model(plan->model, model_out, &why))
        return pp_err_set(err, PP_USAGE, "--model",
                          "is missing: the plan was made for %s, which is not a name from 'ppsim "
                          "list models'; give the file of the model",
                          plan->model);
    return PP_OK;
}

/* Loads the stack that the plan names; what an alias stood for then, not what it does now. Plans of
 * version 0.2 and earlier name none. */
static pp_status load_stack(const pp_plan_stack *named, const pp_hardware *hardware,
                            pp_stack *stack_out, pp_err *err)
{
    const char *name = named->stands_for[0] ? named->stands_for
                       : named->name[0]     ? named->name
                                            : PP_DEFAULT_STACK;
    pp_err why = pp_err_like(err);
    pp_status status = pp_load_stack(name, hardware, stack_out, &why);
    if (status)
        return pp_err_set(err, status, "--recost", "the plan was made for stack %.200s: %s", name,
                          why.text);
    if (!named->stands_for[0] && strcmp(stack_out->sha256, named->sha256) != 0)
        return pp_err_set(err, PP_USAGE, "--recost",
                          "%.200s is not the stack that the plan was made for: the file has "
                          "changed; plan again, or bring it back",
                          name);
    return PP_OK;
}

/* Sets the switches that the plan records, and takes the others from its stack. */
static pp_status set_switches(const pp_plan *plan, const pp_profile_in_use *use,
                              const pp_hardware *hardware, pp_switches *switches, pp_err *err)
{
    char ignored[128];
    pp_stack stack;
    pp_status status = load_stack(&plan->stack, hardware, &stack, err);
    if (status)
        return status;
    *switches = pp_stack_switches(&stack, hardware, &plan->parallel);
    pp_stack_change(&plan->stack.changes, switches);
    switches->recompute =
        plan->recompute == PP_RECOMPUTE_UNKNOWN ? PP_RECOMPUTE_NONE : plan->recompute;
    switches->recompute_layers = plan->recompute_layers;
    switches->recompute_modules = plan->recompute_modules;
    if (plan->sequence_parallel >= 0)
        switches->sequence_parallel = plan->sequence_parallel;
    if (plan->zero >= 0)
        switches->zero = plan->zero;
    switches->dp_replicate = plan->dp_replicate;
    switches->reshard_after_forward = plan->reshard_after_forward;
    switches->precision = plan->precision;
    switches->low_parameters = plan->low_parameters;
    switches->grad_dtype = plan->grad_dtype;
    switches->moments = plan->moments;
    switches->cp_comm = plan->cp_comm;
    switches->dispatcher = plan->dispatcher;
    switches->moe_fp8_dispatch = plan->moe_fp8_dispatch;
    switches->moe_shared_expert_overlap = plan->moe_shared_expert_overlap;
    switches->moe_imbalance = plan->moe_imbalance;
    switches->moe_capacity = plan->moe_capacity;
    switches->moe_pads = plan->moe_pads;
    switches->moe_kept = plan->moe_kept;
    switches->graphs = plan->graphs;
    switches->p2p = plan->p2p;
    pp_profile_settings(use, ignored, sizeof ignored, &switches->dtype);
    return PP_OK;
}

static pp_status recost(const pp_args *args, pp_profile_in_use *use, pp_plan *plan, pp_err *err)
{
    pp_model model;
    pp_hardware hardware;
    pp_cost_context context = { .model = &model,
                                .hardware = &hardware,
                                .parallel = plan->parallel };
    pp_status status = load_model(args, plan, &model, err);
    if (status || (status = pp_profile_hardware(args, use, &model, &hardware, err)) ||
        (status = set_switches(plan, use, &hardware, &context.switches, err)))
        return status;
    if (plan->cp_comm == PP_CP_COMM_HIERARCHICAL && pp_context_inner(&context) != plan->cp_inner)
        return pp_err_set(err, PP_USAGE, "--recost",
                          "%" PRId64 " ranks of the plan exchange heads all to all (cp_inner), but "
                          "the nodes and heads of this job give %" PRId64 "; plan again",
                          plan->cp_inner, pp_context_inner(&context));
    pp_plan_set_cp_comm(plan, &context);
    pp_plan_set_dispatch(plan, &context);
    const pp_expert_tokens tokens = { .microbatches = plan->imbalance_count,
                                      .degrees = 1,
                                      .ep = &plan->parallel.ep,
                                      .imbalance = plan->moe_imbalances };
    if (plan->imbalance_count)
        context.expert_tokens = &tokens;
    if (!pp_order_placement(plan->order[0], &context.placement))
        return pp_err_set(err, PP_USAGE, "--recost",
                          "the placement of the plan's stages is not one that ppsim knows");
    pp_notes_drop(&plan->assumptions, "costs");
    if ((status = pp_notes_add(&plan->assumptions, err, "costs",
                               "recomputed with another profile (--recost); order, partition and "
                               "data are those of the plan, which was made for another")))
        return status;
    snprintf(plan->model, sizeof plan->model, "%s", model.name);
    plan->experts = model.experts > 0;
    snprintf(plan->hardware, sizeof plan->hardware, "%s", hardware.name);
    return pp_profile_finish(use, &context, plan, err);
}

static void release(pp_profile_in_use *use)
{
    pp_profile_release(use);
}

pp_status pp_profile_of_plan(const pp_args *args, pp_plan *plan, pp_err *err)
{
    pp_profile_in_use use PP_CLEANUP(release) = { 0 };
    pp_status status = pp_profile_given(args, &use, err);
    if (status || !use.path)
        return status;
    if (pp_args_has(args, "--recost")) {
        status = pp_profile_options(args, &use, err);
        return status ? status : recost(args, &use, plan, err);
    }
    return strcmp(plan->profile_sha256, use.profile->sha256) == 0 ? PP_OK : refuse(&use, plan, err);
}
