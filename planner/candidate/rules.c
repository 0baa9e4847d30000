/* A table of rules, one row each. A row looks at one degree and says whether the stack of the
 * request, or anyone who trains such models, would refuse it. docs/explanation/planning.md lists
 * them.
 *
 * Sources. Stacks: the papers after which they are named, Narayanan et al. 2021 (arXiv 2104.04473)
 * and Korthikanti et al. 2022 (arXiv 2205.05198), describe tensor and pipeline parallelism only;
 * Megatron-Core 0.4 added context parallelism and experts for GPT (its CHANGELOG.md). Selective
 * recomputation is that of 2022. Degrees: beside each function. */
#include "planner/candidate/rules.h"

#include "sim/cost/cost_model.h"
#include "sim/schedule/registry.h"

#include <string.h>

static const pp_stack_features *stack_of(const pp_plan_request *request)
{
    return &request->switches.stack->has;
}

static bool lacks_context_parallel(const pp_plan_request *request, const pp_parallel *p)
{
    return p->cp > 1 && !stack_of(request)->context_parallel;
}

static bool lacks_expert_parallel(const pp_plan_request *request, const pp_parallel *p)
{
    return p->ep > 1 && !stack_of(request)->expert_parallel;
}

/* The deepest pipelines that were published have two layers per rank: 1T, pp 64 of 128 layers
 * (Narayanan et al. 2021, table 1; Korthikanti et al. 2022, table 3). A model of few layers may
 * have them alone. */
static bool is_too_deep(const pp_plan_request *request, const pp_parallel *p)
{
    const int64_t layers = request->model->layers + request->model->mtp_layers;
    return p->pp > 1 && 2 * p->pp > layers && layers >= 16;
}

/* Every all-reduce of a group that spans nodes goes over the network: tp is at most a node, and
 * divides the job's part of it (Narayanan et al. 2021, takeaway 1), so that no group straddles two.
 */
static bool straddles_nodes(const pp_plan_request *request, const pp_parallel *p)
{
    return pp_hardware_tp_straddles(request->hardware, p);
}

/* Grouped-query attention: Megatron-Core's TransformerConfig refuses query groups that tp does not
 * divide, and torchtitan gives each rank whole columns of wk and wv, which it views as heads. */
static bool splits_kv_heads(const pp_plan_request *request, const pp_parallel *p)
{
    const pp_model *m = request->model;
    return m->attention == PP_ATTENTION_GQA && m->kv_heads % p->tp != 0;
}

/* Llama 3 (arXiv 2407.21783, table 4) trains 8,192 tokens with cp 1, and 131,072 with cp 16, 8,192
 * each; half of that is the least here. */
#define CP_TOKENS_MIN 4096

static bool is_cut_too_short(const pp_plan_request *request, const pp_parallel *p)
{
    const int64_t tokens =
        request->seq_length ? request->seq_length : request->model->max_seq_length;
    return p->cp > 1 && tokens < CP_TOKENS_MIN * p->cp;
}

/* Weights and gradients of the experts of one rank, as a part of its memory. Unless etp is given
 * they count whole, since published runs do not divide experts by tp. */
static double expert_part(const pp_plan_request *request, const pp_parallel *p)
{
    const pp_model *m = request->model;
    const pp_switches stack = pp_switches_requested(
        &request->switches, pp_stack_switches(request->switches.stack, request->hardware, p));
    const double matrices = m->gated_mlp ? 3 : 2;
    const double expert = matrices * (double)m->hidden * (double)m->expert_ffn;
    const double layers = (double)pp_model_moe_layers(m) / (double)p->pp;
    const double parts = (double)(p->ep * (p->etp ? p->etp : 1));
    const double held = layers * (double)m->experts / parts * expert;
    const double bytes = pp_weight_bytes(&stack) + (double)pp_dtype_bytes(stack.grad_dtype);
    return held * bytes / (double)request->hardware->memory_bytes;
}

/* A quarter of the memory for experts, which neither recomputation nor ZeRO-1 makes smaller, leaves
 * no room for what routing does not share out evenly. DeepSeek-V3 (arXiv 2412.19437, section 3.2),
 * pp 16 and ep 64, spends a twentieth, where ep 8 would spend more than a third. */
#define EXPERT_PART_MAX 0.25

