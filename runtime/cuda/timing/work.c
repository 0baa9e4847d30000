/* Kernels as work that is timed: which operands each kind has, what those hold at first, whether
 * a run spoils them, and the launch. */
#include "runtime/cuda/timing/work.h"

#include <stdlib.h>
#include <string.h>

size_t pp_gpu_type_bytes(pp_gpu_type type)
{
    return type == PP_GPU_F32 ? 4 : type == PP_GPU_BF16 ? 2 : 1;
}

static int64_t count_tiles(const pp_gpu_work *work)
{
    const int64_t rows = pp_gpu_tile_rows(work->width);
    int64_t tiles = 0;
    for (size_t i = 0; i < work->sequences; i++)
        tiles += (work->lengths[i] + rows - 1) / rows;
    return tiles;
}

/* Returns the number of distinct tokens, where row r has token r modulo vocab. */
static int64_t count_distinct(const pp_gpu_work *work)
{
    return work->rows < work->vocab ? work->rows : work->vocab;
}

static pp_gpu_operand random_of(int64_t count, size_t element)
{
    return (pp_gpu_operand){ .bytes = (size_t)count * element,
                             .filling = element == 1 ? PP_GPU_RANDOM_8 : PP_GPU_RANDOM };
}

static pp_gpu_operand table_of(int64_t count, size_t element)
{
    return (pp_gpu_operand){ .bytes = (size_t)count * element, .filling = PP_GPU_TABLE };
}

static pp_gpu_operand spoiled_of(int64_t count, size_t element)
{
    return (pp_gpu_operand){ .bytes = (size_t)count * element, .spoiled = true };
}

/* tiles, qkv, out, lse, gradient of out, gradients of keys and values, d out */
static void attention_operands(const pp_gpu_work *w, pp_gpu_operand *o)
{
    const size_t real = pp_gpu_type_bytes(w->in);
    const int64_t all = w->rows * w->heads * w->width;
    o[0] = table_of(count_tiles(w), sizeof(pp_gpu_tile));
    o[1] = random_of(3 * all, real);
    o[2] = random_of(all, real);
    o[3] = random_of(w->rows * w->heads, sizeof(float));
    if (w->kind == PP_GPU_ATTENTION_FORWARD)
        return;
    o[1].spoiled = true;
    o[4] = random_of(all, real);
    o[5] = random_of(2 * all, real);
    o[6] = random_of(w->rows * w->heads, sizeof(float));
}

static void ends_operands(const pp_gpu_work *w, pp_gpu_operand *o)
{
    const size_t real = pp_gpu_type_bytes(w->in);
    o[0] = table_of(w->rows, sizeof(int32_t)); /* tokens, or distinct ones */
    if (w->kind == PP_GPU_CROSS_ENTROPY) {
        o[1] = spoiled_of(w->rows * w->vocab, real);
        o[2] = random_of(w->rows, sizeof(double));
        return;
    }
    o[1] = random_of(w->rows * w->width, real); /* of the rows */
    if (w->kind == PP_GPU_EMBEDDING_FORWARD) {
        o[2] = random_of(w->vocab * w->width, real);
        return;
    }
    o[2] = random_of(w->vocab * w->width, sizeof(float));
    o[3] = table_of(count_distinct(w) + 1, sizeof(int32_t));
    o[4] = table_of(w->rows, sizeof(int32_t));
}

/* a, b and c; in 8 bits, the two scales. Experts share no weights. */
static void product_operands(const pp_gpu_work *w, pp_gpu_operand *o)
{
    const size_t in = pp_gpu_type_bytes(w->in);
    const int64_t experts = w->kind == PP_GPU_GROUPED ? (int64_t)w->sequences : 1;
    o[0] = random_of(w->m * w->k, in);
    o[1] = random_of((w->deep ? 1 : experts) * w->k * w->n, in);
    o[2] = random_of((w->deep ? experts : 1) * w->m * w->n, pp_gpu_type_bytes(w->out));
    if (in == 1)
        o[3] = table_of(2, sizeof(float));
}

