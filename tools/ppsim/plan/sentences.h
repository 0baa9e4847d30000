/* What a search found, in sentences, since the planner's results are values. Each function appends
 * to `text`. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_SENTENCES_H
#define PPSIM_TOOLS_PPSIM_PLAN_SENTENCES_H

#include "planner/search/result.h"
#include "planner/study/padded_rows.h"
#include "sim/base/text.h"

/* Why a candidate is not the chosen one, or how good a planned order is; nothing if its reason is
 * NONE. */
void pp_reason_say(const pp_candidate *candidate, pp_text *text);
void pp_free_orders_say(const pp_search_result *result, pp_text *text);
/* The value of a free setting that was chosen, and what the others cost. */
void pp_setting_say(const pp_search_result *result, pp_setting_kind kind, pp_text *text);
/* What the search for a packing found. bounded: also how far it is from the best possible
 * packing. */
void pp_packing_say(const pp_packing_outcome *outcome, bool bounded, pp_text *text);
/* Why the plan was taken: "the fastest of 717 candidates", or why it is better than a faster one
 * that ties with it. */
void pp_choice_say(const pp_search_result *result, pp_text *text);
/* The fastest plan, if it was not taken and is measurably faster: what it is, gains and needs. */
void pp_fastest_say(const pp_search_result *result, pp_text *text);
/* Which schedule is best under jitter, and by how much. */
void pp_ranking_say(const pp_jitter_ranking *ranking, pp_text *text);
/* Appends "up to 0.44 % slower". more: how much longer than the chosen plan another plan takes, as
 * a fraction. The other plan was searched less thoroughly, so it may be faster than that. */
void pp_slower_say(double more, pp_text *text);
/* The name of the target, and what its limits cost. */
void pp_target_say(const pp_target_cost *cost, pp_text *text);

/* Appends "one sequence per row 61.39 s; packed 8.783 s (6.99 times as fast)". The step of the
 * rows must be known. */
void pp_padding_say(const pp_padded_rows *rows, pp_ns packed_ns, pp_text *text);
/* Adds that to the assumptions of the plan and of its prediction. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plan_note_padding(const pp_search_result *result,
                                             const pp_padded_rows *rows, pp_err *err);
/* The key of that assumption. */
#define PP_NOTE_PADDING "padding"

/* Adds to the assumptions of the plan and of its prediction the settings and packing that were
 * chosen. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plan_note_choices(const pp_search_result *result, pp_err *err);

/* One line of comma-separated values per candidate, with a header; for spreadsheets. NULL: the
 * header. */
void pp_candidate_csv(const pp_candidate *candidate, pp_text *text);

#endif