/* True if experts take too much of the memory, and a larger ep of the same GPUs would divide it. */
static bool holds_too_many_experts(const pp_plan_request *request, const pp_parallel *p)
{
    const int64_t experts = request->model->experts;
    if (experts <= 0 || !request->hardware->memory_bytes || !stack_of(request)->expert_parallel ||
        expert_part(request, p) <= EXPERT_PART_MAX)
        return false;
    for (int64_t ep = p->ep + 1; ep <= experts; ep++) {
        if (experts % ep == 0 && pp_parallel_expert_gpus(p) % ep == 0)
            return true;
    }
    return false;
}

static const struct {
    pp_field field;
    bool (*breaks)(const pp_plan_request *request, const pp_parallel *parallel);
    const char *why;
} rules[] = {
    { PP_FIELD_CP, lacks_context_parallel,
      "the stack has no context parallelism, which came with Megatron-Core 0.4" },
    { PP_FIELD_EP, lacks_expert_parallel,
      "the stack has no expert parallelism, which came with Megatron-Core 0.4" },
    { PP_FIELD_RANKS, is_too_deep, "some ranks have fewer than two layers" },
    { PP_FIELD_TP, straddles_nodes, "it does not divide the GPUs of a node" },
    { PP_FIELD_TP, splits_kv_heads, "it does not divide the key/value heads" },
    { PP_FIELD_CP, is_cut_too_short, "a rank has fewer than 4096 tokens of a sequence" },
    { PP_FIELD_EP, holds_too_many_experts,
      "experts take more than a quarter of the memory of a GPU, and a larger ep would divide "
      "them" },
};

enum { RULES = sizeof rules / sizeof *rules };

static int64_t degree_of(const pp_parallel *p, pp_field field)
{
    return field == PP_FIELD_RANKS ? p->pp
           : field == PP_FIELD_TP  ? p->tp
           : field == PP_FIELD_CP  ? p->cp
                                   : p->ep;
}

/* Finds the first rule from *next on that is broken by a degree which is given, or free. */
static bool find_broken(const pp_plan_request *request, const pp_parallel *parallel, bool given,
                        size_t *next, pp_rule_broken *broken_out)
{
    while (*next < RULES) {
        const size_t i = (*next)++;
        const pp_field field = rules[i].field;
        const bool is_given = degree_of(&request->parallel, field) != 0;
        const bool is_free = !is_given && (request->gpus || field == PP_FIELD_TP);
        if (!(given ? is_given : is_free) || !rules[i].breaks(request, parallel))
            continue;
        *broken_out = (pp_rule_broken){ .field = field,
                                        .degree = degree_of(parallel, field),
                                        .why = rules[i].why };
        return true;
    }
    return false;
}

bool pp_rules_refuse(const pp_plan_request *request, const pp_parallel *parallel,
                     pp_rule_broken *broken_out)
{
    size_t next = 0;
    return find_broken(request, parallel, false, &next, broken_out);
}

bool pp_rules_remark(const pp_plan_request *request, const pp_parallel *parallel, size_t *next,
                     pp_rule_broken *broken_out)
{
    return find_broken(request, parallel, true, next, broken_out);
}

void pp_rules_limit(pp_plan_request *request)
{
    /* the last one only for executors that overlap pairs (planner/search/space.c) */
    static const pp_schedule *const whole_backwards[] = { &pp_schedule_one_f_one_b,
                                                          &pp_schedule_interleaved,
                                                          &pp_schedule_combined_1f1b, NULL };
    const pp_stack_features *has = stack_of(request);
    if (request->exchange.runs > 1 && request->orders == PP_ORDERS_BETTER)
        request->orders = PP_ORDERS_NAMED; /* an order that is found does not repeat */
    if (has->free_schedules)
        return;
    if (!request->schedule && !request->only && request->orders != PP_ORDERS_PLANNED) {
        request->only = whole_backwards;
        request->orders = PP_ORDERS_NAMED;
    }
    if (request->switches.given.recompute && request->switches.value.recompute != PP_RECOMPUTE_AUTO)
        return;
    request->recompute_alike = true;
    request->recompute_uniform |= !has->selective_recompute;
}

bool pp_rules_allow_full_recompute(const pp_plan_request *request)
{
    const pp_switch_request *s = &request->switches;
    return !s->given.cuda_graphs || pp_graphs_allow_full_recompute(s->value.graphs);
}
