/* Probe of traffic between GPUs with NCCL, timed by the clocks of the GPUs
 * (docs/reference/calibration-probes.md). Processes that torchrun, mpirun or srun started together
 * measure together. */
#include "calib/import/nccl/nccl_version.h"
#include "calib/probe/probe.h"
#include "runtime/gpu/gpu_link.h"
#include "sim/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_MAX = 64, POINTS_MAX = 256, PAIR_RANKS_MAX = 8 };

typedef struct linking {
    pp_subject subject;
    pp_subject_series series[SERIES_MAX];
    char name[SERIES_MAX][32];
    pp_traffic traffic[SERIES_MAX]; /* complete except for its size in bytes */
    pp_point point[POINTS_MAX];
    char source[128], library[32];
    const pp_gpu_link_table *calls;
    pp_gpu_link *link;
    const pp_gpu_link_facts *facts;
} linking;

/* Message sizes of a series; short scales take the first few, which already span the range. */
typedef struct sizes {
    const uint64_t *bytes;
    size_t count[3]; /* by pp_probe_scale */
} sizes;

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

static const uint64_t curve_bytes[] = { 64,      MIB(8),  KIB(64),  MIB(1),   KIB(4),
                                        MIB(16), MIB(64), KIB(512), MIB(128), KIB(128),
                                        MIB(32), MIB(4),  KIB(16),  MIB(2),   KIB(256) };
static const uint64_t few_bytes[] = { KIB(64), MIB(8), MIB(64), MIB(1) };
static const uint64_t tiny_bytes[] = { 64, 4096, 8, 512 };
static const sizes curve = { curve_bytes, { 15, 6, 2 } };
static const sizes few = { few_bytes, { 4, 2, 1 } };
static const sizes tiny = { tiny_bytes, { 4, 2, 1 } };

static void link_close(void *state)
{
    linking *l = state;
    if (!l)
        return;
    if (l->calls)
        l->calls->close(l->link);
    free(l);
}

static pp_status link_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                          pp_err *err)
{
    linking *l = context;
    const pp_point *at = &l->point[point];
    pp_traffic traffic = l->traffic[at->series];
    pp_ns took_ns = 0;
    traffic.bytes = (uint64_t)at->at[PP_VARIABLE_BYTES];
    pp_status status = l->calls->run(l->link, &traffic, runs, &took_ns, err);
    if (!status)
        pp_timing_add(timing, 0, runs, took_ns);
    return status;
}

/* Returns the number of machines that take part. */
static int32_t nodes_of(const linking *l, const pp_traffic *t)
{
    uint32_t last = 0;
    if (t->pair || t->kind < PP_TRAFFIC_ALL_REDUCE)
        return l->facts->node[t->first] == l->facts->node[t->second] ? 1 : 2;
    for (uint32_t r = 0; r < l->facts->ranks; r++)
        last = l->facts->node[r] > last ? l->facts->node[r] : last;
    return (int32_t)last + 1;
}

/* Adds a series and its points, unless the arrays are full. */
static void add(linking *l, pp_probe_scale scale, const char *name, const sizes *over,
                pp_traffic traffic)
{
    const size_t index = l->subject.series_count;
    if (index == SERIES_MAX || l->subject.point_count + over->count[scale] > POINTS_MAX)
        return;
    snprintf(l->name[index], sizeof l->name[index], "%s", name);
    l->traffic[index] = traffic;
    l->series[index] = (pp_subject_series){ .class_name = l->name[index],
                                            .link = traffic.kind != PP_TRAFFIC_POST,
                                            .ranks = traffic.pair ? 2 : (int32_t)l->facts->ranks,
                                            .nodes = nodes_of(l, &traffic),
                                            .library = l->library };
    for (size_t i = 0; i < over->count[scale]; i++) {
        pp_point *point = &l->point[l->subject.point_count++];
        *point = pp_point_of((uint32_t)index, 1);
        point->at[PP_VARIABLE_BYTES] = (double)over->bytes[i];
    }
    l->subject.series_count++;
}

/* Returns a rank on another machine, whose link is the slower one, or 1 if there is none. */
static uint32_t partner_of_first(const linking *l)
{
    for (uint32_t r = 1; r < l->facts->ranks; r++)
        if (l->facts->node[r] != l->facts->node[0])
            return r;
    return 1;
}

static void add_pairs(linking *l, pp_probe_scale scale)
{
    const uint32_t ranks = l->facts->ranks < PAIR_RANKS_MAX ? l->facts->ranks : PAIR_RANKS_MAX;
    char name[32];
    for (uint32_t a = 0; a < ranks && ranks > 2; a++) {
        for (uint32_t b = a + 1; b < ranks; b++) {
            snprintf(name, sizeof name, "send_recv pair %u %u", a, b);
            add(l, scale, name, &few, (pp_traffic){ .first = a, .second = b });
        }
    }
}

