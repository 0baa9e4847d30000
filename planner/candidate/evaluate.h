/* Simulates one candidate: its order, its program, its timeline and its numbers. */
#ifndef PPSIM_PLANNER_CANDIDATE_EVALUATE_H
#define PPSIM_PLANNER_CANDIDATE_EVALUATE_H

#include "planner/candidate/search_state.h"

/* The order of a candidate. Fails: USAGE when the schedule's rules forbid it. */
PP_MUST_CHECK pp_status pp_candidate_order(const pp_plan_problem *problem, pp_candidate *candidate,
                                           const pp_costs *costs, pp_order **order_out,
                                           pp_err *err);
/* Like pp_candidate_order, but the order is lent by the search until it is asked for another one:
 * one that depends on sizes alone is made once. problem: that of the search, or one with another
 * framework. */
PP_MUST_CHECK pp_status pp_search_order(pp_search *search, const pp_plan_problem *problem,
                                        pp_candidate *candidate, const pp_costs *costs,
                                        pp_order **order_out, pp_err *err);
/* The exchange options of the request. If the duration of a size message is not given, it is filled
 * in. */
pp_exchange_options pp_candidate_exchange(const pp_plan_problem *problem,
                                          const pp_candidate *candidate);
/* Runs one replica: makes its order as the framework runs it, its timeline and its numbers. The
 * caller frees them, also on failure. Fails: like pp_simulate, and USAGE. */
PP_MUST_CHECK pp_status pp_candidate_run(const pp_plan_problem *problem, const pp_setup *setup,
                                         const pp_candidate *candidate, const pp_order *order,
                                         const pp_costs *costs, pp_program **program_out,
                                         pp_timeline **timeline_out, pp_report **report_out,
                                         pp_err *err);
/* Takes the report of the candidate's last simulation, if the request wants numbers alone and it is
 * still kept: the caller owns it; NULL: none. */
pp_report *pp_search_take_report(pp_search *search, const pp_candidate *candidate);
/* Simulates one candidate and fills in its results. */
PP_MUST_CHECK pp_status pp_candidate_simulate(pp_search *search, pp_candidate *candidate,
                                              pp_err *err);
/* Like pp_candidate_simulate, but a candidate of which the order alone exceeds the memory limit is
 * not simulated: its shortage and its peak are lower bounds, and its step stays 0. The costs are
 * kept for the next one; pp_search_drop_costs frees them, and must be called before data change. */
PP_MUST_CHECK pp_status pp_candidate_try(pp_search *search, pp_candidate *candidate, pp_err *err);
/* Raises the shortage of a candidate that does not fit to what its order alone needs, without a
 * simulation. raised_out: false: the order needs no more than was known, or is refused. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_candidate_floor(pp_search *search, pp_candidate *candidate,
                                           bool *raised_out, pp_err *err);
/* Like pp_candidate_simulate, with these orders: one for all replicas, or one per replica. */
PP_MUST_CHECK pp_status pp_candidate_simulate_orders(pp_search *search, pp_candidate *candidate,
                                                     const pp_cost_set *set, pp_order *const *order,
                                                     uint32_t orders, pp_err *err);
#endif
