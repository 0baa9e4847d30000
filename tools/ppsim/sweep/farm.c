/* Runs a sweep over the processes of an MPI job. Process 0 hands out points and writes the results;
 * it also computes points, in a separate thread. No process is watched: when all points are handed
 * out, those without an answer are handed out again, so that the points of processes that died or
 * are slow are computed by others. */
#include "tools/ppsim/sweep/farm.h"

#include "runtime/core/clock.h"
#include "runtime/module/farm.h"
#include "sim/base/alloc.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/sweep/point.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Answers of process 0. Smaller numbers are points. */
#define ASK_AGAIN UINT64_MAX
#define END_TOGETHER \
    (UINT64_MAX - 1) /* all processes take part in the end, so that MPI can be finalized */
#define END_ALONE (UINT64_MAX - 2)

#define NAP_NS 200000           /* process 0 sleeps this long between polls */
#define ASK_AGAIN_NS 20000000   /* another process sleeps this long when it got no point */
#define GRACE_NS 2000000000     /* wait for silent processes, plus twice the longest point */
#define PATIENCE_NS 60000000000 /* wait for process 0, plus four times the longest point */

/* A request of a process for its next point, with the result of the last one: the point, its
 * status, and its line or error. */
typedef struct message {
    uint32_t point;
    uint32_t status; /* pp_status */
    uint32_t empty;  /* the message has no result */
    char text[PP_FARM_BYTES_MAX - 12];
} message;

