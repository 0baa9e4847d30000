/* Elements of matrices on a GPU. */
#ifndef PPSIM_RUNTIME_GPU_TYPE_H
#define PPSIM_RUNTIME_GPU_TYPE_H

typedef enum pp_gpu_type {
    PP_GPU_F32,  /* computed in float, without TF32 */
    PP_GPU_BF16, /* summed in float */
    PP_GPU_E4M3, /* 8 bits, with a scale per matrix; summed in float */
    PP_GPU_E5M2,
} pp_gpu_type;

#endif
