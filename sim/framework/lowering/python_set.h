/* The order in which CPython (3.10 and later) iterates over a set of small integers. PyTorch's
 * unshard pass keeps the gathered stages in such a set and frees them in its order. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_PYTHON_SET_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_PYTHON_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PP_PYTHON_SET_MAX = 4,   /* members at a time */
    PP_PYTHON_SET_SLOTS = 32 /* the largest table that so few members get */
};

/* {0} is the empty set. */
typedef struct pp_python_set {
    uint32_t slot[PP_PYTHON_SET_SLOTS]; /* 0: never used, 1: removed, else member + 2 */
    uint32_t mask_grown;                /* slots - 8 */
    uint32_t used, filled;              /* members; those and removed ones */
} pp_python_set;

/* A member that it does not have yet; at most PP_PYTHON_SET_MAX at a time. */
void pp_python_set_add(pp_python_set *set, uint32_t member);
/* One that it has. */
void pp_python_set_remove(pp_python_set *set, uint32_t member);
bool pp_python_set_has(const pp_python_set *set, uint32_t member);
/* Into out: [PP_PYTHON_SET_MAX]. Returns their number. */
size_t pp_python_set_list(const pp_python_set *set, uint32_t *out);

#endif
