/* The operations that the ops of a stage are made of. stack.c and end_stages.c say which of them an
 * op consists of; a table says how they are done: on this processor (math.c, for double and float)
 * or on a GPU (runtime/cuda/). Tensors lie where the machine has its memory. */
#ifndef PPSIM_RUNTIME_CPU_MATH_H
#define PPSIM_RUNTIME_CPU_MATH_H

#include "runtime/cpu/model.h"

struct pp_module_services;

/* Rows follow each other without a gap. */
typedef enum pp_math_form {
    PP_MATH_AB,
    PP_MATH_ABT,
    PP_MATH_ATB, /* c is a gradient of weights, and is added to */
} pp_math_form;

/* c is m x n, summed over k. */
typedef struct pp_math_product {
    pp_math_form form;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    bool add; /* to what is in c; otherwise that is not read */
} pp_math_product;

/* Each row by its root mean square. */
typedef struct pp_math_norm {
    int64_t rows, width;
    const void *x;        /* forward: what is normed; backward: gradient of normed */
    void *normed;         /* forward: out */
    void *inverse;        /* forward: out, a sum per row */
    const void *residual; /* backward: added; may be gradient; NULL: nothing */
    void *gradient;       /* backward: out */
} pp_math_norm;

/* Of all sequences of a microbatch. */
typedef struct pp_math_attention {
    void *qkv;     /* [tokens][3 hidden]; backward: becomes its gradient */
    void *out;     /* [tokens][hidden] */
    void *lse;     /* [tokens][heads], sums */
    const void *d; /* backward: gradient of out */
    void *scratch; /* forward: hidden per token; backward: as the layout says */
} pp_math_attention;

/* Calls that return nothing keep their first failure for `finish`. Elements are of the model's
 * type; "sums" (statistics, losses, gradients of weights) have sum_bytes. */
typedef struct pp_math {
    /* services: what a module calls; otherwise NULL. model: outlives the machine. rank: whose
     * processor. Fails: UNAVAILABLE, NOMEM. */
    pp_status (*open)(const struct pp_module_services *services, const pp_cpu_model *model,
                      uint32_t rank, void **machine_out, pp_err *err);
    void (*close)(void *machine); /* NULL is fine */
    /* Called before and after the calls of an op, or of a step's begin or end. When finish returns
     * all of them have ended. */
    void (*start)(void *machine);
    pp_status (*finish)(void *machine, pp_err *err);
    /* When the last op began and ended on the GPU, on the host's clock. NULL: from its call to its
     * return. */
    void (*times)(const void *machine, pp_ns *start_ns, pp_ns *end_ns);

    uint32_t (*gpu)(const void *machine); /* number of its GPU; NULL: it is none */

    /* Memory for weights, zero at first. read and write copy to and from the host's memory, and
     * have ended when they return. */
    pp_status (*take)(void *machine, size_t bytes, void **at_out, pp_err *err);
    void (*give)(void *machine, void *at);
    void (*read)(void *machine, void *host, const void *from, size_t bytes);
    void (*write)(void *machine, void *to, const void *host, size_t bytes);
    /* Writes the initial weights of a matrix; sums: with elements of sum_bytes. */
    pp_status (*fill)(void *machine, const pp_cpu_matrix *matrix, bool sums, void *weights,
                      pp_err *err);

    void (*product)(void *machine, const pp_math_product *product);
    void (*norm_forward)(void *machine, const pp_math_norm *norm);
    void (*norm_backward)(void *machine, const pp_math_norm *norm);
    void (*gelu_forward)(void *machine, int64_t count, const void *h, void *g);
    void (*gelu_backward)(void *machine, int64_t count, const void *d, void *h); /* h: also out */
    void (*attention_forward)(void *machine, const pp_cpu_batch *batch,
                              const pp_math_attention *attention);
    void (*attention_backward)(void *machine, const pp_cpu_batch *batch,
                               const pp_math_attention *attention);
    /* x: [tokens][hidden]: rows of the embedding, or pseudo-random where that is NULL. */
    void (*first_input)(void *machine, const pp_cpu_batch *batch, const void *embedding, void *x);
    /* rows: [tokens][vocab or, without a vocabulary, hidden], become their own gradient; loss: one
     * sum. */
    void (*loss)(void *machine, const pp_cpu_batch *batch, void *rows, void *loss);
    void (*embedding_gradient)(void *machine, const pp_cpu_batch *batch, const void *d,
                               void *gradient);
    void (*copy)(void *machine, void *to, const void *from, size_t bytes);
    void (*zero)(void *machine, void *at, size_t bytes);
    /* weights -= rate gradients. masters: weights as sums, which are not rounded; NULL: weights are
     * sums. */
    void (*update)(void *machine, size_t count, double rate, const void *gradients, void *masters,
                   void *weights);
    /* Of gradients: sum += other, which is memory of the host. */
    void (*add)(void *machine, size_t count, const void *other, void *sum);
} pp_math;

extern const pp_math pp_cpu_math_f64, pp_cpu_math_f32;

#endif
