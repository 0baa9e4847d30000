/* Runs a step on one worker that holds all stages, one op after the other. The tensors of one
 * microbatch at a time are in one block of memory, which is large enough for the largest
 * microbatch. */
#include "runtime/verify/sequential.h"

#include "runtime/core/clock.h"
#include "runtime/core/run.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void pp_sequential_free(pp_sequential **sequential)
{
    if (!*sequential)
        return;
    (*sequential)->compute->close((*sequential)->worker);
    free((*sequential)->tensors);
    if ((*sequential)->device.give)
        (*sequential)->device.give(&(*sequential)->device, (*sequential)->memory);
    else
        free((*sequential)->memory);
    free((*sequential)->split);
    free((*sequential)->tied);
    free((*sequential)->microbatch_order);
    free(*sequential);
    *sequential = NULL;
}

static size_t rounded(int64_t bytes)
{
    return bytes <= 0 ? 0 : ((size_t)bytes + PP_ARENA_ALIGN - 1) / PP_ARENA_ALIGN * PP_ARENA_ALIGN;
}

/* Returns the largest tensors of a stage over all microbatches. */
static pp_tensor_bytes largest(const pp_sequential *s, uint32_t stage)
{
    pp_tensor_bytes most = { 0 };
    for (uint32_t j = 0; j < s->program->microbatches; j++) {
        pp_op forward = { .stage = (uint16_t)stage, .microbatch = j, .kind = PP_OP_F };
        pp_op backward = { .stage = (uint16_t)stage, .microbatch = j, .kind = PP_OP_B };
        pp_tensor_bytes f = pp_tensor_bytes_of(s->program, s->costs, forward);
        pp_tensor_bytes b = pp_tensor_bytes_of(s->program, s->costs, backward);
        most.out = f.out > most.out ? f.out : most.out;
        most.saved = f.saved > most.saved ? f.saved : most.saved;
        most.stash = f.stash > most.stash ? f.stash : most.stash;
        most.logits = f.logits > most.logits ? f.logits : most.logits;
        most.scratch = b.scratch > most.scratch ? b.scratch : most.scratch;
    }
    return most;
}

static void *carve(const pp_sequential *s, size_t *used, int64_t bytes)
{
    void *at = s->memory && bytes > 0 ? s->memory + *used : NULL;
    *used += rounded(bytes);
    return at;
}

/* Assigns addresses to all tensors and returns the bytes that they take; without memory it only
 * counts. */
static size_t lay_out(pp_sequential *s)
{
    size_t used = 0;
    for (uint32_t stage = 0; stage < s->program->stages; stage++) {
        pp_op_tensors *t = &s->tensors[stage];
        pp_tensor_bytes bytes = largest(s, stage);
        t->saved = carve(s, &used, bytes.saved);
        t->stash = carve(s, &used, bytes.stash);
        t->logits = carve(s, &used, bytes.logits);
        t->scratch = carve(s, &used, bytes.scratch);
        t->activation_out = carve(s, &used, bytes.out);
        void *gradient = carve(s, &used, bytes.out); /* gradient from the stage above */
        t->gradient_in = gradient;
        if (stage + 1 < s->program->stages) {
            s->tensors[stage + 1].activation_in = t->activation_out;
            s->tensors[stage + 1].gradient_out = gradient;
        }
    }
    return used;
}

/* Takes memory of the kind that the worker uses: of this process, or of the GPU of the rank with
 * the first stage. */
static pp_status take_memory(pp_sequential *s, size_t bytes, pp_err *err)
{
    void *at = NULL;
    pp_status status = s->compute->memory ? s->compute->memory(&s->device, err) : PP_OK;
    if (!status && s->compute->memory)
        status = s->device.take(&s->device, s->program->stage_rank[0], bytes, &at, err);
    else if (!status && !(at = aligned_alloc(PP_ARENA_ALIGN, bytes)))
        status = pp_err_nomem(err);
    s->memory = at;
    return status;
}

pp_status pp_sequential_new(const pp_compute *compute, const pp_compute_work *work,
                            const pp_program *program, const pp_costs *costs,
                            pp_sequential **sequential_out, pp_err *err)
{
    pp_sequential *s PP_CLEANUP(pp_sequential_free) = pp_alloc_array(1, sizeof *s);
    bool *holds = pp_alloc_array(program->stages, sizeof *holds);
    if (!s || !holds) {
        free(holds);
        return pp_err_nomem(err);
    }
    *s = (pp_sequential){ .compute = compute, .work = work, .program = program, .costs = costs };
    memset(holds, true, program->stages * sizeof *holds);
    pp_status status = compute->open(work, holds, &s->worker, err);
    free(holds);
    if (status)
        return status;
    s->tensors = pp_alloc_array(program->stages, sizeof *s->tensors);
    s->split = pp_alloc_array(program->stages, sizeof *s->split);
    s->microbatch_order = pp_alloc_array(program->microbatches, sizeof *s->microbatch_order);
    if (!s->tensors || !s->split || !s->microbatch_order)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < program->microbatches; j++)
        s->microbatch_order[j] = j;
    for (size_t i = 0; i < program->count; i++)
        s->split[program->op[i].stage] |= program->op[i].kind == PP_OP_W;
    size_t bytes = lay_out(s);
    size_t tied = compute->tied_bytes ? compute->tied_bytes(s->worker) : 0;
    s->tied = pp_alloc_array(2, tied);
    if (!s->tied)
        return pp_err_nomem(err);
    if ((status = take_memory(s, bytes ? bytes : PP_ARENA_ALIGN, err)))
        return status;
    lay_out(s);
    *sequential_out = s;
    s = NULL; /* the caller owns it now */
    return PP_OK;
}