/* x, result, its transposed copy, the largest element of each block, scale and its inverse */
static void quantize_operands(const pp_gpu_work *w, pp_gpu_operand *o)
{
    const int64_t all = w->rows * w->width;
    o[0] = random_of(all, pp_gpu_type_bytes(w->in));
    o[1] = o[2] = random_of(all, 1);
    o[3] = random_of(pp_gpu_quantize_tiles(w->rows, w->width), sizeof(float));
    o[4] = table_of(2, sizeof(float));
}

void pp_gpu_work_operands(const pp_gpu_work *w, pp_gpu_operand o[PP_GPU_OPERANDS])
{
    const size_t real = pp_gpu_type_bytes(w->in);
    const int64_t all = w->rows * w->width;
    memset(o, 0, PP_GPU_OPERANDS * sizeof *o);
    switch (w->kind) {
    case PP_GPU_MULTIPLY:
    case PP_GPU_GROUPED:
        product_operands(w, o);
        break;
    case PP_GPU_QUANTIZE:
    case PP_GPU_QUANTIZE_CURRENT:
        quantize_operands(w, o);
        break;
    case PP_GPU_COPY:
    case PP_GPU_COPY_IN:
    case PP_GPU_COPY_OUT:
    case PP_GPU_COPY_PEER:
    case PP_GPU_MESSAGE:
        o[0] = o[1] = random_of(w->bytes, 1);
        o[0].place = w->kind == PP_GPU_COPY_IN ? PP_GPU_HOST : PP_GPU_HERE;
        o[1].place = w->kind == PP_GPU_COPY_OUT    ? PP_GPU_HOST
                     : w->kind == PP_GPU_COPY_PEER ? PP_GPU_PEER
                                                   : PP_GPU_HERE;
        break;
    case PP_GPU_ATTENTION_FORWARD:
    case PP_GPU_ATTENTION_BACKWARD:
        attention_operands(w, o);
        break;
    case PP_GPU_NORM_FORWARD: /* x, normed, inverse; backward: residual and gradient too */
    case PP_GPU_NORM_BACKWARD:
        o[0] = o[1] = random_of(all, real);
        o[2] = random_of(w->rows, sizeof(float));
        if (w->kind == PP_GPU_NORM_BACKWARD)
            o[3] = o[4] = random_of(all, real);
        break;
    case PP_GPU_GELU_FORWARD:
        o[0] = o[1] = random_of(all, real);
        break;
    case PP_GPU_GELU_BACKWARD:
        o[0] = random_of(all, real);
        o[1] = spoiled_of(all, real);
        break;
    case PP_GPU_SWIGLU_FORWARD:
        o[0] = random_of(2 * all, real);
        o[1] = random_of(all, real);
        break;
    case PP_GPU_SWIGLU_BACKWARD:
        o[0] = random_of(all, real);
        o[1] = spoiled_of(2 * all, real);
        break;
    case PP_GPU_ADAM: /* gradient, first, second, master, weights */
        o[0] = o[1] = o[2] = o[3] = random_of(w->rows, sizeof(float));
        o[2].filling = PP_GPU_ZERO; /* no square is negative */
        o[4] = random_of(w->rows, real);
        break;
    default:
        ends_operands(w, o);
    }
}

static void write_tiles(const pp_gpu_work *work, pp_gpu_tile *tile)
{
    const int32_t rows = pp_gpu_tile_rows(work->width);
    int32_t row = 0;
    for (size_t i = 0; i < work->sequences; i++) {
        const int32_t length = (int32_t)work->lengths[i];
        for (int32_t first = 0; first < length; first += rows)
            *tile++ = (pp_gpu_tile){ row, length, first };
        row += length;
    }
}

/* Writes the rows of each token. first: the index in `row` at which the rows of a token begin; row:
 * the rows of token 0, then of token 1, ... */
