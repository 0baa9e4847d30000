/* The parts of `ppsim pack`. */
#ifndef PPSIM_TOOLS_PPSIM_PACK_PRINT_H
#define PPSIM_TOOLS_PPSIM_PACK_PRINT_H

#include "planner/study/pack_pipeline.h"
#include "sim/base/json.h"

/* One global batch and what became of it. */
typedef struct pp_pack_batch {
    const int64_t *lengths; /* [count], into the file's */
    size_t first, count;    /* first: of the file's sequences */
    pp_packed *packed;
} pp_pack_batch;

/* All of them. Borrowed but for `batch`. */
typedef struct pp_pack_result {
    const pp_plan_request *request;
    const pp_packer *packer;
    pp_pack_batch *batch; /* [count] */
    size_t count;
    size_t left_over; /* sequences after the last whole batch */
} pp_pack_result;

/* As people read it, in 80 columns. */
void pp_pack_print(const pp_pack_result *result, pp_text *text);
/* "format":"ppsim.pack". */
pp_json *pp_pack_write(const pp_pack_result *result, pp_json_build *build);
/* The lengths in their new order, as --lengths reads them: an array of microbatches; several
 * batches are an array of such arrays. */
void pp_pack_print_lengths(const pp_pack_result *result, pp_text *text);

#endif
