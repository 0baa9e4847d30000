/* The import of the timers of Megatron-LM (--timing-log-level 2). It uses forward-compute and
 * backward-compute, each of which is the sum over the microbatches of one iteration
 * (megatron/core/timers.py, forward_step and backward_step of
 * megatron/core/pipeline_parallel/schedules.py). There are four layouts:
 *   --timing-log-option minmax:  "(min, max) time across ranks (ms):", "  NAME ..: (1.00, 2.00)"
 *   --timing-log-option max:     "max time across ranks (ms):", "  NAME ..: 2.00"
 *   --timing-log-option all:     "times across ranks (ms):", "  NAME:", "     rank  0: 1.00"
 *   older versions:              "time (ms) | NAME: 1.00 | NAME: 2.00"
 * The size of a microbatch is among the arguments that Megatron-LM prints when it starts. */
#include "calib/import/common/lines.h"
#include "calib/import/common/skips.h"
#include "calib/import/common/trace_ops.h"
#include "calib/import/import.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 1 << 24 };

/* Values of op.stage for times that belong to no stage; stages are 0 and above. */
enum { OF_FASTEST = -1, OF_SLOWEST = -2, OF_LAST = -3 };

typedef enum mode { MODE_NONE, MODE_MINMAX, MODE_MAX, MODE_ALL } mode;

/* Arguments of the run; 0: not known. */
typedef struct settings {
    int64_t micro_batch, global_batch, data_parallel, pipeline, seq_length, world, microbatches;
} settings;

typedef struct reader {
    settings settings;
    mode mode;
    bool timed; /* the last line with a name was of a timer that is used (MODE_ALL) */
    pp_op_kind kind;
    pp_trace_op *op; /* op.stage: a rank or OF_...; op.seconds: of a whole iteration */
    size_t count, capacity;
    pp_skips notes;
} reader;

static void free_reader(reader *r)
{
    free(r->op);
    pp_skips_free(&r->notes);
}

static bool timer_kind(pp_span name, pp_op_kind *kind)
{
    if (pp_span_is(name, "forward-compute"))
        *kind = PP_OP_F;
    else if (pp_span_is(name, "backward-compute"))
        *kind = PP_OP_B;
    else
        return false;
    return true;
}

static pp_status add_time(reader *r, pp_span number, int64_t rank, size_t line, pp_err *err)
{
    double ms = 0;
    pp_trace_op op = { .kind = r->kind, .stage = rank };
    const settings *s = &r->settings;
    void *all = r->op;
    if (!pp_span_real(number, &ms) || !(ms > 0) || ms > 1e12) {
        pp_skip_add(&r->notes, line, "a time that is not a positive number");
        return PP_OK;
    }
    if (r->count == OPS_MAX) {
        pp_skip_add(&r->notes, line, "times beyond the first 16777216");
        return PP_OK;
    }
    int64_t microbatches = s->microbatches;
    if (s->micro_batch && s->global_batch && s->data_parallel)
        microbatches = s->global_batch / s->data_parallel / s->micro_batch;
    if (microbatches <= 0) {
        pp_skip_add(&r->notes, line,
                    "a time without the number of microbatches, which the arguments at the start "
                    "of the log give (micro_batch_size, global_batch_size, data_parallel_size)");
        return PP_OK;
    }
    pp_status status = pp_reserve(&all, &r->capacity, r->count + 1, sizeof op, err);
    if (status)
        return status;
    pp_sample blank = pp_sample_of(0);
    memcpy(op.at, blank.at, sizeof op.at);
    if (s->micro_batch && s->seq_length) {
        double length = (double)s->seq_length;
        op.at[PP_VARIABLE_TOKENS] = (double)s->micro_batch * length;
        op.at[PP_VARIABLE_SQUARES] = (double)s->micro_batch * length * length;
        op.at[PP_VARIABLE_LONGEST] = length;
    }
    op.seconds = ms * 1e-3 / (double)microbatches;
    r->op = all;
    r->op[r->count++] = op;
    return PP_OK;
}

/* Cuts off brackets, commas and colons around a word. */
static pp_span bare(pp_span word)
{
    while (word.bytes && memchr("(|", word.at[0], 2))
        word = (pp_span){ word.at + 1, word.bytes - 1 };
    while (word.bytes && memchr("),:|", word.at[word.bytes - 1], 4))
        word.bytes--;
    return word;
}

static void set_setting(reader *r, pp_span name, pp_span value)
{
    const struct {
        const char *name;
        int64_t *value;
    } known[] = {
        { "micro_batch_size", &r->settings.micro_batch },
        { "global_batch_size", &r->settings.global_batch },
        { "data_parallel_size", &r->settings.data_parallel },
        { "pipeline_model_parallel_size", &r->settings.pipeline },
        { "seq_length", &r->settings.seq_length },
        { "world_size", &r->settings.world },
    };
    int64_t number = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (pp_span_is(name, known[i].name) && pp_span_int(value, 1 << 30, &number))
            *known[i].value = number;
    }
}

