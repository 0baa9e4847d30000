/* Reads "ppsim.instance" files (docs/reference/formats.md). */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_READ_H
#define PPSIM_PLANNER_ORDER_PROBLEM_READ_H

#include "planner/order/problem.h"
#include "sim/base/json.h"

/* root: of the document. Owner frees *problem_out with pp_order_problem_free.
 * Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_order_problem_read(const pp_json_at *root,
                                              pp_order_problem **problem_out, pp_err *err);

#endif
