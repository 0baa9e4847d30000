/* Makes the program of a step in which the pipeline schedule runs several times before the
 * optimizer, as in trainers that accumulate gradients over calls of PyTorch's
 * _PipelineSchedule.step(): torchtitan 0.3.0 (Trainer.train_step) and NeMo AutoModel 0.7.0
 * (_run_train_optim_step of recipes/llm/train_ft.py). A rank begins the next run as soon as it is
 * done with the previous one; none of the two has a barrier between runs. The steps of a rank are
 * therefore those of one run, repeated, with other microbatches. At the end of a run
 * _step_microbatches waits for all sends (PyTorch 2.13: of the list send_ops; 2.15: by rows that
 * are steps already). Linear in the steps. */
#include "sim/program/repeat.h"

#include "sim/base/alloc.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"

#include <stdlib.h>

typedef struct repetition {
    const pp_program *once;
    const pp_program *program;
    pp_comm_builder *builder;
    uint32_t *group; /* [groups of once]: the group of this run */
    bool *waited;    /* [groups of once]: a step of the rank waits for it */
    uint32_t run;
} repetition;

/* Posts the group of `once` again, for the microbatches of this run. */
static void post(repetition *r, uint32_t rank, uint32_t g)
{
    const pp_group *group = &r->once->comm->group[g];
    r->group[g] = pp_comm_open(r->builder, rank);
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        const pp_transfer *own = &r->once->comm->transfer[t];
        pp_comm_add_part(r->builder, r->group[g], (pp_transfer_kind)own->kind, own->stage,
                         own->microbatch + r->run * r->once->microbatches, own->part);
    }
    pp_comm_post(r->builder, r->group[g]);
}

static void add_step(repetition *r, uint32_t rank, pp_comm_step step)
{
    const size_t begin = r->once->rank_begin[rank];
    const size_t ops = r->once->rank_begin[rank + 1] - begin;
    switch ((pp_comm_step_kind)step.kind) {
    case PP_COMM_STEP_RUN:
        pp_comm_run(r->builder, rank,
                    (uint32_t)(r->program->rank_begin[rank] + r->run * ops + step.index - begin));
        break;
    case PP_COMM_STEP_POST:
        post(r, rank, step.index);
        break;
    case PP_COMM_STEP_WAIT:
        r->waited[step.index] = true;
        pp_comm_wait(r->builder, r->group[step.index]);
        break;
    case PP_COMM_STEP_MARK:
        pp_comm_mark(r->builder, rank, (pp_mark)step.mark, step.index);
        break;
    case PP_COMM_STEP_SYNC:
        pp_comm_sync(r->builder, rank);
        break;
    case PP_COMM_STEP_READ:
        pp_comm_read(r->builder, rank,
                     step.index == PP_NO_SOURCE ? PP_NO_SOURCE : r->group[step.index]);
        break;
    }
}

static void add_run(repetition *r, uint32_t rank, bool last)
{
    const pp_comm *comm = r->once->comm;
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++)
        add_step(r, rank, comm->step[s]);
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1] && !last; s++) {
        const pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_POST && !r->waited[step.index] &&
            pp_transfer_sends((pp_transfer_kind)comm->transfer[comm->group[step.index].first].kind))
            pp_comm_wait(r->builder, r->group[step.index]);
    }
}

static void repetition_free(repetition *r)
{
    pp_comm_builder_free(&r->builder);
    free(r->group);
    free(r->waited);
}

/* Gives the program the communication of `once` in each of its runs. */
static pp_status repeat_comm(const pp_program *once, pp_program *program, pp_err *err)
{
    const pp_comm *from = once->comm;
    repetition r PP_CLEANUP(repetition_free) = { .once = once, .program = program };
    r.group = pp_alloc_array(from->group_count, sizeof *r.group);
    r.waited = pp_alloc_array(from->group_count, sizeof *r.waited);
    if (!r.group || !r.waited)
        return pp_err_nomem(err);
    pp_status status = pp_comm_builder_new(program, &r.builder, err);
    for (uint32_t rank = 0; rank < once->ranks && !status; rank++) {
        for (r.run = 0; r.run < program->runs; r.run++)
            add_run(&r, rank, r.run + 1 == program->runs);
    }
    if (status || (status = pp_comm_finish(r.builder, false, program, err)))
        return status;
    program->comm->semantics = from->semantics;
    program->comm->buffers = from->buffers;
    program->comm->collective = from->collective;
    program->comm->gathers_in_ops = from->gathers_in_ops;
    return PP_OK;
}

pp_status pp_program_repeat(const pp_program *once, const pp_order *order, uint32_t runs,
                            pp_program **program_out, pp_err *err)
{
    pp_order *all PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_status status = pp_order_repeat(order, runs, &all, err);
    if (status || (status = pp_program_from_order(all, &program, err)))
        return status;
    program->runs = runs;
    program->overlaps_pairs = once->overlaps_pairs;
    if (once->comm && (status = repeat_comm(once, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}
