/* Threads that take the next item from a counter until none is left. They are created for each
 * call, which costs some 20 microseconds: the items should take much longer. */
#include "sim/base/for_each.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MOST = 256 };

typedef struct crew {
    void (*work)(void *context, size_t i);
    void *context;
    size_t count;
    atomic_size_t next;
} crew;

static void *take_items(void *data)
{
    crew *c = data;
    size_t i;
    while ((i = atomic_fetch_add(&c->next, 1)) < c->count)
        c->work(c->context, i);
    return NULL;
}

void pp_for_each(uint32_t threads, size_t count, void (*work)(void *context, size_t i),
                 void *context)
{
    crew c = { .work = work, .context = context, .count = count };
    pthread_t thread[THREADS_MOST];
    size_t started = 0;
    while (started + 1 < threads && started + 1 < count && started < THREADS_MOST &&
           pthread_create(&thread[started], NULL, take_items, &c) == 0)
        started++;
    take_items(&c);
    for (size_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}
