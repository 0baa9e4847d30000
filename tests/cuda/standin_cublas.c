/* Stand-in for cuBLASLt: products are computed in loops on the host when their turn in the stream
 * comes. Everything that ppsim never requests is wrong use. */
#include "tests/cuda/standin.h"

#include <cublasLt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNED = 256,
    MULTIPROCESSORS = 16,
    WORKSPACE = 4096,
    TILE = 128,
    UNIT = 16,
    SM_OF_8_BITS = 89
};

#define FAILS(code, ...)                          \
    do {                                          \
        if (standin_fails(__func__, __VA_ARGS__)) \
            return code;                          \
    } while (0)

typedef struct layout {
    cudaDataType type;
    uint64_t rows, columns; /* column-major */
    int64_t step;
} layout;

typedef struct product {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    bool turn_a, turn_b;
    int32_t multiprocessors;
    int8_t fast;
    const float *scale_a, *scale_b; /* on the GPU */
} product;

typedef struct preference {
    uint64_t workspace;
    uint32_t aligned[4]; /* a, b, c, d */
} preference;

/* The content of a cublasLtMatmulAlgo_t, to check that it is used as it was requested. */
typedef struct algorithm {
    uint64_t mark, asked;
    uint32_t aligned[4];
    uint32_t split_k;
} algorithm;
_Static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "it must fit");

struct cublasLtContext {
    int device;
};

static const uint64_t mark = 0x73746e64696e616c;

