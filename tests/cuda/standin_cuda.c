/* Stand-in for the CUDA runtime. */
#include "tests/cuda/standin.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 65536, QUEUE = 65536, SPINS = 4 };

#define FAILS(code, ...)                          \
    do {                                          \
        if (standin_fails(__func__, __VA_ARGS__)) \
            return code;                          \
    } while (0)

typedef struct item {
    bool (*run)(void *work);
    void (*drop)(void *work);
    void *work;
} item;

struct standin_stream {
    int device;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    item queue[QUEUE];
    unsigned first, next; /* work from first up to next, modulo QUEUE */
    bool ends;
    int clock;
    const bool *busy;
};

struct CUevent_st {
    pthread_mutex_t lock;
    unsigned wanted, there; /* records issued, and over */
    int64_t at_ns;
    bool timed;
};

/* Allocated memory. device: -1: pinned memory of the host. */
typedef struct block {
    char *at;
    size_t bytes;
    int device;
} block;

static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;
static block blocks[BLOCKS];
static __thread int current;

int standin_device(void)
{
    return current;
}

int standin_device_of(const standin_stream *stream)
{
    return stream->device;
}

void standin_guard(standin_stream *stream, const bool *busy)
{
    stream->busy = busy;
}

static bool is_known(const void *at, size_t bytes, int device)
{
    bool found = false;
    pthread_mutex_lock(&memory);
    for (int i = 0; i < BLOCKS && !found; i++)
        found = blocks[i].at && blocks[i].device == device && (const char *)at >= blocks[i].at &&
                (const char *)at + bytes <= blocks[i].at + blocks[i].bytes;
    pthread_mutex_unlock(&memory);
    return found;
}

bool standin_is_on_gpu(const void *at, size_t bytes, int device)
{
    return is_known(at, bytes, device);
}

static cudaError_t take(void **out, size_t bytes, int device)
{
    char *at = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    if (!at)
        return cudaErrorMemoryAllocation;
    memset(at, 0xA5, bytes); /* callers must not rely on zeros */
    pthread_mutex_lock(&memory);
    int i = 0;
    while (i < BLOCKS && blocks[i].at)
        i++;
    if (i == BLOCKS)
        standin_wrong("too many allocations");
    blocks[i] = (block){ at, bytes, device };
    pthread_mutex_unlock(&memory);
    *out = at;
    return cudaSuccess;
}

static void give(void *at, bool pinned)
{
    if (!at)
        return;
    pthread_mutex_lock(&memory);
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != at)
            continue;
        if (pinned != (blocks[i].device < 0))
            standin_wrong("memory is given back as the other kind");
        blocks[i].at = NULL;
        pthread_mutex_unlock(&memory);
        free(at);
        return;
    }
    standin_wrong("memory is given back that nobody took");
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    FAILS(cudaErrorMemoryAllocation, "%zu", bytes);
    return take(out, bytes, current);
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    FAILS(cudaErrorMemoryAllocation, "%zu", bytes);
    return take(out, bytes, -1);
}

