/* Stand-in for NCCL. A communicator is a file in shared memory with a slot for every two ranks. A
 * group is one piece of work in each stream; its sends and receives progress independently, except
 * that those of one peer keep their order. */
#include "tests/cuda/standin.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* nccl.h declares them without a prototype. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

enum { CHUNK = 262144, OPS = 4096, POLLS = 3, RANKS_MAX = 16 };

#define FAILS(...)                                \
    do {                                          \
        if (standin_fails(__func__, __VA_ARGS__)) \
            return ncclSystemError;               \
    } while (0)

/* The data that one rank has for another. */
typedef struct slot {
    _Atomic uint32_t full;
    uint32_t bytes;
    uint64_t whole;
    char data[CHUNK];
} slot;

typedef struct shared {
    _Atomic uint32_t joined;
    slot slot[];
} shared;

struct ncclComm {
    int rank, ranks, device;
    ncclUniqueId file;
    shared *shared;
    size_t bytes;
    int polls; /* until the call in progress is over */
    bool busy, joining, finalized;
    ncclResult_t failed;
    _Atomic bool aborted;
    _Atomic int under_way; /* groups in streams */
    standin_stream *stream;
};

typedef struct op {
    ncclComm_t comm;
    standin_stream *stream;
    char *at;
    size_t bytes, through;
    int peer;
    bool sends, over;
    float *sum; /* for the last one of an all-reduce: the contributions of all ranks are at `part`,
                   rank by rank */
    char *part;
} op;

typedef struct group {
    ncclComm_t comm;
    int64_t waited_us, begun_us;
    bool runs;
    size_t count;
    op op[];
} group;

static __thread int depth;
static __thread op issued[OPS];
static __thread size_t issued_count;
static __thread ncclComm_t joined[RANKS_MAX];
static __thread size_t joined_count;

ncclResult_t ncclGetVersion(int *version)
{
    FAILS("%s", "");
    *version = (int)standin_setting("STANDIN_NCCL", NCCL_VERSION_CODE);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t code)
{
    return code == ncclRemoteError ? "remote process exited" : "unhandled system error";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm ? "stand-in: this communicator fails" : "stand-in: this call fails";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static _Atomic unsigned count;
    FAILS("%s", "");
    struct timespec now; /* a process that died may have left files of the same number */
    memset(id, 0, sizeof *id);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(id->internal, sizeof id->internal, "/ppsim-standin-%ld-%lld-%u", (long)getpid(),
             (long long)now.tv_sec * 1000000000 + now.tv_nsec, count++);
    return ncclSuccess;
}

/* The value of a setting; 0: left to NCCL. */
static int said(int setting)
{
    return setting == NCCL_CONFIG_UNDEF_INT ? 0 : setting;
}

static int net_channels(const ncclConfig_t *config)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    return said(config->nChannelsPerNetPeer);
#else
    (void)config;
    return 0;
#endif
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    const ncclConfig_t fresh = NCCL_CONFIG_INITIALIZER;
    FAILS("%d of %d, at most %d, at least %d, %d per net peer", rank, ranks, said(config->maxCTAs),
          said(config->minCTAs), net_channels(config));
    if (config->blocking != 0 || config->magic != fresh.magic)
        standin_wrong("a communicator that blocks");
    if (!depth)
        standin_wrong("a rank joins outside of a group");
    ncclComm_t comm = calloc(1, sizeof *comm);
    comm->rank = rank;
    comm->ranks = ranks;
    comm->device = standin_device();
    comm->bytes = sizeof(shared) + (size_t)(ranks * ranks) * sizeof(slot);
    comm->file = id;
    int fd = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)comm->bytes))
        standin_wrong("no shared memory");
    comm->shared = mmap(NULL, comm->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    comm->joining = comm->busy = true;
    if (atomic_fetch_add(&comm->shared->joined, 1) + 1 == (uint32_t)ranks)
        shm_unlink(id.internal);
    joined[joined_count++] = comm;
    *out = comm;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    bool fails = standin_fails(__func__, "%d", comm->rank);
    if (fails)
        comm->failed = ncclRemoteError;
    if (comm->joining)
        comm->joining = atomic_load(&comm->shared->joined) < (uint32_t)comm->ranks;
    if (comm->finalized && atomic_load(&comm->under_way))
        comm->polls = 1;
    if (comm->polls > 0)
        comm->polls--;
    comm->busy = comm->joining || comm->polls > 0;
    *state = comm->failed ? comm->failed : comm->busy ? ncclInProgress : ncclSuccess;
    return ncclSuccess;
}

