/* What a comparison answers first: one sentence, and the order in which people read the rows. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_ANSWER_H
#define PPSIM_TOOLS_PPSIM_COMPARE_ANSWER_H

#include "tools/ppsim/compare/print.h"

/* Returns the differences in the order in which people read them: files that one side lacks, then
 * step, throughput, MFU, peak memory and bubble, then settings, then the rest by size. With folders
 * values that fail come first. Rows that are the same come last. The caller frees the array with
 * free(). Returns NULL when out of memory. */
const pp_difference **pp_compare_reading_order(const pp_compare_print *print);
/* Appends "step +0.85 % (8.096 s to 8.165 s)". */
void pp_compare_add_change(const pp_difference *row, pp_text *text);
/* Appends "step +0.85 % (8.096 s to 8.165 s): worse". `rows` are in reading order. */
void pp_compare_add_headline(const pp_compare_print *print, const pp_difference *const *rows,
                             pp_text *text);
/* Appends "4 of 280 fail: 4 worse, 126 changed, 150 the same". */
void pp_compare_add_counts(const pp_differences *differences, pp_text *text);
/* Appends how the GPUs of two plans differ, and the throughput of a GPU; nothing when they are the
 * same or not known. */
void pp_compare_add_gpus(const pp_compare_print *print, pp_text *text);

#endif