static pp_status run(pp_sequential *s, pp_op_kind kind, uint32_t stage, uint32_t microbatch,
                     pp_costs *took, pp_err *err)
{
    const pp_op op = { .kind = (uint8_t)kind, .stage = (uint16_t)stage, .microbatch = microbatch };
    pp_op_tensors tensors = s->tensors[stage];
    if (s->stop && *s->stop)
        return pp_err_set(err, PP_INFEASIBLE, NULL, PP_INTERRUPTED);
    if (kind == PP_OP_F)
        tensors.gradient_in = tensors.gradient_out = tensors.scratch = NULL;
    else
        tensors.activation_out = NULL;
    pp_ns begin_ns = pp_clock_now_ns();
    pp_status status = s->compute->run(s->worker, op, &tensors, err);
    if (!took || status)
        return status;
    pp_ns *table[] = { took->f_ns, took->i_ns, took->w_ns, took->b_ns };
    table[kind][pp_cost_index(took, stage, microbatch)] += pp_clock_now_ns() - begin_ns;
    return PP_OK;
}

static pp_status backward(pp_sequential *s, uint32_t stage, uint32_t microbatch, pp_costs *took,
                          pp_err *err)
{
    if (!s->split[stage])
        return run(s, PP_OP_B, stage, microbatch, took, err);
    pp_status status = run(s, PP_OP_I, stage, microbatch, took, err);
    return status ? status : run(s, PP_OP_W, stage, microbatch, took, err);
}

static void exchange_tied(pp_sequential *s)
{
    uint32_t last = s->program->stages - 1;
    size_t bytes = s->compute->tied_bytes ? s->compute->tied_bytes(s->worker) : 0;
    if (!bytes)
        return;
    s->compute->tied_get(s->worker, 0, s->tied);
    s->compute->tied_get(s->worker, last, s->tied + bytes);
    s->compute->tied_put(s->worker, 0, s->tied + bytes);
    s->compute->tied_put(s->worker, last, s->tied);
}

static pp_status forward(pp_sequential *s, uint32_t microbatch, pp_costs *took, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t stage = 0; stage < s->program->stages && !status; stage++)
        status = run(s, PP_OP_F, stage, microbatch, took, err);
    return status;
}

static pp_status back(pp_sequential *s, uint32_t microbatch, pp_costs *took, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t stage = s->program->stages; stage-- > 0 && !status;)
        status = backward(s, stage, microbatch, took, err);
    return status;
}

static pp_status pass(pp_sequential *s, uint32_t step, pp_costs *took, pp_err *err)
{
    pp_status status = s->compute->begin(s->worker, step, err);
    for (uint32_t j = 0; j < s->program->microbatches && !status; j++) {
        status = forward(s, s->microbatch_order[j], took, err);
        if (!status && !s->program->forward_only)
            status = back(s, s->microbatch_order[j], took, err);
    }
    if (!status && !s->program->forward_only)
        exchange_tied(s);
    return status;
}

pp_status pp_sequential_step(pp_sequential *s, uint32_t step, pp_costs *took, pp_err *err)
{
    pp_status status = pass(s, step, took, err);
    return status || s->program->forward_only ? status : s->compute->end(s->worker, err);
}

/* Adds up the gradients of a stage, and gives all replicas the sum. */
static void share(pp_sequential *const *replica, uint32_t count, uint32_t stage)
{
    const pp_compute *compute = replica[0]->compute;
    size_t bytes = 0;
    void *sum = compute->block(replica[0]->worker, stage, PP_VALUES_GRADIENTS, &bytes);
    for (uint32_t k = 1; k < count; k++)
        compute->add(replica[0]->worker, bytes,
                     compute->block(replica[k]->worker, stage, PP_VALUES_GRADIENTS, &bytes), sum);
    for (uint32_t k = 1; k < count; k++)
        compute->copy(replica[k]->worker,
                      compute->block(replica[k]->worker, stage, PP_VALUES_GRADIENTS, &bytes), sum,
                      bytes);
}

pp_status pp_sequential_step_all(pp_sequential *const *replica, uint32_t count, uint32_t step,
                                 pp_err *err)
{
    const bool updates = !replica[0]->program->forward_only;
    pp_status status = PP_OK;
    for (uint32_t k = 0; k < count && !status; k++)
        status = pass(replica[k], step, NULL, err);
    for (uint32_t s = 0; count > 1 && updates && s < replica[0]->program->stages && !status; s++)
        share(replica, count, s);
    for (uint32_t k = 0; k < count && updates && !status; k++)
        status = replica[k]->compute->end(replica[k]->worker, err);
    return status;
}

pp_status pp_sequential_gradient(pp_sequential *s, uint32_t microbatch, pp_err *err)
{
    pp_status status = s->compute->begin(s->worker, 0, err);
    if (!status)
        status = forward(s, microbatch, NULL, err);
    return status ? status : back(s, microbatch, NULL, err);
}

pp_status pp_sequential_loss(pp_sequential *s, uint32_t microbatch, pp_err *err)
{
    pp_status status = s->compute->begin(s->worker, 0, err);
    return status ? status : forward(s, microbatch, NULL, err);
}
