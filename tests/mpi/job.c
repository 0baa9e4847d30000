/* Common parts of the test programs of transport mpi: a world of their own, its messages, their
 * bytes. */
#include "tests/mpi/job.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void job_start(job *j, uint32_t ranks)
{
    uint32_t count = 0;
    pp_err err = { 0 };
    pp_world_options options = { .ranks = ranks };
    *j = (job){ .ranks = ranks };
    OK(pp_transport_mpi.open(&options, &j->world, &err), err);
    memset(&options, 0xff, sizeof options); /* the options are not retained */
    pp_transport_mpi.hosts(j->world, &j->rank, &count);
    CHECK(count == 1 && j->rank < ranks, "hosts %u from %u", count, j->rank);
}

void job_load(job *j, const edge *e, size_t count)
{
    pp_err err = { 0 };
    free(j->comm.transfer);
    free(j->buffered_bytes);
    j->comm.transfer = pp_alloc_array(2 * count, sizeof *j->comm.transfer);
    j->buffered_bytes = pp_alloc_array(2 * count, sizeof *j->buffered_bytes);
    CHECK(j->comm.transfer && j->buffered_bytes, "memory");
    j->comm.transfer_count = 2 * count;
    j->program = (pp_program){ .ranks = j->ranks, .comm = &j->comm };
    for (size_t k = 0; k < count; k++) {
        j->comm.transfer[2 * k] = (pp_transfer){ .rank = e[k].from, .peer = e[k].to };
        j->comm.transfer[2 * k + 1] = (pp_transfer){ .rank = e[k].to, .peer = e[k].from };
        j->buffered_bytes[2 * k] = e[k].buffered ? e[k].bytes : 0;
    }
    OK(pp_transport_mpi.load(j->world, &j->program, j->buffered_bytes, &err), err);
    job_begin(j);
}

void job_begin(job *j)
{
    pp_err err = { 0 };
    OK(pp_transport_mpi.begin(j->world, j->rank, &err), err);
    job_barrier(j);
}

pp_post edge_post(const edge *e, size_t k, uint32_t step, bool sends, void *payload)
{
    return (pp_post){
        .transfer = (uint32_t)(2 * k + !sends),
        .message = { .program = 7,
                     .bytes = (int64_t)e[k].bytes,
                     .step = step,
                     .from = e[k].from,
                     .to = e[k].to,
                     .sequence = (uint32_t)k,
                     .microbatch = (uint32_t)k },
        .payload = payload,
        .payload_bytes = e[k].bytes,
        .buffered = e[k].buffered,
    };
}

void job_post(job *j, const pp_post *p)
{
    pp_err err = { 0 };
    OK(pp_transport_mpi.post(j->world, j->rank, p, &err), err);
}

pp_ns job_wait(job *j, uint32_t transfer)
{
    pp_err err = { 0 };
    pp_ns done_ns = 0;
    OK(pp_transport_mpi.wait(j->world, j->rank, transfer, &done_ns, &err), err);
    return done_ns;
}

void job_barrier(job *j)
{
    pp_err err = { 0 };
    OK(pp_transport_mpi.all_gather(j->world, j->rank, NULL, 0, NULL, &err), err);
}

void job_finish(job *j)
{
    pp_transport_mpi.close(j->world);
    free(j->comm.transfer);
    free(j->buffered_bytes);
}

void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}