cudaError_t cudaFree(void *at)
{
    bool fails = standin_fails(__func__, "%d", at != NULL);
    give(at, false);
    return fails ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaFreeHost(void *at)
{
    bool fails = standin_fails(__func__, "%d", at != NULL);
    give(at, true);
    return fails ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    long gpus = standin_setting("STANDIN_GPUS", 4);
    const char *loading = getenv("CUDA_MODULE_LOADING");
    FAILS(cudaErrorUnknown, "%ld %s", gpus, loading ? loading : "LAZY");
    if (standin_setting("STANDIN_DRIVER", CUDART_VERSION) < CUDART_VERSION)
        return cudaErrorInsufficientDriver;
    *count = (int)gpus;
    return gpus ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    FAILS(cudaErrorUnknown, "%s", "");
    *version = (int)standin_setting("STANDIN_DRIVER", CUDART_VERSION);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    FAILS(cudaErrorUnknown, "%s", "");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaSuccess                   ? "no error"
           : code == cudaErrorMemoryAllocation   ? "out of memory"
           : code == cudaErrorInsufficientDriver ? "CUDA driver version is insufficient"
           : code == cudaErrorLaunchFailure      ? "unspecified launch failure"
                                                 : "unknown error";
}

cudaError_t cudaSetDevice(int device)
{
    FAILS(cudaErrorInvalidDevice, "%d", device);
    if (device < 0 || device >= standin_setting("STANDIN_GPUS", 4))
        return cudaErrorInvalidDevice;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    FAILS(cudaErrorUnknown, "%d", current);
    *device = current;
    return cudaSuccess;
}

/* cuDNN's frontend queries the age of the GPU. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    FAILS(cudaErrorInvalidDevice, "%d %d", device, (int)which);
    const int sm = (int)standin_setting("STANDIN_SM", 90);
    *value = which == cudaDevAttrComputeCapabilityMajor ? sm / 10 : sm % 10;
    return cudaSuccess;
}

/* Properties of a GPU that does not exist. In CUDA 12 the function's name is a macro for another
 * name. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    if (standin_fails("cudaGetDeviceProperties", "%d", device))
        return cudaErrorInvalidDevice;
    const int sm = (int)standin_setting("STANDIN_SM", 90);
    *out = (struct cudaDeviceProp){ .multiProcessorCount = 16,
                                    .major = sm / 10,
                                    .minor = sm % 10,
                                    .l2CacheSize = 65536,
                                    .totalGlobalMem =
                                        (size_t)standin_setting("STANDIN_MEMORY", 1 << 30) };
    snprintf(out->name, sizeof out->name, "stand-in");
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    FAILS(cudaErrorUnknown, "%s", "");
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

static void *run_stream(void *argument)
{
    standin_stream *stream = argument;
    current = stream->device;
    pthread_mutex_lock(&stream->lock);
    while (!stream->ends || stream->first != stream->next) {
        if (stream->first == stream->next) {
            pthread_cond_wait(&stream->moved, &stream->lock);
            continue;
        }
        item now = stream->queue[stream->first % QUEUE];
        pthread_mutex_unlock(&stream->lock);
        for (unsigned round = 0;; round++) {
            const uint64_t at = standin_clock_try();
            if (now.run(now.work))
                break;
            standin_clock_stuck(stream->clock, at);
            round < SPINS ? (void)sched_yield() : nap();
        }
        now.drop(now.work);
        pthread_mutex_lock(&stream->lock);
        stream->first++;
        standin_clock_change(stream->clock, stream->first != stream->next);
        pthread_cond_broadcast(&stream->moved);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    FAILS(cudaErrorUnknown, "%u %d", flags, priority);
    standin_stream *stream = calloc(1, sizeof *stream);
    stream->device = current;
    stream->clock = standin_clock_join();
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->moved, NULL);
    if (pthread_create(&stream->thread, NULL, run_stream, stream))
        return cudaErrorUnknown;
    *out = (cudaStream_t)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t of)
{
    standin_stream *stream = (standin_stream *)of;
    bool fails = standin_fails(__func__, "%s", "");
    pthread_mutex_lock(&stream->lock);
    stream->ends = true;
    pthread_cond_broadcast(&stream->moved);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    standin_clock_leave(stream->clock);
    pthread_cond_destroy(&stream->moved);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
    return fails ? cudaErrorUnknown : cudaSuccess;
}

static void check_stream(const standin_stream *stream, const char *call)
{
    if (stream->device != current)
        standin_wrong("%s: the stream is of GPU %d, the thread at GPU %d", call, stream->device,
                      current);
    if (stream->busy && *stream->busy)
        standin_wrong("%s while a call of its communicator is in progress", call);
}

void standin_enqueue(standin_stream *stream, bool (*run)(void *), void (*drop)(void *), void *work)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->next - stream->first == QUEUE)
        standin_wrong("too much work in a stream");
    stream->queue[stream->next++ % QUEUE] = (item){ run, drop, work };
    standin_clock_change(stream->clock, true);
    pthread_cond_broadcast(&stream->moved);
    pthread_mutex_unlock(&stream->lock);
}

cudaError_t cudaStreamSynchronize(cudaStream_t of)
{
    standin_stream *stream = (standin_stream *)of;
    FAILS(cudaErrorUnknown, "%s", "");
    if (of == cudaStreamPerThread)
        return cudaSuccess;
    check_stream(stream, __func__);
    pthread_mutex_lock(&stream->lock);
    while (stream->first != stream->next) {
        if (!standin_clock_wait(stream->clock)) {
            pthread_cond_wait(&stream->moved, &stream->lock);
            continue;
        }
        pthread_mutex_unlock(&stream->lock);
        nap();
        pthread_mutex_lock(&stream->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    return cudaSuccess;
}

typedef struct copy {
    void *to;
    const void *from; /* NULL: `byte` */
    size_t bytes;
    int byte;
    bool within; /* a GPU */
    bool runs;
    int64_t waited_us, begun_us;
} copy;

