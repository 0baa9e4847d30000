/* Whether an order is complete and legal. */
#ifndef PPSIM_SIM_ORDER_ORDER_CHECK_H
#define PPSIM_SIM_ORDER_ORDER_CHECK_H

#include "sim/order/order.h"

/* Every stage on its rank; F once, and B once or I and W once, per (stage, microbatch), or F once
 * and nothing else everywhere; B and I after F, W after I. Fails: INPUT, where names rank and
 * position; NOMEM. `file`: for where. */
PP_MUST_CHECK pp_status pp_order_check(const pp_order *order, const char *file, pp_err *err);

#endif