/* Reads settings from lines such as "  micro_batch_size ......................... 1", "using world
 * size: 8, data-parallel size: 1, ...", "setting number of microbatches to constant 8" and "... |
 * global batch size:    16 | ...". */
static void read_settings(reader *r, pp_span line)
{
    static const struct {
        const char *text, *name;
    } phrases[] = {
        { "data-parallel size: ", "data_parallel_size" },
        { "pipeline-model-parallel size: ", "pipeline_model_parallel_size" },
        { "world size: ", "world_size" },
        { "global batch size: ", "global_batch_size" },
    };
    static const char constant[] = "number of microbatches to constant ";
    const char *end = line.at + line.bytes;
    pp_span rest = line;
    pp_span name;
    pp_span dots;
    pp_span value;
    const char *at = pp_span_find(line, constant);
    if (at) {
        rest = (pp_span){ at + sizeof constant - 1, (size_t)(end - at) - sizeof constant + 1 };
        if (pp_span_word(&rest, &value))
            (void)pp_span_int(value, 1 << 30, &r->settings.microbatches);
    }
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
        at = pp_span_find(line, phrases[i].text);
        if (!at)
            continue;
        at += strlen(phrases[i].text);
        rest = (pp_span){ at, (size_t)(end - at) };
        if (pp_span_word(&rest, &value))
            set_setting(r, (pp_span){ phrases[i].name, strlen(phrases[i].name) }, bare(value));
    }
    rest = line;
    if (pp_span_word(&rest, &name) && pp_span_word(&rest, &dots) && pp_span_begins(dots, "..") &&
        pp_span_word(&rest, &value))
        set_setting(r, name, value);
}

/* Reads "NAME ....: (1.00, 2.00)" or "NAME ....: 2.00". Any other line ends the block. */
static pp_status read_timer(reader *r, pp_span line, size_t number, pp_err *err)
{
    pp_span name;
    pp_span dots;
    pp_span value[2];
    size_t count = 0;
    if (!pp_span_word(&line, &name) || !pp_span_word(&line, &dots) || !pp_span_begins(dots, ".") ||
        dots.at[dots.bytes - 1] != ':') {
        r->mode = MODE_NONE;
        return PP_OK;
    }
    while (count < 2 && pp_span_word(&line, &value[count]))
        count++;
    if (!timer_kind(name, &r->kind))
        return PP_OK;
    if (count != (r->mode == MODE_MINMAX ? 2 : 1)) {
        pp_skip_add(&r->notes, number, "a line of a timer that was cut off");
        return PP_OK;
    }
    pp_status status = PP_OK;
    if (r->mode == MODE_MINMAX)
        status = add_time(r, bare(value[0]), OF_FASTEST, number, err);
    return status ? status : add_time(r, bare(value[count - 1]), OF_SLOWEST, number, err);
}

/* Reads "NAME:" or "rank  0: 1.00". */
static pp_status read_ranks(reader *r, pp_span line, size_t number, pp_err *err)
{
    pp_span word;
    pp_span rank_word;
    pp_span value;
    int64_t rank = 0;
    if (!pp_span_word(&line, &word)) {
        r->mode = MODE_NONE;
        return PP_OK;
    }
    if (!pp_span_is(word, "rank")) {
        if (word.at[word.bytes - 1] != ':' || line.bytes)
            r->mode = MODE_NONE;
        r->timed = timer_kind(bare(word), &r->kind);
        return PP_OK;
    }
    if (!r->timed)
        return PP_OK;
    if (!pp_span_word(&line, &rank_word) || !pp_span_word(&line, &value) ||
        !pp_span_int(bare(rank_word), 1 << 20, &rank)) {
        pp_skip_add(&r->notes, number, "a line of a timer that was cut off");
        return PP_OK;
    }
    return add_time(r, value, rank, number, err);
}

/* Reads "time (ms) | forward-compute: 58.16 | backward-compute: 42.66 | ...". */
static pp_status read_old(reader *r, pp_span line, size_t number, pp_err *err)
{
    pp_span name;
    pp_span value;
    pp_status status = PP_OK;
    while (!status && pp_span_word(&line, &name)) {
        if (timer_kind(bare(name), &r->kind) && pp_span_word(&line, &value))
            status = add_time(r, value, OF_LAST, number, err);
    }
    return status;
}

/* Cuts off what torchrun ("[default0]:", "[rank0]: ") and srun put before a line. */
static pp_span strip_label(pp_span line)
{
    pp_span rest = line;
    pp_span word;
    const char *close = NULL;
    if (pp_span_begins(line, "[default") || pp_span_begins(line, "[rank"))
        close = pp_span_find(line, "]:");
    if (close) {
        const char *from = close + 2;
        return (pp_span){ from, (size_t)(line.at + line.bytes - from) };
    }
    if (pp_span_word(&rest, &word) && word.bytes > 1 && word.at[word.bytes - 1] == ':' &&
        word.at[0] >= '0' && word.at[0] <= '9' && !memchr(word.at, '.', word.bytes))
        return rest; /* srun --label: "3: " */
    return line;
}

