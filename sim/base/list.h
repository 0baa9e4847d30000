/* Lists of plain values that grow by one element. */
#ifndef PPSIM_SIM_BASE_LIST_H
#define PPSIM_SIM_BASE_LIST_H

#include "sim/base/alloc.h"

/* Defines `function`, which adds a zeroed element to the array `list` of an `owner`. The members
 * <list>_count and <list>_capacity of the owner are updated. It returns the element, or NULL when
 * there is no memory. */
#define PP_LIST_ADD(function, owner, list, type)                                                \
    type *function(owner *in, pp_err *err)                                                      \
    {                                                                                           \
        void *grown = in->list;                                                                 \
        if (pp_grow(&grown, &in->list##_capacity, in->list##_count + 1, sizeof *in->list, err)) \
            return NULL;                                                                        \
        in->list = grown;                                                                       \
        return &in->list[in->list##_count++];                                                   \
    }

/* Like PP_LIST_ADD, but the function is static. */
#define PP_LIST_ADD_STATIC(function, owner, list, type) \
    static PP_LIST_ADD(function, owner, list, type)

#endif
