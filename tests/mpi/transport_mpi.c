/* Transport mpi as its users see it: `mpirun -n P transport_mpi CASE` (tests/mpi/run.sh has the
 * cases and numbers of processes). Each process checks its part, reports errors on stderr and exits
 * with 1. */
#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "tests/mpi/job.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned char byte_of(size_t k, uint32_t step, size_t i)
{
    return (unsigned char)(k * 31 + step * 7 + i * 13 + i / 251);
}

/* Every size arrives complete and in order, alternately by rendezvous and buffered, in every
 * step. */
static void ring(uint32_t ranks)
{
    static const size_t sizes[] = { 0, 1, 100, 4040, 4096, 4097, 65536, 262144, 2097152, 8 };
    enum { SIZES = sizeof sizes / sizeof sizes[0], EACH = 2 * SIZES, STEPS = 3 };
    job j;
    job_start(&j, ranks);
    size_t count = ranks * EACH;
    edge *e = pp_alloc_array(count, sizeof *e);
    unsigned char **payload = pp_alloc_array(2 * count, sizeof *payload);
    CHECK(e && payload, "memory");
    for (size_t k = 0; k < count; k++)
        e[k] = (edge){ (uint32_t)(k / EACH), (uint32_t)(k / EACH + 1) % ranks, sizes[k % SIZES],
                       k % EACH >= SIZES };
    job_load(&j, e, count);
    for (uint32_t step = 0; step < STEPS; step++) {
        job_begin(&j);
        for (size_t k = 0; k < 2 * count; k++) {
            bool sends = k % 2 == 0;
            if ((sends ? e[k / 2].from : e[k / 2].to) != j.rank)
                continue;
            if (!payload[k])
                payload[k] = malloc(e[k / 2].bytes + 1);
            CHECK(payload[k], "memory");
            for (size_t i = 0; i < e[k / 2].bytes; i++)
                payload[k][i] = sends ? byte_of(k / 2, step, i) : 0;
            pp_post p = edge_post(e, k / 2, step, sends, payload[k]);
            if (k / 2 % 5 == 0)
                p.payload = NULL; /* header only */
            job_post(&j, &p);
            if (sends && e[k / 2].buffered) /* done at once: the caller may use its memory again */
                memset(payload[k], 0xEE, e[k / 2].bytes + (job_wait(&j, (uint32_t)k) < 0));
        }
        for (size_t k = 0; k < 2 * count; k++) {
            if ((k % 2 == 0 ? e[k / 2].from : e[k / 2].to) != j.rank)
                continue;
            job_wait(&j, (uint32_t)k);
            for (size_t i = 0; k % 2 && k / 2 % 5 && i < e[k / 2].bytes; i++)
                CHECK(payload[k][i] == byte_of(k / 2, step, i), "message %zu, byte %zu", k / 2, i);
        }
    }
    for (size_t k = 0; k < 2 * count; k++)
        free(payload[k]);
    free(payload);
    free(e);
    job_finish(&j);
}

/* A message other than the expected one is reported with both names; so is one of another
 * length. */
static void wrong_message(uint32_t ranks, size_t sent, size_t expected, uint32_t microbatch,
                          const char *text)
{
    const edge e[] = { { 0, 1, 1 << 20, false } };
    static char buffer[1 << 20];
    job j;
    pp_err err = { 0 };
    pp_ns done_ns = 0;
    job_start(&j, ranks);
    job_load(&j, e, 1);
    if (j.rank < 2) {
        pp_post p = edge_post(e, 0, 0, j.rank == 0, buffer);
        p.payload_bytes = j.rank == 0 ? sent : expected;
        if (j.rank == 0)
            p.message.microbatch += microbatch;
        job_post(&j, &p);
        pp_status status = pp_transport_mpi.wait(j.world, j.rank, j.rank, &done_ns, &err);
        CHECK(j.rank == 0 || status == PP_INPUT, "status %d: %s", status, err.text);
        CHECK(j.rank == 0 || strstr(err.text, text), "'%s' is not in: %s", text, err.text);
    }
    job_barrier(&j);
    job_finish(&j);
}

static void wrong_microbatch(uint32_t ranks)
{
    wrong_message(ranks, 100, 100, 5, "SEND_F5");
}

static void too_long(uint32_t ranks)
{
    wrong_message(ranks, 1000, 100, 0, "100 B were expected, but more arrived");
}

