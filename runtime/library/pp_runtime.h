/* ppsim's runtime as a library: it calls your forward and backward functions in the order of a
 * pipeline schedule and moves their tensors from rank to rank.
 *
 *     pp_runtime_open(&options, &runtime, &error);
 *     for (each step) {
 *         pp_runtime_plan_new(&spec, &plan, &error);    lengths and microbatches of this step
 *         pp_runtime_step(runtime, plan, &callbacks, user, &stats, &error);
 *         pp_runtime_plan_free(plan);
 *     }
 *     pp_runtime_close(runtime);
 *
 * Times are in nanoseconds, sizes in bytes. Functions that can fail return a status and explain it
 * in *error, which may be NULL; other outputs are written on success only. The library prints
 * nothing and has no global state. Guide: docs/how-to/library.md. */
#ifndef PPSIM_RUNTIME_LIBRARY_PP_RUNTIME_H
#define PPSIM_RUNTIME_LIBRARY_PP_RUNTIME_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PP_RUNTIME_PUBLIC __attribute__((visibility("default")))
#define PP_RUNTIME_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define PP_RUNTIME_PUBLIC
#define PP_RUNTIME_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pp_runtime_status {
    PP_RUNTIME_OK,
    PP_RUNTIME_INFEASIBLE,  /* cannot finish; hung; a rank died; the stop flag was set */
    PP_RUNTIME_USAGE,       /* wrong arguments */
    PP_RUNTIME_INPUT,       /* a bad plan, or ranks with different plans */
    PP_RUNTIME_UNAVAILABLE, /* the transport is not available in this build or on this machine */
    PP_RUNTIME_IO,
    PP_RUNTIME_NOMEM,
    PP_RUNTIME_CALLBACK, /* a callback returned a value other than 0 */
} pp_runtime_status;

typedef struct pp_runtime_error {
    pp_runtime_status status;
    int32_t callback; /* what the callback returned; 0: no callback failed */
    uint32_t rank;    /* of that callback */
    char where[256];  /* file and place in it, or an argument; may be empty */
    char text[1024];  /* one sentence */
} pp_runtime_error;

/* Returns the meaning of a status, for example "out of memory". */
PP_RUNTIME_PUBLIC const char *pp_runtime_status_text(pp_runtime_status status);
/* Returns the version of the library, not of this header: "0.2.0". */
PP_RUNTIME_PUBLIC const char *pp_runtime_version(void);

/* ---- Plans: the ops, their order, and the sizes of their tensors. ---- */

/* A plan does not change once it is made: several threads and runtimes may use it at once. */
typedef struct pp_runtime_plan pp_runtime_plan;

/* Sizes and durations of one stage and microbatch. Durations matter only to schedules that depend
 * on them (zbv-auto, zb-1p, ...); leave them 0 otherwise. */
typedef struct pp_runtime_sizes {
    size_t message_bytes; /* activation for the stage above, and its gradient back; last stage: 0 */
    size_t saved_bytes;   /* from forward to backward, in addition to the input, which is kept */
    size_t stash_bytes;   /* from forward to backward for weight */
    size_t scratch_bytes; /* inside one backward */
    int64_t forward_ns, backward_input_ns, backward_weight_ns;
} pp_runtime_sizes;

/* Writes *sizes_out, which is all 0 before the call. */
typedef void (*pp_runtime_sizes_of)(void *context, uint32_t stage, uint32_t microbatch,
                                    pp_runtime_sizes *sizes_out);

typedef struct pp_runtime_plan_spec {
    const char *schedule; /* as `ppsim list schedules` names them */
    uint32_t ranks;
    uint32_t chunks; /* stages per rank; 0: the schedule's own number */
    uint32_t microbatches;
    uint32_t group_size; /* microbatches per group of interleaved schedules; 0: their own rule */
    int forward_only;    /* nonzero: an evaluation, without backwards */
    pp_runtime_sizes_of sizes;
    void *context; /* for sizes */
} pp_runtime_plan_spec;

/* Makes the plan of a named schedule. The caller frees it with pp_runtime_plan_free.
 * Fails: USAGE (unknown schedule, or numbers that it does not take; the text names legal ones),
 * INPUT (sizes), INFEASIBLE (it would hang), NOMEM. */
