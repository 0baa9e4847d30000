/* Checks that an order is complete and legal. */
#ifndef PPSIM_SIM_ORDER_ORDER_CHECK_H
#define PPSIM_SIM_ORDER_ORDER_CHECK_H

#include "sim/order/order.h"

/* Checks that every op is on the rank of its stage, that each (stage, microbatch) has one F and
 * either one B or one I and one W (or all have one F only), and that on each rank B and I follow F
 * and W follows I. file: what err calls the order.
 * Fails: INPUT with rank and position, NOMEM. */
PP_MUST_CHECK pp_status pp_order_check(const pp_order *order, const char *file, pp_err *err);

/* Like pp_order_check for a part of an order: an op may be missing, and counts as done. Stages and
 * microbatches must be within those of the order. */
PP_MUST_CHECK pp_status pp_order_check_excerpt(const pp_order *order, const char *file,
                                               pp_err *err);

#endif
