/* The ops of a rank with the actions that gather and free the parameters of its stages and reduce
 * their gradients, as PyTorch's pipeline runtime places them. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_SHARDING_ROW_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_SHARDING_ROW_H

#include "sim/program/comm.h"

/* One cell of a row: 1 or 2 compute ops from `op` on, or a mark. */
typedef struct pp_row_action {
    uint32_t op;
    uint16_t stage; /* marks */
    uint8_t ops;    /* 0: a mark */
    uint8_t mark;
} pp_row_action;

/* All zero is an empty row. The owner frees `action`. */
typedef struct pp_sharding_row {
    pp_row_action *action;
    size_t count, capacity;
} pp_sharding_row;

typedef struct pp_sharding_rules {
    int32_t lookahead; /* as in pp_pytorch_settings */
    bool waits; /* PyTorch 2.15: a rank waits for each reduction (WAIT_REDUCE_GRAD), and stages are
                   freed in the order in which they were gathered, not in that of a Python set */
    uint32_t *weight_gradients; /* [stages]: scratch, all 0 before the first rank */
} pp_sharding_rules;

/* Makes the row of `rank`. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_sharding_row_make(const pp_program *program, uint32_t rank,
                                             pp_sharding_rules rules, pp_sharding_row *row,
                                             pp_err *err);

#endif