static void too_long_large(uint32_t ranks)
{
    wrong_message(ranks, 1000000, 500000, 0, "500000 B were expected, but more arrived");
}

static void too_short(uint32_t ranks)
{
    wrong_message(ranks, 99, 100, 0, "100 B were expected, but 99 B arrived");
}

static void too_short_large(uint32_t ranks)
{
    wrong_message(ranks, 500000, 1000000, 0, "1000000 B were expected, but 500000 B arrived");
}

/* One process stops: those that wait, gather or post end with "stopped". */
static void stop(uint32_t ranks)
{
    const edge e[] = { { 3, 0, 8, false }, { 1, 2, 8, false } };
    char buffer[8] = { 0 };
    job j;
    pp_err err = { 0 };
    pp_ns done_ns = 0;
    pp_status status = PP_OK;
    job_start(&j, ranks);
    job_load(&j, e, 2);
    if (j.rank == 0) {
        pp_post p = edge_post(e, 0, 0, false, buffer);
        job_post(&j, &p);
        status = pp_transport_mpi.wait(j.world, 0, 1, &done_ns, &err);
    } else if (j.rank == 1) {
        sleep_ms(200);
        pp_transport_mpi.abort(j.world);
        pp_transport_mpi.abort(j.world);
        pp_post p = edge_post(e, 1, 0, true, buffer);
        status = pp_transport_mpi.post(j.world, 1, &p, &err);
    } else {
        char all[64];
        status = pp_transport_mpi.all_gather(j.world, j.rank, buffer, 8, all, &err);
    }
    CHECK(status == PP_INFEASIBLE, "status %d: %s", status, err.text);
    job_finish(&j);
}

static void gather(uint32_t ranks)
{
    job j;
    job_start(&j, ranks);
    for (size_t n = 1; n < 20000; n = n * 5 + 1) {
        pp_err err = { 0 };
        char *mine = malloc(n);
        char *all = malloc(n * ranks);
        CHECK(mine && all, "memory");
        memset(mine, 'a' + (int)j.rank, n);
        OK(pp_transport_mpi.all_gather(j.world, j.rank, mine, n, all, &err), err);
        for (size_t i = 0; i < n * ranks; i++)
            CHECK(all[i] == 'a' + (char)(i / n), "%zu of %zu", i, n);
        free(mine);
        free(all);
    }
    job_finish(&j);
}

/* On one machine all processes have one clock. */
static void clocks(uint32_t ranks)
{
    job j;
    pp_err err = { 0 };
    pp_ns ahead = -1;
    pp_ns error = -1;
    job_start(&j, ranks);
    OK(pp_transport_mpi.clock_ahead(j.world, j.rank, &ahead, &error, &err), err);
    fprintf(stderr, "rank %u: ahead %" PRId64 " ns, error %" PRId64 " ns\n", j.rank, ahead, error);
    CHECK(llabs(ahead) <= error, "ahead %" PRId64 ", error %" PRId64, ahead, error);
    job_finish(&j);
}

/* A send is done when its receive is posted, whatever its size; a buffered one is done earlier,
 * unless an earlier one on its edge is not. */
static void rendezvous(uint32_t ranks)
{
    const edge e[] = { { 0, 1, 8, false },
                       { 0, 1, 1 << 20, false },
                       { 0, 2, 8, true },
                       { 0, 2, 1 << 20, true },
                       { 0, 1, 8, true } };
    static char buffer[5][1 << 20];
    job j;
    job_start(&j, ranks);
    job_load(&j, e, 5);
    for (size_t k = 0; k < 5 && j.rank == 0; k++) {
        pp_post p = edge_post(e, k, 0, true, buffer[k]);
        job_post(&j, &p);
    }
    for (int i = 0; i < 100 && j.rank == 0; i++) {
        for (uint32_t k = 0; k < 5; k += k == 1 ? 3 : 1) {
            pp_err err = { 0 };
            pp_ns done_ns = 0;
            bool done = true;
            OK(pp_transport_mpi.poll(j.world, 0, 2 * k, pp_clock_now_ns(), &done, &done_ns, &err),
               err);
            CHECK(!done, "send %u is done", k);
        }
        sleep_ms(1);
    }
    if (j.rank == 0) {
        job_wait(&j, 4);
        job_wait(&j, 6);
    }
    job_barrier(&j); /* the receiver posts only now */
    for (size_t k = 0; k < 5; k++) {
        pp_post p = edge_post(e, k, 0, false, buffer[k]);
        if (e[k].to == j.rank)
            job_post(&j, &p);
    }
    for (uint32_t k = 0; k < 5; k++)
        if (j.rank == e[k].from || j.rank == e[k].to)
            job_wait(&j, 2 * k + (j.rank != e[k].from));
    job_barrier(&j);
    job_finish(&j);
}

