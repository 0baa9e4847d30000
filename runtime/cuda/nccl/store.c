/* Operations of all ranks of a job outside of NCCL. Within one process they share memory and meet
 * at a barrier; between processes runtime/cuda/nccl/store_tcp.c sends the data. */
#include "runtime/cuda/nccl/store.h"

#include "runtime/cuda/nccl/store_tcp.h"

#include <stdlib.h>
#include <string.h>

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

/* Waits until all ranks of this process have called it. */
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
    *error_ns = (shortest + 1) / 2; /* the answer was sent at some time in between */
    return PP_OK;
}

void pp_store_stop(pp_store *store)
{
    if (store->place.launched)
        pp_store_net_stop(store);
    else if (!atomic_exchange(&store->stopped, true))
        pp_store_wake(store);
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
    if (!store->place.launched) /* not started by a launcher: there is no other process */
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
