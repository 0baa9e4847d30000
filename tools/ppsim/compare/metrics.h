/* The metrics of `ppsim compare` and the tolerances of its command line. docs/reference/compare.md
 * has the rules. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_METRICS_H
#define PPSIM_TOOLS_PPSIM_COMPARE_METRICS_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum pp_compare_kind {
    PP_COMPARE_PLAN,
    PP_COMPARE_REPORT,
    PP_COMPARE_TIMELINE,
    PP_COMPARE_PROFILE,
    PP_COMPARE_OTHER, /* nothing that can be compared */
} pp_compare_kind;

typedef enum pp_metric_unit {
    PP_METRIC_NS,
    PP_METRIC_BYTES,
    PP_METRIC_PART,   /* 0.01 is shown as 1 % */
    PP_METRIC_NUMBER, /* a count, a parameter */
    PP_METRIC_RATE,   /* tokens per second */
    PP_METRIC_INDEX,  /* of a rank: a difference of two says nothing */
    PP_METRIC_TEXT,
    PP_METRIC_WHOLE, /* everything below the key is one value: how many parts differ, and which is
                        first */
    PP_METRIC_SKIP,  /* not compared */
} pp_metric_unit;

typedef enum pp_metric_better {
    PP_BETTER_NEITHER,
    PP_BETTER_LESS,
    PP_BETTER_MORE
} pp_metric_better;

/* One metric: where a file holds it, in which unit, and how a difference is judged. */
typedef struct pp_metric {
    const char *name; /* as --tolerance names it; "": it cannot be named */
    pp_compare_kind kind;
    /* JSON pointer from the root of the file; for a report also from a plan's prediction. "*"
     * stands for any key, "{rank}" for any index, which is printed as "rank 3". It is NULL when a
     * reader computes the metric or collects it from several places. */
    const char *key;
    pp_metric_unit unit;
    pp_metric_better better;
    bool judged; /* a worse value is a regression; if false, only when --tolerance names it */
    bool timed;  /* it is measured in the report of a run, and exact in other files */
    const char *part_of; /* metric whose value its differences are ranked against; NULL: itself */
} pp_metric;

size_t pp_metric_count(void);
const pp_metric *pp_metric_at(size_t index);
/* Returns the metric of this name for this kind of file, or NULL. */
const pp_metric *pp_metric_find(pp_compare_kind kind, const char *name);
/* Writes the description that `ppsim list metrics` prints, cut to `size` bytes: kind of file, unit,
 * direction, and whether the metric is judged. */
void pp_metric_describe(const pp_metric *metric, char *text, size_t size);
/* Returns the metric whose key matches `pointer`, or NULL if there is none. `place` receives what
 * the wildcards of the key matched, separated by blanks, cut to `size` bytes. */
const pp_metric *pp_metric_match(pp_compare_kind kind, const char *pointer, char *place,
                                 size_t size);

typedef struct pp_limit {
    bool given;    /* it names the metric, which is therefore judged */
    bool one_way;  /* "+T" or "-T": it limits only that direction, whichever is better */
    bool relative; /* `value` is a fraction of the value before */
    double value;
} pp_limit;

enum { PP_METRICS_MAX = 128 };

typedef struct pp_tolerances {
    pp_limit up[PP_METRICS_MAX], down[PP_METRICS_MAX]; /* by index of the metric */
    bool strict;                                       /* any difference fails */
    bool named, all; /* a limit that is not "any" names a metric; there is one for all metrics */
} pp_tolerances;

/* Parses one --tolerance, such as "METRIC=1%", "METRIC=+2us" or "all=0.1%", into `tolerances`. The
 * caller makes two passes: with `all` set, arguments other than "all=" are skipped; without it,
 * those that are. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_tolerance_add(const char *argument, bool all, pp_tolerances *tolerances,
                                         pp_err *err);

/* Returns whether a worse value of the metric fails: it is named, or judged and no others are named
 * in its place. */
bool pp_tolerance_judges(const pp_tolerances *tolerances, const pp_metric *metric);

#endif
