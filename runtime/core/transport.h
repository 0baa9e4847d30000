/* A transport: how messages get from rank to rank. A transport is one file of runtime/transport/
 * and one line of runtime/transports.def.
 *
 * A world holds all ranks of a job; a process hosts some of them, one thread per rank. Messages of
 * a directed edge arrive in the order of their posts: the i-th send meets the i-th receive, and
 * their headers must agree. A transport does not interpret messages. */
#ifndef PPSIM_RUNTIME_CORE_TRANSPORT_H
#define PPSIM_RUNTIME_CORE_TRANSPORT_H

#include "runtime/core/device_memory.h"
#include "runtime/core/faults.h"
#include "runtime/core/meeting.h"
#include "sim/cost/costs.h"
#include "sim/job/software.h"
#include "sim/program/comm.h"

#include <signal.h>

/* Header of a message, which both ends must agree on. It has no padding. */
typedef struct pp_message {
    uint64_t program;    /* hash of the lowered program */
    int64_t bytes;       /* size of the tensor, as planned */
    uint32_t step;       /* of the training run: 0, 1, ... */
    uint32_t from, to;   /* ranks */
    uint32_t sequence;   /* index of this message from `from` to `to` in this step */
    uint32_t microbatch; /* this and the next three as in pp_transfer, of the send */
    uint16_t stage;
    uint8_t kind;
    uint8_t part;
} pp_message;

/* How long a transfer takes if there is no real link (transport threads). */
typedef enum pp_link_kind {
    PP_LINK_FREE,     /* the copy alone */
    PP_LINK_PLAN,     /* as in the plan's costs */
    PP_LINK_THROTTLE, /* latency_ns + bytes / bytes_per_s */
} pp_link_kind;

typedef struct pp_link {
    pp_link_kind kind;
    pp_ns latency_ns;
    double bytes_per_s;
} pp_link;

/* Parses "free", "plan" or a throttled link such as "20us+1GB/s". Fails: USAGE. */
PP_MUST_CHECK pp_status pp_link_parse(const char *text, pp_link *link_out, pp_err *err);

/* Options of a world. What they point to belongs to the caller and outlives the world; the rest is
 * copied. */
typedef struct pp_world_options {
    uint32_t ranks;
    pp_link link;
    const pp_faults *faults;           /* NULL: none */
    pp_communicators communicators;    /* used by a transport that has queues */
    bool check_messages;               /* headers travel in every step, not only in the first */
    const pp_device_memory *memory;    /* where tensors lie; NULL: in this process's memory */
    const volatile sig_atomic_t *stop; /* set to nonzero to end the run; NULL: no such flag */
    /* Replicas that train together, each in a world of its own; 0: there is one. */
    uint32_t replica, replicas;
    pp_meeting *meeting; /* where they meet if they are in one process */
} pp_world_options;

typedef struct pp_world pp_world;

/* One send or receive of a rank. */
typedef struct pp_post {
    uint32_t transfer; /* into program->comm->transfer */
    pp_message message;
    void *payload; /* belongs to the world until the transfer is done; NULL: only the header is sent
                    */
    size_t payload_bytes; /* at most message.bytes */
    pp_ns takes_ns;       /* ignored by PP_LINK_FREE; a buffered send counts it from its post */
    bool buffered;        /* a send that is done as soon as the sends before it on its edge are */
} pp_post;

/* The functions of a transport. Those with a rank are called by the thread of that rank, which this
 * process hosts. After `abort` they return INFEASIBLE ("stopped") soon, also those that are
 * blocked. */
