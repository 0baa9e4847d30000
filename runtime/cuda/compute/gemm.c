/* Products of row-major matrices by cuBLASLt: each is the column-major product of its operands
 * in the opposite order. The heuristic's first algorithm is taken, as PyTorch does, and kept in
 * a hash table, so that each shape is asked for once. */
#include "runtime/cuda/compute/gemm.h"

#include "runtime/cuda/base/device.h"
#include "sim/base/hash.h"

#include <assert.h>
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_BYTES = 32 << 20, BUCKETS = 1024 };
/* Tensors are aligned to PP_ARENA_ALIGN. A larger alignment would be accidental, and could give a
 * rank another algorithm than the sequential run gets. */
enum { ALIGNED = 64 };

/* What the choice of an algorithm depends on; the key of the hash table, without padding. */
typedef struct shape {
    int64_t m, n, k, a_step, b_step, c_step;
    uint32_t product, in, out;
    uint32_t a_aligned, b_aligned, c_aligned; /* bytes, at most ALIGNED */
    int32_t multiprocessors, unused;
} shape;

typedef struct entry {
    shape of;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c; /* of the column-major product */
    cublasLtMatmulHeuristicResult_t best;
    struct entry *next;
} entry;

struct pp_gpu_blas {
    const pp_module_services *services;
    uint32_t rank;
    cublasLtHandle_t library;
    cublasLtMatmulPreference_t request;
    void *workspace;
    entry *bucket[BUCKETS];
};

static pp_status check(const pp_gpu_blas *blas, cublasStatus_t code, const char *what, pp_err *err)
{
    if (code == CUBLAS_STATUS_SUCCESS)
        return PP_OK;
    return blas->services->err_set(err, PP_IO, NULL, "rank %u: %s failed; cuBLASLt reports: %s",
                                   blas->rank, what, cublasLtGetStatusString(code));
}

static void free_entry(entry *e)
{
    if (!e)
        return;
    if (e->product)
        (void)cublasLtMatmulDescDestroy(e->product);
    if (e->a)
        (void)cublasLtMatrixLayoutDestroy(e->a);
    if (e->b)
        (void)cublasLtMatrixLayoutDestroy(e->b);
    if (e->c)
        (void)cublasLtMatrixLayoutDestroy(e->c);
    free(e);
}

void pp_gpu_gemm_close(pp_gpu_blas *blas)
{
    if (!blas)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (entry *e = blas->bucket[i], *next; e; e = next) {
            next = e->next;
            free_entry(e);
        }
    }
    if (blas->request)
        (void)cublasLtMatmulPreferenceDestroy(blas->request);
    if (blas->library)
        (void)cublasLtDestroy(blas->library);
    (void)cudaFree(blas->workspace);
    free(blas);
}

static cublasStatus_t request(const pp_gpu_blas *blas, cublasLtMatmulPreferenceAttributes_t what,
                              const void *value, size_t bytes)
{
    return cublasLtMatmulPreferenceSetAttribute(blas->request, what, value, bytes);
}

