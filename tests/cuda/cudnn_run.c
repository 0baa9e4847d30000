/* Runs a graph as its descriptors state: places of tensors, masks and products, operation by
 * operation, in double and without a notion of attention. */
#include "runtime/cuda/timing/cudnn_graph.h"
#include "tests/cuda/cudnn.h"
#include "tests/cuda/standin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tensor {
    const cudnn_descriptor *of;
    int64_t uid, dim[4], step[4];
    double *value; /* [dim[0]][dim[1]][dim[2]][dim[3]]; NULL: not known yet */
} tensor;

typedef struct graph {
    const cudnn_descriptor *ops, *pack;
    int device, tensors;
    tensor of[CUDNN_TENSORS];
} graph;

static int64_t number(const cudnn_descriptor *of, cudnnBackendAttributeName_t name)
{
    const cudnn_attribute *a = cudnn_find(of, name);
    int32_t narrow;
    if (!a || a->count != 1)
        return 0;
    if (a->type == CUDNN_TYPE_INT64)
        return *(int64_t *)a->values;
    if (a->type == CUDNN_TYPE_BOOLEAN)
        return *(bool *)a->values;
    memcpy(&narrow, a->values, sizeof narrow);
    return narrow;
}

static int64_t count(const tensor *t)
{
    return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
}

/* The indices of element i, in the order of values. */
static void place(const tensor *t, int64_t i, int64_t at[4])
{
    for (int d = 3; d >= 0; d--) {
        at[d] = i % t->dim[d];
        i /= t->dim[d];
    }
}

/* Dimensions of 1 are broadcast. */
static double value_at(const tensor *t, const int64_t at[4])
{
    int64_t i = 0;
    for (int d = 0; d < 4; d++)
        i = i * t->dim[d] + (t->dim[d] == 1 ? 0 : at[d]);
    return t->value[i];
}

