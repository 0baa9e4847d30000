/* The buffers of the tensors that ranks exchange, and how long they are held, which differs between
 * frameworks.
 *
 * Every byte is counted once. The input of F is part of activation_bytes from the start of F to the
 * end of B or I; its receive buffer is counted before that time, and after it if it is not released
 * then. The gradient that B or I needs is counted from its allocation to the end of that op. A
 * tensor that is sent is counted from the end of the op that computes it. Tensors that stay on a
 * rank have no buffers. costs.message_bytes has the sizes. */
#ifndef PPSIM_SIM_PROGRAM_BUFFERS_H
#define PPSIM_SIM_PROGRAM_BUFFERS_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* X(name in the enum, name for users). Receive buffers are
 *
 * - ON_POST: allocated when the receive is posted,
 * - PER_MICROBATCH: one for every receive of the step,
 * - PER_STAGE: in a pool for each stage and direction,
 * - PER_DIRECTION: in a pool for activations and one for gradients,
 * - POOL: in one pool.
 *
 * Pools have the number of buffers that the program needs (pp_recv_pool_of) and are kept for the
 * whole step. */
#define PP_RECV_BUFFERS_MAP(X)          \
    X(ON_POST, "on-post")               \
    X(PER_MICROBATCH, "per-microbatch") \
    X(PER_STAGE, "per-stage")           \
    X(PER_DIRECTION, "per-direction")   \
    X(POOL, "pool")

/* X(name in the enum, name for users). Send buffers are released
 *
 * - UNTIL_DONE: when the transfer is done,
 * - UNTIL_WAITED: when the rank waits for it, or posts its next send of that direction,
 * - AT_WAIT: when the rank waits for it,
 * - UNTIL_BACKWARD: at the end of their B or I, or, for gradients, when the transfer is done,
 * - UNTIL_STEP_END: at the end of the step. */
#define PP_SEND_BUFFERS_MAP(X)          \
    X(UNTIL_DONE, "until-done")         \
    X(UNTIL_WAITED, "until-waited")     \
    X(AT_WAIT, "at-wait")               \
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

/* What a framework holds. All zero: nothing is held longer than necessary. */
typedef struct pp_buffers {
    uint8_t recv;        /* pp_recv_buffers */
    uint8_t send;        /* pp_send_buffers */
    bool recv_copied;    /* F uses a copy, so that a buffer is free after F and not after B */
    bool return_outputs; /* the outputs of the last stage are kept to the end of the step */
    bool fused_backward; /* B or I is one graph, which holds the activations of its forward a second
                            time while it runs (an upper bound) */
} pp_buffers;

const char *pp_recv_buffers_name(pp_recv_buffers policy);
const char *pp_send_buffers_name(pp_send_buffers policy);

/* Settings that override those of the framework. All zero overrides nothing. */
typedef struct pp_buffer_settings {
    bool has_recv, has_send, has_return_outputs;
    pp_recv_buffers recv;
    pp_send_buffers send;
    bool return_outputs;
} pp_buffer_settings;

/* Parses the settings: recv and send are names of the tables above, outputs is "on" or "off". NULL
 * and "" leave a setting as it is.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_buffer_settings_parse(const char *recv, const char *send,
                                                 const char *outputs, pp_buffer_settings *settings,
                                                 pp_err *err);
/* "on" or "off". */
const char *pp_return_outputs_name(bool return_outputs);
void pp_buffer_settings_apply(const pp_buffer_settings *settings, pp_buffers *buffers);

#endif