typedef struct pp_transport {
    const char *name;
    const char *summary;
    /* The transport queues groups: a group starts by itself when the group before it in the lane of
     * its communicator is done (pp_communicators_lanes), and ranks need not wait for that. No send
     * is buffered. */
    bool has_queues;
    bool takes_device_memory; /* payloads may lie in device memory */
    /* Returns OK if the transport can be used here. Fails: UNAVAILABLE, with the reason and the way
     * out. */
    pp_status (*available)(pp_err *err);
    /* Opens a world. Fails: UNAVAILABLE, USAGE (options that the transport does not have; a wrong
     * number of processes), NOMEM. */
    pp_status (*open)(const pp_world_options *options, pp_world **world_out, pp_err *err);
    void (*close)(pp_world *world); /* NULL is fine */
    /* Returns the ranks that this process hosts: [*first, *first + *count). */
    void (*hosts)(const pp_world *world, uint32_t *first, uint32_t *count);
    /* Called before `load`. payload_bytes: [transfers], an upper limit of each payload. NULL: the
     * transport does not need it. Fails: NOMEM. */
    pp_status (*reserve)(pp_world *world, const pp_program *program, const size_t *payload_bytes,
                         pp_err *err);
    /* Prepares for the messages of `program`, which is retained until the next load.
     * buffered_bytes: [transfers], payloads of the sends that are done at once, else 0. One call
     * per process, while no rank is at work. Fails: NOMEM. */
    pp_status (*load)(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                      pp_err *err);
    /* Ends the previous step and begins the next. All ranks call it, and none posts before all have
     * called. Fails: INPUT when a message of the previous step was never received. */
    pp_status (*begin)(pp_world *world, uint32_t rank, pp_err *err);
    pp_status (*post)(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
    /* Waits until the transfer is done. *done_ns receives when that was, on the clock of the rank.
     * Fails: INPUT when a message other than the expected one arrived (pp_message_check). */
    pp_status (*wait)(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err);
    /* Like `wait`, but returns at once; *done_out receives whether the transfer was done at
     * now_ns. */
    pp_status (*poll)(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err);
    /* Returns whether both ends of the transfer have been matched, so that it is only under way.
     * For the deadlock report; any thread may call it. NULL: the transport cannot provide this. */
    bool (*matched)(pp_world *world, uint32_t transfer);
    /* Gathers `bytes` of every rank at every rank; with 0 bytes it is a barrier. mine: stays valid
     * until no rank is at work, since others may still read it after a stop. all_out: in the order
     * of ranks. */
    pp_status (*all_gather)(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err);
    /* Returns the replica that this process belongs to, of those in the options, whose `replica` it
     * does not read. NULL: this process hosts all replicas, which share a meeting. */
    uint32_t (*replica)(const pp_world *world);
    /* Collectives of a rank with the same rank of the other replicas. Both are NULL if the
     * transport has none. `exchange` sends part k of `mine` to replica k; out: [replicas] parts of
     * `bytes`, in the order of replicas. `gather_replicas` gathers `bytes` of each at all; `mine`
     * may be this replica's part of all_out. */
    pp_status (*exchange)(pp_world *world, uint32_t rank, const void *mine, size_t bytes, void *out,
                          pp_err *err);
    pp_status (*gather_replicas)(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                                 void *all_out, pp_err *err);
    /* Measures by how much the clock of `rank` is ahead of rank 0's, and the largest error of that.
     * All ranks call it. */
    pp_status (*clock_ahead)(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err);
    /* Makes all calls of all ranks that can be reached return. Any thread may call it, more than
     * once. */
    void (*abort)(pp_world *world);
    /* Returns whether the process of another rank has ended without a word, and which. NULL: the
     * transport cannot know. */
    bool (*lost)(pp_world *world, uint32_t *rank_out);
    /* Collect the states of ranks while their threads may be blocked. Both are NULL if every
     * process hosts all ranks. A process that does host all ranks leaves the outputs as they are.
     * `alarmed` returns whether another process has begun to collect states. `collect` is an
     * all_gather for the first rank of each process: it alarms the others and waits for them no
     * longer than patience_ns. came_out: [ranks], which ranks answered. */
    bool (*alarmed)(pp_world *world);
    pp_status (*collect)(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err);
} pp_transport;

/* Compares the header that arrived with the expected one. Fails: INPUT when they differ; the
 * message names both headers and the rank. */
PP_MUST_CHECK pp_status pp_message_check(const pp_message *expected, const pp_message *came,
                                         pp_err *err);

/* Asks whether the process of another rank has ended without a word. Fails: INFEASIBLE, with an
 * error that names the rank. */
PP_MUST_CHECK pp_status pp_transport_lost(const pp_transport *transport, pp_world *world,
                                          pp_err *err);

/* Sets the error "stopped" of a call that was ended from outside, and returns INFEASIBLE. */
pp_status pp_world_stopped(pp_err *err);

#endif