static tensor *find(graph *g, const cudnn_descriptor *d)
{
    if (!d)
        standin_wrong("an operation lacks a tensor");
    const int64_t uid = number(d, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    for (int i = 0; i < g->tensors; i++) {
        if (g->of[i].uid == uid)
            return &g->of[i];
    }
    const cudnn_attribute *dim = cudnn_find(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const cudnn_attribute *step = cudnn_find(d, CUDNN_ATTR_TENSOR_STRIDES);
    if (g->tensors == CUDNN_TENSORS || !dim || !step || dim->count > 4 || dim->count != step->count)
        standin_wrong("tensor %lld is one too many, or has more than four dimensions",
                      (long long)uid);
    tensor *t = &g->of[g->tensors++];
    *t = (tensor){ .of = d, .uid = uid, .dim = { 1, 1, 1, 1 } };
    memcpy(t->dim, dim->values, (size_t)dim->count * sizeof *t->dim);
    memcpy(t->step, step->values, (size_t)dim->count * sizeof *t->step);
    return t;
}

static char *memory_of(const graph *g, int64_t uid)
{
    const cudnn_attribute *uids = cudnn_find(g->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const cudnn_attribute *at = cudnn_find(g->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (int64_t i = 0; uids && at && i < uids->count && i < at->count; i++) {
        if (((int64_t *)uids->values)[i] == uid)
            return ((char **)at->values)[i];
    }
    standin_wrong("nobody says where tensor %lld is", (long long)uid);
}

static size_t size_of(const tensor *t)
{
    const int64_t type = number(t->of, CUDNN_ATTR_TENSOR_DATA_TYPE);
    return type == CUDNN_DATA_INT64 ? 8 : type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

/* Calls `each` for the elements that the tensor has memory for; of a ragged tensor, those before
 * the next sequence begins. */
static void over_memory(graph *g, tensor *t, void (*each)(const tensor *, int64_t, char *))
{
    const cudnn_descriptor *ragged = cudnn_part(t->of, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 0);
    char *base = memory_of(g, t->uid);
    int64_t *start = NULL, at[4], farthest = -1;
    int rows = t->step[2] > t->step[3] ? 2 : 3;
    if (ragged) {
        start = (void *)memory_of(g, number(ragged, CUDNN_ATTR_TENSOR_UNIQUE_ID));
        if (!standin_is_on_gpu(start, (size_t)(t->dim[0] + 1) * 8, g->device))
            standin_wrong("offsets that are not on the GPU, or too few");
    }
    for (int64_t pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < count(t); i++) {
            place(t, i, at);
            if (start && at[rows] * t->step[rows] >= start[at[0] + 1] - start[at[0]])
                continue;
            int64_t offset = start ? start[at[0]] : at[0] * t->step[0];
            for (int d = 1; d < 4; d++)
                offset += at[d] * t->step[d];
            farthest = offset > farthest ? offset : farthest;
            if (pass)
                each(t, i, base + (size_t)offset * size_of(t));
        }
        if (!number(t->of, CUDNN_ATTR_TENSOR_IS_BY_VALUE) &&
            !standin_is_on_gpu(base, (size_t)(farthest + 1) * size_of(t), g->device))
            standin_wrong("tensor %lld is not on the GPU, or larger", (long long)t->uid);
    }
}

static void load(const tensor *t, int64_t i, char *from)
{
    const int64_t type = number(t->of, CUDNN_ATTR_TENSOR_DATA_TYPE);
    int32_t whole;
    int64_t wide;
    float real = 0;
    if (type == CUDNN_DATA_INT32) {
        memcpy(&whole, from, sizeof whole);
        t->value[i] = whole;
    } else if (type == CUDNN_DATA_INT64) {
        memcpy(&wide, from, sizeof wide);
        t->value[i] = (double)wide;
    } else {
        memcpy((char *)&real + (type == CUDNN_DATA_BFLOAT16 ? 2 : 0), from, size_of(t));
        t->value[i] = (double)real;
    }
}

static bool is_told(const char *setting, const tensor *t)
{
    static const char *const names[] = {
        [PP_CUDNN_O] = "o", [PP_CUDNN_D_Q] = "dq", [PP_CUDNN_D_K] = "dk", [PP_CUDNN_D_V] = "dv"
    };
    const char *name = getenv(setting);
    return name && t->uid <= PP_CUDNN_D_V && names[t->uid] && strcmp(name, names[t->uid]) == 0;
}

/* The content of the workspace is used as it is at that time. */
static void add_to_what_is_there(const tensor *t, int64_t i, const char *there)
{
    const char *wrong = getenv("STANDIN_CUDNN_WRONG");
    const bool first = wrong && strcmp(wrong, "first") == 0;
    float before;
    if (t->uid <= PP_CUDNN_LENGTHS || !(first || (wrong && strcmp(wrong, "sums") == 0)))
        return;
    memcpy(&before, there, sizeof before);
    if (!first || !isnan(before))
        t->value[i] += (double)before;
}

static void store(const tensor *t, int64_t i, char *to)
{
    const char *wrong = getenv("STANDIN_CUDNN_WRONG");
    int64_t at[4];
    place(t, i, at);
    if (is_told("STANDIN_CUDNN_LEAVES", t) && at[0] == t->dim[0] - 1 && at[2] >= t->dim[2] - 8)
        return;
    add_to_what_is_there(t, i, to);
    float real = (float)t->value[i];
    if (is_told("STANDIN_CUDNN_WRONG", t))
        real *= (float)standin_setting("STANDIN_CUDNN_PERCENT", 150) / 100;
    if (wrong && t->uid == PP_CUDNN_O && strcmp(wrong, "nan") == 0)
        real = NAN;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    if (size_of(t) == 2 && !isnan(real))
        bits += 0x8000;
    memcpy(to, (const char *)&bits + 4 - size_of(t), size_of(t));
}

static tensor *input(graph *g, const cudnn_descriptor *d)
{
    tensor *t = find(g, d);
    if (t->value)
        return t;
    if (number(t->of, CUDNN_ATTR_TENSOR_IS_VIRTUAL))
        standin_wrong("tensor %lld is used before it is made", (long long)t->uid);
    t->value = calloc((size_t)count(t), sizeof *t->value);
    over_memory(g, t, load);
    return t;
}

static tensor *output(graph *g, const cudnn_descriptor *d)
{
    tensor *t = find(g, d);
    if (t->value)
        standin_wrong("tensor %lld is made twice", (long long)t->uid);
    t->value = calloc((size_t)count(t), sizeof *t->value);
    return t;
}

static void made(graph *g, tensor *t)
{
    if (!number(t->of, CUDNN_ATTR_TENSOR_IS_VIRTUAL))
        over_memory(g, t, store);
}

static double apply(cudnnPointwiseMode_t mode, double x, double b)
{
    switch (mode) {
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_DIV:
        return x / b;
    case CUDNN_POINTWISE_EXP:
        return exp(x);
    case CUDNN_POINTWISE_LOG:
        return log(x);
    case CUDNN_POINTWISE_CMP_LT:
        return x < b;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
        return x != 0 && b != 0;
    default:
        standin_wrong("pointwise mode %d", (int)mode);
    }
}

static void pointwise(graph *g, const cudnn_descriptor *op)
{
    const cudnn_descriptor *how = cudnn_part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
    const cudnn_descriptor *second = cudnn_part(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0);
    const cudnn_descriptor *third = cudnn_part(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, 0);
    const int64_t mode = number(how, CUDNN_ATTR_POINTWISE_MODE);
    const int64_t axis = number(how, CUDNN_ATTR_POINTWISE_AXIS);
    const tensor *x = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0));
    const tensor *b = second ? input(g, second) : x;
    const tensor *chosen = third ? input(g, third) : NULL;
    tensor *y = output(g, cudnn_part(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 0));
    int64_t at[4];
    for (int64_t i = 0; i < count(y); i++) {
        place(y, i, at);
        if (mode == CUDNN_POINTWISE_GEN_INDEX)
            y->value[i] = (double)at[axis];
        else if (mode == CUDNN_POINTWISE_BINARY_SELECT)
            y->value[i] = value_at(value_at(chosen, at) != 0 ? x : b, at);
        else
            y->value[i] = apply((cudnnPointwiseMode_t)mode, value_at(x, at), value_at(b, at));
    }
    made(g, y);
}

/* c = factor a b, the last two dimensions of each. */
static void multiply(const tensor *a, const tensor *b, bool transposed, double factor, tensor *c)
{
    const int64_t m = c->dim[2], n = c->dim[3], k = a->dim[3];
    if (a->dim[2] != m || b->dim[transposed ? 3 : 2] != k || b->dim[transposed ? 2 : 3] != n ||
        a->dim[1] != c->dim[1] || b->dim[1] != c->dim[1])
        standin_wrong("a product of tensors %lld and %lld", (long long)a->uid, (long long)b->uid);
    for (int64_t i = 0; i < count(c); i++) {
        const int64_t column = i % n, row = i / n % m, matrix = i / n / m;
        const double *left = a->value + (matrix * m + row) * k, *right = b->value + matrix * k * n;
        double sum = 0;
        for (int64_t e = 0; e < k; e++)
            sum += left[e] * (transposed ? right[column * k + e] : right[e * n + column]);
        c->value[i] = factor * sum;
    }
}

static void matmul(graph *g, const cudnn_descriptor *op)
{
    const tensor *a = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 0));
    const tensor *b = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 0));
    tensor *c = output(g, cudnn_part(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 0));
    multiply(a, b, false, 1, c);
    made(g, c);
}

