/* A world of transport mpi with messages of a test's own. */
#ifndef PPSIM_TESTS_MPI_JOB_H
#define PPSIM_TESTS_MPI_JOB_H

#include "runtime/core/transport.h"

#include <stdio.h>
#include <unistd.h>

extern const pp_transport pp_transport_mpi;

#define CHECK(truth, ...)                                               \
    do {                                                                \
        if (!(truth)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #truth); \
            fprintf(stderr, __VA_ARGS__);                               \
            fprintf(stderr, "\n");                                      \
            _exit(1);                                                   \
        }                                                               \
    } while (0)
#define OK(call, err) CHECK((call) == PP_OK, "%s", (err).text)

/* Message k goes from `from` to `to`; its send is transfer 2 k, its receive 2 k + 1. */
typedef struct edge {
    uint32_t from, to;
    size_t bytes;
    bool buffered;
} edge;

typedef struct job {
    pp_world *world;
    uint32_t rank, ranks;
    pp_program program;
    pp_comm comm;
    size_t *buffered_bytes;
} job;

/* j must not be moved. Called by the only rank of this process, like all that follow. */
void job_start(job *j, uint32_t ranks);
void job_load(job *j, const edge *e, size_t count);
/* Begins the next step; loading begins the first. */
void job_begin(job *j);
/* Message k of e: its send or its receive. */
pp_post edge_post(const edge *e, size_t k, uint32_t step, bool sends, void *payload);
void job_post(job *j, const pp_post *p);
pp_ns job_wait(job *j, uint32_t transfer);
void job_barrier(job *j);
void job_finish(job *j);
void sleep_ms(long ms);

#endif