static void write_rows(const pp_gpu_work *work, int32_t *first, int32_t *row)
{
    const int64_t distinct = count_distinct(work);
    int32_t count = 0;
    for (int64_t token = 0; token < distinct; token++) {
        if (first)
            first[token] = count;
        for (int64_t r = token; r < work->rows; r += work->vocab, count++) {
            if (row)
                row[count] = (int32_t)r;
        }
    }
    if (first)
        first[distinct] = count;
}

static bool is_product(const pp_gpu_work *work)
{
    return work->kind == PP_GPU_MULTIPLY || work->kind == PP_GPU_GROUPED;
}

static bool is_quantization(const pp_gpu_work *work)
{
    return work->kind == PP_GPU_QUANTIZE || work->kind == PP_GPU_QUANTIZE_CURRENT;
}

void pp_gpu_work_table(const pp_gpu_work *work, int index, void *table)
{
    int32_t *numbers = table;
    if (is_product(work) || is_quantization(work)) {
        float *scales = table; /* powers of 2; of products two that do not cancel */
        scales[0] = is_product(work) ? 2 : 256;
        scales[1] = is_product(work) ? 0.25F : 1 / 256.0F;
    } else if (work->kind == PP_GPU_ATTENTION_FORWARD || work->kind == PP_GPU_ATTENTION_BACKWARD) {
        write_tiles(work, table);
    } else if (index == 0) {
        for (int64_t r = 0; r < work->rows; r++)
            numbers[r] = (int32_t)(r % work->vocab);
    } else {
        write_rows(work, index == 3 ? numbers : NULL, index == 4 ? numbers : NULL);
    }
}

static cudaError_t launch_attention(const pp_gpu_work *w, char *const *o, cudaStream_t stream)
{
    const pp_gpu_attention_call call = { .tile = (const void *)o[0],
                                         .tiles = count_tiles(w),
                                         .rows = pp_gpu_tile_rows(w->width),
                                         .heads = (int32_t)w->heads,
                                         .width = (int32_t)w->width,
                                         .tokens = w->rows,
                                         .qkv = o[1],
                                         .out = o[2],
                                         .lse = (void *)o[3],
                                         .d = o[4],
                                         .keys = o[5],
                                         .along = (void *)o[6] };
    if (w->kind == PP_GPU_ATTENTION_FORWARD)
        return pp_gpu_attention_forward(stream, w->in, &call);
    cudaError_t code = pp_gpu_attention_along(stream, w->in, &call);
    if (!code)
        code = pp_gpu_attention_backward_keys(stream, w->in, &call);
    if (!code)
        code = pp_gpu_attention_backward_queries(stream, w->in, &call);
    return code ? code : pp_gpu_attention_move_keys(stream, w->in, &call);
}

static cudaError_t launch_ends(const pp_gpu_work *w, char *const *o, cudaStream_t stream)
{
    const pp_gpu_embedding_call gradient = { .tokens = count_distinct(w),
                                             .width = w->width,
                                             .token = (const void *)o[0],
                                             .first = (const void *)o[3],
                                             .row = (const void *)o[4],
                                             .d = o[1],
                                             .gradient = (void *)o[2] };
    pp_gpu_tokens_call call = {
        .rows = w->rows, .width = w->width, .token = (const void *)o[0], .x = o[1]
    };
    if (w->kind == PP_GPU_EMBEDDING_BACKWARD)
        return pp_gpu_embedding_gradient(stream, w->in, &gradient);
    if (w->kind == PP_GPU_EMBEDDING_FORWARD) {
        call.embedding = o[2];
        return pp_gpu_first_input(stream, w->in, &call);
    }
    call.width = w->vocab;
    call.share = 1 / (float)w->rows;
    call.losses = (void *)o[2];
    return pp_gpu_cross_entropy(stream, w->in, &call);
}

