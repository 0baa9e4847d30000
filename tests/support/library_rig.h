/* A training loop that uses pp_runtime.h, for tests. Calls are recorded, and tensors are filled
 * with bytes that identify them. */
#ifndef PPSIM_TESTS_SUPPORT_LIBRARY_RIG_H
#define PPSIM_TESTS_SUPPORT_LIBRARY_RIG_H

#include "runtime/library/runtime.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tests/support/patience.h"

#include <check.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RIG_RANKS 8
#define RIG_CALLS 4096

#define RIG_OK(call, error) ck_assert_msg((call) == PP_RUNTIME_OK, "%s %s", error.where, error.text)

typedef struct rig_call {
    pp_runtime_op_kind kind;
    uint32_t stage, microbatch;
} rig_call;

/* The record of one rank. */
typedef struct rig_rank {
    rig_call call[RIG_CALLS];
    size_t count;
    uint32_t begins, ends, step;
    bool wrong;         /* a tensor, a size or the rank was wrong */
    bool late;          /* an op was called before begin or after end */
    uint32_t fail_at;   /* this op (counted from 1) fails; 0: none */
    int code;           /* with this number */
    int fail_begin;     /* begin returns it */
    int fail_end;       /* end returns it */
    uint32_t sleeps_ms; /* the op fail_at sleeps instead */
    bool sleeps_on;     /* and so do all ops after it */
    atomic_bool *until; /* or lasts until this flag is set */
} rig_rank;

/* Sizes differ by stage, microbatch and step, so that a mix-up shows. */
typedef struct rig_lengths {
    uint32_t seed;
} rig_lengths;

static inline uint32_t rig_mix(uint32_t seed, uint32_t stage, uint32_t microbatch, uint32_t what)
{
    uint32_t x = seed * 2654435761u + stage * 40503u + microbatch * 69069u + what * 362437u;
    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ (x >> 13);
}

static inline void rig_sizes(void *context, uint32_t stage, uint32_t microbatch,
                             pp_runtime_sizes *out)
{
    const rig_lengths *l = context;
    out->message_bytes = 8 + rig_mix(l->seed, stage, microbatch, 1) % 600;
    out->saved_bytes = rig_mix(l->seed, stage, microbatch, 2) % 700;
    out->stash_bytes = 1 + rig_mix(l->seed, stage, microbatch, 3) % 300;
    out->scratch_bytes = rig_mix(l->seed, stage, microbatch, 4) % 400;
}

/* The byte with which a tensor is filled. */
static inline unsigned char rig_mark(const pp_runtime_op *op, uint32_t stage, int what)
{
    return (unsigned char)(1 + rig_mix(op->step, stage, op->microbatch, (uint32_t)what) % 250);
}

static inline void rig_fill(const pp_runtime_op *op, void *tensor, size_t bytes, int what,
                            uint32_t stage)
{
    if (tensor && bytes)
        memset(tensor, rig_mark(op, stage, what), bytes);
}

static inline bool rig_holds(const pp_runtime_op *op, const void *tensor, size_t bytes, int what,
                             uint32_t stage)
{
    const unsigned char *byte = tensor;
    if ((bytes > 0) != (tensor != NULL) || (uintptr_t)tensor % 64)
        return false;
    for (size_t k = 0; k < bytes; k++) {
        if (byte[k] != rig_mark(op, stage, what))
            return false;
    }
    return true;
}

enum { RIG_ACTIVATION, RIG_GRADIENT, RIG_SAVED, RIG_STASH };

static inline int rig_note(rig_rank *r, const pp_runtime_op *op, pp_runtime_op_kind kind)
{
    if (r->count < RIG_CALLS)
        r->call[r->count] = (rig_call){ kind, op->stage, op->microbatch };
    r->count++;
    r->late = r->late || r->begins != r->ends + 1 || op->step != r->step;
    if (r->fail_at && (r->count == r->fail_at || (r->sleeps_on && r->count > r->fail_at))) {
        if (!r->sleeps_ms && !r->until)
            return r->code;
        const uint32_t ms = r->until ? 1 : r->sleeps_ms;
        const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
        do
            nanosleep(&t, NULL);
        while (r->until && !atomic_load(r->until));
    }
    return 0;
}

static inline int rig_forward(void *user, const pp_runtime_op *op)
{
    rig_rank *r = user;
    r->wrong = r->wrong ||
               !rig_holds(op, op->activation_in, op->below_bytes, RIG_ACTIVATION, op->stage - 1);
    rig_fill(op, op->activation_out, op->above_bytes, RIG_ACTIVATION, op->stage);
    rig_fill(op, op->saved, op->saved_bytes, RIG_SAVED, op->stage);
    rig_fill(op, op->stash, op->stash_bytes, RIG_STASH, op->stage);
    return rig_note(r, op, PP_RUNTIME_FORWARD);
}