/* A message that both ends have posted progresses while both compute; not every time, since other
 * processes may have the processor. */
static void overlap(uint32_t ranks)
{
    enum { ROUNDS = 10 };
    const edge e[] = { { 0, 1, 1 << 21, false } };
    static char buffer[1 << 21];
    job j;
    int early = 0;
    job_start(&j, ranks);
    job_load(&j, e, 1);
    for (uint32_t step = 0; step < ROUNDS; step++) {
        job_begin(&j);
        if (j.rank > 1)
            continue;
        pp_post p = edge_post(e, 0, step, j.rank == 0, buffer);
        job_post(&j, &p);
        pp_ns posted = pp_clock_now_ns();
        sleep_ms(200);
        pp_ns woke = pp_clock_now_ns();
        pp_ns took = job_wait(&j, j.rank) - posted;
        early += took < woke - posted;
    }
    CHECK(j.rank > 1 || early >= ROUNDS / 2, "%d of %d", early, ROUNDS);
    job_barrier(&j);
    job_finish(&j);
}

static void *wait_for_ever(void *argument)
{
    job *j = argument;
    pp_err err = { 0 };
    pp_ns done_ns = 0;
    CHECK(pp_transport_mpi.wait(j->world, j->rank, 2 * j->rank + 1, &done_ns, &err) ==
              PP_INFEASIBLE,
          "not stopped: %s", err.text);
    return NULL;
}

/* All ranks hang; one notices, and the others are alerted. The last one is silent, and no rank
 * waits for it longer than the limit. */
static void collect(uint32_t ranks)
{
    enum { BYTES = 100000 };
    edge e[8];
    char buffer[8];
    pthread_t thread;
    job j;
    CHECK(ranks <= 8, "%u", ranks);
    job_start(&j, ranks);
    for (uint32_t k = 0; k < ranks; k++)
        e[k] = (edge){ (k + 1) % ranks, k, 8, false };
    job_load(&j, e, ranks);
    pp_post p = edge_post(e, j.rank, 0, false, buffer);
    job_post(&j, &p);
    job_barrier(&j);
    CHECK(pthread_create(&thread, NULL, wait_for_ever, &j) == 0, "thread");
    if (j.rank == ranks - 1) {
        sleep_ms(4000);
    } else {
        char *mine = malloc(BYTES);
        char *all = malloc((size_t)BYTES * ranks);
        bool came[8] = { false };
        pp_err err = { 0 };
        CHECK(mine && all, "memory");
        memset(mine, 'a' + (int)j.rank, BYTES);
        if (j.rank == 0)
            sleep_ms(100);
        while (j.rank != 0 && !pp_transport_mpi.alarmed(j.world))
            sleep_ms(10);
        pp_ns began = pp_clock_now_ns();
        OK(pp_transport_mpi.collect(j.world, mine, BYTES, 2000000000, all, came, &err), err);
        pp_ns took = pp_clock_now_ns() - began;
        CHECK(took < 60000000000, "took %" PRId64, took);
        for (uint32_t k = 0; k < ranks; k++) {
            CHECK(came[k] == (k != ranks - 1), "rank %u of rank %u", k, j.rank);
            CHECK(!came[k] || all[k * BYTES + BYTES - 1] == 'a' + (char)k, "rank %u", k);
        }
        free(mine);
        free(all);
    }
    pp_transport_mpi.abort(j.world);
    CHECK(pthread_join(thread, NULL) == 0, "thread");
    job_finish(&j);
}

/* A process that was started alone says how to start more. */
static void number(uint32_t ranks)
{
    pp_world_options options = { .ranks = ranks + 3 };
    char line[64];
    pp_world *world;
    pp_err err = { 0 };
    pp_status status = pp_transport_mpi.open(&options, &world, &err);
    snprintf(line, sizeof line, "mpirun -n %u PROGRAM", ranks + 3);
    CHECK(status == PP_USAGE && strstr(err.text, line), "%d: %s", status, err.text);
}