PP_RUNTIME_CHECKED pp_runtime_status pp_runtime_plan_new(const pp_runtime_plan_spec *spec,
                                                         pp_runtime_plan **plan_out,
                                                         pp_runtime_error *error);

/* Reads a plan file (`ppsim plan --emit plan=FILE`). replica: the data-parallel replica, from 0.
 * sizes: of your tensors, called with `context`; NULL: those in the file. Fails: as above; IO. */
PP_RUNTIME_CHECKED pp_runtime_status pp_runtime_plan_load(const char *path, uint32_t replica,
                                                          pp_runtime_sizes_of sizes, void *context,
                                                          pp_runtime_plan **plan_out,
                                                          pp_runtime_error *error);

PP_RUNTIME_PUBLIC void pp_runtime_plan_free(pp_runtime_plan *plan); /* NULL is fine */

PP_RUNTIME_PUBLIC uint32_t pp_runtime_plan_ranks(const pp_runtime_plan *plan);
PP_RUNTIME_PUBLIC uint32_t pp_runtime_plan_stages(const pp_runtime_plan *plan);
PP_RUNTIME_PUBLIC uint32_t pp_runtime_plan_microbatches(const pp_runtime_plan *plan);
/* Returns the rank that runs `stage` and holds its weights. */
PP_RUNTIME_PUBLIC uint32_t pp_runtime_plan_rank_of(const pp_runtime_plan *plan, uint32_t stage);

typedef enum pp_runtime_op_kind {
    PP_RUNTIME_FORWARD,
    PP_RUNTIME_BACKWARD_INPUT,
    PP_RUNTIME_BACKWARD_WEIGHT,
    PP_RUNTIME_BACKWARD, /* both in one */
} pp_runtime_op_kind;

/* Return the number of ops of `rank`, and its index-th op in the order of the calls. */
PP_RUNTIME_PUBLIC size_t pp_runtime_plan_op_count(const pp_runtime_plan *plan, uint32_t rank);
PP_RUNTIME_PUBLIC void pp_runtime_plan_op(const pp_runtime_plan *plan, uint32_t rank, size_t index,
                                          pp_runtime_op_kind *kind_out, uint32_t *stage_out,
                                          uint32_t *microbatch_out);

/* ---- Callbacks: what an op computes. ---- */

/* An op and its tensors. Tensors belong to the library, start at multiples of 64 bytes, and are
 * NULL if they have no bytes. An op may only touch memory that it reads or writes according to this
 * table. The contents do not outlive the step. */
typedef struct pp_runtime_op {
    pp_runtime_op_kind kind;
    uint32_t rank, stage, microbatch;
    uint32_t step;             /* of the runtime: 0, 1, ... */
    const void *activation_in; /* all but BACKWARD_WEIGHT: from the stage below; stage 0: NULL */
    void *activation_out;      /* FORWARD fills it, for the stage above; last stage: NULL */
    const void *gradient_in; /* BACKWARD, BACKWARD_INPUT: from the stage above; last stage: NULL */
    void *gradient_out;      /* the same two fill it, for the stage below; stage 0: NULL */
    void *saved;             /* FORWARD fills it, the same two read it */
    void *stash;             /* FORWARD and BACKWARD_INPUT fill it, BACKWARD_WEIGHT reads it */
    void *scratch;           /* for the same two; its contents last as long as the op */
    void *logits;            /* as saved; only if a plan file has logits */
    size_t below_bytes;      /* of activation_in and gradient_out */
    size_t above_bytes;      /* of activation_out and gradient_in */
    size_t saved_bytes, stash_bytes, scratch_bytes, logits_bytes;
} pp_runtime_op;

/* user: the pointer of the op's rank, see pp_runtime_step. All calls of one step for one rank come
 * from one thread, one after the other; those of different ranks run at the same time. A callback
 * returns 0, or another number with which the step fails; then no rank is called again. */
typedef int (*pp_runtime_run)(void *user, const pp_runtime_op *op);
typedef int (*pp_runtime_turn)(void *user, uint32_t rank, uint32_t step);

