/* What ppsim compare is made of: the quantities of a file, how two of them differ, and the verdict.
 * docs/ci.md has the rules. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_COMPARE_H
#define PPSIM_TOOLS_PPSIM_COMPARE_COMPARE_H

#include "calib/samples/samples.h"
#include "tools/ppsim/tool.h"

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
     * "{rank}" any index, told as "rank 3". NULL: no place in the file of its own. */
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
/* "report: bytes, less is better, told only" for `ppsim list metrics`. */
void pp_metric_describe(const pp_metric *metric, char *text, size_t size);
/* The row whose key fits `pointer`, or NULL; place: what "*" and "{}" stood for. */
const pp_metric *pp_metric_match(pp_compare_kind kind, const char *pointer, char *place,
                                 size_t size);

/* One value of one file. measured: low and high hold 80 % of its repeats, where `spread`. */
typedef struct pp_quantity {
    const pp_metric *metric;
    char *place; /* "rank 3 activations"; "": there is one only */
    char *text;  /* of texts */
    const pp_json *whole;
    double value, low, high;
    bool measured, spread;
    size_t order; /* in the file */
} pp_quantity;

/* Fewer repeats have no spread that says anything. */
#define PP_COMPARE_REPEATS 5u

/* Owner frees with pp_compare_file_free. */
typedef struct pp_compare_file {
    char *name; /* printable UTF-8 */
    pp_compare_kind kind;
    bool measured;
    pp_json *json;     /* texts and wholes lie in it */
    pp_quantity *item; /* sorted by metric and place, none twice */
    size_t count, capacity;
    struct pp_profile *profile; /* of a profile; otherwise NULL */
    char platform[160];         /* where it was measured, if it says so */
    pp_ns stale_step_ns; /* of a plan: predicted in the file, but not by its order and costs; 0:
                            the prediction is the plan's */
} pp_compare_file;

/* "plan", "report of a run", ... */
const char *pp_compare_kind_name(const pp_compare_file *file);
/* text: as it lies on the disk; gzip is unpacked. A file of another kind is none that fails.
 * file_out: all zero before, and freed by the caller even after a failure.
 * Fails: INPUT with the place, USAGE and INFEASIBLE (a plan that cannot be simulated), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_parse(const char *text, size_t bytes, const char *name,
                                         pp_compare_file *file_out, pp_err *err);
void pp_compare_file_free(pp_compare_file *file);
/* NULL: it has none. */
const pp_quantity *pp_compare_find(const pp_compare_file *file, const pp_metric *metric,
                                   const char *place);

/* For readers. place is copied; the quantity, all zero but for these, stays theirs to fill in. */
PP_MUST_CHECK pp_status pp_compare_add(pp_compare_file *file, const pp_metric *metric,
                                       const char *place, double value, pp_quantity **quantity_out,
                                       pp_err *err);
/* Replaces what no terminal and no XML takes. Returns a new text, or NULL without memory. */
char *pp_compare_printable(const char *text);
PP_MUST_CHECK pp_status pp_compare_read_timeline(const pp_json_at *root, const char *text,
                                                 size_t bytes, pp_compare_file *file, pp_err *err);
PP_MUST_CHECK pp_status pp_compare_read_profile(const char *text, size_t bytes,
                                                pp_compare_file *file, pp_err *err);
PP_MUST_CHECK pp_status pp_compare_sort(pp_compare_file *file, pp_err *err);
/* Of two profiles: adds what each predicts at the sizes that the old one was measured at.
 * Fails: USAGE (no class is fitted in both), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_drift(pp_compare_file *base, pp_compare_file *now, pp_err *err);
/* "stage_f 3 tokens=4096" */
void pp_compare_sample_name(const char *name, const pp_series *series, const pp_sample *sample,
                            char *place, size_t size);
/* The spread of repeats, in their order: leading ones are left out as long as each is slower than
 * all of the second half and PP_COMPARE_REPEATS stay. Sorts `values`. */
void pp_compare_spread(double *values, size_t count, pp_quantity *quantity);

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

/* name, word. In the order in which they are shown, those that fail first. */
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
    const pp_quantity *before, *after; /* NULL: it has none */
    pp_compare_verdict verdict;
    bool fails;
    double severity; /* part of what the metric is part of */
    char *detail;    /* NULL: nothing to add */
} pp_difference;

/* Borrows from the files that were compared. Owner frees with pp_differences_free. */
typedef struct pp_differences {
    pp_difference *row;
    size_t count, capacity;
    size_t verdicts[PP_VERDICT_COUNT], fails;
} pp_differences;

/* base, now: of one kind; NULL: there is no such file. name: of the pair, borrowed.
 * Fails: USAGE (other kinds, which are named), NOMEM. */
PP_MUST_CHECK pp_status pp_compare_judge(const char *name, const pp_compare_file *base,
                                         const pp_compare_file *now,
                                         const pp_tolerances *tolerances,
                                         pp_differences *differences, pp_err *err);
/* Worst first; counts them. */
void pp_differences_sort(pp_differences *differences);
void pp_differences_free(pp_differences *differences); /* for PP_CLEANUP */

/* Two files, of which one may be missing. */
typedef struct pp_compare_pair {
    char *name; /* printable */
    char *base_path, *new_path;
    pp_compare_file base, now;
    bool has_base, has_now;
} pp_compare_pair;

typedef struct pp_compare_pairs {
    pp_compare_pair *pair;
    size_t count, capacity;
    bool folders;
    char platform[128]; /* of --baseline: this machine's, or as given */
    bool platform_given;
} pp_compare_pairs;

void pp_compare_pairs_free(pp_compare_pairs *pairs); /* for PP_CLEANUP */
/* Two files or two folders. Fails: USAGE (one of each; nothing in them), IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_compare_pair_up(const char *base, const char *now,
                                           pp_compare_pairs *pairs, pp_err *err);
/* A file or folder and its baseline. platform NULL: this machine's.
 * Fails: as above; UNAVAILABLE when there is no baseline for any of it, unless `refresh`. */
PP_MUST_CHECK pp_status pp_compare_pair_baseline(const char *folder, const char *now,
                                                 const char *platform, bool refresh,
                                                 pp_compare_pairs *pairs, pp_err *err);
/* The new files become the baseline; those that are gone leave it. Fails: IO, NOMEM. */
PP_MUST_CHECK pp_status pp_compare_refresh(pp_compare_pairs *pairs, pp_err *err);

typedef struct pp_compare_print {
    const char *base, *now; /* as given */
    const pp_compare_pairs *pairs;
    const pp_differences *differences;
    size_t rows; /* of the terminal */
} pp_compare_print;

enum { PP_CELL = 64, PP_MARKDOWN_LINES = 60 };

typedef struct pp_compare_cells {
    char before[PP_CELL], after[PP_CELL], delta[PP_CELL], percent[PP_CELL];
    char name[256]; /* metric and place */
} pp_compare_cells;

void pp_compare_cells_of(const pp_difference *row, pp_compare_cells *cells_out);
/* "worse: 2 of 140 values fail (1 better, 3 changed, 134 the same)" */
void pp_compare_sentence(const pp_compare_print *print, pp_text *text);

void pp_compare_text(const pp_compare_print *print, pp_text *text);
void pp_compare_markdown(const pp_compare_print *print, pp_text *text);
void pp_compare_junit(const pp_compare_print *print, pp_text *text);
pp_json *pp_compare_json(const pp_compare_print *print, pp_json_build *build);

#endif