static void refused(uint32_t ranks)
{
    pp_faults faults = { .count = 1, .fault = { { .kind = PP_FAULT_DROP } } };
    const pp_world_options with_fault = { .ranks = ranks, .faults = &faults };
    const pp_world_options with_link = { .ranks = ranks, .link = { .kind = PP_LINK_PLAN } };
    pp_world *world;
    pp_err err = { 0 };
    CHECK(pp_transport_mpi.open(&with_fault, &world, &err) == PP_USAGE, "fault: %s", err.text);
    CHECK(strstr(err.text, "transport threads"), "%s", err.text);
    err = (pp_err){ 0 };
    CHECK(pp_transport_mpi.open(&with_link, &world, &err) == PP_USAGE, "link: %s", err.text);
}

/* PPSIM_MODULE_DIR is a folder without the module, or with a broken one. */
static void unavailable(uint32_t ranks)
{
    const pp_world_options options = { .ranks = ranks };
    pp_world *world;
    pp_err err = { 0 };
    pp_status status = pp_transport_mpi.open(&options, &world, &err);
    CHECK(status == PP_UNAVAILABLE && strstr(err.text, "build ppsim with"), "%d: %s", status,
          err.text);
    fprintf(stderr, "%s\n", err.text);
    CHECK(pp_transport_mpi.available(&(pp_err){ 0 }) == PP_UNAVAILABLE, "available");
}

/* Rank 2 dies while the others wait for it. */
static void death(uint32_t ranks)
{
    const edge e[] = { { 2, 0, 8, false }, { 2, 1, 8, false }, { 2, 3, 8, false } };
    char buffer[8];
    job j;
    job_start(&j, ranks);
    job_load(&j, e, 3);
    job_barrier(&j);
    if (j.rank == 2) {
        sleep_ms(200);
        raise(SIGKILL);
    }
    size_t k = j.rank == 3 ? 2 : j.rank;
    pp_post p = edge_post(e, k, 0, false, buffer);
    job_post(&j, &p);
    job_wait(&j, (uint32_t)(2 * k + 1));
    CHECK(false, "came");
}

/* Rank 0 stops, and rank 2 never closes. The others end nevertheless, with their own status, and
 * their messages are reported. */
static void absent(uint32_t ranks)
{
    job j;
    job_start(&j, ranks);
    job_barrier(&j);
    if (j.rank == 2)
        for (;;)
            sleep_ms(1000);
    if (j.rank == 0) {
        sleep_ms(3000); /* until the others are through the barrier, on a loaded machine too */
        pp_transport_mpi.abort(j.world);
    }
    fprintf(stderr, "rank %u has said it\n", j.rank);
    job_finish(&j);
    _exit(1);
}

/* A message that was not received is reported before the next step begins. */
static void unreceived(uint32_t ranks)
{
    const edge e[] = { { 0, 1, 8, true } };
    char buffer[8] = { 0 };
    job j;
    pp_err err = { 0 };
    job_start(&j, ranks);
    job_load(&j, e, 1);
    pp_post p = edge_post(e, 0, 0, true, buffer);
    if (j.rank == 0)
        job_post(&j, &p);
    job_barrier(&j);
    pp_status status = pp_transport_mpi.begin(j.world, j.rank, &err);
    CHECK(status == (j.rank == 1 ? PP_INPUT : PP_OK), "%d: %s", status, err.text);
    job_barrier(&j);
    job_finish(&j);
}

static const struct test {
    const char *name;
    void (*run)(uint32_t ranks);
} tests[] = {
    { "ring", ring },
    { "wrong_microbatch", wrong_microbatch },
    { "too_long", too_long },
    { "too_long_large", too_long_large },
    { "too_short", too_short },
    { "too_short_large", too_short_large },
    { "stop", stop },
    { "gather", gather },
    { "clocks", clocks },
    { "rendezvous", rendezvous },
    { "overlap", overlap },
    { "collect", collect },
    { "number", number },
    { "refused", refused },
    { "unavailable", unavailable },
    { "unreceived", unreceived },
    { "death", death },
    { "absent", absent },
};

int main(int argc, char **argv)
{
    const char *size = getenv("PPSIM_TEST_RANKS");
    uint32_t ranks = size ? (uint32_t)strtoul(size, NULL, 10) : 1;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0) {
            alarm(280); /* nothing here takes that long unless it hangs */
            tests[i].run(ranks);
            return 0;
        }
    }
    fprintf(stderr, "usage: PPSIM_TEST_RANKS=P mpirun -n P %s CASE\n", argv[0]);
    return 2;
}
