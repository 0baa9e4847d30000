/* The result of `ppsim pack`, and its output. */
#ifndef PPSIM_TOOLS_PPSIM_PACK_PRINT_H
#define PPSIM_TOOLS_PPSIM_PACK_PRINT_H

#include "planner/study/pack_pipeline.h"
#include "planner/study/padded_rows.h"
#include "sim/base/json.h"

/* One global batch and how it was packed. */
typedef struct pp_pack_batch {
    const int64_t *lengths; /* [count], part of the file's lengths; borrowed */
    size_t first, count;    /* first: index in the file of the batch's first sequence */
    pp_packed *packed;
} pp_pack_batch;

/* The result of all batches. Everything except `batch` is borrowed. */
typedef struct pp_pack_result {
    const pp_plan_request *request;
    const pp_packer *packer;
    pp_pack_batch *batch; /* [count] */
    size_t count;
    size_t left_over;        /* sequences after the last whole batch */
    const pp_notes *assumed; /* of the request */
    pp_padded_rows padded;   /* of a single batch; no step: not known */
} pp_pack_result;

/* Writes the result as text of 80 columns; `verbose`: also what was tried. `file`: where the
 * lengths went, or NULL. */
void pp_pack_print(const pp_pack_result *result, const char *file, bool verbose, pp_text *text);
/* Makes the JSON document of the result, with "format":"ppsim.pack". The caller frees it. `build`
 * records a failure. */
pp_json *pp_pack_write(const pp_pack_result *result, pp_json_build *build);
/* Writes the lengths in their new order as JSON: an array of microbatches, which --lengths reads,
 * or for several batches an array of such arrays. */
void pp_pack_print_lengths(const pp_pack_result *result, pp_text *text);

#endif
