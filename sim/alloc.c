#include "sim/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *pp_alloc_array(size_t count, size_t size)
{
    if (count == 0)
        count = 1;
    if (size && count > SIZE_MAX / 2 / size)
        return NULL;
    return calloc(count, size);
}

pp_status pp_grow(void **array, size_t *capacity, size_t needed, size_t size, pp_err *err)
{
    if (needed <= *capacity)
        return PP_OK;
    if (*capacity > SIZE_MAX / 8 / size || needed > SIZE_MAX / 4 / size)
        return pp_err_nomem(err);
    size_t target = *capacity ? 2 * *capacity : 16;
    if (target < needed)
        target = needed;
    char *grown = realloc(*array, target * size);
    if (!grown)
        return pp_err_nomem(err);
    memset(grown + *capacity * size, 0, (target - *capacity) * size);
    *array = grown;
    *capacity = target;
    return PP_OK;
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
