/* Writes PyTorch's compute_comms rows: compute, sends, receives, waits for sends and marks of FSDP,
 * in the order in which each rank's runtime issues them. They are those of the plan's framework if
 * it is a version of PyTorch, otherwise those of torch; a program that was read from such rows is
 * written as it is. */
#include "sim/framework/registry.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "traces/format/export/format.h"

#include <inttypes.h>

static void print_step(const pp_program *program, const pp_order *order, pp_comm_step step,
                       pp_text *text)
{
    char cell[80];
    if (step.kind == PP_COMM_STEP_RUN) {
        pp_cell_print(order, step.index, cell, sizeof cell);
        pp_text_add(text, "%s", cell);
    } else if (step.kind == PP_COMM_STEP_MARK) {
        pp_text_add(text, "%u%s", step.index, pp_mark_token((pp_mark)step.mark));
    } else {
        const pp_group *group = &program->comm->group[step.index];
        const pp_transfer *transfer = &program->comm->transfer[group->first];
        if (step.kind == PP_COMM_STEP_WAIT)
            pp_text_add(text, "%uWAIT_%s%" PRIu32, transfer->stage,
                        pp_transfer_token((pp_transfer_kind)transfer->kind), transfer->microbatch);
        else
            pp_text_add(text, "%s", pp_transfer_print(transfer, cell, sizeof cell));
    }
}

static void print_rows(const pp_program *program, const pp_order *order, pp_text *text)
{
    const pp_comm *comm = program->comm;
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            pp_comm_step step = comm->step[s];
            if (s > comm->step_begin[r])
                pp_text_add(text, ",");
            print_step(program, order, step, text);
            if (step.kind == PP_COMM_STEP_RUN && order->ops[step.index].paired)
                s++; /* the cell has printed both halves */
        }
        pp_text_add(text, "\n");
    }
}

static pp_status emit(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err)
{
    (void)companion;
    const pp_framework *torch = data->plan ? data->plan->framework : NULL;
    if (!torch || !torch->pytorch)
        torch = &pp_framework_torch; /* 2.13, whatever the plan's executor */
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    if (data->written) {
        print_rows(data->program, data->order, text);
        return pp_text_check(text, err);
    }
    const pp_pytorch_settings *settings =
        data->plan && torch->lower_set ? &data->plan->pytorch : NULL;
    pp_status status = pp_framework_lower(torch, data->order, NULL, settings, &program, err);
    if (status)
        return status;
    print_rows(program, data->order, text);
    return pp_text_check(text, err);
}

const pp_format pp_format_pytorch_comms = {
    .name = "pytorch-comms",
    .summary = "PyTorch compute_comms rows, as its runtime lowers the schedule; simulate and check "
               "read them",
    .holds = PP_HOLDS_ORDER | PP_HOLDS_COMM,
    .emit = emit,
};
