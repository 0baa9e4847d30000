/* Compares the memory that ranks counted while they ran with the simulator's account of the same
 * timeline: every component, at the start and the end of every op. Both are in the order of time,
 * so that one pass over the events of a rank is enough. */
#include "runtime/core/memory_check.h"

#include <inttypes.h>
#include <string.h>

/* Compares the bytes that the simulator's account has right after the start and the end of each op
 * with the bytes that were counted. */
typedef struct comparing {
    const pp_record *record;
    const pp_program *program;
    const pp_timeline *timeline;
    size_t next, end; /* ops of the rank */
    int side;         /* instant of `next` to compare: 0 its start, 1 its end */
    int64_t bytes[PP_MEMORY_COUNT];
    size_t wrong; /* first op that differs, or SIZE_MAX */
    int wrong_side, component;
    int64_t predicted;
    uint64_t checks;
} comparing;

/* Compares all instants before `until_ns`: they have the bytes that were reported last. */
static void settle(comparing *c, pp_ns until_ns)
{
    while (c->next < c->end && c->wrong == SIZE_MAX) {
        pp_ns at_ns = c->side ? c->timeline->end_ns[c->next] : c->timeline->start_ns[c->next];
        if (at_ns >= until_ns)
            return;
        for (int k = 0; k < PP_MEMORY_COUNT; k++) {
            if (c->record->bytes[c->next][c->side][k] != c->bytes[k] && c->wrong == SIZE_MAX) {
                c->wrong = c->next;
                c->wrong_side = c->side;
                c->component = k;
                c->predicted = c->bytes[k];
            }
        }
        c->checks++;
        c->next += (size_t)c->side;
        c->side = !c->side;
    }
}

static void compare_sample(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    comparing *c = context;
    settle(c, at_ns);
    memcpy(c->bytes, bytes, sizeof c->bytes);
}

/* Checks the most activations that each rank held at once against the order of the rank: an
 * activation is held from its F to its B or W. */
static pp_status check_live(const pp_program *program, const pp_record *record, uint32_t rank,
                            pp_err *err)
{
    uint32_t live = 0;
    uint32_t most = 0;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        uint8_t kind = program->op[i].kind;
        live += kind == PP_OP_F;
        most = live > most ? live : most;
        live -= kind == PP_OP_B || kind == PP_OP_W || program->forward_only;
    }
    if (record->live[rank] == most)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "memory differs from the prediction: rank %" PRIu32 " held %" PRIu32
                      " activations at once, and its order predicts %" PRIu32,
                      rank, record->live[rank], most);
}

pp_status pp_memory_check(const pp_program *program, const pp_costs *costs, const pp_record *record,
                          const pp_timeline *timeline, uint64_t *checks, pp_err *err)
{
    char token[40];
    for (uint32_t r = 0; r < program->ranks; r++) {
        pp_memory_peak peak;
        comparing c = { .record = record,
                        .program = program,
                        .timeline = timeline,
                        .next = program->rank_begin[r],
                        .end = program->rank_begin[r + 1],
                        .wrong = SIZE_MAX };
        pp_status status =
            pp_memory_replay(program, timeline, costs, r, compare_sample, &c, &peak, err);
        if (status || (status = check_live(program, record, r, err)))
            return status;
        settle(&c, INT64_MAX);
        *checks += c.checks;
        if (c.wrong == SIZE_MAX)
            continue;
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "memory differs from the prediction: rank %" PRIu32
                          " at the %s of %s holds %" PRId64
                          " B of %s, and the simulator predicts %" PRId64 " B",
                          r, c.wrong_side ? "end" : "start",
                          pp_op_print(program->op[c.wrong], token, sizeof token),
                          record->bytes[c.wrong][c.wrong_side][c.component],
                          pp_memory_key((pp_memory_component)c.component), c.predicted);
    }
    return PP_OK;
}
