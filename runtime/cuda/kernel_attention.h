/* Bodies for one element type: causal attention of sequences of any lengths (Dao 2022), whose
 * scores stay in the tile. Included as kernel_rows.h is.
 *
 * Rows of a tile lie in shared memory with one element more between them, so that threads that
 * read one column of many rows meet no bank twice. */

/* Where a block is. */
typedef struct PP_OF(place) {
    pp_gpu_tile tile;
    int32_t head, rows, width, pitch;
    int64_t hidden;
    float scale;
} PP_OF(place);

PP_DEVICE PP_OF(place) PP_OF(place_of)(const pp_gpu_attention_call *k, int64_t block)
{
    PP_OF(place) at;
    at.tile = k->tile[block / k->heads];
    at.head = (int32_t)(block % k->heads);
    at.rows = k->rows;
    at.width = k->width;
    at.pitch = k->width + 1;
    at.hidden = (int64_t)k->heads * k->width;
    at.scale = 1 / sqrtf((float)k->width);
    return at;
}

/* Rows from `first` of the sequence on; those behind its end are zero. */
PP_DEVICE void PP_OF(load_rows)(const PP_OF(place) * at, const PP_REAL *from, int64_t step,
                                int32_t first, float *to)
{
    PP_EACH_THREAD(t)
    {
        for (int32_t e = t; e < at->rows * at->width; e += PP_GPU_THREADS) {
            const int32_t i = e / at->width, w = e % at->width;
            const bool there = first + i < at->tile.length;
            to[i * at->pitch + w] =
                there ? PP_LOAD(from + (at->tile.row + first + i) * step + w) : 0;
        }
    }
}

PP_DEVICE void PP_OF(clear_rows)(const PP_OF(place) * at, float *rows)
{
    PP_EACH_THREAD(t)
    {
        for (int32_t e = t; e < at->rows * at->pitch; e += PP_GPU_THREADS)
            rows[e] = 0;
    }
}

PP_DEVICE float PP_OF(dot)(int32_t width, const float *a, const float *b)
{
    float sum = 0;
    for (int32_t w = 0; w < width; w++)
        sum += a[w] * b[w];
    return sum;
}

/* sum[i][w] += parts[i][j] rows[j][w], or with the sum over i: transposed. */
PP_DEVICE void PP_OF(add_product)(const PP_OF(place) * at, bool transposed, const float *parts,
                                  const float *rows, float *sum)
{
    PP_EACH_THREAD(t)
    {
        for (int32_t e = t; e < at->rows * at->width; e += PP_GPU_THREADS) {
            const int32_t i = e / at->width, w = e % at->width;
            float more = 0;
            for (int32_t j = 0; j < at->rows; j++)
                more += parts[transposed ? j * at->rows + i : i * at->rows + j] *
                        rows[j * at->pitch + w];
            sum[i * at->pitch + w] += more;
        }
    }
}

PP_DEVICE void PP_OF(store_rows)(const PP_OF(place) * at, const float *from, PP_REAL *to,
                                 int64_t step)
{
    PP_EACH_THREAD(t)
    {
        for (int32_t e = t; e < at->rows * at->width; e += PP_GPU_THREADS) {
            const int32_t i = e / at->width, w = e % at->width;
            if (at->tile.first + i < at->tile.length)
                PP_STORE(to + (at->tile.row + at->tile.first + i) * step + w,
                         from[i * at->pitch + w]);
        }
    }
}

/* Scores of one row become parts; what was summed before counts `kept` times. */
PP_DEVICE void PP_OF(soften)(int32_t rows, float *scores, float *most, float *sum, float *kept)
{
    float now = *most;
    float more = 0;
    for (int32_t j = 0; j < rows; j++)
        now = scores[j] > now ? scores[j] : now;
    for (int32_t j = 0; j < rows; j++) {
        scores[j] = expf(scores[j] - now);
        more += scores[j];
    }
    *kept = expf(*most - now);
    *sum = *sum * *kept + more;
    *most = now;
}

