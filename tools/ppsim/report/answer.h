/* The lines that the answers of `plan`, `simulate` and `run` have in common. An answer has at most
 * 15 lines of at most 80 columns; --verbose and other options print more. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_ANSWER_H
#define PPSIM_TOOLS_PPSIM_REPORT_ANSWER_H

#include "sim/base/text.h"
#include "sim/plan/plan.h"

enum { PP_ANSWER_LINES = 15 };

/* Appends "pp 16, tp 8, ep 8": the pipeline, and every other degree that is not 1. */
void pp_answer_degrees(const pp_parallel *parallel, pp_text *words);
/* Appends degrees, data, recomputation and schedule: "pp 4, tp 2; micro-batch size 1 (32
 * microbatches); no recomputation; schedule zbv". The plan is of a model. */
void pp_answer_setup(const pp_plan *plan, pp_text *words);
/* Writes the line "step": its time, throughput and MFU as far as they are known. parts: also
 * makespan and end of step, if there is one. */
void pp_answer_step(const pp_report *report, const pp_plan *plan, bool parts, pp_text *text);
/* Writes the line "time": the shares of the step. together: compute contains exchange that is not
 * known separately. */
void pp_answer_time(const pp_why *why, const pp_parallel *parallel, bool together, pp_text *text);

/* Appends how far the step may be off: "step +3.1/-2.9 %: stage_f 2.0 (95 % of the measurements)".
 */
void pp_answer_uncertainty(const pp_uncertainty *uncertainty, pp_text *words);

/* The rank that comes closest to its memory limit, or the fullest one if there are no limits. */
typedef struct pp_tightest {
    uint32_t rank;
    int64_t peak_bytes, limit_bytes; /* limit: 0 is none */
} pp_tightest;

pp_tightest pp_answer_tightest(const pp_report *report);
/* The limit of a rank: its own one, or that of the report; 0: none. */
int64_t pp_answer_limit(const pp_report *report, uint32_t rank);
/* Appends "73.04 GiB of 76.00 GiB on rank 0, the tightest: 2.958 GiB left". */
void pp_answer_memory(const pp_tightest *tightest, pp_text *words);

/* Returns the number of lines of a text. */
size_t pp_answer_count(const pp_text *text);

/* Prints the assumption with this key, if there is one, under a label. */
void pp_print_note(pp_text *text, const pp_notes *assumptions, const char *key, const char *label);

#endif
