/* Compute spin: each op sleeps for as long as the plan says and computes nothing, so that ranks may
 * outnumber processors. If tensors are carried, their first eight bytes name the stage and
 * microbatch that they belong to, and the next op checks them. This detects a transport that mixes
 * up messages. */
#include "runtime/core/clock.h"
#include "runtime/core/compute.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct spin_worker {
    const pp_compute_work *work;
} spin_worker;

static pp_status spin_open(const pp_compute_work *work, const bool *holds, void **worker_out,
                           pp_err *err)
{
    (void)holds;
    if (work->settings[0])
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMPUTE_SETTINGS),
                          "spin has no settings");
    spin_worker *worker = pp_alloc_array(1, sizeof *worker);
    if (!worker)
        return pp_err_nomem(err);
    worker->work = work;
    *worker_out = worker;
    return PP_OK;
}

static void spin_close(void *worker)
{
    free(worker);
}

static pp_status spin_begin(void *worker, uint32_t step, pp_err *err)
{
    (void)worker;
    (void)step;
    (void)err;
    return PP_OK;
}

/* Returns the mark that a tensor begins with: that of the output of F of `stage`, or of the
 * gradient that `stage` made. */
static uint64_t mark_of(bool forward, uint32_t stage, uint32_t microbatch)
{
    return ((uint64_t)forward << 63) | ((uint64_t)stage << 32) | microbatch;
}

/* Returns whether tensors between `stage` and the next are large enough for a mark. */
static bool has_room(const pp_costs *costs, uint32_t stage, uint32_t microbatch)
{
    return costs->has_memory && costs->message_bytes[pp_cost_index(costs, stage, microbatch)] >=
                                    (int64_t)sizeof(uint64_t);
}

static pp_status expect(const void *tensor, bool forward, uint32_t stage, uint32_t microbatch,
                        pp_err *err)
{
    uint64_t mark;
    if (!tensor)
        return PP_OK;
    memcpy(&mark, tensor, sizeof mark);
    if (mark == mark_of(forward, stage, microbatch))
        return PP_OK;
    return pp_err_set(err, PP_INPUT, NULL,
                      "the %s of stage %" PRIu32 ", microbatch %" PRIu32
                      " contains wrong data; the transport delivered the wrong tensor",
                      forward ? "activation" : "gradient", stage, microbatch);
}

static void put_mark(void *tensor, bool forward, uint32_t stage, uint32_t microbatch)
{
    uint64_t mark = mark_of(forward, stage, microbatch);
    if (tensor)
        memcpy(tensor, &mark, sizeof mark);
}

static pp_status spin_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    const spin_worker *w = worker;
    const pp_costs *costs = w->work->costs;
    const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    pp_ns takes_ns = table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
    pp_ns end_ns = pp_clock_now_ns() + takes_ns;
    pp_status status = PP_OK;
    bool below = op.stage && has_room(costs, op.stage - 1u, op.microbatch);
    bool above = has_room(costs, op.stage, op.microbatch);
    if (op.kind != PP_OP_W && below)
        status = expect(tensors->activation_in, true, op.stage - 1u, op.microbatch, err);
    if (!status && (op.kind == PP_OP_I || op.kind == PP_OP_B) && above)
        status = expect(tensors->gradient_in, false, op.stage + 1u, op.microbatch, err);
    if (status)
        return status;
    if (above)
        put_mark(tensors->activation_out, true, op.stage, op.microbatch);
    if (below)
        put_mark(tensors->gradient_out, false, op.stage, op.microbatch);
    if (takes_ns)
        pp_clock_sleep_until(end_ns);
    return PP_OK;
}

static pp_status spin_end(void *worker, pp_err *err)
{
    (void)worker;
    (void)err;
    return PP_OK;
}

const pp_compute pp_compute_spin = {
    .name = "spin",
    .summary =
        "waits as long as the plan says, without needing the processor, and computes nothing",
    .sleeps = true,
    .open = spin_open,
    .close = spin_close,
    .begin = spin_begin,
    .run = spin_run,
    .end = spin_end,
};
