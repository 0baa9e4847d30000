/* All that can be compared, and how. docs/ci.md has the rules. */
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
    PP_METRIC_NUMBER, /* a count, a rate, a parameter */
    PP_METRIC_TEXT,
    PP_METRIC_WHOLE, /* all below the key, as one: how many values differ, and the first of them */
    PP_METRIC_SKIP,  /* not compared */
} pp_metric_unit;

typedef enum pp_metric_better {
    PP_BETTER_NEITHER,
    PP_BETTER_LESS,
    PP_BETTER_MORE
} pp_metric_better;

/* One row says all about a metric. */
typedef struct pp_metric {
    const char *name; /* of --tolerance */
    pp_compare_kind kind;
    /* JSON pointer below the root, or for reports below a plan's prediction; "*" is any key,
     * "{rank}" any index, printed as "rank 3". NULL: no place in the file of its own. */
    const char *key;
    pp_metric_unit unit;
    pp_metric_better better;
    bool judged;         /* worse is a regression; otherwise only where --tolerance names it */
    bool timed;          /* measured in the report of a run, exact elsewhere */
    const char *part_of; /* what its differences are ranked against; NULL: itself */
} pp_metric;

size_t pp_metric_count(void);
const pp_metric *pp_metric_at(size_t index);
const pp_metric *pp_metric_find(pp_compare_kind kind, const char *name);
/* The description in `ppsim list metrics`: kind of file, unit, direction, whether it is judged. */
void pp_metric_describe(const pp_metric *metric, char *text, size_t size);
/* The row whose key fits `pointer`, or NULL; place: what "*" and "{}" stood for. */
const pp_metric *pp_metric_match(pp_compare_kind kind, const char *pointer, char *place,
                                 size_t size);

typedef struct pp_limit {
    bool given;    /* by name: it is judged */
    bool one_way;  /* "+T" or "-T": that direction, whichever is better */
    bool relative; /* to the value before */
    double value;
} pp_limit;

enum { PP_METRICS_MAX = 128 };

typedef struct pp_tolerances {
    pp_limit up[PP_METRICS_MAX], down[PP_METRICS_MAX]; /* by index of the metric */
    bool strict;                                       /* any difference fails */
} pp_tolerances;

/* "METRIC=1%", "METRIC=+2us", "all=0.1%". Fails: USAGE. */
PP_MUST_CHECK pp_status pp_tolerance_add(const char *argument, bool all, pp_tolerances *tolerances,
                                         pp_err *err);

#endif
