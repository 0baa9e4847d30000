/* A few rows, each with an order and its programs; the oldest one gives way. What is kept is
 * limited by the number of ops. */
#include "planner/candidate/kept_orders.h"

#include "sim/base/alloc.h"
#include "sim/program/program_new.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, PROGRAMS = 2 };

/* Orders have at most so many ops together, or are one: 50 MB. So do programs: 100 MB. */
#define ORDER_OPS_MOST ((size_t)1 << 22)
#define PROGRAM_OPS_MOST ((size_t)1 << 19)

typedef struct lowered {
    pp_lowering_key key;
    pp_program *program; /* NULL: none */
} lowered;

typedef struct row {
    pp_order_key key;
    uint32_t group;
    pp_order *order; /* NULL: nothing is kept */
    lowered lowered[PROGRAMS];
} row;

struct pp_kept_orders {
    row row[ROWS];
    size_t next; /* the row that gives way next */
    size_t order_ops, program_ops;
};

static size_t ops_of(const pp_order *order)
{
    return order->rank_begin[order->ranks];
}

static void drop_programs(pp_kept_orders *kept, row *r)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (r->lowered[i].program)
            kept->program_ops -= r->lowered[i].program->count;
        pp_program_free(&r->lowered[i].program);
    }
}

static void drop(pp_kept_orders *kept, row *r)
{
    drop_programs(kept, r);
    if (r->order)
        kept->order_ops -= ops_of(r->order);
    pp_order_free(&r->order);
    *r = (row){ .order = NULL };
}

pp_status pp_kept_orders_new(pp_kept_orders **kept_out, pp_err *err)
{
    *kept_out = pp_alloc_array(1, sizeof **kept_out);
    return *kept_out ? PP_OK : pp_err_nomem(err);
}

void pp_kept_orders_free(pp_kept_orders **kept)
{
    for (size_t i = 0; *kept && i < ROWS; i++)
        drop(*kept, &(*kept)->row[i]);
    free(*kept);
    *kept = NULL;
}

static bool are_same(const pp_order_key *a, const pp_order_key *b)
{
    return a->schedule == b->schedule && a->ranks == b->ranks && a->chunks == b->chunks &&
           a->microbatches == b->microbatches && a->asked_group == b->asked_group;
}

pp_order *pp_kept_orders_find(const pp_kept_orders *kept, const pp_order_key *key,
                              uint32_t *group_out)
{
    for (size_t i = 0; i < ROWS && !key->schedule->uses_costs; i++) {
        const row *r = &kept->row[i];
        if (!r->order || !are_same(&r->key, key))
            continue;
        *group_out = r->group;
        return r->order;
    }
    return NULL;
}

void pp_kept_orders_add(pp_kept_orders *kept, const pp_order_key *key, uint32_t group,
                        pp_order *order)
{
    row *r = &kept->row[kept->next++ % ROWS];
    drop(kept, r);
    for (size_t i = 0; i < ROWS && kept->order_ops + ops_of(order) > ORDER_OPS_MOST; i++)
        drop(kept, &kept->row[(kept->next + i) % ROWS]);
    *r = (row){ .key = *key, .group = group, .order = order };
    kept->order_ops += ops_of(order);
}

static bool are_lowered_alike(const pp_lowering_key *a, const pp_lowering_key *b)
{
    return a->framework == b->framework && a->communicators == b->communicators &&
           a->collective == b->collective && a->sharded == b->sharded &&
           a->shards_ops == b->shards_ops && a->regathers == b->regathers;
}

const pp_program *pp_kept_orders_program(const pp_kept_orders *kept, const pp_order *order,
                                         const pp_lowering_key *key)
{
    for (size_t i = 0; i < ROWS; i++) {
        const row *r = &kept->row[i];
        for (size_t k = 0; k < PROGRAMS && r->order == order; k++) {
            if (r->lowered[k].program && are_lowered_alike(&r->lowered[k].key, key))
                return r->lowered[k].program;
        }
    }
    return NULL;
}

/* Makes the first entry free; the last one gives way. */
static void push_down(pp_kept_orders *kept, row *r)
{
    lowered *last = &r->lowered[PROGRAMS - 1];
    if (last->program)
        kept->program_ops -= last->program->count;
    pp_program_free(&last->program);
    memmove(r->lowered + 1, r->lowered, (PROGRAMS - 1) * sizeof *r->lowered);
}

void pp_kept_orders_add_program(pp_kept_orders *kept, const pp_order *order,
                                const pp_lowering_key *key, pp_program **program)
{
    const size_t ops = (*program)->count;
    size_t at = 0;
    while (at < ROWS && kept->row[at].order != order)
        at++;
    if (at == ROWS || kept->row[at].key.schedule->uses_costs || ops > PROGRAM_OPS_MOST)
        return;
    for (size_t i = 0; i < ROWS && kept->program_ops + ops > PROGRAM_OPS_MOST; i++)
        drop_programs(kept, &kept->row[(kept->next + i) % ROWS]);
    push_down(kept, &kept->row[at]);
    kept->row[at].lowered[0] = (lowered){ .key = *key, .program = *program };
    kept->program_ops += ops;
    *program = NULL;
}
