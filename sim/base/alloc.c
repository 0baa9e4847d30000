/* Arrays with a checked size, and arrays that at least double when they grow, so that appending
 * takes constant time on average. The heap of a process that keeps what it frees is in huge pages
 * where the kernel grants them, since a step of some 10 MB otherwise spends a third of its time on
 * faulting pages in. */
#define _DEFAULT_SOURCE /* madvise, sbrk */
#include "sim/base/alloc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#define MIB ((size_t)1 << 20)
/* By which the heap grows. It costs nothing until it is written (by calloc, too), and the first
 * part is asked for as huge pages: it holds a step of 16 million ops without communication. */
#define HEAP_STEP (1024 * MIB)
#define SMALL_STEP (64 * MIB) /* where there are less than 4 steps of memory */

/* Asks for huge pages from a large block to the end of the heap. Asking before the pages are
 * written is what counts, also for the blocks that will follow. */
static void ask_for_huge_pages(void *block, size_t bytes)
{
    if (!block || bytes < 4 * MIB)
        return;
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 4096, begin = (uintptr_t)block & ~(page - 1);
    const uintptr_t end = (uintptr_t)sbrk(0);
    if (begin < end) /* not so in the heaps of other threads */
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#endif
}

#ifdef __GLIBC__
/* Returns true if addresses are limited, so that the heap must not take more than it needs: for
 * this process, or for all of them because the kernel grants no more than there is (overcommit 2).
 * Allocates nothing, since the heap would begin with a small part. */
static bool is_limited(void)
{
    struct rlimit space, data;
    char overcommit = '0';
    const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    const bool known = file >= 0 && read(file, &overcommit, 1) == 1;
    if (file >= 0)
        (void)close(file);
    return (known && overcommit == '2') || getrlimit(RLIMIT_AS, &space) ||
           getrlimit(RLIMIT_DATA, &data) || space.rlim_cur != RLIM_INFINITY ||
           data.rlim_cur != RLIM_INFINITY;
}

static size_t heap_step(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return (double)pages * (double)page < 4.0 * HEAP_STEP ? SMALL_STEP : HEAP_STEP;
}
#endif

void pp_alloc_keep_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    /* Freeing a large block empties the fast bins, which goes all over the memory: a sixth of a
     * simulation with a report of 65,535 ranks. */
    mallopt(M_MXFAST, 0);
    if (is_limited())
        return;
    const size_t step = heap_step();
    mallopt(M_TOP_PAD, (int)step);
    void *first = malloc(1);
    ask_for_huge_pages(first, step);
    free(first);
#endif
}

/* Whether an array of at least one element fits the address space. */
static bool fits(size_t *count, size_t size)
{
    *count += *count == 0;
    return !size || *count <= SIZE_MAX / 2 / size;
}

void *pp_alloc_array(size_t count, size_t size)
{
    return fits(&count, size) ? calloc(count, size) : NULL;
}

void *pp_alloc_large(size_t count, size_t size)
{
    void *array = fits(&count, size) ? malloc(count * size) : NULL;
    ask_for_huge_pages(array, count * size);
    return array;
}

pp_status pp_reserve(void **array, size_t *capacity, size_t needed, size_t size, pp_err *err)
{
    if (needed <= *capacity)
        return PP_OK;
    if (*capacity > SIZE_MAX / 8 / size || needed > SIZE_MAX / 4 / size)
        return pp_err_nomem(err);
    size_t target = *capacity ? 2 * *capacity : 16;
    if (target < needed)
        target = needed;
    void *grown = realloc(*array, target * size);
    if (!grown)
        return pp_err_nomem(err);
    ask_for_huge_pages(grown, target * size);
    *array = grown;
    *capacity = target;
    return PP_OK;
}

pp_status pp_grow(void **array, size_t *capacity, size_t needed, size_t size, pp_err *err)
{
    size_t before = *capacity;
    pp_status status = pp_reserve(array, capacity, needed, size, err);
    if (!status && *capacity > before)
        memset((char *)*array + before * size, 0, (*capacity - before) * size);
    return status;
}

char *pp_copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void pp_free_text(char **text)
{
    free(*text);
}

void pp_free_array(void *at)
{
    void *array;
    memcpy(&array, at, sizeof array);
    free(array);
}
