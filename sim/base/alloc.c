/* Arrays with a checked size, and arrays that at least double when they grow, so that appending
 * takes constant time on average. */
#include "sim/base/alloc.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void pp_alloc_keep_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void *pp_alloc_array(size_t count, size_t size)
{
    if (count == 0)
        count = 1;
    if (size && count > SIZE_MAX / 2 / size)
        return NULL;
    return calloc(count, size);
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
