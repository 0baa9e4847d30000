/* Watches the other processes of this machine through file descriptors of theirs (pidfd_open(2),
 * Linux 5.3), which can be read from once a process has ended. MPI itself says nothing, and its
 * launcher ends the others at once, often before they can say why they wait. A process that ends by
 * itself has sent a stop before, and is not missed; one that misses another says in its stop which,
 * so that all know. Processes are of one machine and may be watched if they were booted together
 * and number processes alike (namespaces(7)). */
#define _GNU_SOURCE /* syscall */
#include "runtime/mpi/neighbours.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    WATCHED_MOST = 256,
    LOOKS = 8, /* calls of MPI until a message that lies in memory is sure to have arrived */
};

/* Where a process is. Equal but for `pid` on one machine. */
typedef struct place {
    char boot[40];
    uint64_t namespace_file;
    int64_t pid;
} place;

static place own_place(void)
{
    place own = { .pid = getpid() };
    struct stat numbers;
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, own.boot, sizeof own.boot - 1) < 0)
            own.boot[0] = '\0';
        close(file);
    }
    if (stat("/proc/self/ns/pid", &numbers) == 0)
        own.namespace_file = (uint64_t)numbers.st_ino;
    return own;
}

static bool is_near(const place *a, const place *b)
{
    return a->boot[0] && a->namespace_file && memcmp(a->boot, b->boot, sizeof a->boot) == 0 &&
           a->namespace_file == b->namespace_file;
}

static int watch(int64_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

int pp_mpi_neighbours_find(pp_world *world)
{
    const size_t ranks = (size_t)world->ranks;
    place own = own_place();
    place *all = calloc(ranks, sizeof *all);
    world->neighbour = calloc(ranks, sizeof *world->neighbour);
    world->neighbour_rank = calloc(ranks, sizeof *world->neighbour_rank);
    int lacks = !all || !world->neighbour || !world->neighbour_rank;
    int code = MPI_Allreduce(MPI_IN_PLACE, &lacks, 1, MPI_INT, MPI_MAX, world->collective);
    if (!code && !lacks)
        code =
            MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, world->collective);
    for (size_t r = 0; r < ranks && !code && !lacks && world->neighbours < WATCHED_MOST; r++) {
        if ((int)r == world->rank || !is_near(&own, &all[r]))
            continue;
        const int file = watch(all[r].pid);
        if (file < 0)
            continue;
        world->neighbour[world->neighbours] = (struct pollfd){ .fd = file, .events = POLLIN };
        world->neighbour_rank[world->neighbours++] = (uint32_t)r;
    }
    free(all);
    return code;
}

void pp_mpi_neighbours_free(pp_world *world)
{
    for (uint32_t k = 0; k < world->neighbours; k++)
        close(world->neighbour[k].fd);
    free(world->neighbour);
    free(world->neighbour_rank);
}

void pp_mpi_look(pp_world *world)
{
    int came = 0;
    if (world->stop_request == MPI_REQUEST_NULL)
        return;
    MPI_Test(&world->stop_request, &came, MPI_STATUS_IGNORE);
    if (!came)
        return;
    if (world->gone == PP_NOBODY && !world->told)
        world->gone = world->stop_word;
    world->heard = !world->told;
    world->told = true;
    atomic_store(&world->stopped, true);
}

/* Returns a rank whose process has ended, or PP_NOBODY. The lock is held. */
static int32_t find_ended(pp_world *world)
{
    if (!world->neighbours || poll(world->neighbour, world->neighbours, 0) <= 0)
        return PP_NOBODY;
    uint32_t k = 0;
    while (k + 1 < world->neighbours && !world->neighbour[k].revents)
        k++;
    return (int32_t)world->neighbour_rank[k];
}

bool pp_mpi_lost(pp_world *world, uint32_t *rank_out)
{
    pthread_mutex_lock(&world->lock);
    const int32_t ended = find_ended(world);
    for (int i = 0; i < LOOKS && ended != PP_NOBODY; i++)
        pp_mpi_look(world); /* what it said before */
    if (ended != PP_NOBODY && !world->told)
        world->gone = ended;
    const int32_t gone = world->gone;
    pthread_mutex_unlock(&world->lock);
    if (gone != PP_NOBODY)
        *rank_out = (uint32_t)gone;
    return gone != PP_NOBODY;
}
