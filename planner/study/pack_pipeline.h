/* Chooses by a search the pipeline that batches are packed for. */
#ifndef PPSIM_PLANNER_STUDY_PACK_PIPELINE_H
#define PPSIM_PLANNER_STUDY_PACK_PIPELINE_H

#include "planner/pack/pack.h"

/* The request for this candidate's pipeline and nothing else; if the candidate is NULL, for the
 * best one of microbatches as they are given or of one bin. */
pp_plan_request pp_request_pipeline(const pp_plan_request *request, const pp_candidate *candidate);

/* request: micro_batch_size must be given; a microbatch has at most that many times seq_length
 * tokens. lengths: those of the batch that the pipeline is chosen for. Both are borrowed until the
 * packer is closed. Fails: like pp_plan_search. */
PP_MUST_CHECK pp_status pp_packer_open(const pp_plan_request *request, pp_packer **packer_out,
                                       pp_err *err);

/* Batches of one size, one after the other. */
typedef struct pp_pack_batches {
    const int64_t *lengths; /* [size * count] */
    size_t size, count;
    bool packings[PP_PACKING_COUNT]; /* the packings that are tried */
} pp_pack_batches;

/* Chooses, of the pipelines that do best for the request (with the first batch), the one that takes
 * least for all batches together, each packed. For one batch: like pp_packer_open. */
PP_MUST_CHECK pp_status pp_packer_open_for(const pp_plan_request *request,
                                           const pp_pack_batches *batches, pp_packer **packer_out,
                                           pp_err *err);

/* Like pp_pack. If neither this batch fits nor the one that the pipeline was chosen for, and the
 * request of the packer wants advice, the failure is that of the search, which is made again within
 * what is left of the budget of the request `budget`, and whose message names what would help. */
PP_MUST_CHECK pp_status pp_pack_advised(pp_packer *packer, const pp_plan_request *budget,
                                        const pp_pack_task *task, pp_packed **packed_out,
                                        pp_err *err);

#endif
