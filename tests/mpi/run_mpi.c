/* Whole runs over transport mpi: `mpirun -n 4 run_mpi CASE`, as in tests/mpi/run.sh. */
#include "runtime/compute/registry.h"
#include "runtime/core/run.h"
#include "sim/base/alloc.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tests/mpi/job.h"
#include "tests/support/semantics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MICROBATCHES = 8 };

typedef struct running {
    pp_order *order;
    pp_program *program;
    pp_costs *costs;
    pp_compute_work work;
    pp_run_job job;
    pp_run_options options;
    pp_run_result result;
    pp_err err;
} running;

static pp_costs *make_costs(uint32_t ranks, uint32_t chunks)
{
    pp_uniform_costs uniform;
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    OK(pp_uniform_costs_parse("F=20us,I=20us,W=10us,comm=5us", &uniform, &err), err);
    OK(pp_costs_uniform(&uniform, ranks, ranks * chunks, MICROBATCHES, &costs, &err), err);
    costs->has_memory = true;
    for (uint32_t s = 0; s < costs->stages; s++) {
        costs->message_bytes[s] = s + 1 < costs->stages ? 256 + 16384 * s : 0;
        costs->activation_bytes[s] = 4096 + 32768 * s;
        costs->stash_bytes[s] = 512 + s;
        costs->temporary_bytes[s] = 128 + s;
    }
    return costs;
}

/* Returns false if this schedule does not run here. */
static bool prepare(running *r, const pp_schedule *schedule, const char *comm, job *j)
{
    uint32_t chunks = schedule->chunks ? schedule->chunks : 2;
    const pp_schedule_params shape = { .ranks = j->ranks,
                                       .chunks = chunks,
                                       .microbatches = MICROBATCHES };
    const pp_framework *framework;
    *r = (running){ 0 };
    if (schedule->simulate_only || pp_schedule_build(schedule, &shape, &r->order, &(pp_err){ 0 }))
        return false;
    r->costs = make_costs(j->ranks, chunks);
    OK(pp_framework_get("ppsim", &framework, &r->err), r->err);
    OK(pp_framework_lower(framework, r->order, r->costs, NULL, &r->program, &r->err), r->err);
    OK(parse_semantics(comm, "", &r->program->comm->semantics, &r->err), r->err);
    r->work = (pp_compute_work){ .ranks = r->order->ranks,
                                 .stages = r->order->stages,
                                 .microbatches = MICROBATCHES,
                                 .stage_rank = r->order->stage_rank,
                                 .costs = r->costs,
                                 .settings = "",
                                 .forward_only = r->program->forward_only };
    r->job = (pp_run_job){ .transport = &pp_transport_mpi,
                           .world = j->world,
                           .work = &r->work,
                           .worker = pp_alloc_array(j->ranks, sizeof *r->job.worker),
                           .program = r->program,
                           .costs = r->costs };
    r->options = (pp_run_options){
        .iterations = 2, .limit_bytes = -1, .check_memory = true, .deadline_ns = 10000000000
    };
    bool *holds = pp_alloc_array(r->order->stages, sizeof *holds);
    CHECK(r->job.worker && holds, "memory");
    for (uint32_t s = 0; s < r->order->stages; s++)
        holds[s] = r->order->stage_rank[s] == j->rank;
    OK(pp_compute_get("spin", &r->job.compute, &r->err), r->err);
    OK(r->job.compute->open(&r->work, holds, &r->job.worker[j->rank], &r->err), r->err);
    free(holds);
    return true;
}

static void give_back(running *r, const job *j)
{
    CHECK(!r->result.given_up, "a thread does not end");
    r->job.compute->close(r->job.worker[j->rank]);
    free(r->job.worker);
    pp_run_result_free(&r->result);
    pp_program_free(&r->program);
    pp_costs_free(&r->costs);
    pp_order_free(&r->order);
}

/* Every schedule runs with one rank per process and holds the predicted memory. */
static void schedules(job *j)
{
    static const char *const comms[] = { "rendezvous", "eager:1GB", "eager:20000B" };
    for (size_t i = 0; i < 3 * pp_schedule_count(); i++) {
        running r;
        const pp_schedule *schedule = pp_schedule_at(i / 3);
        if (!prepare(&r, schedule, comms[i % 3], j))
            continue;
        pp_status status = pp_run(&r.job, &r.options, &r.result, &r.err);
        CHECK(status == PP_OK, "%s %s: %s", schedule->name, comms[i % 3], r.err.text);
        CHECK(r.result.count == (j->rank == 0 ? 2 : 0), "%u", r.result.count);
        CHECK(r.result.memory_checks == (j->rank == 0 ? 2 * 2 * r.program->count : 0), "%s",
              schedule->name);
        give_back(&r, j);
    }
}

/* All processes end with one cause and a message: each that may report it reports `text`. */
static void fails(job *j, const char *fault, pp_ns deadline_ns, const char *text)
{
    running r;
    pp_faults faults = { 0 };
    pp_err err = { 0 };
    OK(pp_faults_add(fault, &faults, &err), err);
    CHECK(prepare(&r, pp_schedule_find("1f1b"), "rendezvous", j), "1f1b");
    r.options.faults = &faults;
    r.options.deadline_ns = deadline_ns;
    pp_status status = pp_run(&r.job, &r.options, &r.result, &r.err);
    CHECK(status != PP_OK && strstr(r.err.text, text), "%d: %s", status, r.err.text);
    fprintf(stderr, "%s\n", r.err.text);
    CHECK(r.result.flight, "no flight record");
    pp_transport_mpi.close(j->world); /* messages of the failed run may still arrive */
    j->world = NULL;
    give_back(&r, j);
}

/* A deadline that grows with the load: on a busy machine ranks reach their first meeting late. */
static pp_ns patient(pp_ns ns)
{
    double load = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file) {
        if (fscanf(file, "%lf", &load) != 1)
            load = 0;
        fclose(file);
    }
    return ns + (pp_ns)(load / 2 * (double)ns);
}

static void stall(job *j)
{
    fails(j, "stall,rank=2,at=3,time=100s", patient(2000000000), "rank 2");
}

static void other_plan(job *j)
{
    fails(j, "plan,rank=1", patient(5000000000), "rank 1");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(job *j);
    } cases[] = { { "schedules", schedules }, { "stall", stall }, { "other_plan", other_plan } };
    const char *size = getenv("PPSIM_TEST_RANKS");
    job j;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc != 2 || strcmp(argv[1], cases[i].name) != 0)
            continue;
        alarm(280);
        job_start(&j, size ? (uint32_t)strtoul(size, NULL, 10) : 4);
        cases[i].run(&j);
        job_finish(&j);
        return 0;
    }
    fprintf(stderr, "usage: PPSIM_TEST_RANKS=4 mpirun -n 4 %s CASE\n", argv[0]);
    return 2;
}
