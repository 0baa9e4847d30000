/* Bodies for one element type: inputs, losses, the gradient of the embedding. Included as
 * kernel_rows.h is. */

PP_DEVICE void PP_OF(first_input)(const pp_gpu_tokens_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_REAL *x = (PP_REAL *)k->x + block * k->width;
    const PP_REAL *embedding = (const PP_REAL *)k->embedding;
    PP_EACH_THREAD(t)
    {
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS) {
            if (embedding)
                x[i] = embedding[k->token[block] * k->width + i];
            else
                PP_STORE(x + i, pp_uniform(k, block, i));
        }
    }
}

PP_DEVICE void PP_OF(clear_row)(PP_REAL *row, int64_t width)
{
    PP_EACH_THREAD(t)
    {
        for (int64_t i = t; i < width; i += PP_GPU_THREADS)
            PP_STORE(row + i, 0);
    }
}

PP_DEVICE void PP_OF(squared_error)(const pp_gpu_tokens_call *k, int64_t block, float *shared)
{
    PP_REAL *y = (PP_REAL *)k->x + block * k->width;
    const bool counts = k->token[block] >= 0;
    if (!counts)
        PP_OF(clear_row)(y, k->width);
    PP_EACH_THREAD(t)
    {
        float sum = 0;
        for (int64_t i = t; i < k->width && counts; i += PP_GPU_THREADS) {
            const float off = PP_LOAD(y + i) - pp_uniform(k, block, i);
            sum += off * off;
            PP_STORE(y + i, 2 * k->share / (float)k->width * off);
        }
        shared[t] = sum;
    }
    pp_block_sum(shared);
    PP_EACH_THREAD(t)
    {
        if (t == 0)
            k->losses[block] = (double)shared[0] / (double)k->width;
    }
}

PP_DEVICE void PP_OF(cross_entropy)(const pp_gpu_tokens_call *k, int64_t block, float *shared)
{
    PP_REAL *z = (PP_REAL *)k->x + block * k->width;
    const int32_t label = k->token[block];
    float *right = shared + PP_GPU_THREADS;
    if (label < 0) {
        PP_OF(clear_row)(z, k->width);
        PP_EACH_THREAD(t)
        {
            if (t == 0)
                k->losses[block] = 0;
        }
        return;
    }
    PP_EACH_THREAD(t)
    {
        float most = -INFINITY;
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS)
            most = PP_LOAD(z + i) > most ? PP_LOAD(z + i) : most;
        shared[t] = most;
    }
    pp_block_max(shared);
    const float most = shared[0];
    PP_BARRIER();
    PP_EACH_THREAD(t)
    {
        float sum = 0;
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS)
            sum += expf(PP_LOAD(z + i) - most);
        shared[t] = sum;
        if (t == 0)
            *right = PP_LOAD(z + label);
    }
    pp_block_sum(shared);
    const float sum = shared[0];
    PP_EACH_THREAD(t)
    {
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS) {
            const float p = expf(PP_LOAD(z + i) - most) * (k->share / sum);
            PP_STORE(z + i, i == label ? p - k->share : p);
        }
        if (t == 0)
            k->losses[block] = (double)(logf(sum) + (most - *right));
    }
}

PP_DEVICE void PP_OF(embedding_gradient)(const pp_gpu_embedding_call *k, int64_t block,
                                         float *shared)
{
    (void)shared;
    float *gradient = k->gradient + k->token[block] * k->width;
    PP_EACH_THREAD(t)
    {
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS) {
            float sum = gradient[i];
            for (int32_t r = k->first[block]; r < k->first[block + 1]; r++)
                sum += PP_LOAD((const PP_REAL *)k->d + k->row[r] * k->width + i);
            gradient[i] = sum;
        }
    }
}

PP_DEVICE void PP_OF(total)(const pp_gpu_total_call *k, int64_t block, float *shared)
{
    double *sums = (double *)(void *)shared;
    (void)block;
    PP_EACH_THREAD(t)
    {
        sums[t] = 0;
        for (int64_t i = t; i < k->rows; i += PP_GPU_THREADS)
            sums[t] += k->losses[i];
    }
    PP_BARRIER();
    PP_EACH_THREAD(t)
    {
        if (t == 0) {
            double sum = 0;
            for (int i = 0; i < PP_GPU_THREADS; i++)
                sum += sums[i];
            *k->sum = (float)(sum * k->share);
        }
    }
}
