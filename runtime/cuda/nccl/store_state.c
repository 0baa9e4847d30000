/* Waits of the store's threads: on a condition variable, for 20 ms at most, so that they notice a
 * stop flag that a signal handler has set. */
#include "runtime/cuda/nccl/store_state.h"

#include <time.h>

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

void pp_store_wake(pp_store *store)
{
    pthread_mutex_lock(&store->lock);
    pthread_cond_broadcast(&store->moved);
    pthread_mutex_unlock(&store->lock);
}
