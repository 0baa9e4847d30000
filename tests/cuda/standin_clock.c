/* The stand-in's clock: that of the machine or, with STANDIN_CLOCK=own, one that advances only when
 * all threads wait for it, so that the results of a test do not depend on the load of the machine.
 *
 * A discrete-event simulation: work that takes time states when it will be over (standin_is_early).
 * The clock jumps to the next of these times when the host waits for a stream, or queries an event
 * again and again, and no stream can continue without it. A stream that has work is stuck once it
 * has tried its work since the last change, which is new work, work that is over, or a jump. */
#include "tests/cuda/standin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 64, LOOKS = 2 };

typedef struct slot {
    bool taken, works;
    uint64_t tried; /* at this change its work was not over */
    int64_t due_us; /* earliest end of its work; 0: does not depend on time */
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot slots[SLOTS];
static uint64_t changes = 1;
static int64_t own_us = 1000000; /* not 0, which means "not yet" */
static int looks;                /* queries of events since the last jump, while all streams are
                                    stuck */
static __thread int64_t due_us;  /* of the work that this thread tries */

static bool is_own(void)
{
    const char *clock = getenv("STANDIN_CLOCK");
    return clock && strcmp(clock, "own") == 0;
}

static int64_t now_ns(void)
{
    struct timespec now;
    if (is_own())
        return own_us * 1000;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool standin_is_early(int64_t *since_us, long us)
{
    if (us == 0)
        return false;
    pthread_mutex_lock(&lock);
    const int64_t now = now_ns() / 1000;
    pthread_mutex_unlock(&lock);
    if (*since_us == 0)
        *since_us = now;
    due_us = now < *since_us + us ? *since_us + us : 0;
    return due_us != 0;
}

int64_t standin_mark_ns(void)
{
    pthread_mutex_lock(&lock);
    own_us += is_own();
    const int64_t now = now_ns();
    pthread_mutex_unlock(&lock);
    return now;
}

int standin_clock_join(void)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < SLOTS && slots[i].taken)
        i++;
    if (i == SLOTS)
        standin_wrong("too many streams");
    slots[i] = (slot){ .taken = true };
    pthread_mutex_unlock(&lock);
    return i;
}

void standin_clock_leave(int number)
{
    pthread_mutex_lock(&lock);
    slots[number].taken = slots[number].works = false;
    pthread_mutex_unlock(&lock);
}

void standin_clock_change(int number, bool works)
{
    pthread_mutex_lock(&lock);
    slots[number].works = works;
    changes++;
    pthread_mutex_unlock(&lock);
}

void standin_clock_get_on(void)
{
    pthread_mutex_lock(&lock);
    changes++;
    pthread_mutex_unlock(&lock);
}

uint64_t standin_clock_try(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t at = changes;
    pthread_mutex_unlock(&lock);
    due_us = 0;
    return at;
}

void standin_clock_stuck(int number, uint64_t at)
{
    pthread_mutex_lock(&lock);
    slots[number].tried = at;
    slots[number].due_us = due_us;
    pthread_mutex_unlock(&lock);
}

/* The next time at which something happens; 0 if a stream can still continue, or none needs the
 * clock. */
static int64_t next_us(void)
{
    int64_t next = 0;
    for (int i = 0; i < SLOTS; i++) {
        if (!slots[i].works)
            continue;
        if (slots[i].tried != changes)
            return 0;
        if (slots[i].due_us && (next == 0 || slots[i].due_us < next))
            next = slots[i].due_us;
    }
    return next;
}

/* The lock is held. */
static void jump(int64_t to_us)
{
    own_us = to_us > own_us ? to_us : own_us;
    changes++;
    looks = 0;
}

bool standin_clock_wait(int number)
{
    pthread_mutex_lock(&lock);
    const bool own = is_own();
    const int64_t next = own && slots[number].works ? next_us() : 0;
    if (next)
        jump(next);
    pthread_mutex_unlock(&lock);
    return own;
}

/* The host reads the state between two queries, so the first query never moves the clock. */
void standin_clock_look(void)
{
    pthread_mutex_lock(&lock);
    const int64_t next = is_own() ? next_us() : 0;
    if (next && ++looks >= LOOKS)
        jump(next);
    pthread_mutex_unlock(&lock);
}