static cudaError_t launch_adam(const pp_gpu_work *w, char *const *o, cudaStream_t stream)
{
    const pp_gpu_adam_call call = { .count = w->rows,
                                    .rate = 1e-4F,
                                    .beta1 = 0.9F,
                                    .beta2 = 0.95F,
                                    .epsilon = 1e-8F,
                                    .decay = 0.1F,
                                    .share1 = 0.9F,
                                    .share2 = 0.9F,
                                    .gradient = (const void *)o[0],
                                    .first = (void *)o[1],
                                    .second = (void *)o[2],
                                    .master = (void *)o[3],
                                    .weights = o[4] };
    return pp_gpu_adam(stream, w->in, &call);
}

/* By a scale that is there, the largest elements of the blocks are for a later one: nothing waits
 * for them. */
static cudaError_t launch_quantize(const pp_gpu_work *w, char *const *o, cudaStream_t stream)
{
    const pp_gpu_quantize_call call = { .rows = w->rows,
                                        .width = w->width,
                                        .tiles = pp_gpu_quantize_tiles(w->rows, w->width),
                                        .x = o[0],
                                        .y = (void *)o[1],
                                        .turned = (void *)o[2],
                                        .largest = (void *)o[3],
                                        .scales = (void *)o[4] };
    cudaError_t code = cudaSuccess;
    if (w->kind == PP_GPU_QUANTIZE_CURRENT) {
        code = pp_gpu_find_largest(stream, w->in, &call);
        if (!code)
            code = pp_gpu_make_scales(stream, w->in, &call);
    }
    return code ? code : pp_gpu_quantize(stream, w->in, &call);
}

cudaError_t pp_gpu_work_launch(const pp_gpu_work *w, uint32_t number,
                               char *const o[PP_GPU_OPERANDS], cudaStream_t stream)
{
    const size_t bytes = (size_t)w->bytes;
    const pp_gpu_norm_call norm = { .rows = w->rows,
                                    .width = w->width,
                                    .x = o[0],
                                    .normed = o[1],
                                    .inverse = (void *)o[2],
                                    .residual = o[3],
                                    .gradient = o[4] };
    const pp_gpu_gelu_call gelu = { .count = w->rows * w->width, .x = o[0], .y = o[1] };
    const pp_gpu_swiglu_call swiglu = { w->rows, w->width, o[0], o[1] };
    switch (w->kind) {
    case PP_GPU_COPY:
        return cudaMemcpyAsync(o[1], o[0], bytes, cudaMemcpyDeviceToDevice, stream);
    case PP_GPU_COPY_IN:
        return cudaMemcpyAsync(o[1], o[0], bytes, cudaMemcpyHostToDevice, stream);
    case PP_GPU_COPY_OUT:
        return cudaMemcpyAsync(o[1], o[0], bytes, cudaMemcpyDeviceToHost, stream);
    case PP_GPU_COPY_PEER:
        return cudaMemcpyPeerAsync(o[1], (int)w->peer, o[0], (int)number, bytes, stream);
    case PP_GPU_ATTENTION_FORWARD:
    case PP_GPU_ATTENTION_BACKWARD:
        return launch_attention(w, o, stream);
    case PP_GPU_NORM_FORWARD:
        return pp_gpu_norm_forward(stream, w->in, &norm);
    case PP_GPU_NORM_BACKWARD:
        return pp_gpu_norm_backward(stream, w->in, &norm);
    case PP_GPU_GELU_FORWARD:
        return pp_gpu_gelu_forward(stream, w->in, &gelu);
    case PP_GPU_GELU_BACKWARD:
        return pp_gpu_gelu_backward(stream, w->in, &gelu);
    case PP_GPU_SWIGLU_FORWARD:
        return pp_gpu_swiglu_forward(stream, w->in, &swiglu);
    case PP_GPU_SWIGLU_BACKWARD:
        return pp_gpu_swiglu_backward(stream, w->in, &swiglu);
    case PP_GPU_ADAM:
        return launch_adam(w, o, stream);
    case PP_GPU_QUANTIZE:
    case PP_GPU_QUANTIZE_CURRENT:
        return launch_quantize(w, o, stream);
    default:
        return launch_ends(w, o, stream);
    }
}
