#include "planner/recompute_cover.h"

#include "sim/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is left to ask for, of a price, where doubles round. */
#define SLIGHT 1e-9

/* Bytes that are left while each op runs: a tree whose nodes have the least of their ops. */
typedef struct spare_tree {
    uint32_t leaves; /* a power of two; those beyond the ops have INT64_MAX / 2 */
    int64_t *least;  /* [2 * leaves]: below the node, without `added` of those above it */
    int64_t *added;  /* [2 * leaves]: to all ops below the node, already in its `least` */
} spare_tree;

typedef struct cover {
    spare_tree spare;
    const int64_t *room;
    uint32_t ops, items;
    pp_cover_item *item;
    uint32_t *by_forward; /* [items] */
    uint32_t *latest;     /* [items]: the latest backward of by_forward up to here */
    uint32_t *begun;      /* [ops + 1]: items whose forward comes before it */
    uint32_t *level;      /* [items]: now */
    double *price;        /* [items]: ns per byte that ops have offered so far */
    uint32_t *raised;     /* [raised_count]: items, a step each */
    size_t raised_count, raised_capacity;
} cover;

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void mend_above(spare_tree *t, uint32_t node)
{
    while (node /= 2)
        t->least[node] = lesser(t->least[2 * node], t->least[2 * node + 1]) + t->added[node];
}

static void add_to(spare_tree *t, uint32_t node, int64_t bytes)
{
    t->least[node] += bytes;
    t->added[node] += bytes;
}

/* To the ops from first to last. */
static void add_between(spare_tree *t, uint32_t first, uint32_t last, int64_t bytes)
{
    uint32_t a = first + t->leaves;
    uint32_t b = last + t->leaves;
    add_to(t, a, bytes);
    if (a != b)
        add_to(t, b, bytes);
    for (; a / 2 != b / 2; a /= 2, b /= 2) {
        if (a % 2 == 0)
            add_to(t, a + 1, bytes);
        if (b % 2 == 1)
            add_to(t, b - 1, bytes);
    }
    mend_above(t, first + t->leaves);
    mend_above(t, last + t->leaves);
}

static int64_t least_between(const spare_tree *t, uint32_t first, uint32_t last)
{
    uint32_t a = first + t->leaves;
    uint32_t b = last + t->leaves;
    int64_t left = t->least[a];
    int64_t right = t->least[b];
    while (a / 2 != b / 2) {
        left = a % 2 == 0 ? lesser(left, t->least[a + 1]) : left;
        right = b % 2 == 1 ? lesser(right, t->least[b - 1]) : right;
        left += t->added[a /= 2];
        right += t->added[b /= 2];
    }
    int64_t least = lesser(left, right);
    while (a /= 2)
        least += t->added[a];
    return least;
}

/* The first of the ops that have the least. */
static uint32_t find_worst(const spare_tree *t)
{
    uint32_t node = 1;
    while (node < t->leaves)
        node = 2 * node + (t->least[2 * node] > t->least[2 * node + 1]);
    return node - t->leaves;
}

static void cover_free(cover *c)
{
    free(c->spare.least);
    free(c->by_forward);
    free(c->price);
    free(c->raised);
}

static pp_status cover_new(cover *c, pp_err *err)
{
    c->spare.leaves = 1;
    while (c->spare.leaves < c->ops)
        c->spare.leaves *= 2;
    c->spare.least = pp_alloc_array(4 * (size_t)c->spare.leaves, sizeof *c->spare.least);
    c->by_forward = pp_alloc_array(3 * (size_t)c->items + c->ops + 2, sizeof *c->by_forward);
    c->price = pp_alloc_array((size_t)c->items + 1, sizeof *c->price);
    if (!c->spare.least || !c->by_forward || !c->price)
        return pp_err_nomem(err);
    c->spare.added = c->spare.least + 2 * (size_t)c->spare.leaves;
    c->latest = c->by_forward + c->items;
    c->level = c->latest + c->items;
    c->begun = c->level + c->items;
    for (uint32_t i = 0; i < c->items; i++) /* counting sort: an op is the forward of one item */
        c->begun[c->item[i].forward + 1]++;
    for (uint32_t t = 0; t < c->ops; t++)
        c->begun[t + 1] += c->begun[t];
    for (uint32_t i = 0; i < c->items; i++)
        c->by_forward[c->begun[c->item[i].forward]] = i;
    for (uint32_t k = 0; k < c->items; k++) {
        const uint32_t backward = c->item[c->by_forward[k]].backward;
        c->latest[k] = k && c->latest[k - 1] > backward ? c->latest[k - 1] : backward;
    }
    return PP_OK;
}