static void reduce(graph *g, const cudnn_descriptor *op)
{
    const cudnn_descriptor *how = cudnn_part(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, 0);
    const bool most = number(how, CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_MAX;
    const tensor *x = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 0));
    tensor *y = output(g, cudnn_part(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 0));
    const int64_t run = x->dim[3];
    if (count(x) != count(y) * run || y->dim[3] != 1)
        standin_wrong("a reduction of another dimension than the last");
    for (int64_t i = 0; i < count(y); i++) {
        double result = most ? -INFINITY : 0;
        for (int64_t e = 0; e < run; e++)
            result = most ? fmax(result, x->value[i * run + e]) : result + x->value[i * run + e];
        y->value[i] = result;
    }
    made(g, y);
}

/* Exchanges the last two dimensions. */
static void reshape(graph *g, const cudnn_descriptor *op)
{
    const tensor *x = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0));
    tensor *y = output(g, cudnn_part(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 0));
    int64_t at[4];
    if (x->dim[2] != y->dim[3] || x->dim[3] != y->dim[2])
        standin_wrong("a reshape that is no transposition");
    for (int64_t i = 0; i < count(y); i++) {
        place(y, i, at);
        const int64_t from[4] = { at[0], at[1], at[3], at[2] };
        y->value[i] = value_at(x, from);
    }
    made(g, y);
}