/* Freed even if the call fails. */
static cublasStatus_t give(const char *name, void *what)
{
    const bool fails = standin_fails(name, "%s", "");
    free(what);
    return fails ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    FAILS(CUBLAS_STATUS_NOT_INITIALIZED, "%s", "");
    *out = calloc(1, sizeof **out);
    (*out)->device = standin_device();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t library)
{
    return give(__func__, library);
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

const char *cublasLtGetStatusString(cublasStatus_t code)
{
    return code == CUBLAS_STATUS_NOT_SUPPORTED      ? "the requested functionality is not supported"
           : code == CUBLAS_STATUS_NOT_INITIALIZED  ? "the library was not initialized"
           : code == CUBLAS_STATUS_EXECUTION_FAILED ? "the GPU program failed to execute"
                                                    : "an internal operation failed";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    FAILS(CUBLAS_STATUS_ALLOC_FAILED, "%d %d", (int)compute, (int)scale);
    product *p = calloc(1, sizeof *p);
    *p = (product){ .compute = compute, .scale = scale };
    *out = (cublasLtMatmulDesc_t)(void *)p;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t of)
{
    return give(__func__, of);
}

static bool read_turn(const void *value, size_t bytes)
{
    cublasOperation_t operation;
    if (bytes != sizeof operation)
        standin_wrong("a transposition of %zu bytes", bytes);
    memcpy(&operation, value, sizeof operation);
    if (operation != CUBLAS_OP_N && operation != CUBLAS_OP_T)
        standin_wrong("transposition %d", (int)operation);
    return operation == CUBLAS_OP_T;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t of,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes)
{
    product *p = (void *)of;
    FAILS(CUBLAS_STATUS_INVALID_VALUE, "%d", (int)what);
    if (what == CUBLASLT_MATMUL_DESC_TRANSA)
        p->turn_a = read_turn(value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_TRANSB)
        p->turn_b = read_turn(value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET && bytes == sizeof p->multiprocessors)
        memcpy(&p->multiprocessors, value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_FAST_ACCUM && bytes == sizeof p->fast)
        memcpy(&p->fast, value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER && bytes == sizeof p->scale_a)
        memcpy(&p->scale_a, value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER && bytes == sizeof p->scale_b)
        memcpy(&p->scale_b, value, bytes);
    else
        standin_wrong("attribute %d of a product, in %zu bytes", (int)what, bytes);
    if (p->multiprocessors < 0 || p->multiprocessors > MULTIPROCESSORS)
        standin_wrong("%d multiprocessors of %d", p->multiprocessors, MULTIPROCESSORS);
    return CUBLAS_STATUS_SUCCESS;
}

static bool has_8_bits(const layout *l)
{
    return l->type == CUDA_R_8F_E4M3 || l->type == CUDA_R_8F_E5M2;
}

static size_t bytes_of(cudaDataType type)
{
    if (type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2)
        return 1;
    if (type != CUDA_R_32F && type != CUDA_R_16BF)
        standin_wrong("elements of type %d", (int)type);
    return type == CUDA_R_32F ? 4 : 2;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t step)
{
    FAILS(CUBLAS_STATUS_ALLOC_FAILED, "%d %llu x %llu / %lld", (int)type, (unsigned long long)rows,
          (unsigned long long)columns, (long long)step);
    if (!rows || !columns || step < (int64_t)rows || !bytes_of(type))
        standin_wrong("a matrix of %llu x %llu, columns %lld apart", (unsigned long long)rows,
                      (unsigned long long)columns, (long long)step);
    layout *l = calloc(1, sizeof *l);
    *l = (layout){ type, rows, columns, step };
    *out = (cublasLtMatrixLayout_t)(void *)l;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t of)
{
    return give(__func__, of);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    FAILS(CUBLAS_STATUS_ALLOC_FAILED, "%s", "");
    preference *p = calloc(1, sizeof *p);
    for (int i = 0; i < 4; i++)
        p->aligned[i] = ALIGNED;
    *out = (cublasLtMatmulPreference_t)(void *)p;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t of)
{
    return give(__func__, of);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t of,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *value, size_t bytes)
{
    preference *p = (void *)of;
    const int operand = (int)what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    FAILS(CUBLAS_STATUS_INVALID_VALUE, "%d", (int)what);
    if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof p->workspace)
        memcpy(&p->workspace, value, bytes);
    else if (operand >= 0 && operand < 4 && bytes == sizeof p->aligned[0])
        memcpy(&p->aligned[operand], value, bytes);
    else
        standin_wrong("preference %d in %zu bytes", (int)what, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* Everything that an algorithm depends on, as one number. */
static uint64_t digest(const product *p, const layout *a, const layout *b, const layout *c)
{
    const uint64_t parts[] = {
        (uint64_t)p->fast, p->turn_a, p->turn_b,  (uint64_t)p->multiprocessors,
        a->type,           a->rows,   a->columns, (uint64_t)a->step,
        b->type,           b->rows,   b->columns, (uint64_t)b->step,
        c->type,           c->rows,   c->columns, (uint64_t)c->step
    };
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        sum = (sum ^ parts[i]) * 1099511628211u;
    return sum;
}

/* What cuBLAS documents of cublasLtMatmul in 8 bits with a scale per matrix. */
static void check_8_bits(const product *p, const layout *a, const layout *b, const layout *c)
{
    if (!has_8_bits(a) || !has_8_bits(b) || (a->type == b->type && a->type == CUDA_R_8F_E5M2) ||
        has_8_bits(c))
        standin_wrong("a product of types %d, %d, %d", (int)a->type, (int)b->type, (int)c->type);
    if (!p->turn_a || p->turn_b)
        standin_wrong("a product in 8 bits that is not of A^T and B");
    if (!standin_is_on_gpu(p->scale_a, sizeof *p->scale_a, standin_device()) ||
        !standin_is_on_gpu(p->scale_b, sizeof *p->scale_b, standin_device()))
        standin_wrong("a product in 8 bits without scales on the GPU");
}

/* Does this GPU do it, in these sizes? */
static bool is_supported(const layout *a, const layout *b)
{
    const uint64_t of[] = { a->rows, a->columns, b->rows, b->columns };
    bool fits = standin_setting("STANDIN_SM", 90) >= SM_OF_8_BITS && a->step % UNIT == 0 &&
                b->step % UNIT == 0;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        fits &= of[i] % UNIT == 0;
    return fits || !has_8_bits(a);
}

static void check_product(const product *p, const layout *a, const layout *b, const layout *c)
{
    const uint64_t k = p->turn_a ? a->rows : a->columns;
    if (p->compute != CUBLAS_COMPUTE_32F || p->scale != CUDA_R_32F)
        standin_wrong("a product computed as %d, scaled as %d", (int)p->compute, (int)p->scale);
    if (has_8_bits(a) || has_8_bits(b)) {
        check_8_bits(p, a, b, c);
    } else if (a->type != b->type || p->fast || p->scale_a || p->scale_b ||
               (a->type == CUDA_R_32F && c->type != CUDA_R_32F))
        standin_wrong("a product of types %d, %d, %d", (int)a->type, (int)b->type, (int)c->type);
    if ((p->turn_a ? a->columns : a->rows) != c->rows ||
        (p->turn_b ? b->rows : b->columns) != c->columns || (p->turn_b ? b->columns : b->rows) != k)
        standin_wrong("a product of matrices that do not fit");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t library, cublasLtMatmulDesc_t of,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t request, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *count)
{
    const product *p = (void *)of;
    const layout *to = (void *)c;
    const preference *w = (void *)request;
    FAILS(CUBLAS_STATUS_INTERNAL_ERROR, "%llu x %llu", (unsigned long long)to->rows,
          (unsigned long long)to->columns);
    check_product(p, (void *)a, (void *)b, to);
    if (!library || c != d || wanted < 1)
        standin_wrong("a heuristic asked for %d algorithms, with c %s", wanted,
                      c == d ? "as d" : "other than d");
    *count = 0;
    if (!standin_setting("STANDIN_ALGORITHMS", 1) || !is_supported((void *)a, (void *)b))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (w->workspace < WORKSPACE)
        return CUBLAS_STATUS_SUCCESS;
    algorithm best = { .mark = mark, .split_k = 1, .asked = digest(p, (void *)a, (void *)b, to) };
    memcpy(best.aligned, w->aligned, sizeof best.aligned);
    const double tiles = ceil((double)to->rows / TILE) * ceil((double)to->columns / TILE);
    const int free_ones = p->multiprocessors ? p->multiprocessors : MULTIPROCESSORS;
    memset(&results[0], 0, sizeof results[0]);
    memcpy(&results[0].algo, &best, sizeof best);
    results[0].workspaceSize = WORKSPACE;
    results[0].wavesCount = (float)(tiles / free_ones);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *of,
                                                    cublasLtMatmulAlgoConfigAttributes_t what,
                                                    void *value, size_t bytes, size_t *written)
{
    static const uint32_t values[] = { [CUBLASLT_ALGO_CONFIG_ID] = 66,
                                       [CUBLASLT_ALGO_CONFIG_TILE_ID] =
                                           CUBLASLT_MATMUL_TILE_128x128,
                                       [CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = 1,
                                       [CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME] = 0,
                                       [CUBLASLT_ALGO_CONFIG_STAGES_ID] = 4 };
    (void)of;
    FAILS(CUBLAS_STATUS_INVALID_VALUE, "%d", (int)what);
    if (bytes != sizeof values[0] || what < 0 || what >= sizeof values / sizeof values[0])
        standin_wrong("setting %d of an algorithm in %zu bytes", (int)what, bytes);
    memcpy(value, &values[what], bytes);
    *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

typedef struct multiplication {
    product how;
    layout a, b, c;
    const char *at_a, *at_b;
    char *at_c;
    bool add;
    int64_t begun_us;
} multiplication;

/* A number of 8 bits: sign, exponent, and as many bits of its fraction as are left. */
static float value_of(uint8_t bits, int fraction_bits)
{
    const int bias = (1 << (6 - fraction_bits)) - 1;
    const uint32_t exponent = (bits & 0x7Fu) >> fraction_bits;
    const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    const uint32_t wide = (exponent + 127 - (uint32_t)bias) << 23 | fraction
                                                                        << (23 - fraction_bits);
    float size = (float)fraction * (fraction_bits == 3 ? 0x1p-9F : 0x1p-16F);
    if (exponent)
        memcpy(&size, &wide, sizeof size);
    return bits & 0x80 ? -size : size;
}

static float get(const layout *l, const char *at, uint64_t row, uint64_t column)
{
    const size_t index = column * (uint64_t)l->step + row;
    uint32_t bits = 0;
    if (has_8_bits(l))
        return value_of((uint8_t)at[index], l->type == CUDA_R_8F_E4M3 ? 3 : 2);
    if (l->type == CUDA_R_32F)
        memcpy(&bits, at + 4 * index, 4);
    else
        memcpy((char *)&bits + 2, at + 2 * index, 2); /* the upper half; little-endian */
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put(const layout *l, char *at, uint64_t row, uint64_t column, float value)
{
    const size_t index = column * (uint64_t)l->step + row;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (l->type == CUDA_R_32F) {
        memcpy(at + 4 * index, &bits, 4);
        return;
    }
    const uint16_t half =
        isnan(value) ? 0x7FC0 : (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    memcpy(at + 2 * index, &half, sizeof half); /* rounded to nearest, ties to even */
}

/* All numbers of a matrix, row by row, or column by column. The caller frees them. */
static float *read_matrix(const layout *l, const char *at, bool by_columns)
{
    float *numbers = malloc(l->rows * l->columns * sizeof *numbers), *next = numbers;
    for (uint64_t i = 0; i < (by_columns ? l->columns : l->rows); i++) {
        for (uint64_t j = 0; j < (by_columns ? l->rows : l->columns); j++)
            *next++ = get(l, at, by_columns ? j : i, by_columns ? i : j);
    }
    return numbers;
}

static bool run_product(void *work)
{
    multiplication *w = work;
    if (standin_is_early(&w->begun_us, standin_setting("STANDIN_PRODUCT_US", 0)))
        return false;
    standin_begins("product");
    const product *p = &w->how;
    const uint64_t depth = p->turn_a ? w->a.rows : w->a.columns;
    float *a = read_matrix(&w->a, w->at_a, p->turn_a);
    float *b = read_matrix(&w->b, w->at_b, !p->turn_b);
    for (uint64_t j = 0; j < w->c.columns; j++) {
        for (uint64_t i = 0; i < w->c.rows; i++) {
            float sum = 0;
            for (uint64_t l = 0; l < depth; l++)
                sum += a[i * depth + l] * b[j * depth + l];
            if (p->scale_a)
                sum *= *p->scale_a * *p->scale_b;
            put(&w->c, w->at_c, i, j, w->add ? sum + get(&w->c, w->at_c, i, j) : sum);
        }
    }
    free(a);
    free(b);
    return true;
}

static void check_operand(const void *at, const layout *l, uint32_t aligned, int device)
{
    const size_t elements = (size_t)l->step * (l->columns - 1) + l->rows;
    if (!standin_is_on_gpu(at, elements * bytes_of(l->type), device))
        standin_wrong("a matrix that does not lie on GPU %d", device);
    if (!aligned || (uintptr_t)at % aligned)
        standin_wrong("a matrix is not aligned to the %u bytes that were promised", aligned);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t library, cublasLtMatmulDesc_t of, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_of, const void *b,
                              cublasLtMatrixLayout_t b_of, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_of, void *d, cublasLtMatrixLayout_t d_of,
                              const cublasLtMatmulAlgo_t *how, void *workspace, size_t bytes,
                              cudaStream_t stream)
{
    multiplication w = { *(product *)(void *)of,
                         *(layout *)(void *)a_of,
                         *(layout *)(void *)b_of,
                         *(layout *)(void *)c_of,
                         a,
                         b,
                         d,
                         false,
                         0 };
    standin_stream *queue = (standin_stream *)stream;
    const int device = standin_device();
    algorithm best;
    float factor[2];
    FAILS(CUBLAS_STATUS_EXECUTION_FAILED, "%llu x %llu", (unsigned long long)w.c.rows,
          (unsigned long long)w.c.columns);
    memcpy(&best, how, sizeof best);
    memcpy(&factor[0], alpha, sizeof factor[0]);
    memcpy(&factor[1], beta, sizeof factor[1]);
    check_product(&w.how, &w.a, &w.b, &w.c);
    if (library->device != device || standin_device_of(queue) != device)
        standin_wrong("a product of GPU %d in a stream of GPU %d, the thread at GPU %d",
                      library->device, standin_device_of(queue), device);
    if (best.mark != mark || best.asked != digest(&w.how, &w.a, &w.b, &w.c))
        standin_wrong("a product with the algorithm of another");
    if (factor[0] != 1 || (factor[1] != 0 && factor[1] != 1) || c != d || c_of != d_of)
        standin_wrong("a product times %g, plus %g times another matrix", (double)factor[0],
                      (double)factor[1]);
    if (bytes < WORKSPACE || !standin_is_on_gpu(workspace, bytes, device))
        standin_wrong("a product without its workspace");
    check_operand(a, &w.a, best.aligned[0], device);
    check_operand(b, &w.b, best.aligned[1], device);
    check_operand(d, &w.c, best.aligned[2], device);
    w.add = factor[1] != 0;
    multiplication *work = malloc(sizeof *work);
    *work = w;
    standin_enqueue(queue, run_product, free, work);
    return CUBLAS_STATUS_SUCCESS;
}
