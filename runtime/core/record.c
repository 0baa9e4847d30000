/* The record of a step and its transport to the process of rank 0. The numbers of a rank are
 * visited in one fixed order for packing and unpacking (visit_rank); times are converted to the
 * clock of rank 0 on arrival. */
#include "runtime/core/record.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

pp_status pp_record_new(const pp_program *program, bool bytes, pp_record *record_out, pp_err *err)
{
    size_t ops = program->count;
    size_t transfers = program->comm->transfer_count;
    size_t ranks = program->ranks;
    pp_record record = { 0 };
    record.start_ns = pp_alloc_array(3 * ops + 2 * transfers + 4 * ranks, sizeof(pp_ns));
    record.live = pp_alloc_array(ranks, sizeof *record.live);
    record.bytes = bytes ? pp_alloc_array(ops, sizeof *record.bytes) : NULL;
    if (!record.start_ns || !record.live || (bytes && !record.bytes)) {
        pp_record_free(&record);
        return pp_err_nomem(err);
    }
    record.end_ns = record.start_ns + ops;
    record.cpu_ns = record.end_ns + ops;
    record.post_ns = record.cpu_ns + ops;
    record.done_ns = record.post_ns + transfers;
    record.begin_ns = record.done_ns + transfers;
    record.over_ns = record.begin_ns + ranks;
    record.drained_ns = record.over_ns + ranks;
    record.preemptions = record.drained_ns + ranks;
    *record_out = record;
    return PP_OK;
}

void pp_record_free(pp_record *record)
{
    free(record->start_ns);
    free(record->live);
    free(record->bytes);
    *record = (pp_record){ 0 };
}

/* A packed rank has its scalars, then a row per op, then a row per transfer. */
enum { SCALARS = 5, OP_ROW = 3, TRANSFER_ROW = 2, BYTES_ROW = 2 * PP_MEMORY_COUNT };

static size_t most_transfers(const pp_program *program)
{
    const pp_comm *comm = program->comm;
    size_t most = 0;
    size_t count = 0;
    for (uint32_t r = 0; r < program->ranks; r++, count = 0) {
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++)
            count += comm->step[s].kind == PP_COMM_STEP_POST
                         ? comm->group[comm->step[s].index].count
                         : 0;
        most = count > most ? count : most;
    }
    return most;
}

size_t pp_record_bytes(const pp_program *program, const pp_record *record)
{
    size_t most = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t ops = program->rank_begin[r + 1] - program->rank_begin[r];
        most = ops > most ? ops : most;
    }
    size_t row = OP_ROW + (record->bytes ? (size_t)BYTES_ROW : 0);
    return (SCALARS + most * row + most_transfers(program) * TRANSFER_ROW) * sizeof(int64_t);
}

/* Called for every number of a rank. clock: the number is a time on the clock of the rank. */
typedef void (*visitor)(void *context, int64_t *value, bool clock);

static void visit_rank(const pp_program *program, pp_record *record, uint32_t rank, visitor visit,
                       void *context)
{
    const pp_comm *comm = program->comm;
    int64_t live = record->live[rank];
    visit(context, &record->begin_ns[rank], true);
    visit(context, &record->over_ns[rank], true);
    visit(context, &record->drained_ns[rank], true);
    visit(context, &record->preemptions[rank], false);
    visit(context, &live, false);
    record->live[rank] = (uint32_t)live;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        visit(context, &record->start_ns[i], true);
        visit(context, &record->end_ns[i], true);
        visit(context, &record->cpu_ns[i], false);
        for (int c = 0; record->bytes && c < BYTES_ROW; c++)
            visit(context, &record->bytes[i][c / PP_MEMORY_COUNT][c % PP_MEMORY_COUNT], false);
    }
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        const pp_group *group = &comm->group[comm->step[s].index];
        for (uint32_t k = 0; comm->step[s].kind == PP_COMM_STEP_POST && k < group->count; k++) {
            visit(context, &record->post_ns[group->first + k], true);
            visit(context, &record->done_ns[group->first + k], true);
        }
    }
}

typedef struct packing {
    char *at;
    const char *from;
    pp_ns ahead_ns;
} packing;

static void put(void *context, int64_t *value, bool clock)
{
    packing *p = context;
    (void)clock;
    memcpy(p->at, value, sizeof *value);
    p->at += sizeof *value;
}

static void take(void *context, int64_t *value, bool clock)
{
    packing *p = context;
    memcpy(value, p->from, sizeof *value);
    p->from += sizeof *value;
    *value -= clock ? p->ahead_ns : 0;
}

void pp_record_pack(const pp_program *program, const pp_record *record, uint32_t rank, void *out)
{
    packing p = { .at = out };
    pp_record same = *record; /* put changes nothing */
    visit_rank(program, &same, rank, put, &p);
}

void pp_record_unpack(const pp_program *program, pp_record *record, uint32_t rank, const void *in,
                      pp_ns ahead_ns)
{
    packing p = { .from = in, .ahead_ns = ahead_ns };
    visit_rank(program, record, rank, take, &p);
}
