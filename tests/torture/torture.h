#ifndef PPSIM_TESTS_TORTURE_H
#define PPSIM_TESTS_TORTURE_H

#include <stddef.h>

/* Fails one chosen allocation of the code under test: malloc, calloc, realloc, strdup, strndup and
 * aligned_alloc called from our own objects, and Jansson's, which go through its hook.
 * Check allocates through the same functions: disarm before any ck_assert. Not for several threads
 * that allocate at once, as the n-th would then be another one each time. */

/* From now on the n-th allocation (from 1) fails, once; 0 counts only. Returns 0, or -1 for n < 0.
 */
int pp_torture_arm(long n);
long pp_torture_count(void); /* allocations asked for since pp_torture_arm */
void pp_torture_disarm(void);

/* Runs body(context) with its 1st, 2nd, ... allocation failing, until a run needs fewer. Under
 * sanitizers, which are slow, only one in four fails after the first ones. body returns a status: 0
 * when it succeeded. A run in which an allocation failed must return `nomem`, or 0 when the
 * allocation can be done without. Returns 0 and the number of allocations of the whole body; or the
 * status that was neither, and the number of the allocation that led to it; -1 when `limit` runs
 * were not enough. */
int pp_torture_run(int (*body)(void *context), void *context, int nomem, long limit,
                   long *allocations_out);

#endif
