/* Allocation with checked multiplication. All blocks are freed with free(). */
#ifndef PPSIM_SIM_BASE_ALLOC_H
#define PPSIM_SIM_BASE_ALLOC_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A zeroed array of at least one element; NULL when count * size overflows or memory is out. */
void *pp_alloc_array(size_t count, size_t size);

/* Makes room for `needed` elements of `size` bytes in *array: at least doubles it when it grows,
 * and zeroes the new part.
 * Fails: NOMEM; *array and *capacity are then unchanged. */
PP_MUST_CHECK pp_status pp_grow(void **array, size_t *capacity, size_t needed, size_t size,
                                pp_err *err);

/* Like pp_grow, but leaves the new part uninitialised. */
PP_MUST_CHECK pp_status pp_reserve(void **array, size_t *capacity, size_t needed, size_t size,
                                   pp_err *err);

/* Keeps freed memory in the process, in huge pages if possible (glibc only), so that a process that
 * simulates many programs does not fault the same pages in again and again, and turns fast bins
 * off. Call it once, before starting threads. */
void pp_alloc_keep_freed(void);

/* Like pp_alloc_array, but uninitialised. Huge pages are asked for if it is large and freed memory
 * is kept. */
void *pp_alloc_large(size_t count, size_t size);

/* The first place at or after `at`, which is in a block with PP_APART more bytes, that lies in a
 * quarter (0 to 3) of a page: arrays that are read at the same index begin in different ones, so
 * that they do not contend for the same lines of a cache. */
#define PP_APART 4096
static inline void *pp_apart(void *at, uintptr_t quarter)
{
    return (char *)at + ((quarter * (PP_APART / 4) - (uintptr_t)at) & (PP_APART - 1));
}

/* A copy of `text`, or NULL. */
char *pp_copy_text(const char *text);

void pp_free_text(char **text); /* for PP_CLEANUP */
/* For PP_CLEANUP of an array of any type. at: the address of the pointer to it, which may be NULL.
 */
void pp_free_array(void *at);

#endif
