/* A tensor from rank 0 to rank 1: sent, exchanged, or by a collective of the two, as frameworks do
 * that have no send. `mpirun -n 2 p2p_mpi ROUNDS` prints what each takes, for
 * tools/dev/measure-p2p; `mpirun -n 2 p2p_mpi check`, of tests/mpi/run.sh, whether the tensor
 * comes. MPI itself: nothing of ppsim is in between. */
#include "runtime/core/clock.h"
#include "sim/cost/kernel.h"
#include "traces/read/data.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 8 << 20, BATCHES = 31, DOUBLE = sizeof(double) };

static const size_t sizes[] = { 8, 64, 512, 4096, 32768, 262144, 1048576, 2097152, LARGEST };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

typedef struct pair {
    int rank;
    char *tensor; /* of rank 0 */
    char *other;  /* what rank 1 sends in return: zeros if they are added */
    char *came;   /* two tensors */
} pair;

/* There and back: twice one way. */
static void send_receive(const pair *p, int bytes)
{
    if (p->rank == 0) {
        MPI_Send(p->tensor, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(p->came, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(p->came, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(p->other, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static const char *mine(const pair *p)
{
    return p->rank == 0 ? p->tensor : p->other;
}

static void exchange(const pair *p, int bytes)
{
    MPI_Sendrecv(mine(p), bytes, MPI_BYTE, 1 - p->rank, 0, p->came, bytes, MPI_BYTE, 1 - p->rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void all_gather(const pair *p, int bytes)
{
    MPI_Allgather(mine(p), bytes, MPI_BYTE, p->came, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void all_reduce(const pair *p, int bytes)
{
    MPI_Allreduce(mine(p), p->came, bytes / DOUBLE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*go)(const pair *p, int bytes);
    int tensors; /* one after the other */
} ways[] = {
    { "send", send_receive, 2 },
    { "exchange", exchange, 1 },
    { "all-gather", all_gather, 1 },
    { "all-reduce", all_reduce, 1 },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of BATCHES, in microseconds per tensor. Small tensors are timed several at a time. */
static double time_way(const pair *p, size_t way, size_t bytes)
{
    double us[BATCHES];
    const int calls = bytes <= 4096 ? 64 : bytes <= 65536 ? 16 : 1;
    for (int k = -2; k < BATCHES; k++) { /* two for the warm-up */
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t from = pp_clock_now_ns();
        for (int i = 0; i < calls; i++)
            ways[way].go(p, (int)bytes);
        if (k >= 0)
            us[k] = (double)(pp_clock_now_ns() - from) * 1e-3 / calls / ways[way].tensors;
    }
    qsort(us, BATCHES, sizeof us[0], by_size);
    return us[BATCHES / 2];
}

static void measure(const pair *p, long rounds)
{
    for (long n = 0; n < rounds; n++) {
        for (size_t s = 0; s < SIZES; s++) {
            for (size_t way = 0; way < WAYS; way++) {
                double us = time_way(p, way, sizes[s]);
                if (p->rank == 0)
                    printf("measured %ld %zu %s %.4f\n", n, sizes[s], ways[way].name, us);
            }
        }
    }
}

/* docs/explanation/p2p-emulation.md of two ranks with a communicator of their own, over send and
 * receive. */
static int model(void)
{
    pp_hardware hw;
    pp_err err = { 0 };
    const pp_data_file *file = pp_data_find(PP_DATA_HARDWARE, "h100-80g");
    if (!file || pp_hardware_parse(file->text, file->bytes, "h100-80g", &hw, &err)) {
        fprintf(stderr, "p2p_mpi: %s\n", file ? err.text : "no hardware");
        return 1;
    }
    for (int near = 0; near < 2; near++) {
        const pp_communicator two = { .ranks = 2, .spans = !near };
        const pp_collective_group group = { .ranks = 2, .members = near ? 2 : 1 };
        for (size_t s = 0; s < SIZES; s++) {
            double bytes = (double)sizes[s];
            double send = pp_message_seconds(&hw, near, two, bytes);
            double gather = pp_collective_seconds(&hw, PP_ALL_GATHER, group, 2 * bytes);
            double reduce = pp_collective_seconds(&hw, PP_ALL_REDUCE, group, bytes);
            printf("model %s %zu %.4f %.4f\n", near ? "nvlink" : "network", sizes[s], gather / send,
                   reduce / send);
        }
    }
    return 0;
}

/* The receiver has the tensor, to the last bit. A negative zero becomes positive when zero is added
 * to it: an all-reduce does not copy. */
static int check(const pair *p)
{
    int wrong = 0;
    double negative_zero = -0.0;
    for (size_t s = 0; s < SIZES; s++) {
        memcpy(p->tensor, &negative_zero, DOUBLE);
        for (size_t way = 0; way < WAYS; way++) {
            double first;
            memset(p->came, 0xff, 2 * sizes[s]);
            ways[way].go(p, (int)sizes[s]);
            memcpy(&first, p->came, DOUBLE);
            bool adds = ways[way].go == all_reduce;
            bool same = first == 0 && (signbit(first) != 0) != adds &&
                        memcmp(p->came + DOUBLE, p->tensor + DOUBLE, sizes[s] - DOUBLE) == 0;
            if (p->rank == 0 || same)
                continue;
            fprintf(stderr, "p2p_mpi: %s of %zu B brings another tensor\n", ways[way].name,
                    sizes[s]);
            wrong = 1;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int ranks = 0;
    pair p = { .tensor = malloc(LARGEST),
               .other = calloc(1, LARGEST),
               .came = malloc((size_t)2 * LARGEST) };
    char *end = NULL;
    long rounds = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    bool checks = argc == 2 && strcmp(argv[1], "check") == 0;
    if (!checks && (rounds < 1 || rounds > 10000 || *end)) {
        fprintf(stderr, "usage: mpirun -n 2 p2p_mpi ROUNDS|check\n");
        return 2;
    }
    if (!p.tensor || !p.other || !p.came)
        return 1;
    alarm(checks ? 280 : 600); /* nothing here takes that long unless it hangs */
    for (int i = 0; i < LARGEST / DOUBLE; i++) {
        double value = 1.0 / (i + 1) - 0.3;
        memcpy(p.tensor + (size_t)i * DOUBLE, &value, DOUBLE);
    }
    memset(p.came, 1, (size_t)2 * LARGEST);
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    int wrong = ranks != 2;
    if (wrong)
        fprintf(stderr, "usage: mpirun -n 2 p2p_mpi ROUNDS|check\n");
    else if (checks)
        wrong = check(&p);
    else
        measure(&p, rounds);
    if (!wrong && !checks && p.rank == 0)
        wrong = model();
    MPI_Finalize();
    free(p.tensor);
    free(p.other);
    free(p.came);
    return wrong;
}
