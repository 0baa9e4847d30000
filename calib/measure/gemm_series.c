/* The matrix products of a transformer layer, by the class names that the cost model looks up. */
#include "calib/measure/gemm_series.h"

const pp_subject_series pp_gemm_series[PP_GEMM_SERIES] = {
    { .class_name = "gemm_fwd qkv" },      { .class_name = "gemm_fwd proj" },
    { .class_name = "gemm_fwd mlp_up" },   { .class_name = "gemm_fwd mlp_down" },
    { .class_name = "gemm_dgrad qkv" },    { .class_name = "gemm_dgrad proj" },
    { .class_name = "gemm_dgrad mlp_up" }, { .class_name = "gemm_dgrad mlp_down" },
    { .class_name = "gemm_wgrad qkv" },    { .class_name = "gemm_wgrad proj" },
    { .class_name = "gemm_wgrad mlp_up" }, { .class_name = "gemm_wgrad mlp_down" },
};