static void nap(long ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

pp_status pp_sweep_farm_open(pp_sweep_farm *farm, pp_err *err)
{
    *farm = (pp_sweep_farm){ .processes = 1 };
    return pp_farm_launched()
               ? pp_farm_open(&farm->table, &farm->farm, &farm->process, &farm->processes, err)
               : PP_OK;
}

void pp_sweep_farm_close(pp_sweep_farm *farm)
{
    if (farm->farm)
        farm->table->close(farm->farm, !farm->missing);
    farm->farm = NULL;
}

/* The state of another process, as far as process 0 knows it. */
typedef struct peer {
    bool waits;        /* it has asked since everything was done */
    bool left;         /* it got the answer to end */
    int64_t handed_ns; /* when it got the point that it computes; 0: it has none */
} peer;

typedef struct server {
    pp_sweep_farm *farm;
    pp_sweep_work *work; /* NULL: process 0 failed before it had any */
    peer *peer;          /* [processes] */
    uint32_t waiting, left;
    int64_t longest_ns, over_ns; /* longest time of a point; when all was done, 0: not yet */
} server;

static void take_line(server *s, const char *text, size_t bytes)
{
    message m;
    if (bytes < offsetof(message, text) || bytes > sizeof m || !s->work)
        return;
    memcpy(&m, text, bytes);
    size_t length = bytes - offsetof(message, text);
    if (m.empty)
        return;
    if (m.status) {
        pp_err why = { .status = (pp_status)m.status };
        snprintf(why.text, sizeof why.text, "%.*s", (int)length, m.text);
        pp_sweep_fail(s->work, &why);
        return;
    }
    char *line = malloc(length + 1);
    if (!line) {
        pp_err why = { .status = PP_NOMEM };
        pp_sweep_fail(s->work, &why);
        return;
    }
    memcpy(line, m.text, length);
    line[length] = '\0';
    pp_sweep_give(s->work, m.point, line, length);
}

/* Chooses the answer to process `from`. `end` is END_TOGETHER or END_ALONE once it is known which
 * processes are alive, and 0 before. */
static uint64_t choose_answer(server *s, uint32_t from, uint64_t end)
{
    peer *p = &s->peer[from];
    uint32_t point;
    if (end) {
        s->left += !p->left;
        p->left = true;
        return end;
    }
    if (s->over_ns) {
        s->waiting += !p->waits;
        p->waits = true;
        return ASK_AGAIN;
    }
    if (!pp_sweep_take(s->work, true, &point))
        return ASK_AGAIN;
    p->handed_ns = pp_clock_now_ns();
    return point;
}

/* Receives and answers one message, if there is one. *came receives whether there was. */
static pp_status serve_one(server *s, uint64_t end, bool *came, pp_err *err)
{
    uint32_t from;
    const char *text;
    size_t bytes;
    const pp_farm_table *table = s->farm->table;
    pp_status status = table->poll(s->farm->farm, &from, &text, &bytes, came, err);
    if (status || !*came)
        return status;
    int64_t took_ns = pp_clock_now_ns() - s->peer[from].handed_ns;
    if (s->peer[from].handed_ns && took_ns > s->longest_ns)
        s->longest_ns = took_ns;
    s->peer[from].handed_ns = 0;
    take_line(s, text, bytes);
    if (!s->over_ns && (!s->work || pp_sweep_over(s->work)))
        s->over_ns = pp_clock_now_ns();
    return table->answer(s->farm->farm, from, choose_answer(s, from, end), err);
}

static void *compute(void *argument)
{
    pp_sweep_compute(argument, 1, true);
    return NULL;
}

/* Serves until all work is done and every process has asked once more, or until a timeout
 * expires. */
static pp_status serve(server *s, pp_err *err)
{
    uint32_t others = s->farm->processes - 1;
    bool came = false;
    for (;;) {
        pp_status status = serve_one(s, 0, &came, err);
        if (status)
            return status;
        if (!s->over_ns && (!s->work || pp_sweep_over(s->work)))
            s->over_ns = pp_clock_now_ns();
        if (s->over_ns &&
            (s->waiting == others || pp_clock_now_ns() - s->over_ns > GRACE_NS + 2 * s->longest_ns))
            break;
        if (!came)
            nap(NAP_NS);
    }
    s->farm->missing = s->waiting < others;
    for (uint32_t i = others; i > 0; i--) {
        if (!s->peer[i].waits)
            s->farm->silent = i;
    }
    s->farm->silent_count = others - s->waiting;
    return PP_OK;
}

/* Tells each waiting process to end when it asks for a point. */
static pp_status dismiss(server *s, pp_err *err)
{
    uint64_t end = s->farm->missing ? END_ALONE : END_TOGETHER;
    int64_t until_ns = pp_clock_now_ns() + GRACE_NS;
    bool came = false;
    while (s->left < s->waiting && (!s->farm->missing || pp_clock_now_ns() < until_ns)) {
        pp_status status = serve_one(s, end, &came, err);
        if (status)
            return status;
        if (!came)
            nap(NAP_NS);
    }
    if (s->farm->missing)
        nap(100 * NAP_NS); /* gives the last answers time to leave, because MPI is not finalized */
    return PP_OK;
}

pp_status pp_sweep_farm_serve(pp_sweep_farm *farm, pp_sweep_work *work, pp_err *err)
{
    server s = { .farm = farm, .work = work };
    pthread_t thread;
    s.peer = pp_alloc_array(farm->processes, sizeof *s.peer);
    if (!s.peer)
        return pp_err_nomem(err);
    bool computes = work && pthread_create(&thread, NULL, compute, work) == 0;
    pp_status status = serve(&s, err);
    if (!status)
        status = dismiss(&s, err);
    if (status && work)
        pp_sweep_fail(work, err);
    if (computes)
        pthread_join(thread, NULL);
    free(s.peer);
    return status;
}

/* Computes a point and writes its line, or the error, into a message. Returns the message's
 * bytes. */
static size_t run_point(const pp_sweep *sweep, uint32_t point, message *m)
{
    char *line PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_err err = PP_COMMAND_ERR;
    pp_status status = pp_point_run(sweep, point, &line, &bytes, &err);
    if (!status && bytes > sizeof m->text)
        status = pp_err_set(&err, PP_IO, NULL, "a line is too long for an MPI message");
    m->point = point;
    m->status = status;
    m->empty = false;
    if (status)
        bytes = strlen(err.text);
    memcpy(m->text, status ? err.text : line, bytes);
    return offsetof(message, text) + bytes;
}

pp_status pp_sweep_farm_work(pp_sweep_farm *farm, const pp_sweep *sweep, pp_err *err)
{
    static const size_t nothing = offsetof(message, text);
    int64_t longest_ns = 0;
    uint64_t answer = ASK_AGAIN;
    size_t bytes = nothing;
    message *m = pp_alloc_array(1, sizeof *m);
    if (!m)
        return pp_err_nomem(err);
    m->empty = true;
    pp_status status = PP_OK;
    for (;;) {
        status = farm->table->ask(farm->farm, (const char *)m, bytes, PATIENCE_NS + 4 * longest_ns,
                                  &answer, err);
        if (status || answer == END_TOGETHER || answer == END_ALONE)
            break;
        if (answer == ASK_AGAIN) {
            m->empty = true;
            bytes = nothing;
            nap(ASK_AGAIN_NS);
            continue;
        }
        int64_t begin_ns = pp_clock_now_ns();
        bytes = run_point(sweep, (uint32_t)answer, m);
        int64_t took_ns = pp_clock_now_ns() - begin_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    farm->missing = status || answer == END_ALONE;
    free(m);
    return status;
}
