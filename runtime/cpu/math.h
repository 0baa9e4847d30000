/* The operations that the ops of a stage are made of. stack.c and end_stages.c determine which of
 * them an op consists of; a table determines how they are done: on this processor (math.c, for
 * double and float) or on a GPU (runtime/cuda/). Tensors lie where the machine has its memory. */
#ifndef PPSIM_RUNTIME_CPU_MATH_H
#define PPSIM_RUNTIME_CPU_MATH_H

#include "runtime/cpu/model.h"

struct pp_module_services;

/* Products of matrices whose rows follow each other without a gap. */
typedef enum pp_math_form {
    PP_MATH_AB,
    PP_MATH_ABT,
    PP_MATH_ATB, /* c is the gradient of weights; the product is added to it */
} pp_math_form;

/* c is m x n, the sum runs over k. */
typedef struct pp_math_product {
    pp_math_form form;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    bool add; /* the product is added to c; otherwise c is only written */
} pp_math_product;

/* Root mean square norm of each row. */
typedef struct pp_math_norm {
    int64_t rows, width;
    const void *x;        /* forward: input; backward: gradient of `normed` */
    void *normed;         /* forward: output */
    void *inverse;        /* forward: output, one sum per row */
    const void *residual; /* backward: added to the gradient; may be `gradient`; NULL: zero */
    void *gradient;       /* backward: output */
} pp_math_norm;

/* Causal attention of all sequences of a microbatch. */
typedef struct pp_math_attention {
    void *qkv;     /* [tokens][3 hidden]; backward replaces it by its gradient */
    void *out;     /* [tokens][hidden] */
    void *lse;     /* [tokens][heads], sums */
    const void *d; /* backward: gradient of out */
    void *scratch; /* forward: hidden per token; backward: as in the layout */
} pp_math_attention;

/* The table of operations. Functions that return nothing keep their first failure for `finish`.
 * Elements have the model's type; "sums" (statistics, losses, gradients of weights) have elements
 * of sum_bytes. */
typedef struct pp_math {
    /* Opens a machine, the processor or GPU of `rank`. services: the functions that a module calls,
     * otherwise NULL. model: outlives the machine. Fails: UNAVAILABLE, NOMEM. */
    pp_status (*open)(const struct pp_module_services *services, const pp_cpu_model *model,
                      uint32_t rank, void **machine_out, pp_err *err);
    void (*close)(void *machine); /* NULL is fine */
    /* Enclose the calls of one op, or of the begin or end of a step. When `finish` returns all of
     * them are complete. */
    void (*start)(void *machine);
    pp_status (*finish)(void *machine, pp_err *err);
    /* Returns start and end of the last op on the GPU, on the clock of the host. NULL: an op lasts
     * from its call to its return. */
    void (*times)(const void *machine, pp_ns *start_ns, pp_ns *end_ns);

    uint32_t (*gpu)(const void *machine); /* index of its GPU; NULL: the machine is not a GPU */

    /* Takes memory for weights, initially zero. `read` and `write` copy to and from the host's
     * memory, and are complete when they return; either also copies within the machine's. */
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
    void (*gelu_backward)(void *machine, int64_t count, const void *d,
                          void *h); /* h: input and output */
    void (*attention_forward)(void *machine, const pp_cpu_batch *batch,
                              const pp_math_attention *attention);
    void (*attention_backward)(void *machine, const pp_cpu_batch *batch,
                               const pp_math_attention *attention);
    /* x: output, [tokens][hidden]: rows of the embedding, or pseudo-random numbers if that is NULL.
     * */
    void (*first_input)(void *machine, const pp_cpu_batch *batch, const void *embedding, void *x);
    /* rows: [tokens][vocab] or, without a vocabulary, [tokens][hidden]; they are replaced by their
     * gradient. loss: output, one sum. */
    void (*loss)(void *machine, const pp_cpu_batch *batch, void *rows, void *loss);
    void (*embedding_gradient)(void *machine, const pp_cpu_batch *batch, const void *d,
                               void *gradient);
    void (*copy)(void *machine, void *to, const void *from, size_t bytes);
    void (*zero)(void *machine, void *at, size_t bytes);
    /* weights -= rate * gradients. masters: the weights as sums, which are updated without
     * rounding; NULL: the weights themselves are sums. */
    void (*update)(void *machine, size_t count, double rate, const void *gradients, void *masters,
                   void *weights);
    /* sum += other, for gradients, and waits for it. other: in the host's memory or the machine's.
     */
    void (*add)(void *machine, size_t count, const void *other, void *sum);
} pp_math;

extern const pp_math pp_cpu_math_f64, pp_cpu_math_f32;

#endif
