/* The same documents packed in three ways, each with the order search and with 1F1B in the order
 * that the packing gives. Stages and links are those of an instance with one stage per rank; the
 * cap of all is what 1F1B holds on rank 0 with the first packing. given: consecutive documents, as
 * many tokens each; equal: heaviest document first, to the lightest microbatch; ramped: the same,
 * shares growing by 1 + 2 / (p - 1) from both ends. bench_packings [--iterations N] [--documents N]
 * [--median N] [--sigma X] [--longest N] FILE M... M: microbatches of `given`, then those of the
 * others. Documents are drawn, lognormal. */
#include "planner/order/search.h"
#include "sim/base/random.h"
#include "tests/bench/rule_classes.h"
#include "tests/bench/rules.h"

#include <math.h>

enum { DOCUMENTS_MOST = 4096, COUNTS_MOST = 8 };

typedef enum packing { GIVEN, EQUAL, RAMPED } packing;

typedef struct bench {
    const char *file;
    int64_t iterations;
    uint32_t documents, counts, count[COUNTS_MOST];
    double median, sigma, longest;
    int64_t length[DOCUMENTS_MOST];
    int64_t cap; /* 0: not known yet */
} bench;

static void die(const char *where, const char *why)
{
    fprintf(stderr, "bench_packings: %s: %s\n", where, why);
    exit(EXIT_FAILURE);
}

static double uniform(uint64_t *seed)
{
    return ((double)(pp_random_next(seed) >> 11) + 0.5) * 0x1p-53;
}

static void draw_documents(bench *b)
{
    uint64_t seed = 1;
    for (uint32_t k = 0; k < b->documents; k++) {
        const double normal =
            sqrt(-2 * log(uniform(&seed))) * cos(2 * 3.14159265358979 * uniform(&seed));
        const double tokens = b->median * exp(b->sigma * normal);
        b->length[k] = (int64_t)fmin(fmax(tokens, 16), b->longest);
    }
}

static int by_length(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a < b) - (a > b);
}

/* The weight of a document: forward, backward and weights on the middle stage. */
static double weigh(const pp_json_at *stage, int64_t tokens)
{
    static const char *const keys[] = { "f", "b", "w" };
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        int64_t *c = replay_ints(stage, keys[k]);
        sum += (double)c[1] * (double)tokens + (double)c[2] * (double)tokens * (double)tokens;
        free(c);
    }
    return sum;
}

static void put(int64_t *tokens, int64_t *squares, uint32_t i, int64_t length)
{
    tokens[i] += length;
    squares[i] += length * length;
}

/* Packs the documents into m microbatches. p: ranks, for the ramp. */
static void pack(const bench *b, const pp_json_at *stage, packing how, uint32_t m, uint32_t p,
                 int64_t *tokens, int64_t *squares)
{
    int64_t sorted[DOCUMENTS_MOST];
    double *share = pp_alloc_array(2 * (size_t)m, sizeof *share);
    double *load = share + m;
    int64_t all = 0;
    int64_t so_far = 0;
    for (uint32_t k = 0; k < b->documents; k++)
        all += sorted[k] = b->length[k];
    for (uint32_t k = 0; how == GIVEN && k < b->documents; k++) {
        put(tokens, squares, (uint32_t)(so_far * m / all), b->length[k]);
        so_far += b->length[k];
    }
    for (uint32_t i = 0; i < m; i++) {
        const uint32_t end = i < m - 1 - i ? i : m - 1 - i;
        share[i] = how == RAMPED ? fmin(1, pow(1 + 2.0 / (p - 1), end) / 4) : 1;
    }
    qsort(sorted, b->documents, sizeof *sorted, by_length);
    for (uint32_t k = 0; how != GIVEN && k < b->documents; k++) {
        const double weight = weigh(stage, sorted[k]);
        uint32_t best = 0;
        for (uint32_t i = 1; i < m; i++)
            if ((load[i] + weight) / share[i] < (load[best] + weight) / share[best])
                best = i;
        load[best] += weight;
        put(tokens, squares, best, sorted[k]);
    }
    free(share);
}

/* y: read by replay_read; filled for m microbatches. */
static void set_microbatches(const pp_json_at *root, uint32_t m, const int64_t *tokens,
                             const int64_t *squares, replay *y)
{
    pp_json_at stages, stage, link;
    pp_err err = { 0 };
    replay_free(y);
    y->m = m;
    const size_t cells = (size_t)y->s * m;
    int64_t **const columns[] = { &y->ticks[0], &y->ticks[1], &y->ticks[2], &y->extra[0],
                                  &y->extra[1], &y->extra[2], &y->end[0],   &y->end[1],
                                  &y->end[2],   &y->taken,    &y->kept,     &y->lag };
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        *columns[k] = pp_alloc_array(cells, sizeof(int64_t));
    y->rank_of = replay_ints(root, "rank_of");
    y->cap = replay_ints(root, "cap");
    if (pp_json_get(root, "stages", &stages, &err) || pp_json_get(root, "link", &link, &err))
        die(y->name, err.text);
    for (uint32_t i = 0; i < m; i++)
        y->lag[i] = replay_int(&link, "lat") +
                    (replay_int(&link, "per_token_q20") * tokens[i] + 524288) / 1048576;
    for (uint32_t s = 0; s < y->s; s++) {
        if (pp_json_item(&stages, s, &stage, &err))
            die(y->name, err.text);
        replay_stage(y, &stage, s, tokens, squares);
    }
}

