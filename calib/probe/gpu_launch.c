/* Probe of launches: the time of the smallest kernel on the GPU and of its launch on the host. */
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"

static pp_status launch_open(const pp_probe_options *options, void **state_out,
                             const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[] = { { .class_name = "launch" },
                                                { .class_name = "launch_host" } };
    const pp_gpu_work smallest = { .kind = PP_GPU_GELU_FORWARD, .rows = 1, .width = 1 };
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-launch", series, 2, &p, err);
    if (status)
        return status;
    for (uint32_t k = 0; k < 2; k++)
        (void)pp_gpu_probe_add(p, k, &(pp_gpu_probe_point){ .work = smallest, .posting = k == 1 });
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_launch = {
    .name = "gpu-launch",
    .summary = "time to launch the smallest kernel on a GPU, and from one such kernel to the next",
    .share = 3,
    .asked = true,
    .open = launch_open,
    .close = pp_gpu_probe_close,
};
