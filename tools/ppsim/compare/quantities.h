/* The quantities of a file. Readers fill them in, and comparisons read them. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_QUANTITIES_H
#define PPSIM_TOOLS_PPSIM_COMPARE_QUANTITIES_H

#include "calib/samples/samples.h"
#include "sim/base/json.h"
#include "sim/base/units.h"
#include "tools/ppsim/compare/metrics.h"

/* One value of one file. If `spread` is set, `low` and `high` are the interval of a measured value:
 * of repeats the 10 % and 90 % quantiles, of a fit its confidence interval. */
typedef struct pp_quantity {
    const pp_metric *metric;
    char *place; /* such as "rank 3 activations"; "": the metric has one value in the file */
    char *text;  /* value of a text */
    const pp_json *whole;
    double value, low, high;
    bool measured, spread;
    size_t order; /* index in the file */
} pp_quantity;

/* Fewer repeats than this give no meaningful spread. */
#define PP_COMPARE_REPEATS 5u

/* One file with its quantities. The owner frees it with pp_compare_file_free. */
typedef struct pp_compare_file {
    char *name; /* printable UTF-8 */
    pp_compare_kind kind;
    bool measured;
    pp_json *json;     /* owns texts and whole documents */
    pp_quantity *item; /* sorted by metric and place, none twice */
    size_t count, capacity;
    struct pp_profile *profile; /* of a profile; otherwise NULL */
    char platform[160];         /* machine that it was measured on; "": not known */
    pp_ns stale_step_ns; /* step time that a plan's file predicts, if the plan's order and costs
                            give another one; otherwise 0 */
} pp_compare_file;

/* Returns the kind of the file in words, such as "plan" or "report of a run". */
const char *pp_compare_kind_name(const pp_compare_file *file);
void pp_compare_file_free(pp_compare_file *file);
/* Appends a quantity and returns it in `quantity_out`, so that a reader can fill in its other
 * fields. The pointer is valid until the next call. `place` is copied. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_compare_add(pp_compare_file *file, const pp_metric *metric,
                                       const char *place, double value, pp_quantity **quantity_out,
                                       pp_err *err);
/* Returns a copy in which characters that terminals or XML do not accept are replaced, or NULL when
 * out of memory. */
char *pp_compare_printable(const char *text);
/* Sorts the quantities by metric and place. If a place occurs more than once, as the tensors of a
 * boundary do, the later ones get a number. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_compare_sort(pp_compare_file *file, pp_err *err);
/* Returns the quantity, or NULL if the file has none. */
const pp_quantity *pp_compare_find(const pp_compare_file *file, const pp_metric *metric,
                                   const char *place);

/* Writes the name of a sample, such as "stage_f 3 tokens=4096", cut to `size` bytes. */
void pp_compare_sample_name(const char *name, const pp_series *series, const pp_sample *sample,
                            char *place, size_t size);
/* Sets value and interval of `quantity` from repeats in the order in which they ran. Leading
 * repeats are taken for warm-up and left out while each is slower than the whole second half and
 * more than PP_COMPARE_REPEATS remain. `values` is sorted. */
void pp_compare_spread(double *values, size_t count, pp_quantity *quantity);

#endif
