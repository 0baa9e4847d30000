/* Looks up measured times of layers and of the ends of stages. */
#include "sim/cost/measured_layer.h"

#include "sim/cost/gpu_batch.h"
#include "sim/order/order.h"

static bool ask(const pp_gpu_batch *local, int kind, double *seconds_out)
{
    const pp_measured *measured = local->hw->measured;
    const pp_measured_at at = { .kind = (pp_measured_kind)kind,
                                .tokens = local->all_tokens,
                                .square_sum = local->raw_square_sum,
                                .longest = local->longest,
                                .tiles = local->tiles };
    return measured->ask(measured->context, &at, seconds_out);
}

bool pp_measured_work(const pp_gpu_batch *local, pp_measured_kind first_kind, pp_work *work_out)
{
    const int kind = (int)first_kind;
    pp_work work = { 0 };
    double b = 0;
    if (!local->hw->measured || !ask(local, kind + PP_OP_F, &work.f))
        return false;
    const bool split = ask(local, kind + PP_OP_I, &work.i) && ask(local, kind + PP_OP_W, &work.w);
    const bool fused = ask(local, kind + PP_OP_B, &b);
    if (!split)
        work.i = work.w = b / 2;
    else if (fused)
        work.saved = work.i + work.w - b;
    /* The cost model divides by `sustained`, which slows isolated kernels down to their speed in a
     * step. These times were measured in a step, so that division is cancelled here. */
    const double sustained = pp_sustained_of(local->context);
    *work_out = (pp_work){ .f = work.f * sustained,
                           .i = work.i * sustained,
                           .w = work.w * sustained,
                           .saved = work.saved * sustained };
    return split || fused;
}