static void free_comm(ncclComm_t comm)
{
    while (atomic_load(&comm->under_way))
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    if (comm->stream)
        standin_guard(comm->stream, NULL);
    munmap(comm->shared, comm->bytes);
    free(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    bool fails = standin_fails(__func__, "%d", comm->rank);
    if (depth)
        standin_wrong("abort inside of a group");
    atomic_store(&comm->aborted, true);
    if (atomic_load(&comm->shared->joined) < (uint32_t)comm->ranks)
        shm_unlink(comm->file.internal);
    free_comm(comm);
    return fails ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    FAILS("%d", comm->rank);
    comm->finalized = comm->busy = true;
    comm->polls = POLLS;
    return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    bool fails = standin_fails(__func__, "rank %d", comm->rank);
    if (comm->busy)
        standin_wrong("a communicator is destroyed while a call is in progress");
    atomic_store(&comm->aborted, true);
    if (atomic_load(&comm->shared->joined) < (uint32_t)comm->ranks)
        shm_unlink(comm->file.internal);
    free_comm(comm);
    return fails ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    FAILS("%s", "");
    depth++;
    return ncclSuccess;
}

static slot *slot_of(const op *o)
{
    int from = o->sends ? o->comm->rank : o->peer;
    int to = o->sends ? o->peer : o->comm->rank;
    return &o->comm->shared->slot[from * o->comm->ranks + to];
}

static void get_on(op *o)
{
    slot *s = slot_of(o);
    bool full = atomic_load(&s->full);
    if (o->sends && !full) {
        size_t left = o->bytes - o->through;
        o->over = left == 0;
        standin_clock_get_on();
        if (o->over)
            return;
        s->bytes = (uint32_t)(left < CHUNK ? left : CHUNK);
        s->whole = o->bytes;
        memcpy(s->data, o->at + o->through, s->bytes);
        o->through += s->bytes;
        atomic_store(&s->full, 1);
    } else if (!o->sends && full) {
        if (s->whole != o->bytes)
            standin_wrong("%zu B expected, %llu B come", o->bytes, (unsigned long long)s->whole);
        memcpy(o->at + o->through, s->data, s->bytes);
        o->through += s->bytes;
        o->over = o->through == o->bytes;
        standin_clock_get_on();
        atomic_store(&s->full, 0);
    }
}

/* The previous one to the same peer comes first. */
static bool is_next(const group *g, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!g->op[k].over && g->op[k].peer == g->op[i].peer && g->op[k].sends == g->op[i].sends)
            return false;
    return true;
}

static bool run_group(void *work)
{
    group *g = work;
    if (atomic_load(&g->comm->aborted))
        return true;
    if (!g->runs && standin_is_early(&g->waited_us, standin_setting("STANDIN_START_US", 0)))
        return false;
    if (!g->runs)
        standin_begins("message");
    g->runs = true;
    long least_us = standin_setting("STANDIN_GROUP_US", 0);
    for (size_t i = 0; i < g->count; i++)
        least_us += g->op[i].sends ? standin_copy_us(g->op[i].bytes) : 0;
    bool over = !standin_is_early(&g->begun_us, least_us);
    for (size_t i = 0; i < g->count; i++) {
        if (!g->op[i].over && is_next(g, i))
            get_on(&g->op[i]);
        over = over && g->op[i].over;
    }
    return over;
}

static void add_up(const op *o)
{
    const float *part = (const float *)(const void *)o->part;
    const size_t count = o->bytes / sizeof *part;
    for (size_t i = 0; i < count; i++) {
        float sum = part[i];
        for (int r = 1; r < o->comm->ranks; r++)
            sum += part[(size_t)r * count + i];
        o->sum[i] = sum;
    }
}

static void drop_group(void *work)
{
    group *g = work;
    for (size_t i = 0; i < g->count; i++) {
        if (g->op[i].sum && !atomic_load(&g->comm->aborted))
            add_up(&g->op[i]);
        free(g->op[i].part);
    }
    atomic_fetch_sub(&g->comm->under_way, 1);
    free(g);
}