static pp_status open_library(pp_gpu_blas *blas, pp_err *err)
{
    const uint64_t bytes = WORKSPACE_BYTES;
    pp_status status = check(blas, cublasLtCreate(&blas->library), "opening it", err);
    if (!status)
        status = check(blas, cublasLtMatmulPreferenceCreate(&blas->request), "a preference", err);
    if (!status)
        status = check(
            blas, request(blas, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
            "a preference", err);
    if (!status)
        status =
            pp_gpu_check(blas->services, blas->rank, cudaMalloc(&blas->workspace, WORKSPACE_BYTES),
                         "workspace of products", err);
    return status;
}

pp_status pp_gpu_gemm_open(const pp_module_services *services, uint32_t rank,
                           pp_gpu_blas **blas_out, pp_err *err)
{
    pp_gpu_blas *blas = calloc(1, sizeof *blas);
    if (!blas)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    blas->services = services;
    blas->rank = rank;
    pp_status status = open_library(blas, err);
    if (status) {
        pp_gpu_gemm_close(blas);
        return status;
    }
    *blas_out = blas;
    return PP_OK;
}

static uint32_t aligned(const void *at)
{
    const uintptr_t address = (uintptr_t)at | ALIGNED;
    return (uint32_t)(address & -address); /* the lowest bit that is set */
}

static shape shape_of(const pp_gpu_gemm_call *call)
{
    return (shape){ .m = call->m,
                    .n = call->n,
                    .k = call->k,
                    .a_step = call->a_step,
                    .b_step = call->b_step,
                    .c_step = call->c_step,
                    .product = call->product,
                    .in = call->in,
                    .out = call->out,
                    .a_aligned = aligned(call->a),
                    .b_aligned = aligned(call->b),
                    .c_aligned = aligned(call->c),
                    .multiprocessors = call->multiprocessors };
}

static size_t bucket_of(const shape *of)
{
    return pp_hash_bytes(PP_HASH_START, of, sizeof *of) % BUCKETS;
}

static cudaDataType_t data_type(uint32_t type)
{
    static const cudaDataType_t types[] = { [PP_GPU_F32] = CUDA_R_32F,
                                            [PP_GPU_BF16] = CUDA_R_16BF,
                                            [PP_GPU_E4M3] = CUDA_R_8F_E4M3,
                                            [PP_GPU_E5M2] = CUDA_R_8F_E5M2 };
    return types[type];
}

static bool has_8_bits(uint32_t type)
{
    return type == PP_GPU_E4M3 || type == PP_GPU_E5M2;
}

/* Where the scales lie is no part of the shape: it is set before every use. */
static cublasStatus_t set_scales(const entry *e, const float *scales)
{
    const float *const of_a = scales, *const of_b = scales + 1;
    cublasStatus_t code = cublasLtMatmulDescSetAttribute(
        e->product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &of_b, sizeof of_b);
    return code ? code
                : cublasLtMatmulDescSetAttribute(e->product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                                 &of_a, sizeof of_a);
}

/* cuBLASLt is column-major: there a row-major matrix is its transpose, and c^T = b^T a^T. */
static cublasStatus_t describe(entry *e, const float *scales)
{
    const shape *of = &e->of;
    const cublasOperation_t mirrored_from = CUBLAS_OP_T;
    const bool turn_a = of->product == PP_GPU_ATB;
    const bool turn_b = of->product == PP_GPU_ABT;
    const uint64_t m = (uint64_t)of->m, n = (uint64_t)of->n, k = (uint64_t)of->k;
    const cudaDataType_t in_a = data_type(of->in);
    const cudaDataType_t in_b = has_8_bits(of->in) ? CUDA_R_8F_E4M3 : in_a;
    /* as TransformerEngine: sums of forwards are not promoted on the way, those of gradients are */
    const int8_t fast = of->in == PP_GPU_E4M3;
    cublasStatus_t code = cublasLtMatmulDescCreate(&e->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!code && turn_b)
        code = cublasLtMatmulDescSetAttribute(e->product, CUBLASLT_MATMUL_DESC_TRANSA,
                                              &mirrored_from, sizeof mirrored_from);
    if (!code && turn_a)
        code = cublasLtMatmulDescSetAttribute(e->product, CUBLASLT_MATMUL_DESC_TRANSB,
                                              &mirrored_from, sizeof mirrored_from);
    if (!code && of->multiprocessors)
        code = cublasLtMatmulDescSetAttribute(e->product, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET,
                                              &of->multiprocessors, sizeof of->multiprocessors);
    if (!code && fast)
        code = cublasLtMatmulDescSetAttribute(e->product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast,
                                              sizeof fast);
    if (!code && has_8_bits(of->in))
        code = set_scales(e, scales);
    if (!code)
        code = cublasLtMatrixLayoutCreate(&e->a, in_b, turn_b ? k : n, turn_b ? n : k, of->b_step);
    if (!code)
        code = cublasLtMatrixLayoutCreate(&e->b, in_a, turn_a ? m : k, turn_a ? k : m, of->a_step);
    if (!code)
        code = cublasLtMatrixLayoutCreate(&e->c, data_type(of->out), n, m, of->c_step);
    return code;
}

static cublasStatus_t align(const pp_gpu_blas *blas, const shape *of)
{
    const struct {
        cublasLtMatmulPreferenceAttributes_t what;
        uint32_t bytes;
    } operands[] = { { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of->b_aligned },
                     { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of->a_aligned },
                     { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of->c_aligned },
                     { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of->c_aligned } };
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < sizeof operands / sizeof operands[0] && !code; i++)
        code = request(blas, operands[i].what, &operands[i].bytes, sizeof operands[i].bytes);
    return code;
}