/* Bytes that the op has more with level `to` than with `from`. */
static int64_t gain_at(const pp_cover_item *item, uint32_t op, uint32_t from, uint32_t to)
{
    const pp_recompute_level *a = &item->level[from];
    const pp_recompute_level *b = &item->level[to];
    const int64_t held = a->held_bytes - b->held_bytes;
    return op == item->backward ? held + a->extra_bytes - b->extra_bytes : held;
}

/* Gives back what the item has at level `from`, and takes what it has at `to`. */
static void add_gain(cover *c, const pp_cover_item *item, int64_t held_bytes, int64_t end_bytes)
{
    if (item->backward > item->forward)
        add_between(&c->spare, item->forward, item->backward - 1, held_bytes);
    add_between(&c->spare, item->backward, item->backward, end_bytes);
}

static void change(cover *c, uint32_t i, uint32_t to)
{
    const pp_cover_item *item = &c->item[i];
    const uint32_t from = c->level[i];
    add_gain(c, item, gain_at(item, item->forward, from, to),
             gain_at(item, item->backward, from, to));
    c->level[i] = to;
}

/* No prices, and the bytes that `level` leaves. */
static void start(cover *c)
{
    spare_tree *t = &c->spare;
    memset(t->added, 0, 2 * (size_t)t->leaves * sizeof *t->added);
    memset(c->price, 0, c->items * sizeof *c->price);
    c->raised_count = 0;
    for (uint32_t k = 0; k < t->leaves; k++)
        t->least[t->leaves + k] = k < c->ops ? c->room[k] : INT64_MAX / 2;
    for (uint32_t node = t->leaves - 1; node > 0; node--)
        t->least[node] = lesser(t->least[2 * node], t->least[2 * node + 1]);
    for (uint32_t i = 0; i < c->items; i++) {
        const pp_recompute_level *now = &c->item[i].level[c->level[i]];
        add_gain(c, &c->item[i], -now->held_bytes, -now->held_bytes - now->extra_bytes);
    }
}

static bool fits(const cover *c)
{
    return c->spare.least[1] >= 0;
}

/* The next level that gives the op something back; the present one: none does. */
static uint32_t next_level(const cover *c, uint32_t i, uint32_t op)
{
    const pp_cover_item *item = &c->item[i];
    uint32_t to = c->level[i] + 1;
    while (to < item->levels && gain_at(item, op, c->level[i], to) <= 0)
        to++;
    return to < item->levels ? to : c->level[i];
}

/* What the item asks for each byte that the op lacks, less what was offered before. */
static double asked(const cover *c, uint32_t i, uint32_t op, uint32_t to, int64_t lack)
{
    const pp_cover_item *item = &c->item[i];
    const double ns = (double)(item->level[to].ns - item->level[c->level[i]].ns);
    const double gain = (double)gain_at(item, op, c->level[i], to);
    const double left = ns - c->price[i] * gain;
    return (left > 0 ? left : 0) / (gain < (double)lack ? gain : (double)lack);
}

/* Of the items that hold memory at the op, the one that asks for least; of equal ones that which
 * holds it longest. items: there is none. price_out: what it asks for. */
static uint32_t find_cheapest(const cover *c, uint32_t op, int64_t lack, double *price_out)
{
    uint32_t cheapest = c->items;
    for (uint32_t k = c->begun[op + 1]; k > 0 && c->latest[k - 1] >= op; k--) {
        const uint32_t i = c->by_forward[k - 1];
        const uint32_t to = next_level(c, i, op);
        if (c->item[i].backward < op || to == c->level[i])
            continue;
        const double price = asked(c, i, op, to, lack);
        if (cheapest == c->items || price < *price_out ||
            (price == *price_out && c->item[i].backward > c->item[cheapest].backward)) {
            cheapest = i;
            *price_out = price;
        }
    }
    return cheapest;
}

/* All of them hear of it; what they would not be needed for is not offered. */
static void offer(cover *c, uint32_t op, int64_t lack, double price)
{
    for (uint32_t k = c->begun[op + 1]; k > 0 && c->latest[k - 1] >= op; k--) {
        const uint32_t i = c->by_forward[k - 1];
        const uint32_t to = next_level(c, i, op);
        if (c->item[i].backward < op || to == c->level[i])
            continue;
        const int64_t gain = gain_at(&c->item[i], op, c->level[i], to);
        c->price[i] += gain > lack ? price * ((double)lack / (double)gain) : price;
    }
}