static int64_t peak_of_1f1b(const replay *y)
{
    int64_t peak = 0;
    for (uint32_t first = 0; first + y->p <= y->m; first++) {
        int64_t held = y->extra[1][first];
        for (uint32_t i = first; i < first + y->p; i++)
            held += y->taken[i];
        peak = held > peak ? held : peak;
    }
    return peak;
}

static pp_order_problem *instance_of(const replay *y)
{
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    uint32_t *stage_rank = pp_alloc_array(y->s, sizeof *stage_rank);
    for (uint32_t s = 0; s < y->s; s++)
        stage_rank[s] = (uint32_t)y->rank_of[s];
    if (pp_order_problem_new(y->name, y->p, y->s, y->m, stage_rank, &x, &err))
        die(y->name, err.text);
    free(stage_rank);
    for (uint32_t r = 0; r < y->p; r++)
        x->room[r] = y->cap[r];
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *t = &x->task[op];
        const size_t cell = (size_t)t->stage * y->m + t->microbatch;
        const int64_t change[] = { y->taken[cell], y->kept[cell] - y->taken[cell], -y->kept[cell] };
        t->ticks = y->ticks[t->kind][cell];
        if (t->kind != PP_TASK_W && t->before < x->ops && x->task[t->before].rank != t->rank)
            t->lag = y->lag[t->microbatch];
        x->memory[op].delta = change[t->kind];
        x->memory[op].need = y->extra[t->kind][cell] + (t->kind == PP_TASK_F ? change[0] : 0);
    }
    return x;
}

static void print_rules(replay *y)
{
    uint32_t *order = pp_alloc_array(y->m, sizeof *order);
    for (uint32_t i = 0; i < y->m; i++)
        order[i] = i;
    for (int k = 0; k < 3; k++) { /* fused, split, ZB-H1 */
        bool fits = false;
        int64_t makespan = rule_makespan(y, order, k == 2, k == 0, &fits);
        printf(" %9.3f%s", 1e-6 * (double)makespan, fits ? " " : "*");
    }
    printf(" %9.3f ", 1e-6 * (double)rule_classes(y));
    free(order);
}

static void run(bench *b, const pp_json_at *root, packing how, uint32_t m)
{
    static const char *const names[] = { "given", "equal", "ramped" };
    replay y PP_CLEANUP(replay_free) = { 0 };
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_json_at stages, stage;
    pp_order_bounds limits;
    pp_err err = { 0 };
    int64_t *tokens = pp_alloc_array(2 * (size_t)m, sizeof *tokens);
    replay_read(root, &y);
    if (pp_json_get(root, "stages", &stages, &err) || pp_json_item(&stages, 1, &stage, &err))
        die(b->file, err.text);
    pack(b, &stage, how, m, y.p, tokens, tokens + m);
    set_microbatches(root, m, tokens, tokens + m, &y);
    free(tokens);
    b->cap = b->cap ? b->cap : peak_of_1f1b(&y);
    for (uint32_t r = 0; r < y.p; r++)
        y.cap[r] = b->cap;
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = instance_of(&y);
    const pp_order_search_options budget = { .iterations = b->iterations, .threads = 2 };
    printf("%-7s %3" PRIu32, names[how], m);
    print_rules(&y);
    if (pp_order_bounds_find(x, &limits, &err) ||
        pp_order_search(x, limits.ticks, &budget, &found, &err))
        die(b->file, err.text);
    pp_order_problem_print_orders(x, found->ops, &text);
    if (replay_run(&y, text.data, false) != found->makespan)
        die(b->file, "the replay disagrees");
    printf(" %9.3f  %9.3f\n", 1e-6 * (double)found->makespan, 1e-6 * (double)limits.ticks);
    fflush(stdout);
}

static void read_arguments(bench *b, int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        const double number = strtod(value, NULL);
        if (strcmp(argv[k], "--iterations") == 0)
            b->iterations = (int64_t)number, k++;
        else if (strcmp(argv[k], "--documents") == 0)
            b->documents = (uint32_t)number, k++;
        else if (strcmp(argv[k], "--median") == 0)
            b->median = number, k++;
        else if (strcmp(argv[k], "--sigma") == 0)
            b->sigma = number, k++;
        else if (strcmp(argv[k], "--longest") == 0)
            b->longest = number, k++;
        else if (!b->file)
            b->file = argv[k];
        else if (b->counts < COUNTS_MOST)
            b->count[b->counts++] = (uint32_t)strtoul(argv[k], NULL, 10);
    }
    if (!b->file || !b->counts || b->documents > DOCUMENTS_MOST)
        die("arguments", "name an instance and numbers of microbatches");
}

int main(int argc, char **argv)
{
    static bench b = {
        .iterations = 2000, .documents = 654, .median = 600, .sigma = 0.8, .longest = 4096
    };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_err err = { 0 };
    read_arguments(&b, argc, argv);
    if (pp_json_load(b.file, &json, &err))
        die(b.file, err.text);
    const pp_json_at root = pp_json_root(json, b.file);
    draw_documents(&b);
    printf("%-7s %3s %9s  %9s  %9s  %9s  %9s  %9s   (* breaks the cap)\n", "packing", "m", "1F1B",
           "split", "ZB-H1", "classes", "ours", "bound");
    run(&b, &root, GIVEN, b.count[0]);
    for (uint32_t k = 0; k < b.counts; k++) {
        run(&b, &root, EQUAL, b.count[k]);
        run(&b, &root, RAMPED, b.count[k]);
    }
    return 0;
}
