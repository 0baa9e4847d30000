/* A compute op: one stage's forward or backward of one microbatch. */
#ifndef PPSIM_SIM_ORDER_OP_H
#define PPSIM_SIM_ORDER_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a GPU computes for one stage and one microbatch. The letters are those of PyTorch's schedule
 * files.
 *
 * - F, the forward, computes the activations that the next stage needs, and keeps what the backward
 *   needs.
 * - I, the backward for input, computes the gradient that the previous stage waits for. The
 *   zero-bubble papers call it B.
 * - W, the backward for weight, computes the gradients of the stage's parameters from what its I
 *   left behind, the weight stash. No other stage waits for it, so that it can fill a bubble.
 * - B is I and W as one op, for frameworks that do not split the backward.
 *
 * X(letter of the token, name in words) */
#define PP_OP_MAP(X)            \
    X(F, "forward")             \
    X(I, "backward for input")  \
    X(W, "backward for weight") \
    X(B, "backward, input + weight")

typedef enum pp_op_kind {
#define PP_OP_ENUM(letter, words) PP_OP_##letter,
    PP_OP_MAP(PP_OP_ENUM)
#undef PP_OP_ENUM
        PP_OP_KIND_COUNT,
} pp_op_kind;

char pp_op_letter(pp_op_kind kind);

typedef struct pp_op {
    uint32_t microbatch;
    uint16_t stage;
    uint8_t kind;   /* pp_op_kind */
    uint8_t paired; /* 1: the first half of an (a;b)OVERLAP_F_B; the next op is the second half */
} pp_op;

/* Prints "3F7" (stage, kind, microbatch). Returns buffer. */
const char *pp_op_print(pp_op op, char *buffer, size_t size);
/* Parses a text that consists of one such token. Returns false if it does not. */
bool pp_op_parse(const char *text, size_t bytes, pp_op *op_out);

#endif
