/* Compares two files, and decides which differences are regressions. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_JUDGE_H
#define PPSIM_TOOLS_PPSIM_COMPARE_JUDGE_H

#include "tools/ppsim/compare/quantities.h"

/* Each row has a name and a word. Verdicts are in the order in which they are shown; those that can
 * fail come first. */
#define PP_VERDICT_MAP(X) \
    X(WORSE, "worse")     \
    X(CHANGED, "changed") \
    X(BETTER, "better")   \
    X(GONE, "gone")       \
    X(NEW, "new")         \
    X(ALLOWED, "allowed") \
    X(NOISE, "no change") \
    X(SAME, "same")

typedef enum pp_compare_verdict {
#define PP_VERDICT_ENUM(id, word) PP_VERDICT_##id,
    PP_VERDICT_MAP(PP_VERDICT_ENUM)
#undef PP_VERDICT_ENUM
        PP_VERDICT_COUNT,
} pp_compare_verdict;

const char *pp_verdict_word(pp_compare_verdict verdict);

typedef struct pp_difference {
    const char *file; /* of the pair */
    const pp_metric *metric;
    const char *place;
    const pp_quantity *before, *after; /* NULL: that file does not have the quantity */
    pp_compare_verdict verdict;
    bool fails;
    double severity; /* the difference relative to the quantity that the metric is part of */
    char *detail;    /* NULL: nothing to add */
} pp_difference;

/* The differences of files. They borrow from the files. The owner frees them with
 * pp_differences_free. */
typedef struct pp_differences {
    pp_difference *row;
    size_t count, capacity;
    size_t verdicts[PP_VERDICT_COUNT], fails;
} pp_differences;

/* Compares two files of one kind and appends to `differences`. `base` or `now` is NULL when that
 * file is missing. `name`, the name of the pair, is borrowed. Fails: USAGE (the files are of
 * different kinds, which the message names), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_judge(const char *name, const pp_compare_file *base,
                                         const pp_compare_file *now,
                                         const pp_tolerances *tolerances,
                                         pp_differences *differences, pp_err *err);
/* Sorts the differences, worst first, and counts them. */
void pp_differences_sort(pp_differences *differences);
void pp_differences_free(pp_differences *differences); /* for PP_CLEANUP */

#endif
