#include "runtime/cuda/store_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PORT = 29511, PATIENCE_S = 120 };

/* NULL: the variable is not set. */
static pp_status read_number(const pp_module_services *services, const char *name, long most,
                             uint32_t *out, pp_err *err)
{
    const char *text = getenv(name);
    char *end;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    if (text && (errno || end == text || *end || value < 0 || value > most))
        return services->err_set(err, PP_USAGE, name, "'%.40s' is no number from 0 to %ld", text,
                                 most);
    if (text)
        *out = (uint32_t)value;
    return PP_OK;
}

/* rank, number of ranks, rank on this machine, ranks on this machine, job, part of the job */
static const char *const launchers[][6] = {
    { "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID" },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE" },
    { "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID" },
    { "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
      "SLURM_JOB_ID", "SLURM_STEP_ID" },
};

static const char *const *launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (getenv(launchers[i][0]) && getenv(launchers[i][1]))
            return launchers[i];
    return NULL;
}

static void name_job(const char *const *name, pp_store_place *place)
{
    const char *job = name[4] ? getenv(name[4]) : NULL;
    const char *part = name[5] ? getenv(name[5]) : NULL;
    snprintf(place->job, sizeof place->job, "%.90s%s%.30s", job ? job : "", part ? "." : "",
             part ? part : "");
}

pp_status pp_store_find_place(const pp_module_services *services, pp_store_place *place_out,
                              pp_err *err)
{
    const char *const *name = launcher();
    const char *host = getenv("MASTER_ADDR");
    pp_store_place place = { .launched = name != NULL, .patience_s = PATIENCE_S };
    pp_err no_number = { 0 };
    uint32_t here = 0;
    uint32_t port = 0;
    if (!name) {
        *place_out = place;
        return PP_OK;
    }
    pp_status status = read_number(services, name[0], INT32_MAX, &place.rank, err);
    place.local = place.rank;
    if (status || (status = read_number(services, name[1], INT32_MAX, &place.ranks, err)) ||
        (status = read_number(services, "SLURM_LOCALID", INT32_MAX, &place.local, err)) ||
        (status = read_number(services, name[2], INT32_MAX, &place.local, err)) ||
        (status = read_number(services, "MASTER_PORT", UINT16_MAX - 1, &port, err)) ||
        (status = read_number(services, "PPSIM_START_S", INT32_MAX, &place.patience_s, err)))
        return status;
    if (place.rank >= place.ranks)
        return services->err_set(err, PP_USAGE, name[0], "is %u, of %u ranks (%s)", place.rank,
                                 place.ranks, name[1]);
    if (place.ranks == 1) { /* such a process is alone */
        *place_out = (pp_store_place){ 0 };
        return PP_OK;
    }
    if (!host) /* several machines: srun writes "4(x2)" or "4,3" */
        (void)read_number(services, name[3], INT32_MAX, &here, &no_number);
    if (!host && here != place.ranks)
        return services->err_set(err, PP_USAGE, "MASTER_ADDR",
                                 "is not set; it names the machine of rank 0 when there are "
                                 "several");
    snprintf(place.host, sizeof place.host, "%s", host ? host : "127.0.0.1");
    place.port = (uint16_t)(port ? port + 1 : PORT); /* torchrun itself listens at its own */
    name_job(name, &place);
    *place_out = place;
    return PP_OK;
}

pp_status pp_store_open(const pp_module_services *services, const pp_store_place *place,
                        uint32_t ranks, const volatile sig_atomic_t *stop, pp_store **store_out,
                        pp_err *err)
{
    pp_store *store = calloc(1, sizeof *store);
    if (!store)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    pthread_condattr_t monotonic;
    store->services = services;
    store->stop = stop;
    store->place = *place;
    store->ranks = ranks;
    store->door = -1;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->writing, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
    store->gathered = calloc(ranks, sizeof *store->gathered);
    store->peer = calloc(ranks, sizeof *store->peer);
    store->left = calloc(ranks, sizeof *store->left);
    store->gather = calloc(ranks, sizeof *store->gather);
    store->collect = calloc(ranks, sizeof *store->collect);
    pp_status status = PP_OK;
    if (!store->gathered || !store->peer || !store->left || !store->gather || !store->collect)
        status = services->err_set(err, PP_NOMEM, NULL, "out of memory");
    for (uint32_t r = 0; r < ranks && store->peer; r++)
        store->peer[r] = -1;
    if (!status && place->launched)
        status = pp_store_connect(store, err);
    if (status)
        pp_store_close(store);
    else
        *store_out = store;
    return status;
}