static inline void rig_check_backward(rig_rank *r, const pp_runtime_op *op)
{
    r->wrong = r->wrong ||
               !rig_holds(op, op->activation_in, op->below_bytes, RIG_ACTIVATION, op->stage - 1) ||
               !rig_holds(op, op->gradient_in, op->above_bytes, RIG_GRADIENT, op->stage + 1) ||
               !rig_holds(op, op->saved, op->saved_bytes, RIG_SAVED, op->stage) ||
               !rig_holds(op, op->stash, op->stash_bytes, RIG_STASH, op->stage);
    rig_fill(op, op->gradient_out, op->below_bytes, RIG_GRADIENT, op->stage);
    rig_fill(op, op->scratch, op->scratch_bytes, 9, op->stage);
}

static inline int rig_backward(void *user, const pp_runtime_op *op)
{
    rig_check_backward(user, op);
    return rig_note(user, op, PP_RUNTIME_BACKWARD);
}

static inline int rig_backward_input(void *user, const pp_runtime_op *op)
{
    rig_check_backward(user, op);
    return rig_note(user, op, PP_RUNTIME_BACKWARD_INPUT);
}

static inline int rig_backward_weight(void *user, const pp_runtime_op *op)
{
    rig_rank *r = user;
    r->wrong = r->wrong || !rig_holds(op, op->stash, op->stash_bytes, RIG_STASH, op->stage);
    return rig_note(r, op, PP_RUNTIME_BACKWARD_WEIGHT);
}

static inline int rig_begin(void *user, uint32_t rank, uint32_t step)
{
    rig_rank *r = user;
    (void)rank;
    r->begins++;
    r->step = step;
    return r->fail_begin;
}

static inline int rig_end(void *user, uint32_t rank, uint32_t step)
{
    rig_rank *r = user;
    (void)rank;
    r->ends++;
    r->late = r->late || step != r->step;
    return r->fail_end;
}

static const pp_runtime_callbacks rig_callbacks = {
    .begin = rig_begin,
    .forward = rig_forward,
    .backward = rig_backward,
    .backward_input = rig_backward_input,
    .backward_weight = rig_backward_weight,
    .end = rig_end,
};

/* [ranks] and the pointers to them; the caller frees the first. */
static inline rig_rank *rig_ranks(void *user[RIG_RANKS])
{
    rig_rank *rank = calloc(RIG_RANKS, sizeof *rank);
    ck_assert_ptr_nonnull(rank);
    for (int k = 0; k < RIG_RANKS; k++)
        user[k] = &rank[k];
    return rank;
}

static inline uint32_t rig_chunks(const char *schedule)
{
    uint32_t chunks = pp_schedule_find(schedule)->chunks;
    return chunks ? chunks : 2;
}

static inline pp_runtime_plan *rig_plan(const char *schedule, uint32_t ranks, uint32_t microbatches,
                                        uint32_t seed)
{
    rig_lengths lengths = { seed };
    const pp_runtime_plan_spec spec = { .schedule = schedule,
                                        .ranks = ranks,
                                        .chunks = rig_chunks(schedule),
                                        .microbatches = microbatches,
                                        .sizes = rig_sizes,
                                        .context = &lengths };
    pp_runtime_plan *plan = NULL;
    pp_runtime_error error;
    RIG_OK(pp_runtime_plan_new(&spec, &plan, &error), error);
    return plan;
}

static inline pp_runtime *rig_open(uint32_t ranks, const pp_faults *faults)
{
    const pp_runtime_options options = {
        .ranks = ranks, .poison = 1, .deadline_ns = (int64_t)20 * 1000000000 * step_patience()
    };
    pp_runtime *runtime = NULL;
    pp_runtime_error error;
    RIG_OK(pp_library_open(&options, faults, &runtime, &error), error);
    return runtime;
}

/* The entries of the process's list of threads: two more than there are. */
static inline unsigned rig_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;
    ck_assert_ptr_nonnull(tasks);
    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count;
}

/* Waits up to 4 s until no more than `most` are there, and returns their number: the system lists a
 * thread for a moment after it was joined. */
static inline unsigned rig_threads_left(unsigned most)
{
    for (int k = 0; k < 200 && rig_threads() > most; k++)
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    return rig_threads();
}

#endif
