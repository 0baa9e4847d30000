/* Waits for MPI by polling: at first without a pause, then yielding, then with sleeps that grow.
 * Each round also checks whether the run must end. */
#include "runtime/mpi/wait.h"

#include "runtime/mpi/neighbours.h"

#include <sched.h>
#include <time.h>

/* The quickest response comes first. With a core for each rank the first milliseconds are spent
 * polling; otherwise the cores are left to ranks that compute. */
void pp_mpi_pause(const pp_world *world, pp_patience *patience)
{
    enum { ASK = 200, YIELD = 20000, YIELD_CROWDED = 20, STEP_NS = 5000, LONGEST_NS = 100000 };
    uint32_t round = patience->rounds++;
    if (world->roomy && round < ASK)
        return;
    uint32_t yields = world->roomy ? YIELD : YIELD_CROWDED;
    if (round < yields) {
        sched_yield();
        return;
    }
    long nap_ns = (long)++patience->naps * STEP_NS;
    if (nap_ns > LONGEST_NS || nap_ns <= 0)
        nap_ns = LONGEST_NS;
    nanosleep(&(struct timespec){ .tv_nsec = nap_ns }, NULL);
}

bool pp_mpi_flagged(const pp_world *world)
{
    return (world->stop && *world->stop) ||
           atomic_load_explicit(&world->stopped, memory_order_relaxed);
}

bool pp_mpi_stopped(pp_world *world)
{
    if (!pp_mpi_flagged(world) && pthread_mutex_trylock(&world->lock) == 0) {
        pp_mpi_look(world);
        pthread_mutex_unlock(&world->lock);
    }
    return pp_mpi_flagged(world);
}

pp_status pp_mpi_nomem(const pp_world *world, pp_err *err)
{
    return world->services->err_set(err, PP_NOMEM, NULL, "out of memory");
}

pp_status pp_mpi_failed(const pp_world *world, int code, const char *what, pp_err *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return world->services->err_set(err, PP_IO, NULL, "%s failed; MPI reports: %.*s", what, length,
                                    text);
}

pp_status pp_mpi_finish(pp_world *world, MPI_Request *request, int count, const char *what,
                        pp_err *err)
{
    uint32_t ignored;
    pp_patience patience = { 0 };
    for (;;) {
        int done = 0;
        pthread_mutex_lock(&world->lock);
        int code = MPI_Testall(count, request, &done, MPI_STATUSES_IGNORE);
        pthread_mutex_unlock(&world->lock);
        if (code)
            return pp_mpi_failed(world, code, what, err);
        if (done)
            return PP_OK;
        if (pp_mpi_stopped(world) || (patience.naps > 0 && pp_mpi_lost(world, &ignored)))
            return world->services->world_stopped(err);
        pp_mpi_pause(world, &patience);
    }
}
