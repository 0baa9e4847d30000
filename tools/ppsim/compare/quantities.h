/* The quantities of a file: what its readers fill in and comparisons look at. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_QUANTITIES_H
#define PPSIM_TOOLS_PPSIM_COMPARE_QUANTITIES_H

#include "calib/samples/samples.h"
#include "sim/base/json.h"
#include "sim/base/units.h"
#include "tools/ppsim/compare/metrics.h"

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
void pp_compare_file_free(pp_compare_file *file);
/* For readers. place is copied; the quantity, all zero but for these, stays theirs to fill in. */
PP_MUST_CHECK pp_status pp_compare_add(pp_compare_file *file, const pp_metric *metric,
                                       const char *place, double value, pp_quantity **quantity_out,
                                       pp_err *err);
/* Replaces what no terminal and no XML takes. Returns a new text, or NULL without memory. */
char *pp_compare_printable(const char *text);
PP_MUST_CHECK pp_status pp_compare_sort(pp_compare_file *file, pp_err *err);
/* NULL: it has none. */
const pp_quantity *pp_compare_find(const pp_compare_file *file, const pp_metric *metric,
                                   const char *place);

/* "stage_f 3 tokens=4096" */
void pp_compare_sample_name(const char *name, const pp_series *series, const pp_sample *sample,
                            char *place, size_t size);
/* The spread of repeats, in their order: leading ones are left out as long as each is slower than
 * all of the second half and PP_COMPARE_REPEATS stay. Sorts `values`. */
void pp_compare_spread(double *values, size_t count, pp_quantity *quantity);

#endif