static void launch(ncclComm_t comm)
{
    group *g = calloc(1, sizeof *g + issued_count * sizeof *g->op);
    g->comm = comm;
    for (size_t i = 0; i < issued_count; i++)
        if (issued[i].comm == comm)
            g->op[g->count++] = issued[i];
    atomic_fetch_add(&comm->under_way, 1);
    comm->busy = true;
    comm->polls = POLLS;
    if (comm->stream && comm->stream != g->op[0].stream)
        standin_wrong("a communicator in two streams");
    comm->stream = g->op[0].stream;
    standin_guard(comm->stream, &comm->busy);
    standin_enqueue(comm->stream, run_group, drop_group, g);
}

ncclResult_t ncclGroupEnd(void)
{
    bool fails = standin_fails(__func__, "%zu", issued_count);
    if (depth == 0)
        standin_wrong("a group ends that did not start");
    if (--depth)
        return ncclSuccess;
    for (size_t i = 0; i < issued_count && !fails; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && issued[k].comm != issued[i].comm;
        if (first)
            launch(issued[i].comm);
    }
    bool any = issued_count || joined_count;
    issued_count = joined_count = 0;
    return fails ? ncclSystemError : any ? ncclInProgress : ncclSuccess;
}

static size_t bytes_of(size_t count, ncclDataType_t type)
{
    return count * (type == ncclUint64 ? 8 : type == ncclFloat ? 4 : 1);
}

static void check_call(const void *at, size_t bytes, ncclComm_t comm, cudaStream_t stream)
{
    if (!depth)
        standin_wrong("a send or receive outside of a group");
    if (comm->busy)
        standin_wrong("a communicator is used while a call is in progress");
    if (standin_device_of((standin_stream *)stream) != comm->device)
        standin_wrong("a stream of another GPU");
    if (!standin_is_on_gpu(at, bytes, comm->device))
        standin_wrong("memory that is not on GPU %d", comm->device);
}

static op *issue(bool sends, void *at, size_t bytes, int peer, ncclComm_t comm, cudaStream_t stream)
{
    if (issued_count == OPS || !bytes || peer < 0 || peer >= comm->ranks)
        standin_wrong("%zu elements to rank %d", bytes, peer);
    issued[issued_count] = (op){ .comm = comm,
                                 .stream = (standin_stream *)stream,
                                 .at = at,
                                 .bytes = bytes,
                                 .peer = peer,
                                 .sends = sends };
    return &issued[issued_count++];
}

ncclResult_t ncclSend(const void *at, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    FAILS("%zu to %d of %d", count, peer, comm->rank);
    check_call(at, bytes_of(count, type), comm, stream);
    issue(true, (void *)(uintptr_t)at, bytes_of(count, type), peer, comm, stream);
    return ncclSuccess;
}

ncclResult_t ncclRecv(void *at, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    FAILS("%zu from %d of %d", count, peer, comm->rank);
    check_call(at, bytes_of(count, type), comm, stream);
    issue(false, at, bytes_of(count, type), peer, comm, stream);
    return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    const size_t bytes = bytes_of(count, type);
    FAILS("%zu by %d", count, comm->rank);
    check_call(from, bytes, comm, stream);
    check_call(to, bytes * (size_t)comm->ranks, comm, stream);
    for (int r = 0; r < comm->ranks; r++) {
        issue(true, (void *)(uintptr_t)from, bytes, r, comm, stream);
        issue(false, (char *)to + (size_t)r * bytes, bytes, r, comm, stream);
    }
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t what, ncclComm_t comm, cudaStream_t stream)
{
    const size_t bytes = bytes_of(count, type);
    op *last = NULL;
    FAILS("%zu by %d", count, comm->rank);
    check_call(from, bytes, comm, stream);
    check_call(to, bytes, comm, stream);
    if (type != ncclFloat || what != ncclSum)
        standin_wrong("an all-reduce that is no sum of floats");
    char *part = malloc(bytes * (size_t)comm->ranks);
    for (int r = 0; r < comm->ranks; r++) {
        issue(true, (void *)(uintptr_t)from, bytes, r, comm, stream);
        last = issue(false, part + (size_t)r * bytes, bytes, r, comm, stream);
    }
    last->sum = to;
    last->part = part;
    return ncclSuccess;
}
