/* Trains a toy model on a pipeline of four ranks under ZBV (zero bubble, two stages per rank), with
 * other numbers and lengths of microbatches in every step. Prints the loss of each step.
 *
 * Every stage is y = x + tanh(W x), token by token; what is learnt is to swap neighbours. */
#include <math.h>
#include <ppsim/pp_runtime.h>
#include <stdio.h>

enum { RANKS = 4, STAGES = 2 * RANKS, WIDTH = 6, STEPS = 40, MICROBATCHES_MAX = 16 };

typedef struct token {
    double v[WIDTH];
} token;

typedef struct trace { /* of one token, kept by a stage from forward to backward_weight */
    token x, h;        /* h: tanh(W x), then the gradient of W x */
} trace;

typedef struct part { /* the parameters of a rank; only its own stages are used */
    double w[STAGES][WIDTH][WIDTH], gradient[STAGES][WIDTH][WIDTH];
    double loss; /* set on the rank that has the last stage */
} part;

static size_t length[MICROBATCHES_MAX], tokens; /* of the step; ranks only read them */

static double noise(uint32_t a, uint32_t b, size_t c) /* -1 to 1 */
{
    double x = sin(a * 12.9898 + b * 78.233 + (double)c * 37.719) * 43758.5453;
    return 2 * (x - floor(x)) - 1;
}

static int forward(void *user, const pp_runtime_op *op)
{
    part *p = user;
    const token *in = op->activation_in; /* NULL: the first stage, which reads the data */
    token *out = op->activation_out;     /* NULL: the last stage, which keeps its error */
    token *error = op->saved;
    trace *kept = op->stash;
    for (size_t t = 0; t < length[op->microbatch]; t++) {
        for (size_t i = 0; i < WIDTH; i++)
            kept[t].x.v[i] = in ? in[t].v[i] : noise(op->step, op->microbatch, t * WIDTH + i);
        for (size_t i = 0; i < WIDTH; i++) {
            double sum = 0;
            for (size_t k = 0; k < WIDTH; k++)
                sum += p->w[op->stage][i][k] * kept[t].x.v[k];
            kept[t].h.v[i] = tanh(sum);
            if (out) {
                out[t].v[i] = kept[t].x.v[i] + kept[t].h.v[i];
                continue;
            }
            error[t].v[i] = kept[t].x.v[i] + kept[t].h.v[i] -
                            noise(op->step, op->microbatch, t * WIDTH + (i ^ 1));
            p->loss += error[t].v[i] * error[t].v[i] / 2;
        }
    }
    return 0;
}

static int backward_input(void *user, const pp_runtime_op *op)
{
    const part *p = user;
    const token *dy = op->gradient_in ? op->gradient_in : op->saved;
    token *dx = op->gradient_out; /* NULL: the first stage */
    trace *kept = op->stash;
    for (size_t t = 0; t < length[op->microbatch]; t++) {
        for (size_t i = 0; i < WIDTH; i++)
            kept[t].h.v[i] = dy[t].v[i] * (1 - kept[t].h.v[i] * kept[t].h.v[i]);
        for (size_t k = 0; dx && k < WIDTH; k++) {
            dx[t].v[k] = dy[t].v[k];
            for (size_t i = 0; i < WIDTH; i++)
                dx[t].v[k] += kept[t].h.v[i] * p->w[op->stage][i][k];
        }
    }
    return 0;
}

static int backward_weight(void *user, const pp_runtime_op *op)
{
    part *p = user;
    const trace *kept = op->stash;
    for (size_t t = 0; t < length[op->microbatch]; t++)
        for (size_t i = 0; i < WIDTH; i++)
            for (size_t k = 0; k < WIDTH; k++)
                p->gradient[op->stage][i][k] += kept[t].h.v[i] * kept[t].x.v[k];
    return 0;
}

static int update(void *user, uint32_t rank, uint32_t step)
{
    part *p = user;
    (void)rank, (void)step;
    for (size_t n = 0; n < sizeof p->w / sizeof(double); n++) {
        (&p->w[0][0][0])[n] -= 0.2 * (&p->gradient[0][0][0])[n] / (double)tokens;
        (&p->gradient[0][0][0])[n] = 0;
    }
    return 0;
}

static void sizes(void *context, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out)
{
    (void)context;
    out->message_bytes = length[microbatch] * sizeof(token);
    out->stash_bytes = length[microbatch] * sizeof(trace);
    out->saved_bytes = stage == STAGES - 1 ? length[microbatch] * sizeof(token) : 0;
}

static pp_runtime_status train(pp_runtime *runtime, part *parts, uint32_t step,
                               pp_runtime_error *error)
{
    const pp_runtime_callbacks callbacks = { .forward = forward,
                                             .backward_input = backward_input,
                                             .backward_weight = backward_weight,
                                             .end = update };
    const pp_runtime_plan_spec spec = {
        .schedule = "zbv", .ranks = RANKS, .microbatches = 8 + step % 9, .sizes = sizes
    };
    void *user[RANKS] = { &parts[0], &parts[1], &parts[2], &parts[3] };
    pp_runtime_plan *plan = NULL;
    tokens = 0;
    for (uint32_t j = 0; j < spec.microbatches; j++)
        tokens += length[j] = 1 + (step * 7 + j * 5) % 24;
    pp_runtime_status status = pp_runtime_plan_new(&spec, &plan, error);
    if (status)
        return status;
    part *last = &parts[pp_runtime_plan_rank_of(plan, STAGES - 1)];
    last->loss = 0;
    status = pp_runtime_step(runtime, plan, &callbacks, user, NULL, error);
    if (!status)
        printf("step %2u  microbatches %2u  tokens %3zu  loss %.4f\n", step, spec.microbatches,
               tokens, last->loss / (double)tokens);
    pp_runtime_plan_free(plan);
    return status;
}

int main(void)
{
    static part parts[RANKS];
    const pp_runtime_options options = { .ranks = RANKS };
    pp_runtime_error error = { 0 };
    pp_runtime *runtime = NULL;
    for (size_t n = 0; n < RANKS * sizeof parts[0].w / sizeof(double); n++)
        (&parts[n % RANKS].w[0][0][0])[n / RANKS] = 0.3 * noise(7, 7, n);
    pp_runtime_status status = pp_runtime_open(&options, &runtime, &error);
    for (uint32_t step = 0; step < STEPS && !status; step++)
        status = train(runtime, parts, step, &error);
    if (status)
        fprintf(stderr, "train_zbv: %s %s\n", error.where, error.text);
    pp_runtime_close(runtime);
    return status ? 1 : 0;
}
