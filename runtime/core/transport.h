/* How messages get from rank to rank: one file in runtime/transport/ and one line in
 * runtime/transports.def each.
 *
 * A world holds all ranks of a job; a process hosts some of them, one thread each. Messages of a
 * directed edge arrive in the order of their posts; the i-th send meets the i-th receive, and
 * their headers must agree. Nothing here knows what a message means. */
#ifndef PPSIM_RUNTIME_CORE_TRANSPORT_H
#define PPSIM_RUNTIME_CORE_TRANSPORT_H

#include "runtime/core/device_memory.h"
#include "runtime/core/faults.h"
#include "sim/cost/costs.h"
#include "sim/job/job.h"
#include "sim/program/comm.h"

#include <signal.h>

/* What both ends must agree on; travels with every message. No padding. */
typedef struct pp_message {
    uint64_t program;    /* hash of the lowered program */
    int64_t bytes;       /* of the tensor, as the plan says */
    uint32_t step;       /* of the training run: 0, 1, ... */
    uint32_t from, to;   /* ranks */
    uint32_t sequence;   /* the how-manieth from `from` to `to` in this step */
    uint32_t microbatch; /* these four as in pp_transfer, kind as of the send */
    uint16_t stage;
    uint8_t kind;
    uint8_t part;
} pp_message;

/* How long a transfer takes where no real link decides (transport threads). */
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

/* What it points to is the caller's and outlives the world; the rest is copied. */
typedef struct pp_world_options {
    uint32_t ranks;
    pp_link link;
    const pp_faults *faults;           /* NULL: none */
    pp_communicators communicators;    /* of a transport that has queues */
    bool check_messages;               /* headers travel in every step, not only in the first */
    const pp_device_memory *memory;    /* that tensors lie in; NULL: this process's */
    const volatile sig_atomic_t *stop; /* not 0: somebody wants the end; NULL: nobody can */
} pp_world_options;

typedef struct pp_world pp_world;

/* One send or receive of a rank. */
typedef struct pp_post {
    uint32_t transfer; /* into program->comm->transfer */
    pp_message message;
    void *payload;        /* belongs to the world until the transfer is done; NULL: nothing is
                             carried but the header */
    size_t payload_bytes; /* at most message.bytes */
    pp_ns takes_ns;       /* unless PP_LINK_FREE; buffered: from its post on */
    bool buffered;        /* a send that is done as soon as those before it on its edge are */
} pp_post;

/* Calls that name a rank are made by the thread of that rank, which this process hosts. After
 * abort they return INFEASIBLE ("stopped") soon, blocked ones too. */
typedef struct pp_transport {
    const char *name;
    const char *summary;
    /* A group starts when the one before it is done, in the lanes of the communicators
     * (pp_communicators_lanes), and does so by itself: ranks need not wait. Nothing is buffered. */
    bool has_queues;
    bool takes_device_memory; /* for tensors */
    /* Fails: UNAVAILABLE, with the reason and the way out. */
    pp_status (*available)(pp_err *err);
    /* Fails: UNAVAILABLE, USAGE (options that it has not; another number of processes), NOMEM. */
    pp_status (*open)(const pp_world_options *options, pp_world **world_out, pp_err *err);
    void (*close)(pp_world *world); /* NULL is fine */
    /* The ranks that this process hosts: [*first, *first + *count). */
    void (*hosts)(const pp_world *world, uint32_t *first, uint32_t *count);
    /* Before load: the payloads of its transfers, [transfers], at most. NULL: it need not know.
     * Fails: NOMEM. */
    pp_status (*reserve)(pp_world *world, const pp_program *program, const size_t *payload_bytes,
                         pp_err *err);
    /* Makes ready for the messages of `program` (kept until the next load). buffered_bytes:
     * [transfers], payloads of the sends that are done at once, else 0. One call per process, no
     * rank being at work. Fails: NOMEM. */
    pp_status (*load)(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                      pp_err *err);
    /* Forgets the messages of the step before; all ranks call it, and none posts before all did.
     * Fails: INPUT when one of them was never received. */
    pp_status (*begin)(pp_world *world, uint32_t rank, pp_err *err);
    pp_status (*post)(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err);
    /* Until the transfer is done; *done_ns: when that was, on this rank's clock.
     * Fails: INPUT when another message came than the one expected (told by pp_message_check). */
    pp_status (*wait)(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err);
    /* The same without waiting: *done_out says whether it was done at now_ns or before. */
    pp_status (*poll)(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err);
    /* Did it come to a match, so that it only takes its time? For the report of a hang; any thread.
     * NULL: nobody knows. */
    bool (*matched)(pp_world *world, uint32_t transfer);
    /* mine: `bytes` of this rank, which stay until no rank is at work, since others may still read
     * them after a stop; all_out: those of all ranks, in order. Also the barrier. */
    pp_status (*all_gather)(pp_world *world, uint32_t rank, const void *mine, size_t bytes,
                            void *all_out, pp_err *err);
    /* The clock of `rank` is ahead of rank 0's by *ahead_ns, give or take *error_ns. All ranks
     * call it. */
    pp_status (*clock_ahead)(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                             pp_err *err);
    /* Ends all blocked calls of all ranks that can be reached; any thread, more than once. */
    void (*abort)(pp_world *world);
    /* Where a process may not host all ranks, else both NULL. Called beside the ranks' threads,
     * which may be blocked. A process that does host all leaves the outputs as they are.
     * alarmed: did another process begin to collect?
     * collect: as all_gather, of each process's first rank; raises the alarm; waits for others no
     * longer than patience_ns. came_out: [ranks], who answered. */
    bool (*alarmed)(pp_world *world);
    pp_status (*collect)(pp_world *world, const void *mine, size_t bytes, pp_ns patience_ns,
                         void *all_out, bool *came_out, pp_err *err);
} pp_transport;

size_t pp_transport_count(void);
const pp_transport *pp_transport_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_transport_get(const char *name, const pp_transport **transport_out,
                                         pp_err *err);

/* Fails: INPUT when `came` is not what `expected` says; names both and the rank. */
PP_MUST_CHECK pp_status pp_message_check(const pp_message *expected, const pp_message *came,
                                         pp_err *err);

/* "stopped": what a call says that was ended from outside. */
pp_status pp_world_stopped(pp_err *err);

#endif