static pp_status no_algorithm(const pp_gpu_blas *blas, const shape *of, pp_err *err)
{
    static const char *const products[] = { "a b", "a b^T", "a^T b" };
    static const char *const types[] = { "f32", "bf16", "e4m3", "e5m2" };
    return blas->services->err_set(
        err, PP_UNAVAILABLE, NULL,
        "cuBLASLt %zu has no algorithm on this GPU for c = %s in %s, c of %lld x %lld, summed over "
        "%lld, rows %lld, %lld and %lld elements apart; choose other sizes, or another cuBLAS",
        cublasLtGetVersion(), products[of->product], types[of->in], (long long)of->m,
        (long long)of->n, (long long)of->k, (long long)of->a_step, (long long)of->b_step,
        (long long)of->c_step);
}

static pp_status ask(const pp_gpu_blas *blas, entry *e, const float *scales, pp_err *err)
{
    int found = 0;
    pp_status status = check(blas, describe(e, scales), "describing a product", err);
    if (!status)
        status = check(blas, align(blas, &e->of), "a preference", err);
    if (status)
        return status;
    cublasStatus_t code = cublasLtMatmulAlgoGetHeuristic(
        blas->library, e->product, e->a, e->b, e->c, e->c, blas->request, 1, &e->best, &found);
    if (code == CUBLAS_STATUS_NOT_SUPPORTED || (!code && (!found || e->best.state)))
        return no_algorithm(blas, &e->of, err);
    return check(blas, code, "choosing how to multiply", err);
}

static pp_status find(pp_gpu_blas *blas, const pp_gpu_gemm_call *call, entry **entry_out,
                      pp_err *err)
{
    const shape of = shape_of(call);
    entry **bucket = &blas->bucket[bucket_of(&of)];
    entry *e = *bucket;
    while (e && memcmp(&e->of, &of, sizeof of) != 0)
        e = e->next;
    if (!e) {
        e = calloc(1, sizeof *e);
        if (!e)
            return blas->services->err_set(err, PP_NOMEM, NULL, "out of memory");
        e->of = of;
        pp_status status = ask(blas, e, call->scales, err);
        if (status) {
            free_entry(e);
            return status;
        }
        e->next = *bucket;
        *bucket = e;
    }
    *entry_out = e;
    return PP_OK;
}

pp_status pp_gpu_gemm(pp_gpu_blas *blas, const pp_gpu_gemm_call *call, cudaStream_t stream,
                      pp_err *err)
{
    const float one = 1, old = call->add;
    entry *e;
    assert(call->m > 0 && call->n > 0 && call->k > 0 && (call->in || !call->out));
    assert(!has_8_bits(call->in) || (call->product == PP_GPU_ABT && call->scales));
    pp_status status = find(blas, call, &e, err);
    if (!status && has_8_bits(call->in))
        status = check(blas, set_scales(e, call->scales), "describing a product", err);
    if (status)
        return status;
    cublasStatus_t code = cublasLtMatmul(blas->library, e->product, &one, call->b, e->a, call->a,
                                         e->b, &old, call->c, e->c, call->c, e->c, &e->best.algo,
                                         blas->workspace, WORKSPACE_BYTES, stream);
    return check(blas, code, "a product", err);
}

static cublasStatus_t read_config(const entry *e, cublasLtMatmulAlgoConfigAttributes_t what,
                                  void *value, size_t bytes)
{
    size_t written = 0;
    return cublasLtMatmulAlgoConfigGetAttribute(&e->best.algo, what, value, bytes, &written);
}

pp_status pp_gpu_gemm_choose(pp_gpu_blas *blas, const pp_gpu_gemm_call *call,
                             pp_gpu_gemm_choice *choice_out, pp_err *err)
{
    entry *e;
    pp_status status = find(blas, call, &e, err);
    if (status)
        return status;
    pp_gpu_gemm_choice c = { .waves = e->best.wavesCount,
                             .workspace_bytes = e->best.workspaceSize };
    const struct {
        cublasLtMatmulAlgoConfigAttributes_t what;
        void *value; /* of 4 bytes */
    } parts[] = { { CUBLASLT_ALGO_CONFIG_ID, &c.algorithm },
                  { CUBLASLT_ALGO_CONFIG_TILE_ID, &c.tile },
                  { CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &c.split_k },
                  { CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &c.reduction },
                  { CUBLASLT_ALGO_CONFIG_STAGES_ID, &c.stages } };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !status; i++)
        status = check(blas, read_config(e, parts[i].what, parts[i].value, sizeof(uint32_t)),
                       "reading the algorithm", err);
    if (!status)
        *choice_out = c;
    return status;
}
