/* The order in which CPython (3.10 and later) iterates over a set of small integers. PyTorch's
 * unshard pass keeps the gathered stages in such a set and frees them in its order. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_PYTHON_SET_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_PYTHON_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PP_PYTHON_SET_MAX = 4,   /* the largest number of members at a time */
    PP_PYTHON_SET_SLOTS = 32 /* the largest table that CPython makes for them */
};

/* {0} is the empty set. */
typedef struct pp_python_set {
    uint32_t slot[PP_PYTHON_SET_SLOTS]; /* 0: never used, 1: removed, else member + 2 */
    uint32_t mask_grown;                /* slots - 8 */
    uint32_t used, filled;              /* slots of members; slots of members and removed ones */
} pp_python_set;

/* Adds a member that the set does not have. It must have fewer than PP_PYTHON_SET_MAX. */
void pp_python_set_add(pp_python_set *set, uint32_t member);
/* Removes a member that the set has. */
void pp_python_set_remove(pp_python_set *set, uint32_t member);
bool pp_python_set_has(const pp_python_set *set, uint32_t member);
/* Writes the members to `out`, [PP_PYTHON_SET_MAX], in CPython's order. Returns their number. */
size_t pp_python_set_list(const pp_python_set *set, uint32_t *out);

#endif