static bool run_copy(void *work)
{
    copy *c = work;
    if (!c->runs) {
        if (c->within && standin_is_early(&c->waited_us, standin_setting("STANDIN_START_US", 0)))
            return false;
        c->runs = true;
        if (c->within)
            standin_begins("copy");
        (void)standin_is_early(&c->begun_us, standin_copy_us(c->bytes));
        if (c->from)
            memcpy(c->to, c->from, c->bytes);
        else
            memset(c->to, c->byte, c->bytes);
    }
    return !c->within || !standin_is_early(&c->begun_us, standin_copy_us(c->bytes));
}

/* The host side of an asynchronous copy must be pinned; otherwise the copy is synchronous. */
static void check_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    bool in = kind == cudaMemcpyHostToDevice;
    bool out = kind == cudaMemcpyDeviceToHost;
    if (!is_known(out ? from : to, bytes, current))
        standin_wrong("a copy that does not lie on GPU %d", current);
    if ((in || out) && !is_known(in ? from : to, bytes, -1))
        standin_wrong("an asynchronous copy with memory that is not pinned");
}

static bool is_on_some_gpu(const void *at, size_t bytes)
{
    bool found = false;
    for (int device = 0; device < (int)standin_setting("STANDIN_GPUS", 4) && !found; device++)
        found = is_known(at, bytes, device);
    return found;
}

/* For cudaMemcpyDefault: the address determines whose memory it is. */
static void check_any_copy(const void *to, const void *from, size_t bytes)
{
    if (!is_on_some_gpu(to, bytes) && !is_on_some_gpu(from, bytes))
        standin_wrong("a copy that touches no GPU");
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    FAILS(cudaErrorUnknown, "%zu %d", bytes, (int)kind);
    if (stream == cudaStreamPerThread) { /* at once: every caller waits for it */
        check_any_copy(to, from, bytes);
        memcpy(to, from, bytes);
        return cudaSuccess;
    }
    check_stream((standin_stream *)stream, __func__);
    check_copy(to, from, bytes, kind);
    copy *c = malloc(sizeof *c);
    *c = (copy){
        .to = to, .from = from, .bytes = bytes, .within = kind == cudaMemcpyDeviceToDevice
    };
    standin_enqueue((standin_stream *)stream, run_copy, free, c);
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    FAILS(cudaErrorPeerAccessUnsupported, "%d %u", peer, flags);
    return peer == current ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    FAILS(cudaErrorUnknown, "%s", "");
    return cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    FAILS(cudaErrorUnknown, "%zu", bytes);
    check_stream((standin_stream *)stream, __func__);
    if (!is_known(to, bytes, to_device) || !is_known(from, bytes, from_device))
        standin_wrong("a copy from GPU %d to %d that lies elsewhere", from_device, to_device);
    copy *c = malloc(sizeof *c);
    *c = (copy){ .to = to, .from = from, .bytes = bytes };
    standin_enqueue((standin_stream *)stream, run_copy, free, c);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    FAILS(cudaErrorUnknown, "%zu %d", bytes, (int)kind);
    if (!is_known(kind == cudaMemcpyDeviceToHost ? from : to, bytes, current))
        standin_wrong("a copy that does not lie on GPU %d", current);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
    FAILS(cudaErrorUnknown, "%zu", bytes);
    if (!is_known(to, bytes, current))
        standin_wrong("setting memory that is not on GPU %d", current);
    if (stream == cudaStreamPerThread) {
        memset(to, byte, bytes);
        return cudaSuccess;
    }
    check_stream((standin_stream *)stream, __func__);
    copy *c = malloc(sizeof *c);
    *c = (copy){ .to = to, .bytes = bytes, .byte = byte };
    standin_enqueue((standin_stream *)stream, run_copy, free, c);
    return cudaSuccess;
}

