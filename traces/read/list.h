/* Lists of plain values that grow by one element. */
#ifndef PPSIM_TRACES_READ_LIST_H
#define PPSIM_TRACES_READ_LIST_H

#include "sim/base/alloc.h"

/* Defines pp_<owner>_add_<list>: it adds a zeroed element to the array `list` of a pp_<owner>, next
 * to which <list>_count and <list>_capacity stand, and returns it; NULL: no memory. */
#define PP_LIST_ADD(owner, list, type)                                                          \
    type *pp_##owner##_add_##list(pp_##owner *in, pp_err *err)                                  \
    {                                                                                           \
        void *grown = in->list;                                                                 \
        if (pp_grow(&grown, &in->list##_capacity, in->list##_count + 1, sizeof *in->list, err)) \
            return NULL;                                                                        \
        in->list = grown;                                                                       \
        return &in->list[in->list##_count++];                                                   \
    }

#endif
