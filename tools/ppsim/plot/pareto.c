/* Reads what `ppsim plan --pareto --json` prints into a picture: the fastest setup at every memory
 * limit. */
#include "tools/ppsim/plot/pareto.h"

#include <inttypes.h>
#include <stdio.h>

/* Reads a point, with its costs in GPU seconds per step, and its number of GPUs. */
static pp_status read_point(const pp_json_at *at, pp_trade *trade, int64_t *gpus_out, pp_err *err)
{
    int64_t step_ns = 0;
    int64_t least_ns = 0;
    const char *schedule = "";
    const char *recompute = "";
    pp_status status =
        pp_json_get_int(at, "limit_bytes", 1, PP_BYTES_MAX, &trade->limit_bytes, err);
    if (status ||
        (status = pp_json_get_int(at, "peak_memory_bytes", 0, trade->limit_bytes,
                                  &trade->peak_bytes, err)) ||
        (status = pp_json_get_int(at, "step_ns", 1, PP_NS_MAX, &step_ns, err)) ||
        (status = pp_json_get_int(at, "least_step_ns", 0, step_ns, &least_ns, err)) ||
        (status = pp_json_get_int(at, "gpus", 1, INT32_MAX, gpus_out, err)) ||
        (status = pp_json_get_int(at, "vpp", 1, INT32_MAX, &trade->vpp, err)) ||
        (status = pp_json_get_int(at, "tp", 1, INT32_MAX, &trade->tp, err)) ||
        (status =
             pp_json_get_int(at, "micro_batch_size", 0, INT32_MAX, &trade->micro_batch, err)) ||
        (status = pp_json_get_text(at, "schedule", &schedule, err)) ||
        (status = pp_json_get_text(at, "recompute", &recompute, err)))
        return status;
    trade->cost_s = 1e-9 * (double)step_ns * (double)*gpus_out;
    trade->least_s = 1e-9 * (double)least_ns * (double)*gpus_out;
    snprintf(trade->schedule, sizeof trade->schedule, "%.40s", schedule);
    snprintf(trade->recompute, sizeof trade->recompute, "%.20s", recompute);
    return PP_OK;
}

static pp_status read_points(const pp_json_at *list, size_t count, pp_picture *picture, pp_err *err)
{
    pp_front *front = &picture->front[picture->front_count - 1];
    for (size_t i = 0; i < count; i++) {
        pp_json_at at;
        int64_t gpus = 0;
        pp_trade *trade = pp_picture_add_trade(picture, err);
        if (!trade)
            return PP_NOMEM;
        trade->front = picture->front_count - 1;
        pp_status status = pp_json_item(list, i, &at, err);
        if (status || (status = read_point(&at, trade, &gpus, err)))
            return status;
        if (i > 0 && trade->limit_bytes >= trade[-1].peak_bytes)
            return pp_json_fail(&at, err, "must have a limit below the peak of the previous point");
        front->gpus = i == 0 || front->gpus == gpus ? gpus : 0;
    }
    return PP_OK;
}

pp_status pp_plot_add_pareto(const pp_json_at *root, const char *file, pp_picture *picture,
                             pp_err *err)
{
    pp_json_at list;
    const char *model = "";
    const char *hardware = "";
    int64_t pp = 0;
    size_t count = 0;
    pp_status status = pp_json_check_format(root, "ppsim.pareto", 1, err);
    if (status || (status = pp_json_get_text(root, "model", &model, err)) ||
        (status = pp_json_get_text(root, "hardware", &hardware, err)) ||
        (status = pp_json_get_int(root, "pp", 1, PP_RANKS_MAX, &pp, err)) ||
        (status = pp_json_get(root, "points", &list, err)) ||
        (status = pp_json_count(&list, &count, err)))
        return status;
    if (count == 0)
        return pp_err_set(err, PP_INPUT, file, "has no point to draw");
    pp_front *front = pp_picture_add_front(picture, err);
    if (!front)
        return PP_NOMEM;
    snprintf(front->model, sizeof front->model, "%.60s", model);
    snprintf(front->name, sizeof front->name, "%.48s on %.48s, pp %" PRId64, model, hardware, pp);
    return read_points(&list, count, picture, err);
}
