/* Probe of copies by a GPU: within its memory, from and to pinned memory of the host, and to
 * another GPU. */
#include "calib/measure/gpu_probe.h"
#include "calib/probe/probe.h"

enum { SERIES = 4, SIZES = 12 };

static const pp_subject_series series[SERIES] = {
    { .class_name = "copy_device" },
    { .class_name = "copy_in" },
    { .class_name = "copy_out" },
    { .class_name = "copy_peer" },
};
static const pp_gpu_work_kind kinds[SERIES] = { PP_GPU_COPY, PP_GPU_COPY_IN, PP_GPU_COPY_OUT,
                                                PP_GPU_COPY_PEER };

static pp_status copy_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    static const int64_t bytes[SIZES] = { 4096,    16777216, 262144, 1048576, 65536,   67108864,
                                          4194304, 16384,    524288, 2097152, 8388608, 33554432 };
    static const size_t counts[] = {
        [PP_PROBE_FULL] = SIZES, [PP_PROBE_QUICK] = 5, [PP_PROBE_TINY] = 1
    };
    pp_gpu_probe *p;
    pp_status status = pp_gpu_probe_open(options, "gpu-copy", series, SERIES, &p, err);
    if (status)
        return status;
    const uint32_t visible = p->calls->facts(p->gpu)->visible;
    if (visible < 2) /* there is no peer */
        p->subject.series_count = SERIES - 1;
    for (uint32_t k = 0; k < p->subject.series_count; k++) {
        for (size_t i = 0; i < counts[options->scale]; i++) {
            const pp_gpu_probe_point of = {
                .work = { .kind = kinds[k],
                          .bytes = bytes[i],
                          .peer = (options->device + 1) % visible },
            };
            pp_gpu_probe_add(p, k, &of)->at[PP_VARIABLE_BYTES] = (double)bytes[i];
        }
    }
    *state_out = p;
    *subject_out = &p->subject;
    return PP_OK;
}

const pp_probe pp_probe_gpu_copy = {
    .name = "gpu-copy",
    .summary = "time of copies by size: within a GPU, to and from the host, and to another GPU",
    .share = 10,
    .asked = true,
    .open = copy_open,
    .close = pp_gpu_probe_close,
};