static pp_status raise_one(cover *c, uint32_t i, uint32_t to, pp_err *err)
{
    void *grown = c->raised;
    pp_status status =
        pp_reserve(&grown, &c->raised_capacity, c->raised_count + 1, sizeof *c->raised, err);
    if (status)
        return status;
    c->raised = grown;
    c->raised[c->raised_count++] = i;
    change(c, i, to);
    return PP_OK;
}

/* Local ratio (Bar-Noy et al. 2001, "A unified approach to approximating resource allocation and
 * scheduling"): the op that lacks memory offers more and more for a byte until an item takes it.
 * What an item was offered counts at the next op, too. */
static pp_status raise_levels(cover *c, pp_err *err)
{
    pp_status status = PP_OK;
    while (!fits(c) && !status) {
        const uint32_t op = find_worst(&c->spare);
        int64_t lack = -least_between(&c->spare, op, op);
        double price = 0;
        const uint32_t i = find_cheapest(c, op, lack, &price);
        if (i == c->items)
            return PP_OK;
        offer(c, op, lack, price);
        uint32_t to = next_level(c, i, op);
        do {
            lack -= gain_at(&c->item[i], op, c->level[i], to);
            status = raise_one(c, i, to, err);
            to = next_level(c, i, op);
        } while (!status && lack > 0 && to > c->level[i] &&
                 asked(c, i, op, to, lack) <= SLIGHT * price);
    }
    return status;
}

static bool is_needed(const cover *c, uint32_t i)
{
    const pp_cover_item *item = &c->item[i];
    const uint32_t to = c->level[i] - 1;
    const uint32_t b = item->backward;
    if (least_between(&c->spare, b, b) + gain_at(item, b, c->level[i], to) < 0)
        return true;
    return b > item->forward && least_between(&c->spare, item->forward, b - 1) +
                                        gain_at(item, item->forward, c->level[i], to) <
                                    0;
}

/* Takes back what is not needed, the last step first. */
static void lower_levels(cover *c)
{
    for (size_t k = c->raised_count; k > 0; k--) {
        const uint32_t i = c->raised[k - 1];
        while (c->level[i] > c->item[i].least && !is_needed(c, i))
            change(c, i, c->level[i] - 1);
    }
}

static int64_t time_of(const cover *c)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < c->items; i++)
        ns += c->item[i].level[c->level[i]].ns;
    return ns;
}

static pp_status try_least(cover *c, pp_err *err)
{
    for (uint32_t i = 0; i < c->items; i++)
        c->level[i] = c->item[i].least;
    start(c);
    pp_status status = raise_levels(c, err);
    if (!status && fits(c))
        lower_levels(c);
    return status;
}

static pp_status try_known(cover *c, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < c->items; i++)
        c->level[i] = c->item[i].known > c->item[i].least ? c->item[i].known : c->item[i].least;
    start(c);
    for (uint32_t i = 0; i < c->items && !status; i++)
        status = raise_one(c, i, c->level[i], err);
    if (!status && fits(c))
        lower_levels(c);
    return status;
}

/* Keeps what fits and takes less time than what was kept before. */
static void keep(const cover *c, int64_t *least_ns, int64_t *spare)
{
    const int64_t ns = time_of(c);
    if (!fits(c) || ns >= *least_ns)
        return;
    *least_ns = ns;
    *spare = c->spare.least[1];
    for (uint32_t i = 0; i < c->items; i++)
        c->item[i].chosen = c->level[i];
}

pp_status pp_recompute_cover(const int64_t *room_bytes, uint32_t ops, pp_cover_item *item,
                             uint32_t items, int64_t *spare_out, pp_err *err)
{
    cover c PP_CLEANUP(
        cover_free) = { .room = room_bytes, .ops = ops, .item = item, .items = items };
    int64_t known_ns = 0;
    int64_t least_ns = INT64_MAX;
    int64_t spare = -1;
    for (uint32_t i = 0; i < items; i++)
        known_ns += item[i].level[item[i].known].ns;
    pp_status status = cover_new(&c, err);
    if (!status && !(status = try_least(&c, err)))
        keep(&c, &least_ns, &spare);
    if (!status && least_ns > known_ns && !(status = try_known(&c, err)))
        keep(&c, &least_ns, &spare);
    if (!status)
        *spare_out = spare;
    return status;
}