static pp_status read_line(reader *r, pp_span line, size_t number, pp_err *err)
{
    const char *old;
    line = strip_label(line);
    if (pp_span_find(line, "time across ranks (ms):") ||
        pp_span_find(line, "times across ranks (ms):")) {
        r->timed = false;
        r->mode = pp_span_find(line, "(min, max)") ? MODE_MINMAX
                  : pp_span_find(line, "max time") ? MODE_MAX
                                                   : MODE_ALL;
        return PP_OK;
    }
    if ((old = pp_span_find(line, "time (ms) |"))) {
        r->mode = MODE_NONE;
        return read_old(r, (pp_span){ old, (size_t)(line.at + line.bytes - old) }, number, err);
    }
    if (r->mode == MODE_ALL)
        return read_ranks(r, line, number, err);
    if (r->mode != MODE_NONE)
        return read_timer(r, line, number, err);
    read_settings(r, line);
    return PP_OK;
}

/* Replaces ranks by stages. Megatron-LM places pipeline ranks outermost: the stage of a rank is
 * rank / (world / pipeline). If these sizes are not known, ranks are used as stages. */
static void stages_of_ranks(reader *r)
{
    int64_t world = r->settings.world;
    int64_t pipeline = r->settings.pipeline;
    int64_t highest = -1;
    for (size_t i = 0; i < r->count; i++) {
        if (r->op[i].stage > highest)
            highest = r->op[i].stage;
    }
    if (highest < 0)
        return;
    if (!world)
        world = highest + 1;
    bool known = pipeline > 0 && world % pipeline == 0 && highest < world;
    if (!known)
        pp_skip_add(&r->notes, 0,
                    "ranks are used as stages, because the log has no pipeline_model_parallel_size "
                    "that divides world_size");
    for (size_t i = 0; i < r->count && known; i++) {
        if (r->op[i].stage >= 0)
            r->op[i].stage /= world / pipeline;
    }
}

/* Gathers the times of `of`, or of all stages, and appends `suffix` to the names of their series;
 * pp_trace_ops_gather handles only stages. */
static pp_status gather_named(reader *r, int64_t of, const char *suffix, const char *file,
                              pp_samples *samples, pp_err *err)
{
    size_t from = 0; /* number of ops of `of`, which are moved to the front */
    size_t before = samples->count;
    for (size_t i = 0; i < r->count; i++) {
        if (of >= 0 ? r->op[i].stage < 0 : r->op[i].stage != of)
            continue;
        pp_trace_op op = r->op[i];
        r->op[i] = r->op[from];
        r->op[from++] = op;
    }
    if (!from)
        return PP_OK;
    for (size_t i = 0; i < from && of < 0; i++)
        r->op[i].stage = -1;
    pp_status status = pp_trace_ops_gather(r->op, from, true, file, samples, err);
    for (size_t i = before; i < samples->count && !status; i++) {
        char *name = samples->series[i].class_name;
        size_t used = strlen(name);
        snprintf(name + used, sizeof samples->series[i].class_name - used, "%s", suffix);
    }
    for (size_t i = from; i < r->count; i++) /* removes the ops that were gathered */
        r->op[i - from] = r->op[i];
    r->count -= from;
    return status;
}

static bool recognise(const char *text, size_t bytes)
{
    pp_span all = { text, bytes < 1 << 24 ? bytes : 1 << 24 };
    return pp_span_find(all, "across ranks (ms):") ||
           (pp_span_find(all, "time (ms) |") && pp_span_find(all, "forward-compute"));
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    reader r PP_CLEANUP(free_reader) = { 0 };
    pp_lines lines = pp_lines_of(text, bytes);
    pp_status status = PP_OK;
    while (!status && pp_lines_next(&lines))
        status = read_line(&r, lines.line, lines.number, err);
    if (status)
        return status;
    stages_of_ranks(&r);
    if ((status = gather_named(&r, OF_FASTEST, " fastest", file, samples, err)) ||
        (status = gather_named(&r, OF_SLOWEST, " slowest", file, samples, err)) ||
        (status = gather_named(&r, OF_LAST, " last", file, samples, err)) ||
        (status = gather_named(&r, 0, "", file, samples, err)))
        return status;
    return pp_skips_finish(
        &r.notes, file,
        "contains no forward-compute or backward-compute; run Megatron with --timing-log-level 2",
        samples, err);
}

const pp_import pp_import_megatron_log = {
    .name = "megatron-log",
    .summary = "timers of Megatron-LM: times of forward and backward per stage",
    .recognise = recognise,
    .read = read,
};
