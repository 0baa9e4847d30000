# What the GPU module needs: nvcc, the CUDA runtime, cuBLASLt and NCCL. Looked for in CUDA_HOME, in /usr/local/cuda,
# where the system keeps libraries, and in build/cuda-packages (tools/cuda-headers).
set(PPSIM_BUILD_CUDA OFF)
set(PPSIM_CUDA_PACKAGES ${PROJECT_BINARY_DIR}/cuda-packages CACHE PATH "NVIDIA's packages, unpacked by tools/cuda-headers")
mark_as_advanced(PPSIM_CUDA_PACKAGES)

function(pp_find_cuda)
    set(roots $ENV{CUDA_HOME} /usr/local/cuda)
    set(packages ${PPSIM_CUDA_PACKAGES}/nvidia)
    find_program(PPSIM_NVCC nvcc HINTS ${roots} PATH_SUFFIXES bin DOC "compiles for GPUs")
    find_path(PPSIM_CUDA_INCLUDE cuda_runtime_api.h HINTS ${roots} ${packages}/cu13 PATH_SUFFIXES include)
    find_library(PPSIM_CUDART NAMES cudart libcudart.so.13 libcudart.so.12 HINTS ${roots} ${packages}/cu13
        PATH_SUFFIXES lib64 lib)
    find_path(PPSIM_NCCL_INCLUDE nccl.h HINTS ${roots} ${packages}/nccl PATH_SUFFIXES include)
    find_library(PPSIM_NCCL NAMES nccl libnccl.so.2 HINTS ${roots} ${packages}/nccl PATH_SUFFIXES lib64 lib)
    find_path(PPSIM_CUBLASLT_INCLUDE cublasLt.h HINTS ${roots} ${packages}/cu13 ${packages}/cublas
        PATH_SUFFIXES include)
    find_library(PPSIM_CUBLASLT NAMES cublasLt libcublasLt.so.13 libcublasLt.so.12
        HINTS ${roots} ${packages}/cu13 ${packages}/cublas PATH_SUFFIXES lib64 lib)
    find_path(PPSIM_CUDNN_INCLUDE cudnn.h HINTS ${roots} ${packages}/cudnn PATH_SUFFIXES include)
    find_path(PPSIM_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${roots} ${PPSIM_CUDA_PACKAGES}
        PATH_SUFFIXES include)
    find_path(PPSIM_NVRTC_INCLUDE nvrtc.h HINTS ${roots} ${packages}/cu13 ${packages}/cuda_nvrtc
        PATH_SUFFIXES include)
    mark_as_advanced(PPSIM_NVCC PPSIM_CUDA_INCLUDE PPSIM_CUDART PPSIM_CUBLASLT_INCLUDE PPSIM_CUBLASLT
        PPSIM_NCCL_INCLUDE PPSIM_NCCL PPSIM_CUDNN_INCLUDE PPSIM_CUDNN_FRONTEND_INCLUDE PPSIM_NVRTC_INCLUDE)
endfunction()

# NCCL 2.18 has communicators that do not block, and their configuration.
function(pp_read_nccl_version out)
    file(STRINGS ${PPSIM_NCCL_INCLUDE}/nccl.h lines REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    list(JOIN numbers "." version)
    set(${out} ${version} PARENT_SCOPE)
endfunction()

if(NOT PPSIM_CUDA STREQUAL "OFF")
    pp_find_cuda()
    foreach(part IN ITEMS "nvcc PPSIM_NVCC" "cuda_runtime_api.h PPSIM_CUDA_INCLUDE"
            "libcudart PPSIM_CUDART" "cublasLt.h PPSIM_CUBLASLT_INCLUDE" "libcublasLt PPSIM_CUBLASLT" "nccl.h PPSIM_NCCL_INCLUDE" "libnccl PPSIM_NCCL")
        separate_arguments(part)
        list(POP_FRONT part name)
        if(NOT ${part})
            list(APPEND PPSIM_CUDA_MISSING ${name})
        endif()
    endforeach()
    if(PPSIM_NCCL_INCLUDE)
        pp_read_nccl_version(PPSIM_NCCL_VERSION)
        if(PPSIM_NCCL_VERSION VERSION_LESS 2.18)
            list(APPEND PPSIM_CUDA_MISSING "NCCL 2.18 (found ${PPSIM_NCCL_VERSION})")
        endif()
    endif()
    list(JOIN PPSIM_CUDA_MISSING ", " PPSIM_CUDA_MISSING)
    if(NOT PPSIM_CUDA_MISSING)
        set(PPSIM_BUILD_CUDA ON)
    elseif(PPSIM_CUDA STREQUAL "ON")
        message(FATAL_ERROR "PPSIM_CUDA=ON, but this is missing: ${PPSIM_CUDA_MISSING}. Install CUDA, cuBLAS and NCCL; "
            "tools/cuda-headers fetches NVIDIA's packages.")
    endif()
endif()

# Attention of cuDNN for a probe: the headers of cuDNN and of its frontend, which is C++ and wants those of NVRTC. The
# library is loaded when the probe runs.
if(NOT PPSIM_CUDA STREQUAL "OFF" AND NOT PPSIM_CUDNN STREQUAL "OFF" AND PPSIM_CUDA_INCLUDE)
    foreach(part IN ITEMS "cudnn.h PPSIM_CUDNN_INCLUDE" "cudnn_frontend.h PPSIM_CUDNN_FRONTEND_INCLUDE"
            "nvrtc.h PPSIM_NVRTC_INCLUDE")
        separate_arguments(part)
        list(POP_FRONT part name)
        if(NOT ${part})
            list(APPEND PPSIM_CUDNN_MISSING ${name})
        endif()
    endforeach()
    if(PPSIM_CUDNN_FRONTEND_INCLUDE)
        file(STRINGS ${PPSIM_CUDNN_FRONTEND_INCLUDE}/cudnn_frontend_version.h lines
            REGEX "^#define CUDNN_FRONTEND_(MAJOR|MINOR|PATCH)_VERSION ")
        string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
        list(JOIN numbers "." PPSIM_CUDNN_FRONTEND_VERSION)
        if(PPSIM_CUDNN_FRONTEND_VERSION VERSION_LESS 1.32)
            list(APPEND PPSIM_CUDNN_MISSING "cudnn-frontend 1.32 (found ${PPSIM_CUDNN_FRONTEND_VERSION})")
        endif()
    endif()
    include(CheckLanguage)
    check_language(CXX)
    if(NOT CMAKE_CXX_COMPILER)
        list(APPEND PPSIM_CUDNN_MISSING "a C++ compiler")
    endif()
    list(JOIN PPSIM_CUDNN_MISSING ", " PPSIM_CUDNN_MISSING)
    if(NOT PPSIM_CUDNN_MISSING)
        set(PPSIM_BUILD_CUDNN ON)
        enable_language(CXX)
    elseif(PPSIM_CUDNN STREQUAL "ON")
        message(FATAL_ERROR "PPSIM_CUDNN=ON, but this is missing: ${PPSIM_CUDNN_MISSING}. tools/cuda-headers --cudnn "
            "fetches NVIDIA's packages.")
    endif()
endif()
