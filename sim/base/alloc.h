/* Allocation with the multiplication checked. Free with free(). */
#ifndef PPSIM_SIM_BASE_ALLOC_H
#define PPSIM_SIM_BASE_ALLOC_H

#include "sim/base/status.h"

#include <stddef.h>

/* Zeroed; NULL when count * size overflows or memory is out. count 0 gives a block of one. */
void *pp_alloc_array(size_t count, size_t size);

/* Grows *array (of elements of `size` bytes) so that it holds `needed`; at least doubles, the new
 * part zeroed. Fails: NOMEM, *array and *capacity are untouched then. */
PP_MUST_CHECK pp_status pp_grow(void **array, size_t *capacity, size_t needed, size_t size,
                                pp_err *err);

/* The same, the new part not zeroed: for elements that are written whole. */
PP_MUST_CHECK pp_status pp_reserve(void **array, size_t *capacity, size_t needed, size_t size,
                                   pp_err *err);

/* For a process that lowers and simulates again and again: what is freed stays with the process
 * (glibc only), so that the next program does not fault its pages in again. Call it once, before
 * any thread.
 */
void pp_alloc_keep_freed(void);

/* A copy of `text`, or NULL. */
char *pp_copy_text(const char *text);

void pp_free_text(char **text); /* for PP_CLEANUP */

#endif
