/* Time and FLOPs of gated delta nets (Yang et al., arXiv 2412.06464), Mamba-2 (Dao and Gu, arXiv
 * 2405.21060, section 6) and lightning attention (MiniMax-01, arXiv 2501.08313, section 2.2). All
 * three cut the sequence into chunks, multiply within a chunk as attention does, and pass a state
 * of key_dim x value_dim per head from chunk to chunk, so that time is linear in tokens. Products
 * of a chunk of c tokens, per head:
 *
 *                      c x c over keys    c x values over c    keys x values x c
 *   Mamba-2            1 (per group)      1                    2
 *   lightning          1                  1                    2
 *   delta net          3                  2                    3
 *
 * Mamba-2: C B^T, its product with x, the state of the chunk, the state's part of the output. A
 * delta net also has K K^T and the two products with the inverse of I + its lower triangle, W and
 * U, and W times the state (chunk_gated_delta_rule of flash-linear-attention). The inverse itself,
 * the scan over the states of the chunks and decays are not counted. The backward has two products
 * for each of the forward, and makes the states again. */
#include "sim/cost/scan.h"

#include <math.h>

/* How many products of each shape. */
typedef struct products {
    double keys, values, states;
} products;

static products products_of(pp_mixer mixer)
{
    return mixer == PP_MIXER_DELTA ? (products){ 3, 2, 3 } : (products){ 1, 1, 2 };
}

pp_scan pp_scan_of(const pp_model *m, pp_mixer mixer, double parts)
{
    const bool delta = mixer == PP_MIXER_DELTA, lightning = mixer == PP_MIXER_LIGHTNING;
    const double groups = fmax(1, (double)m->scan_groups / parts);
    pp_scan s = { .heads = (double)m->scan_heads / parts };
    s.key_heads = delta || lightning ? s.heads : groups;
    s.keys = 2 * groups * (double)m->scan_key_dim;
    s.values = s.heads * (double)m->scan_value_dim;
    /* gates of the values, and two (decay and beta) or one (step) numbers per head */
    s.inner = s.keys + 2 * s.values + (delta ? 2 : lightning ? 0 : 1) * s.heads;
    const double taps = m->scan_conv ? (double)m->scan_conv + m->scan_conv_bias : 0;
    s.other = (s.keys + s.values) * taps + (delta ? 2 : lightning ? 0 : 3) * s.heads;
    s.norm = !m->scan_norm ? 0 : delta ? (double)m->scan_value_dim : s.values;
    return s;
}

double pp_scan_flops(const pp_model *m, pp_mixer mixer)
{
    const pp_scan s = pp_scan_of(m, mixer, 1);
    const products p = products_of(mixer);
    const double chunk = (double)m->scan_chunk, key = (double)m->scan_key_dim;
    return 2 * (p.keys * s.key_heads * chunk * key + p.values * s.values * chunk +
                p.states * s.values * key);
}

/* Adds the products of all chunks. */
static void add_products(const pp_gpu_batch *local, const pp_scan *s, pp_work *work)
{
    const pp_model *m = local->model;
    const products p = products_of((pp_mixer)local->layer.mixer);
    const double chunk = (double)m->scan_chunk, chunks = local->tokens / chunk;
    const double key = (double)m->scan_key_dim, value = (double)m->scan_value_dim;
    const pp_gemm_pass pass = PP_GEMM_OTHER;
    const double inside =
        p.keys * pp_gpu_gemm_seconds(local, chunk, chunk, key, chunks * s->key_heads, pass) +
        p.values * pp_gpu_gemm_seconds(local, chunk, value, chunk, chunks * s->heads, pass);
    const double states =
        p.states * pp_gpu_gemm_seconds(local, key, value, chunk, chunks * s->heads, pass);
    work->f += inside + states;
    work->i += 2 * inside + 3 * states;
}

void pp_add_scan(const pp_gpu_batch *local, pp_work *work)
{
    const double h = (double)local->model->hidden, rows = local->tokens;
    const pp_scan s = pp_scan_of(local->model, (pp_mixer)local->layer.mixer, local->t);
    const double mixed = rows * (s.keys + s.values) * local->element_bytes;
    const double values = rows * s.values * local->element_bytes;
    pp_add_linear(local, rows, s.inner, h, 1, work);
    if (local->model->scan_conv)
        pp_add_elementwise(local, 2 * mixed, 4 * mixed, work);
    add_products(local, &s, work);
    pp_add_elementwise(local, 3 * values, 5 * values, work); /* gate and norm */
    pp_add_linear(local, rows, h, s.values, 1, work);
}
