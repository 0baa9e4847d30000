/* The quantities of a file: what its readers fill in and comparisons look at. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_QUANTITIES_H
#define PPSIM_TOOLS_PPSIM_COMPARE_QUANTITIES_H

#include "calib/samples/samples.h"
#include "sim/base/json.h"
#include "sim/base/units.h"
#include "tools/ppsim/compare/metrics.h"

/* One value of one file. If it was measured and `spread` is set, 80 % of its repeats are between
 * low and high. */
typedef struct pp_quantity {
    const pp_metric *metric;
    char *place; /* "rank 3 activations"; "": there is one only */
    char *text;  /* value of a text */
    const pp_json *whole;
    double value, low, high;
    bool measured, spread;
    size_t order; /* index in the file */
} pp_quantity;

/* Fewer repeats give no meaningful spread. */
#define PP_COMPARE_REPEATS 5u

/* Owner frees with pp_compare_file_free. */
typedef struct pp_compare_file {
    char *name; /* printable UTF-8 */
    pp_compare_kind kind;
    bool measured;
    pp_json *json;     /* owns texts and whole documents */
    pp_quantity *item; /* sorted by metric and place, none twice */
    size_t count, capacity;
    struct pp_profile *profile; /* of a profile; otherwise NULL */
    char platform[160];         /* where it was measured, if it says so */
    pp_ns stale_step_ns; /* of a plan: predicted in the file, but not by its order and costs; 0:
                            the prediction is the plan's */
} pp_compare_file;

/* "plan", "report of a run", ... */
const char *pp_compare_kind_name(const pp_compare_file *file);
void pp_compare_file_free(pp_compare_file *file);
/* Adds a quantity, for readers, which fill in the rest. `place` is copied. */
PP_MUST_CHECK pp_status pp_compare_add(pp_compare_file *file, const pp_metric *metric,
                                       const char *place, double value, pp_quantity **quantity_out,
                                       pp_err *err);
/* Returns a copy in which characters that terminals or XML do not accept are replaced, or NULL when
 * out of memory. */
char *pp_compare_printable(const char *text);
PP_MUST_CHECK pp_status pp_compare_sort(pp_compare_file *file, pp_err *err);
/* Returns the quantity, or NULL if the file has none. */
const pp_quantity *pp_compare_find(const pp_compare_file *file, const pp_metric *metric,
                                   const char *place);

/* "stage_f 3 tokens=4096" */
void pp_compare_sample_name(const char *name, const pp_series *series, const pp_sample *sample,
                            char *place, size_t size);
/* The spread of repeats, in their order: leading ones are left out as long as each is slower than
 * all of the second half and PP_COMPARE_REPEATS stay. Sorts `values`. */
void pp_compare_spread(double *values, size_t count, pp_quantity *quantity);

#endif