PP_DEVICE void PP_OF(attention_forward)(const pp_gpu_attention_call *k, int64_t block,
                                        float *shared)
{
    const PP_OF(place) at = PP_OF(place_of)(k, block);
    const int32_t n = at.rows, all = at.rows * at.pitch;
    const PP_REAL *q = (const PP_REAL *)k->qkv + at.head * at.width;
    float *queries = shared, *others = queries + all, *out = others + all, *scores = out + all;
    float *most = scores + n * n, *sum = most + n, *kept = sum + n;
    PP_OF(load_rows)(&at, q, 3 * at.hidden, at.tile.first, queries);
    PP_OF(clear_rows)(&at, out);
    PP_EACH_THREAD(t)
    {
        if (t < n) {
            most[t] = -INFINITY;
            sum[t] = 0;
        }
    }
    for (int32_t first = 0; first <= at.tile.first; first += n) {
        PP_OF(load_rows)(&at, q + at.hidden, 3 * at.hidden, first, others);
        PP_BARRIER();
        PP_EACH_THREAD(t)
        {
            for (int32_t e = t; e < n * n; e += PP_GPU_THREADS) {
                const int32_t i = e / n, j = e % n;
                const bool seen = first + j <= at.tile.first + i;
                const float s = PP_OF(dot)(at.width, queries + i * at.pitch, others + j * at.pitch);
                scores[e] = seen ? s * at.scale : -INFINITY;
            }
        }
        PP_BARRIER();
        PP_EACH_THREAD(t)
        {
            if (t < n)
                PP_OF(soften)(n, scores + t * n, &most[t], &sum[t], &kept[t]);
        }
        PP_OF(load_rows)(&at, q + 2 * at.hidden, 3 * at.hidden, first, others);
        PP_BARRIER();
        PP_EACH_THREAD(t)
        {
            for (int32_t e = t; e < n * at.width; e += PP_GPU_THREADS)
                out[e / at.width * at.pitch + e % at.width] *= kept[e / at.width];
        }
        PP_OF(add_product)(&at, false, scores, others, out);
        PP_BARRIER();
    }
    PP_EACH_THREAD(t)
    {
        for (int32_t e = t; e < n * at.width; e += PP_GPU_THREADS)
            out[e / at.width * at.pitch + e % at.width] /= sum[e / at.width];
        if (t < n && at.tile.first + t < at.tile.length)
            k->lse[(int64_t)(at.tile.row + at.tile.first + t) * k->heads + at.head] =
                most[t] + logf(sum[t]);
    }
    PP_OF(store_rows)(&at, out, (PP_REAL *)k->out + at.head * at.width, at.hidden);
}

/* A thread per row and head. */
PP_DEVICE void PP_OF(attention_along)(const pp_gpu_attention_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t; /* rows of [tokens][heads][width] */
        const PP_REAL *d = (const PP_REAL *)k->d + i * k->width;
        const PP_REAL *out = (const PP_REAL *)k->out + i * k->width;
        if (i < k->tokens * k->heads) {
            float sum = 0;
            for (int32_t w = 0; w < k->width; w++)
                sum += PP_LOAD(d + w) * PP_LOAD(out + w);
            k->along[i] = sum;
        }
    }
}

/* What all queries of a tile say to all keys of another: parts and gradients of the scores. */
typedef struct PP_OF(pair) {
    int32_t query, key; /* first ones */
    const float *queries, *d, *keys, *values;
    float *parts, *slopes, *lse, *along;
} PP_OF(pair);

PP_DEVICE void PP_OF(load_statistics)(const PP_OF(place) * at, const pp_gpu_attention_call *k,
                                      int32_t first, float *lse, float *along)
{
    PP_EACH_THREAD(t)
    {
        if (t < at->rows && first + t < at->tile.length) {
            const int64_t i = (int64_t)(at->tile.row + first + t) * k->heads + at->head;
            lse[t] = k->lse[i];
            along[t] = k->along[i];
        }
    }
}

PP_DEVICE void PP_OF(score)(const PP_OF(place) * at, const PP_OF(pair) * of)
{
    const int32_t n = at->rows;
    PP_EACH_THREAD(t)
    {
        for (int32_t e = t; e < n * n; e += PP_GPU_THREADS) {
            const int32_t i = e / n, j = e % n;
            float p = 0, slope = 0;
            if (of->query + i < at->tile.length && of->key + j <= of->query + i) {
                const float s =
                    PP_OF(dot)(at->width, of->queries + i * at->pitch, of->keys + j * at->pitch);
                const float v =
                    PP_OF(dot)(at->width, of->d + i * at->pitch, of->values + j * at->pitch);
                p = expf(s * at->scale - of->lse[i]);
                slope = p * (v - of->along[i]) * at->scale;
            }
            of->parts[e] = p;
            of->slopes[e] = slope;
        }
    }
}

