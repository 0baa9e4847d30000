/* Bodies for one element type: norm, GELU, SwiGLU, updates. No guard: kernel_bodies.h includes it
 * for each.
 */

PP_DEVICE void PP_OF(norm_forward)(const pp_gpu_norm_call *k, int64_t block, float *shared)
{
    const PP_REAL *x = (const PP_REAL *)k->x + block * k->width;
    PP_REAL *normed = (PP_REAL *)k->normed + block * k->width;
    PP_EACH_THREAD(t)
    {
        float sum = 0;
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS)
            sum += PP_LOAD(x + i) * PP_LOAD(x + i);
        shared[t] = sum;
    }
    pp_block_sum(shared);
    const float r = 1 / sqrtf(shared[0] / (float)k->width + 1e-6f);
    PP_EACH_THREAD(t)
    {
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS)
            PP_STORE(normed + i, PP_LOAD(x + i) * r);
        if (t == 0)
            k->inverse[block] = r;
    }
}

PP_DEVICE void PP_OF(norm_backward)(const pp_gpu_norm_call *k, int64_t block, float *shared)
{
    const PP_REAL *d = (const PP_REAL *)k->x + block * k->width;
    const PP_REAL *normed = (const PP_REAL *)k->normed + block * k->width;
    const PP_REAL *residual = (const PP_REAL *)k->residual;
    PP_REAL *gradient = (PP_REAL *)k->gradient + block * k->width;
    const float r = k->inverse[block];
    PP_EACH_THREAD(t)
    {
        float sum = 0;
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS)
            sum += PP_LOAD(d + i) * PP_LOAD(normed + i);
        shared[t] = sum;
    }
    pp_block_sum(shared);
    const float mean = shared[0] / (float)k->width;
    PP_EACH_THREAD(t)
    {
        for (int64_t i = t; i < k->width; i += PP_GPU_THREADS) {
            float own = r * (PP_LOAD(d + i) - PP_LOAD(normed + i) * mean);
            float more = residual ? PP_LOAD(residual + block * k->width + i) : 0;
            PP_STORE(gradient + i, more + own);
        }
    }
}

#define PP_GELU_SLOPE 0.79788456080286535588f /* sqrt(2 / pi) */
#define PP_GELU_CUBIC 0.044715f

PP_DEVICE void PP_OF(gelu_forward)(const pp_gpu_gelu_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->count) {
            const float x = PP_LOAD((const PP_REAL *)k->x + i);
            const float u = PP_GELU_SLOPE * (x + PP_GELU_CUBIC * x * x * x);
            PP_STORE((PP_REAL *)k->y + i, x / (1 + expf(-2 * u)));
        }
    }
}

PP_DEVICE void PP_OF(gelu_backward)(const pp_gpu_gelu_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->count) {
            PP_REAL *h = (PP_REAL *)k->y + i;
            const float x = PP_LOAD(h);
            const float u = PP_GELU_SLOPE * (x + PP_GELU_CUBIC * x * x * x);
            const float part = 1 / (1 + expf(-2 * u));
            const float du = PP_GELU_SLOPE * (1 + 3 * PP_GELU_CUBIC * x * x);
            const float d = PP_LOAD((const PP_REAL *)k->x + i);
            PP_STORE(h, d * (part + x * part * (1 - part) * 2 * du));
        }
    }
}

PP_DEVICE void PP_OF(update)(const pp_gpu_update_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        PP_REAL *w = (PP_REAL *)k->weights + i;
        if (i < k->count)
            PP_STORE(w, PP_LOAD(w) - k->rate * k->gradient[i]);
    }
}

PP_DEVICE void PP_OF(add)(const pp_gpu_update_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->count)
            k->sum[i] += k->gradient[i];
    }
}

PP_DEVICE void PP_OF(swiglu_forward)(const pp_gpu_swiglu_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->rows * k->width) {
            const PP_REAL *x = (const PP_REAL *)k->x + i / k->width * k->width + i;
            const float g = PP_LOAD(x);
            PP_STORE((PP_REAL *)k->y + i, PP_LOAD(x + k->width) * g / (1 + expf(-g)));
        }
    }
}

PP_DEVICE void PP_OF(swiglu_backward)(const pp_gpu_swiglu_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->rows * k->width) {
            PP_REAL *y = (PP_REAL *)k->y + i / k->width * k->width + i;
            const float d = PP_LOAD((const PP_REAL *)k->x + i);
            const float g = PP_LOAD(y);
            const float part = 1 / (1 + expf(-g));
            PP_STORE(y, d * PP_LOAD(y + k->width) * part * (1 + g * (1 - part)));
            PP_STORE(y + k->width, d * g * part);
        }
    }
}

PP_DEVICE void PP_OF(adam)(const pp_gpu_adam_call *k, int64_t block, float *shared)
{
    (void)shared;
    PP_EACH_THREAD(t)
    {
        const int64_t i = block * PP_GPU_THREADS + t;
        if (i < k->count) {
            const float d = k->gradient[i];
            const float m = k->beta1 * k->first[i] + (1 - k->beta1) * d;
            const float v = k->beta2 * k->second[i] + (1 - k->beta2) * d * d;
            const float along = m / k->share1 / (sqrtf(v / k->share2) + k->epsilon);
            const float w = k->master[i] - k->rate * (along + k->decay * k->master[i]);
            k->first[i] = m;
            k->second[i] = v;
            k->master[i] = w;
            PP_STORE((PP_REAL *)k->weights + i, w);
        }
    }
}