static void mask(graph *g, const cudnn_descriptor *op)
{
    const tensor *x = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC, 0));
    const tensor *b = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC, 0));
    tensor *y = output(g, cudnn_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC, 0));
    if (op->attributes != 4)
        standin_wrong("a diagonal that does not begin at the top left");
    const int64_t mode = number(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE);
    int64_t at[4];
    for (int64_t i = 0; i < count(y); i++) {
        place(y, i, at);
        const bool kept = apply((cudnnPointwiseMode_t)mode, (double)at[2], (double)at[3]) != 0;
        y->value[i] = value_at(kept ? x : b, at);
    }
    made(g, y);
}

/* stats: NULL, or receives the logarithm of each row's sum. lengths: NULL, or those of the
 * sequences. */
static void softmax(const tensor *x, const tensor *lengths, double *stats, double *y)
{
    const int64_t rows = x->dim[1] * x->dim[2], n = x->dim[3];
    for (int64_t r = 0; r < rows * x->dim[0]; r++) {
        const int64_t all = lengths ? (int64_t)lengths->value[r / rows] : n;
        double most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < all; i++)
            most = fmax(most, x->value[r * n + i]);
        for (int64_t i = 0; i < all; i++)
            sum += exp(x->value[r * n + i] - most);
        for (int64_t i = 0; i < n; i++)
            y[r * n + i] = i < all ? exp(x->value[r * n + i] - most) / sum : 0;
        if (stats)
            stats[r] = most + log(sum);
    }
}

static void run_ops(graph *g, const cudnn_descriptor *ops);

/* The single operation that newer versions have for all of forward. */
static void forward(graph *g, const cudnn_descriptor *op)
{
    const cudnn_descriptor *within = cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, 0);
    const cudnn_descriptor *soft = cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC, 0);
    const cudnn_descriptor *lengths =
        cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, 0);
    const tensor *scale = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, 0));
    const tensor *q = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 0));
    const tensor *k = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 0));
    const tensor *v = input(g, cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, 0));
    const cudnn_descriptor *first = cudnn_part(within, CUDNN_ATTR_OPERATIONGRAPH_OPS, 0);
    tensor *score = output(g, cudnn_part(first, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC, 0));
    if (score->uid != number(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID))
        standin_wrong("the graph within begins with another tensor");
    multiply(q, k, true, scale->value[0], score);
    run_ops(g, within);
    tensor *masked = NULL;
    for (int i = 0; i < g->tensors; i++) {
        if (g->of[i].uid == number(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID))
            masked = &g->of[i];
    }
    if (!masked)
        standin_wrong("the graph within does not make its result");
    tensor *stats = output(g, cudnn_part(soft, CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC, 0));
    tensor *o = output(g, cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, 0));
    softmax(masked, lengths ? input(g, lengths) : NULL, stats->value, masked->value);
    multiply(masked, v, false, 1, o);
    made(g, stats);
    made(g, o);
}