/* Adds series with one communicator of two ranks for each setting of its channels. */
static void add_channels(linking *l, pp_probe_scale scale, const pp_traffic *to)
{
    static const uint32_t most[] = { 1, 2, 4, 8, 16 };
    static const uint32_t least[] = { 16, 32 };
    static const uint32_t per_net_peer[] = { 1, 2, 4, 8 };
    char name[32];
    pp_traffic t = *to;
    t.pair = true;
    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++) {
        t.channels = (pp_gpu_channels){ .most = most[i] };
        snprintf(name, sizeof name, "send_recv max %u", most[i]);
        add(l, scale, name, &few, t);
    }
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++) {
        t.channels = (pp_gpu_channels){ .least = least[i] };
        snprintf(name, sizeof name, "send_recv min %u", least[i]);
        add(l, scale, name, &few, t);
    }
    const bool net = l->facts->net_channels && nodes_of(l, to) > 1;
    for (size_t i = 0; net && i < sizeof per_net_peer / sizeof per_net_peer[0]; i++) {
        t.channels = (pp_gpu_channels){ .per_net_peer = per_net_peer[i] };
        snprintf(name, sizeof name, "send_recv net %u", per_net_peer[i]);
        add(l, scale, name, &few, t);
    }
}

static void add_links(linking *l, pp_probe_scale scale)
{
    const pp_traffic to = { .second = partner_of_first(l) };
    pp_traffic t = to;
    add(l, scale, "send_recv", &curve, to);
    t.kind = PP_TRAFFIC_EXCHANGE;
    add(l, scale, "send_recv both", &curve, t);
    t.kind = PP_TRAFFIC_SIZE;
    add(l, scale, "shape_message", &tiny, t);
    t.kind = PP_TRAFFIC_POST;
    add(l, scale, "nccl_post", &tiny, t);
    t.kind = PP_TRAFFIC_ALL_REDUCE;
    add(l, scale, "all_reduce", &curve, t);
    t.pair = true;
    add(l, scale, "all_reduce pair", &few, t);
    t.kind = PP_TRAFFIC_ALL_GATHER;
    add(l, scale, "all_gather pair", &few, t);
    t = to;
    t.pair = true;
    add(l, scale, "send_recv edge", &curve, t);
    add_channels(l, scale, &to);
    add_pairs(l, scale);
}

/* With a single GPU, messages to itself show the overhead of NCCL without a link. */
static void add_self(linking *l, pp_probe_scale scale)
{
    add(l, scale, "send_recv self", &curve, (pp_traffic){ 0 });
    add(l, scale, "shape_message self", &tiny, (pp_traffic){ .kind = PP_TRAFFIC_SIZE });
    add(l, scale, "nccl_post", &tiny, (pp_traffic){ .kind = PP_TRAFFIC_POST });
}

static void lay_out(linking *l, pp_probe_scale scale)
{
    pp_nccl_version_text("nccl", l->facts->nccl, l->library, sizeof l->library);
    if (l->facts->ranks > 1)
        snprintf(l->source, sizeof l->source, "probe nccl-link, device time, %u GPUs",
                 l->facts->ranks);
    else
        snprintf(l->source, sizeof l->source,
                 "probe nccl-link, device time, one GPU to itself: NCCL's launch and copy, "
                 "nothing of a link");
    l->subject = (pp_subject){ .source = l->source,
                               .device = l->facts->name,
                               .sm_count = l->facts->multiprocessors,
                               .stopwatch = PP_STOPWATCH_DEVICE,
                               .series = l->series,
                               .point = l->point,
                               .context = l,
                               .run = link_run };
    if (l->facts->ranks > 1)
        add_links(l, scale);
    else
        add_self(l, scale);
}

static uint64_t bytes_max(pp_probe_scale scale)
{
    uint64_t most = 0;
    for (size_t i = 0; i < curve.count[scale]; i++)
        most = curve.bytes[i] > most ? curve.bytes[i] : most;
    for (size_t i = 0; i < few.count[scale]; i++)
        most = few.bytes[i] > most ? few.bytes[i] : most;
    return most;
}

static pp_status join(linking *l, pp_probe_scale scale, pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load(&pp_module_cuda, &module, err);
    if (status)
        return status;
    l->calls = module->gpu_link;
    return l->calls->open(&pp_module_services_table, bytes_max(scale), &l->link, err);
}

static pp_status link_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    linking *l = pp_alloc_array(1, sizeof *l);
    if (!l)
        return pp_err_nomem(err);
    pp_status status = join(l, options->scale, err);
    if (!status)
        l->facts = l->calls->facts(l->link);
    if (!status && !l->facts->first)
        status = l->calls->serve(l->link, err);
    if (status) {
        link_close(l);
        return status;
    }
    if (l->facts->first)
        lay_out(l, options->scale);
    *state_out = l;
    *subject_out = l->facts->first ? &l->subject : NULL;
    return PP_OK;
}

const pp_probe pp_probe_nccl_link = {
    .name = "nccl-link",
    .summary =
        "time of messages and collectives between GPUs by size, also under torchrun or mpirun",
    .share = 40,
    .joint = true,
    .asked = true,
    .check = pp_gpu_link_check_settings,
    .open = link_open,
    .close = link_close,
};