static cudaError_t new_event(cudaEvent_t *out, bool timed)
{
    cudaEvent_t event = calloc(1, sizeof *event);
    pthread_mutex_init(&event->lock, NULL);
    event->timed = timed;
    *out = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    FAILS(cudaErrorUnknown, "%s", "");
    return new_event(out, true);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    FAILS(cudaErrorUnknown, "%u", flags);
    return new_event(out, !(flags & cudaEventDisableTiming));
}

static bool is_over(cudaEvent_t event)
{
    pthread_mutex_lock(&event->lock);
    bool over = event->there == event->wanted;
    pthread_mutex_unlock(&event->lock);
    return over;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    bool fails = standin_fails(__func__, "%s", "");
    while (!is_over(event)) {
        standin_clock_look();
        nap();
    }
    pthread_mutex_destroy(&event->lock);
    free(event);
    return fails ? cudaErrorUnknown : cudaSuccess;
}

static bool run_record(void *work)
{
    cudaEvent_t event = work;
    pthread_mutex_lock(&event->lock);
    event->there++;
    event->at_ns = standin_mark_ns();
    pthread_mutex_unlock(&event->lock);
    return true;
}

static void drop_nothing(void *work)
{
    (void)work;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FAILS(cudaErrorUnknown, "%s", "");
    check_stream((standin_stream *)stream, __func__);
    pthread_mutex_lock(&event->lock);
    event->wanted++;
    pthread_mutex_unlock(&event->lock);
    standin_enqueue((standin_stream *)stream, run_record, drop_nothing, event);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    FAILS(cudaErrorUnknown, "%s", "");
    if (is_over(event))
        return cudaSuccess;
    standin_clock_look();
    nap(); /* callers query in a loop, which would keep the streams from their processor */
    return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    FAILS(cudaErrorUnknown, "%s", "");
    if (!start->timed || !end->timed || !is_over(start) || !is_over(end))
        standin_wrong("the time between events that have none");
    *ms = (float)((double)(end->at_ns - start->at_ns) * 1e-6);
    return cudaSuccess;
}

typedef struct meeting {
    cudaEvent_t event;
    unsigned wanted; /* records that were issued when the wait began */
} meeting;

static bool run_meeting(void *work)
{
    const meeting *m = work;
    pthread_mutex_lock(&m->event->lock);
    bool over = m->event->there >= m->wanted;
    pthread_mutex_unlock(&m->event->lock);
    return over;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    FAILS(cudaErrorUnknown, "%u", flags);
    check_stream((standin_stream *)stream, __func__);
    meeting *m = malloc(sizeof *m);
    pthread_mutex_lock(&event->lock);
    *m = (meeting){ event, event->wanted };
    pthread_mutex_unlock(&event->lock);
    standin_enqueue((standin_stream *)stream, run_meeting, free, m);
    return cudaSuccess;
}

typedef struct call {
    cudaHostFn_t function;
    void *argument;
} call;

static bool run_call(void *work)
{
    const call *c = work;
    c->function(c->argument);
    return true;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument)
{
    FAILS(cudaErrorUnknown, "%s", "");
    check_stream((standin_stream *)stream, __func__);
    call *c = malloc(sizeof *c);
    *c = (call){ function, argument };
    standin_enqueue((standin_stream *)stream, run_call, free, c);
    return cudaSuccess;
}
