/* How messages get from rank to rank: one file in runtime/transport/ and one line in
 * runtime/transports.def each.
 *
 * A world holds all ranks of a job; a process hosts some of them, one thread each. Messages of a
 * directed edge arrive in the order of their posts: the i-th send meets the i-th receive, and their
 * headers must agree. A transport does not know what a message means. */
#ifndef PPSIM_RUNTIME_CORE_TRANSPORT_H
#define PPSIM_RUNTIME_CORE_TRANSPORT_H

#include "runtime/core/device_memory.h"
#include "runtime/core/faults.h"
#include "sim/cost/costs.h"
#include "sim/job/software.h"
#include "sim/program/comm.h"

#include <signal.h>

/* Header of a message: what both ends must agree on. It has no padding. */
typedef struct pp_message {
    uint64_t program;    /* hash of the lowered program */
    int64_t bytes;       /* of the tensor, as the plan says */
    uint32_t step;       /* of the training run: 0, 1, ... */
    uint32_t from, to;   /* ranks */
    uint32_t sequence;   /* index of this message from `from` to `to` in this step */
    uint32_t microbatch; /* these four as in pp_transfer; the kind is the send's */
    uint16_t stage;
    uint8_t kind;
    uint8_t part;
} pp_message;

/* How long a transfer takes where there is no real link (transport threads). */
typedef enum pp_link_kind {
    PP_LINK_FREE,     /* as long as copying takes */
    PP_LINK_PLAN,     /* what the plan's costs say */
    PP_LINK_THROTTLE, /* latency_ns + bytes / bytes_per_s */
} pp_link_kind;

typedef struct pp_link {
    pp_link_kind kind;
    pp_ns latency_ns;
    double bytes_per_s;
} pp_link;

/* "free", "plan", "20us+1GB/s". Fails: USAGE. */
PP_MUST_CHECK pp_status pp_link_parse(const char *text, pp_link *link_out, pp_err *err);

/* Options of a world. What they point to belongs to the caller and outlives the world; the rest is
 * copied. */
typedef struct pp_world_options {
    uint32_t ranks;
    pp_link link;
    const pp_faults *faults;           /* NULL: none */
    pp_communicators communicators;    /* of a transport that has queues */
    bool check_messages;               /* headers travel in every step, not only in the first */
    const pp_device_memory *memory;    /* where tensors lie; NULL: in this process's memory */
    const volatile sig_atomic_t *stop; /* set to nonzero to end the run; NULL: no such flag */
} pp_world_options;

typedef struct pp_world pp_world;

/* One send or receive of a rank. */
typedef struct pp_post {
    uint32_t transfer; /* into program->comm->transfer */
    pp_message message;
    void *payload;        /* belongs to the world until the transfer is done; NULL: only the header
                             is carried */
    size_t payload_bytes; /* at most message.bytes */
    pp_ns takes_ns;       /* ignored by PP_LINK_FREE; of a buffered send counted from its post */
    bool buffered;        /* a send that is done as soon as those before it on its edge are */
} pp_post;

/* Calls that name a rank are made by the thread of that rank, which this process hosts. After
 * abort they return INFEASIBLE ("stopped") soon, blocked ones too. */
typedef struct pp_transport {
    const char *name;
    const char *summary;
    /* A group starts by itself when the one before it in the lane of its communicator is done
     * (pp_communicators_lanes), so that ranks need not wait for it. No send is buffered. */
    bool has_queues;
    bool takes_device_memory; /* for tensors */
    /* Fails: UNAVAILABLE, with the reason and the way out. */
    pp_status (*available)(pp_err *err);
    /* Fails: UNAVAILABLE, USAGE (options that it does not have; another number of processes),
     * NOMEM. */
    pp_status (*open)(const pp_world_options *options, pp_world **world_out, pp_err *err);
    void (*close)(pp_world *world); /* NULL is fine */
    /* The ranks that this process hosts: [*first, *first + *count). */
    void (*hosts)(const pp_world *world, uint32_t *first, uint32_t *count);
    /* Called before load. payload_bytes: [transfers], upper limits. NULL: the transport need not
     * know. Fails: NOMEM. */
    pp_status (*reserve)(pp_world *world, const pp_program *program, const size_t *payload_bytes,
                         pp_err *err);
    /* Prepares for the messages of `program`, which is retained until the next load.
     * buffered_bytes: [transfers], payloads of the sends that are done at once, else 0. One call
     * per process, while no rank is at work. Fails: NOMEM. */
    pp_status (*load)(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                      pp_err *err);
    /* Forgets the messages of the step before. All ranks call it, and none posts before all have.
     * Fails: INPUT when one of those messages was never received. */
    pp_status (*begin)(pp_world *world, uint32_t rank, pp_err *err);
    pp_status (*post)(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
    /* Waits until the transfer is done; *done_ns: when that was, on this rank's clock.
     * Fails: INPUT when another message came than the one expected (as pp_message_check). */
    pp_status (*wait)(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err);
    /* The same without waiting: *done_out says whether it was done at now_ns or earlier. */
    pp_status (*poll)(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err);
    /* Have both ends of the transfer met, so that it is only under way? For the deadlock report;
     * any thread may ask. NULL: the transport does not know. */
    bool (*matched)(pp_world *world, uint32_t transfer);
    /* Gathers `bytes` of every rank at every rank; with 0 bytes it is a barrier. mine: stays valid
     * until no rank is at work, since others may still read it after a stop. all_out: in the order
     * of ranks. */
    pp_status (*all_gather)(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err);
    /* By how much the clock of `rank` is ahead of rank 0's, and the error of that at most. All
     * ranks call it. */
    pp_status (*clock_ahead)(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err);
    /* Ends all blocked calls of all ranks that can be reached. Any thread may call it, more than
     * once. */
    void (*abort)(pp_world *world);
    /* Both NULL where every process hosts all ranks. Called while the ranks' threads may be
     * blocked; a process that does host all ranks leaves the outputs as they are.
     * alarmed: has another process begun to collect?
     * collect: as all_gather, for the first rank of each process. It raises the alarm, and waits
     * for the others no longer than patience_ns. came_out: [ranks], who answered. */
    bool (*alarmed)(pp_world *world);
    pp_status (*collect)(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err);
} pp_transport;

/* Fails: INPUT when `came` is not what `expected` says; names both and the rank. */
PP_MUST_CHECK pp_status pp_message_check(const pp_message *expected, const pp_message *came,
                                         pp_err *err);

/* The error "stopped" of a call that was ended from outside. Returns INFEASIBLE. */
pp_status pp_world_stopped(pp_err *err);

#endif
