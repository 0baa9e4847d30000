/* Who holds the tensors that travel between ranks, and for how long. Frameworks differ in this.
 *
 * Every byte is counted once. The input of F is part of activation_bytes from the start of F to the
 * end of B or I, so its receive buffer counts as one before that, and after it only where it is not
 * given back. The gradient that B or I needs counts from its allocation to their end. What a rank
 * sends counts from the end of the op that makes it. Tensors handed on within a rank are no
 * buffers. Sizes: costs.message_bytes. */
#ifndef PPSIM_SIM_PROGRAM_BUFFERS_H
#define PPSIM_SIM_PROGRAM_BUFFERS_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* enum, name. The pools are as large as the program needs, counted by pp_recv_pool_of, and kept
 * for the whole step:
 *   ON_POST         allocated when the receive is posted
 *   PER_MICROBATCH  one for every receive of the step
 *   PER_STAGE       a pool per stage and direction
 *   PER_DIRECTION   a pool for activations, one for gradients
 *   POOL            one pool */
#define PP_RECV_BUFFERS_MAP(X)          \
    X(ON_POST, "on-post")               \
    X(PER_MICROBATCH, "per-microbatch") \
    X(PER_STAGE, "per-stage")           \
    X(PER_DIRECTION, "per-direction")   \
    X(POOL, "pool")

/* enum, name.
 *   UNTIL_DONE      released when the transfer is done
 *   UNTIL_WAITED    when the rank waits for it, or posts its next send of that direction
 *   UNTIL_BACKWARD  activations at the end of their B or I, gradients when the transfer is done
 *   UNTIL_STEP_END  not before the step ends */
#define PP_SEND_BUFFERS_MAP(X)          \
    X(UNTIL_DONE, "until-done")         \
    X(UNTIL_WAITED, "until-waited")     \
    X(UNTIL_BACKWARD, "until-backward") \
    X(UNTIL_STEP_END, "until-step-end")

typedef enum pp_recv_buffers {
#define PP_RECV_BUFFERS_ENUM(id, name) PP_RECV_##id,
    PP_RECV_BUFFERS_MAP(PP_RECV_BUFFERS_ENUM)
#undef PP_RECV_BUFFERS_ENUM
        PP_RECV_BUFFERS_COUNT,
} pp_recv_buffers;

typedef enum pp_send_buffers {
#define PP_SEND_BUFFERS_ENUM(id, name) PP_SEND_##id,
    PP_SEND_BUFFERS_MAP(PP_SEND_BUFFERS_ENUM)
#undef PP_SEND_BUFFERS_ENUM
        PP_SEND_BUFFERS_COUNT,
} pp_send_buffers;

/* All zero: nothing is held longer than it must be. */
typedef struct pp_buffers {
    uint8_t recv;        /* pp_recv_buffers */
    uint8_t send;        /* pp_send_buffers */
    bool recv_copied;    /* F gets a copy: a slot is free again when F has run, not after B */
    bool return_outputs; /* what the last stage made is kept to the end of the step */
    bool fused_backward; /* one graph: as much again as the activations of its forward while B or I
                            runs, an upper bound */
} pp_buffers;

const char *pp_recv_buffers_name(pp_recv_buffers policy);
const char *pp_send_buffers_name(pp_send_buffers policy);

/* What a plan or a command line says of this; what it does not say is the framework's. All zero:
 * nothing is said. */
typedef struct pp_buffer_settings {
    bool has_recv, has_send, has_return_outputs;
    pp_recv_buffers recv;
    pp_send_buffers send;
    bool return_outputs;
} pp_buffer_settings;

/* Names as above, outputs "on" or "off"; NULL and "" leave what *settings says. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_buffer_settings_parse(const char *recv, const char *send,
                                                 const char *outputs, pp_buffer_settings *settings,
                                                 pp_err *err);
/* "on", "off". */
const char *pp_return_outputs_name(bool return_outputs);
void pp_buffer_settings_apply(const pp_buffer_settings *settings, pp_buffers *buffers);

#endif