void pp_store_close(pp_store *store)
{
    if (!store)
        return;
    if (store->place.launched && store->peer)
        pp_store_disconnect(store);
    for (uint32_t r = 0; r < store->ranks && store->gather && store->collect; r++) {
        free(store->gather[r].bytes);
        free(store->collect[r].bytes);
    }
    free(store->all.bytes);
    free(store->left);
    free(store->gather);
    free(store->collect);
    free(store->gathered);
    free(store->peer);
    pthread_cond_destroy(&store->moved);
    pthread_mutex_destroy(&store->writing);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

bool pp_store_stopped(const pp_store *store)
{
    return (store->stop && *store->stop) ||
           atomic_load_explicit(&store->stopped, memory_order_relaxed);
}

void pp_store_nap(pp_store *store)
{
    const long nap_ns = 20000000;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += nap_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&store->moved, &store->lock, &until);
}

/* Until all ranks of this process are here. */
static pp_status barrier(pp_store *store, pp_err *err)
{
    pthread_mutex_lock(&store->lock);
    uint64_t round = store->round;
    if (++store->here == store->ranks) {
        store->here = 0;
        store->round++;
        pthread_cond_broadcast(&store->moved);
    }
    while (store->round == round && !pp_store_stopped(store))
        pp_store_nap(store);
    bool through = store->round != round;
    pthread_mutex_unlock(&store->lock);
    return through ? PP_OK : store->services->world_stopped(err);
}

pp_status pp_store_all_gather(pp_store *store, uint32_t rank, const void *mine, size_t bytes,
                              void *all_out, pp_err *err)
{
    if (pp_store_stopped(store))
        return store->services->world_stopped(err);
    if (store->place.launched)
        return pp_store_net_gather(store, mine, bytes, all_out, err);
    store->gathered[rank] = mine;
    pp_status status = barrier(store, err);
    for (uint32_t r = 0; r < store->ranks && !status && bytes; r++)
        memcpy((char *)all_out + r * bytes, store->gathered[r], bytes);
    return status ? status : barrier(store, err);
}

pp_status pp_store_tell(pp_store *store, void *bytes, size_t count, pp_err *err)
{
    if (!store->place.launched || count == 0)
        return PP_OK;
    char *all = malloc(store->ranks * count);
    if (!all)
        return store->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    pp_status status = pp_store_net_gather(store, bytes, count, all, err);
    if (!status)
        memcpy(bytes, all, count);
    free(all);
    return status;
}

pp_status pp_store_clock_ahead(pp_store *store, pp_ns *ahead_ns, pp_ns *error_ns, pp_err *err)
{
    enum { ROUNDS = 32 };
    pp_ns shortest = INT64_MAX;
    pp_ns ahead = 0;
    if (!store->place.launched || store->place.rank == 0) {
        *ahead_ns = *error_ns = 0;
        return PP_OK;
    }
    for (int i = 0; i < ROUNDS; i++) {
        pp_ns there = 0;
        pp_ns asked = store->services->clock_now_ns();
        pp_status status = pp_store_net_clock(store, &there, err);
        if (status)
            return status;
        pp_ns took = store->services->clock_now_ns() - asked;
        if (took < shortest) {
            shortest = took;
            ahead = asked + took / 2 - there;
        }
    }
    *ahead_ns = ahead;
    *error_ns = (shortest + 1) / 2; /* the answer left somewhere in between */
    return PP_OK;
}

void pp_store_stop(pp_store *store)
{
    if (atomic_exchange(&store->stopped, true))
        return;
    if (store->place.launched)
        pp_store_net_stop(store);
    pthread_mutex_lock(&store->lock);
    pthread_cond_broadcast(&store->moved);
    pthread_mutex_unlock(&store->lock);
}

bool pp_store_alarmed(pp_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool alarm = store->alarm;
    pthread_mutex_unlock(&store->lock);
    return alarm;
}

pp_status pp_store_collect(pp_store *store, const void *mine, size_t bytes, pp_ns patience_ns,
                           void *all_out, bool *came_out, pp_err *err)
{
    (void)err;
    pp_ns until = store->services->clock_now_ns() + patience_ns;
    uint32_t came = 0;
    char *all = all_out;
    if (!store->place.launched) /* nobody else knows more */
        return PP_OK;
    memset(came_out, 0, store->ranks * sizeof *came_out);
    memcpy(all + store->place.rank * bytes, mine, bytes);
    came_out[store->place.rank] = true;
    pp_store_net_collect(store, mine, bytes);
    pthread_mutex_lock(&store->lock);
    do {
        came = 1;
        for (uint32_t r = 0; r < store->ranks; r++) {
            const pp_store_part *part = &store->collect[r];
            if (r == store->place.rank || !part->there || part->count != bytes)
                continue;
            memcpy(all + r * bytes, part->bytes, bytes);
            came_out[r] = true;
            came++;
        }
        if (came < store->ranks)
            pp_store_nap(store);
    } while (came < store->ranks && store->services->clock_now_ns() < until);
    pthread_mutex_unlock(&store->lock);
    return PP_OK;
}