PP_DEVICE void PP_OF(attention_backward_keys)(const pp_gpu_attention_call *k, int64_t block,
                                              float *shared)
{
    const PP_OF(place) at = PP_OF(place_of)(k, block);
    const int32_t n = at.rows, all = at.rows * at.pitch;
    const PP_REAL *q = (const PP_REAL *)k->qkv + at.head * at.width;
    float *queries = shared, *d = queries + all, *keys = d + all, *values = keys + all;
    float *dk = values + all, *dv = dk + all, *parts = dv + all, *slopes = parts + n * n;
    float *lse = slopes + n * n, *along = lse + n;
    PP_OF(load_rows)(&at, q + at.hidden, 3 * at.hidden, at.tile.first, keys);
    PP_OF(load_rows)(&at, q + 2 * at.hidden, 3 * at.hidden, at.tile.first, values);
    PP_OF(clear_rows)(&at, dk);
    PP_OF(clear_rows)(&at, dv);
    for (int32_t first = at.tile.first; first < at.tile.length; first += n) {
        PP_OF(load_rows)(&at, q, 3 * at.hidden, first, queries);
        PP_OF(load_rows)(&at, (const PP_REAL *)k->d + at.head * at.width, at.hidden, first, d);
        PP_OF(load_statistics)(&at, k, first, lse, along);
        PP_BARRIER();
        const PP_OF(pair)
            pair = { first, at.tile.first, queries, d, keys, values, parts, slopes, lse, along };
        PP_OF(score)(&at, &pair);
        PP_BARRIER();
        PP_OF(add_product)(&at, true, parts, d, dv);
        PP_OF(add_product)(&at, true, slopes, queries, dk);
        PP_BARRIER();
    }
    PP_REAL *to = (PP_REAL *)k->keys + at.head * at.width;
    PP_OF(store_rows)(&at, dk, to, 2 * at.hidden);
    PP_OF(store_rows)(&at, dv, to + at.hidden, 2 * at.hidden);
}

/* Nobody else reads these queries: their gradient takes their place. */
PP_DEVICE void PP_OF(attention_backward_queries)(const pp_gpu_attention_call *k, int64_t block,
                                                 float *shared)
{
    const PP_OF(place) at = PP_OF(place_of)(k, block);
    const int32_t n = at.rows, all = at.rows * at.pitch;
    PP_REAL *q = (PP_REAL *)k->qkv + at.head * at.width;
    float *queries = shared, *d = queries + all, *keys = d + all, *values = keys + all;
    float *dq = values + all, *parts = dq + all, *slopes = parts + n * n;
    float *lse = slopes + n * n, *along = lse + n;
    PP_OF(load_rows)(&at, q, 3 * at.hidden, at.tile.first, queries);
    PP_OF(load_rows)(&at, (const PP_REAL *)k->d + at.head * at.width, at.hidden, at.tile.first, d);
    PP_OF(load_statistics)(&at, k, at.tile.first, lse, along);
    PP_OF(clear_rows)(&at, dq);
    for (int32_t first = 0; first <= at.tile.first; first += n) {
        PP_OF(load_rows)(&at, q + at.hidden, 3 * at.hidden, first, keys);
        PP_OF(load_rows)(&at, q + 2 * at.hidden, 3 * at.hidden, first, values);
        PP_BARRIER();
        const PP_OF(pair)
            pair = { at.tile.first, first, queries, d, keys, values, parts, slopes, lse, along };
        PP_OF(score)(&at, &pair);
        PP_BARRIER();
        PP_OF(add_product)(&at, false, slopes, keys, dq);
        PP_BARRIER();
    }
    PP_OF(store_rows)(&at, dq, q, 3 * at.hidden);
}

PP_DEVICE void PP_OF(attention_move_keys)(const pp_gpu_attention_call *k, int64_t block,
                                          float *shared)
{
    (void)shared;
    const int64_t wide = 2 * (int64_t)k->heads * k->width;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->tokens * wide)
            ((PP_REAL *)k->qkv)[i / wide * (wide / 2 * 3) + wide / 2 + i % wide] =
                ((const PP_REAL *)k->keys)[i];
    }
}
