/* The speed of transport mpi, and the cost of waiting: `PPSIM_MODULE_DIR=build PPSIM_TEST_RANKS=2
 * mpirun -n 2 build/tests/speed_mpi`. This is not a test: its result depends on the machine. */
#include "runtime/core/clock.h"
#include "tests/mpi/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static uint64_t work_for(pp_ns ns)
{
    volatile uint64_t turns = 0;
    pp_ns until = pp_clock_now_ns() + ns;
    while (pp_clock_now_ns() < until)
        turns++;
    return turns;
}

/* Measures when a message arrives that both ends posted before they began to compute for 5 ms, and
 * how much that delays the computing. */
static void progress(job *j)
{
    static const size_t sizes[] = { 8, 262144, 2097152 };
    static char buffer[1 << 21];
    enum { ROUNDS = 100 };
    double us[ROUNDS];
    double lost[ROUNDS];
    memset(buffer, 1, sizeof buffer);
    for (size_t s = 0; s < 3; s++) {
        const edge e[] = { { 0, 1, sizes[s], false }, { 0, 1, 8, false } };
        job_load(j, e, 2);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            job_begin(j);
            if (j->rank > 1)
                continue;
            double quiet = (double)work_for(5000000);
            pp_post p = edge_post(e, 0, i, j->rank == 0, buffer);
            pp_post late = edge_post(e, 1, i, false, buffer); /* pending until the end */
            job_post(j, &p);
            if (j->rank == 1)
                job_post(j, &late);
            pp_ns posted = pp_clock_now_ns();
            lost[i] = 1 - (double)work_for(5000000) / quiet;
            us[i] = (double)(job_wait(j, p.transfer) - posted) * 1e-3;
            late = edge_post(e, 1, i, true, buffer);
            if (j->rank == 0)
                job_post(j, &late);
            job_wait(j, 2 + j->rank);
        }
        qsort(us, ROUNDS, sizeof us[0], by_size);
        qsort(lost, ROUNDS, sizeof lost[0], by_size);
        if (j->rank == 1)
            printf("%8zu B posted, then 5 ms of computing: came after %7.1f us median, %7.1f p95; "
                   "computing lost %.2f %% median, %.2f p95\n",
                   sizes[s], us[ROUNDS / 2], us[ROUNDS * 95 / 100], 100 * lost[ROUNDS / 2],
                   100 * lost[ROUNDS * 95 / 100]);
    }
    job_barrier(j);
}

/* One-way times between ranks 0 and 1 while the others wait. */
static void speed(job *j)
{
    static const size_t sizes[] = { 8, 4096, 65536, 262144, 2097152 };
    static char buffer[2][1 << 21];
    enum { ROUNDS = 500 };
    double us[ROUNDS];
    memset(buffer, 1, sizeof buffer);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const edge e[] = { { 0, 1, sizes[s], false }, { 1, 0, sizes[s], false } };
        job_load(j, e, 2);
        job_barrier(j);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            job_begin(j);
            if (j->rank > 1)
                continue;
            pp_post out = edge_post(e, j->rank, i, true, buffer[0]);
            pp_post in = edge_post(e, 1 - j->rank, i, false, buffer[1]);
            pp_ns from = pp_clock_now_ns();
            job_post(j, &in);
            if (j->rank == 1)
                job_wait(j, in.transfer);
            job_post(j, &out);
            job_wait(j, out.transfer);
            if (j->rank == 0)
                job_wait(j, in.transfer);
            us[i] = (double)(pp_clock_now_ns() - from) * 1e-3 / 2;
        }
        job_barrier(j);
        qsort(us, ROUNDS, sizeof us[0], by_size);
        if (j->rank == 0)
            printf("%8zu B: one way %8.2f us median, %8.2f p95, %6.2f GB/s\n", sizes[s],
                   us[ROUNDS / 2], us[ROUNDS * 95 / 100], (double)sizes[s] / us[ROUNDS / 2] * 1e-3);
    }
}

/* The cost of waiting for a second. */
static void waiting(job *j)
{
    char buffer[1][8] = { { 0 } };
    const edge e[] = { { 0, 1, 8, false } };
    job_load(j, e, 1);
    job_barrier(j);
    if (j->rank < 2) {
        pp_post p = edge_post(e, 0, 0, j->rank == 0, buffer[0]);
        double cpu = cpu_seconds();
        pp_ns from = pp_clock_now_ns();
        if (j->rank == 0)
            sleep_ms(1000);
        job_post(j, &p);
        job_wait(j, j->rank);
        if (j->rank == 1)
            printf("waiting %.2f s took %.3f s of CPU\n", (double)(pp_clock_now_ns() - from) * 1e-9,
                   cpu_seconds() - cpu);
    }
    job_barrier(j);
}

int main(void)
{
    const char *size = getenv("PPSIM_TEST_RANKS");
    uint32_t ranks = size ? (uint32_t)strtoul(size, NULL, 10) : 2;
    job j;
    job_start(&j, ranks);
    pp_clock_sharpen(); /* as the runtime's ranks do */
    speed(&j);
    progress(&j);
    waiting(&j);
    job_finish(&j);
    return 0;
}