typedef struct pp_runtime_callbacks {
    pp_runtime_turn begin;          /* before the first op of the rank; NULL: none */
    pp_runtime_run forward;         /* required */
    pp_runtime_run backward;        /* NULL: backward_input, then backward_weight */
    pp_runtime_run backward_input;  /* needed if the schedule has such ops, like the next one */
    pp_runtime_run backward_weight; /* adds to the gradient of the stage's weights */
    pp_runtime_turn end; /* the update, after the last op; not when forward_only; NULL: none */
} pp_runtime_callbacks;

/* ---- Steps. ---- */

typedef struct pp_runtime_options {
    const char *transport; /* "threads" (also NULL): all ranks are threads of this process;
                              "mpi": one rank per process */
    uint32_t ranks;
    int poison;          /* nonzero: what an op may not read is filled with 0xff (NaN), and every
                            byte of memory is compared with the plan's account; for tests */
    int64_t deadline_ns; /* no callback and no wait may take longer; 0: 10 s; negative: no limit */
    size_t stack_bytes;  /* of the threads that call back; 0: 8 MiB */
    const volatile sig_atomic_t *stop; /* set to nonzero to end the step; may be NULL */
} pp_runtime_options;

/* A runtime and its transport. One thread uses it at a time. */
typedef struct pp_runtime pp_runtime;

/* options: not retained, except for `stop`. The caller closes the runtime. Fails: USAGE,
 * UNAVAILABLE, NOMEM. */
PP_RUNTIME_CHECKED pp_runtime_status pp_runtime_open(const pp_runtime_options *options,
                                                     pp_runtime **runtime_out,
                                                     pp_runtime_error *error);
PP_RUNTIME_PUBLIC void pp_runtime_close(pp_runtime *runtime); /* NULL is fine */

/* Returns the ranks whose callbacks this process calls: [*first_out, *first_out + *count_out). */
PP_RUNTIME_PUBLIC void pp_runtime_hosts(const pp_runtime *runtime, uint32_t *first_out,
                                        uint32_t *count_out);

typedef struct pp_runtime_stats {
    int64_t total_ns;     /* the whole call: memory, threads, agreement, step */
    int64_t agreement_ns; /* making sure that all ranks have the same plan */
    int64_t step_ns;      /* from the first rank's begin to the last rank's end, update included */
    int64_t makespan_ns;  /* from the first op's start to the last op's end */
} pp_runtime_stats;

/* Runs one step. plan: has the runtime's number of ranks, and may be another one every time.
 * callbacks: not retained. user: [ranks], passed to the callbacks of each rank; NULL: all are NULL.
 * stats_out: may be NULL; step_ns and makespan_ns are known in the process of rank 0, and 0
 * elsewhere. Fails: USAGE (a callback that the plan needs is missing), INPUT (ranks have different
 * plans, which the text names), CALLBACK, INFEASIBLE (it hung, and the text names the ranks and ops
 * that wait for each other; or it was stopped), NOMEM. After a failure while ranks were at work,
 * the runtime takes no further step: close it. */
PP_RUNTIME_CHECKED pp_runtime_status pp_runtime_step(pp_runtime *runtime,
                                                     const pp_runtime_plan *plan,
                                                     const pp_runtime_callbacks *callbacks,
                                                     void *const *user, pp_runtime_stats *stats_out,
                                                     pp_runtime_error *error);

/* One rank in the last step that succeeded; all 0 before. Idle time counts until the rank's own
 * last op, by cause. */
typedef struct pp_runtime_rank_stats {
    size_t peak_bytes;    /* memory for tensors; known for ranks of this process */
    int64_t busy_ns;      /* inside callbacks of ops; known as the times of pp_runtime_stats are */
    int64_t idle_data_ns; /* the input did not exist yet */
    int64_t idle_buffer_ns; /* the receiver was not ready */
    int64_t idle_link_ns;   /* a transfer was under way */
    int64_t idle_host_ns;   /* everything else */
} pp_runtime_rank_stats;

PP_RUNTIME_PUBLIC void pp_runtime_rank(const pp_runtime *runtime, uint32_t rank,
                                       pp_runtime_rank_stats *stats_out);

/* Returns the last moments of every rank of this process before the step that failed, as JSON
 * ("format":"ppsim.flight"), or NULL if they are unknown. The text lives until the runtime is
 * closed. */
PP_RUNTIME_PUBLIC const char *pp_runtime_flight(const pp_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
