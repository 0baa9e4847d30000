/* Stand-in for libcudnn: descriptors keep what they are given, and a graph is run as they say.
 *
 *   STANDIN_CUDNN=90500        the library's version
 *   STANDIN_CUDNN_WRONG=dk     what it computes wrongly: o, dq, dk, dv or nan; sums: what it keeps
 * in the workspace is added to what is there; first: cleared at the first run only
 *   STANDIN_CUDNN_PERCENT=105  what o, dq, dk or dv is then, in percent; default 150
 *   STANDIN_CUDNN_LEAVES=dv    leaves the last rows of this tensor unwritten
 *   STANDIN_FAIL=cudnnCreate:1 these calls fail */
#ifndef PPSIM_TESTS_CUDA_CUDNN_H
#define PPSIM_TESTS_CUDA_CUDNN_H

#include <cudnn.h>
#include <stdbool.h>

enum { CUDNN_ATTRIBUTES = 24, CUDNN_TENSORS = 96 };

typedef struct cudnn_attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    void *values;
} cudnn_attribute;

typedef struct cudnn_descriptor {
    struct cudnn_descriptor *next; /* list of all descriptors that were created */
    cudnnBackendDescriptorType_t type;
    bool finished;
    int runs; /* of a plan */
    int attributes;
    cudnn_attribute attribute[CUDNN_ATTRIBUTES];
} cudnn_descriptor;

/* NULL: it was not given. */
const cudnn_attribute *cudnn_find(const cudnn_descriptor *of, cudnnBackendAttributeName_t name);
/* The index-th descriptor that it was given by that name. */
cudnn_descriptor *cudnn_part(const cudnn_descriptor *of, cudnnBackendAttributeName_t name,
                             int64_t index);
/* In order of the stream; the first time, since later ones would find the same, unless wrong. */
void cudnn_run(cudnn_descriptor *plan, const cudnn_descriptor *pack, cudaStream_t stream);

#endif