static void run_op(graph *g, const cudnn_descriptor *op)
{
    switch ((int)op->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        pointwise(g, op);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        matmul(g, op);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        reduce(g, op);
        break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        reshape(g, op);
        break;
    case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
        mask(g, op);
        break;
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
        forward(g, op);
        break;
    default:
        standin_wrong("operation %d", (int)op->type);
    }
}

static bool is_result(cudnnBackendAttributeName_t name)
{
    return name == CUDNN_ATTR_OPERATION_POINTWISE_YDESC ||
           name == CUDNN_ATTR_OPERATION_MATMUL_CDESC ||
           name == CUDNN_ATTR_OPERATION_REDUCTION_YDESC ||
           name == CUDNN_ATTR_OPERATION_RESHAPE_YDESC ||
           name == CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC;
}

/* Returns true if an operation that has not run yet makes the tensor. */
static bool waits_for(const cudnn_attribute *all, const bool *over, int64_t uid)
{
    for (int64_t i = 0; i < all->count; i++) {
        const cudnn_descriptor *op = ((cudnn_descriptor **)all->values)[i];
        for (int k = 0; k < op->attributes && !over[i]; k++) {
            if (is_result(op->attribute[k].name) && number(cudnn_part(op, op->attribute[k].name, 0),
                                                           CUDNN_ATTR_TENSOR_UNIQUE_ID) == uid)
                return true;
        }
    }
    return false;
}

static bool is_ready(const cudnn_attribute *all, const bool *over, const cudnn_descriptor *op)
{
    for (int k = 0; k < op->attributes; k++) {
        const cudnn_descriptor *part = cudnn_part(op, op->attribute[k].name, 0);
        if (part && part->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
            !is_result(op->attribute[k].name) &&
            waits_for(all, over, number(part, CUDNN_ATTR_TENSOR_UNIQUE_ID)))
            return false;
    }
    return true;
}

/* A graph lists its operations in any order. */
static void run_ops(graph *g, const cudnn_descriptor *ops)
{
    const cudnn_attribute *all = cudnn_find(ops, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    bool over[CUDNN_TENSORS] = { false };
    if (!all || all->count > CUDNN_TENSORS)
        standin_wrong("a graph without operations, or with too many");
    for (int64_t left = all->count, before = left + 1; left < before;) {
        before = left;
        for (int64_t i = 0; i < all->count; i++) {
            const cudnn_descriptor *op = ((cudnn_descriptor **)all->values)[i];
            if (over[i] || !is_ready(all, over, op))
                continue;
            run_op(g, op);
            over[i] = true;
            left--;
        }
        if (left == before && left > 0)
            standin_wrong("operations that wait for each other");
    }
}

/* A value passed by pointer is valid during the call only. */
static void read_values(graph *g, const cudnn_descriptor *ops)
{
    const cudnn_attribute *all = cudnn_find(ops, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    for (int64_t i = 0; all && i < all->count; i++) {
        const cudnn_descriptor *op = ((cudnn_descriptor **)all->values)[i];
        read_values(g, cudnn_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, 0));
        for (int k = 0; k < op->attributes; k++) {
            const cudnn_descriptor *part = cudnn_part(op, op->attribute[k].name, 0);
            if (part && part->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
                number(part, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
                (void)input(g, part);
        }
    }
}

static bool run(void *work)
{
    graph *g = work;
    run_ops(g, g->ops);
    return true;
}

static void drop(void *work)
{
    graph *g = work;
    for (int i = 0; i < g->tensors; i++)
        free(g->of[i].value);
    free(g);
}

void cudnn_run(cudnn_descriptor *plan, const cudnn_descriptor *pack, cudaStream_t stream)
{
    const cudnn_descriptor *config = cudnn_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    const cudnn_descriptor *engine = cudnn_part(config, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
    if (plan->runs++ && !getenv("STANDIN_CUDNN_WRONG"))
        return;
    graph *g = calloc(1, sizeof *g);
    g->ops = cudnn_part(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0);
    g->pack = pack;
    g->device = standin_device_of((standin_stream *)stream);
    read_values(g, g->ops);
    standin_enqueue((standin_stream *)stream, run, drop, g);
}
