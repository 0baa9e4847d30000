/* Parses the settings of the backends cpu and cuda: a list of key=value; the defaults are those of
 * a small model. */
#include "runtime/cpu/settings.h"

#include "sim/base/text.h"
#include "sim/base/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN, HEADS, MLP, VOCAB, TIED, TOKENS, DTYPE, LR, RECOMPUTE, KEY_COUNT };

static const char *const keys[KEY_COUNT + 1] = { "hidden", "heads", "mlp", "vocab",     "tied",
                                                 "tokens", "dtype", "lr",  "recompute", NULL };
static const char *const on_off[] = { "off", "on", NULL };

/* The backends that have a setting. */
typedef struct user {
    const char *where;
    const char *dtypes[3];
} user;

static const user cpu = { "compute cpu", { "double", "float", NULL } };
static const user gpu = { "compute cuda", { "float", "bf16", NULL } };

static int find(const char *name, const char *const names[])
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    return -1;
}

static pp_status read_int(const char *where, const char *key, const char *value, int64_t low,
                          int64_t high, int64_t *out, pp_err *err)
{
    pp_err unused = { 0 };
    if (pp_parse_int(value, where, low, high, out, &unused))
        return pp_err_set(err, PP_USAGE, where,
                          "%s=%.40s: must be a whole number from %lld to %lld", key, value,
                          (long long)low, (long long)high);
    return PP_OK;
}

static pp_status read_word(const char *where, const char *key, const char *value,
                           const char *const words[], bool *second_out, pp_err *err)
{
    int index = find(value, words);
    if (index < 0)
        return pp_err_set(err, PP_USAGE, where, "%s=%.40s: must be %s or %s", key, value, words[0],
                          words[1]);
    *second_out = index == 1;
    return PP_OK;
}

static pp_status read_rate(const char *where, const char *value, double *out, pp_err *err)
{
    char *end = NULL;
    double rate = strtod(value, &end);
    if (end == value || *end || !(rate > 0) || !isfinite(rate))
        return pp_err_set(err, PP_USAGE, where, "lr=%.40s: must be a positive number", value);
    *out = rate;
    return PP_OK;
}

static pp_status set(const user *of, pp_cpu_settings *s, int key, const char *value, pp_err *err)
{
    const char *name = keys[key];
    switch (key) {
    case HIDDEN:
        return read_int(of->where, name, value, 1, 1 << 16, &s->hidden, err);
    case HEADS:
        return read_int(of->where, name, value, 1, 1 << 16, &s->heads, err);
    case MLP:
        return read_int(of->where, name, value, 1, 1 << 18, &s->mlp, err);
    case VOCAB:
        return read_int(of->where, name, value, 0, 1 << 20, &s->vocab, err);
    case TIED:
        return read_word(of->where, name, value, on_off, &s->tied, err);
    case TOKENS:
        return read_int(of->where, name, value, 1, 1 << 24, &s->tokens, err);
    case DTYPE:
        return read_word(of->where, name, value, of->dtypes, of == &gpu ? &s->bf16 : &s->single,
                         err);
    case RECOMPUTE:
        return read_word(of->where, name, value, on_off, &s->recompute, err);
    default:
        return read_rate(of->where, value, &s->lr, err);
    }
}

static pp_status check(const char *where, const pp_cpu_settings *s, pp_err *err)
{
    if (s->hidden % s->heads)
        return pp_err_set(err, PP_USAGE, where, "hidden=%lld is not a multiple of heads=%lld",
                          (long long)s->hidden, (long long)s->heads);
    if (s->vocab == 1)
        return pp_err_set(
            err, PP_USAGE, where,
            "vocab=1 leaves nothing to predict; use 0 for no vocabulary, or at least 2");
    if (s->tied && !s->vocab)
        return pp_err_set(err, PP_USAGE, where,
                          "tied=on ties the head to the embedding, so vocab= is needed too");
    return PP_OK;
}

/* Cuts the next KEY=VALUE off *text. */
static pp_status take(const char *where, char item[128], const char **text, char **value_out,
                      pp_err *err)
{
    size_t bytes = strcspn(*text, ",");
    if (bytes > 127)
        return pp_err_set(err, PP_USAGE, where, "'%.40s...' is too long", *text);
    memcpy(item, *text, bytes);
    item[bytes] = 0;
    char *equals = memchr(item, '=', bytes);
    if (!equals)
        return pp_err_set(err, PP_USAGE, where, "'%.40s' is not KEY=VALUE", item);
    *equals = 0;
    *value_out = equals + 1;
    *text += bytes;
    if (**text == ',' && !*++*text)
        return pp_err_set(err, PP_USAGE, where, "there is nothing after the last comma");
    return PP_OK;
}

static pp_status parse(const user *of, const char *text, pp_cpu_settings *out, pp_err *err)
{
    const char *where = of->where;
    pp_cpu_settings s = { .hidden = 64, .heads = 4, .mlp = 256, .tokens = 32, .lr = 0.01 };
    s.single = of == &gpu;
    bool said[KEY_COUNT] = { false };
    while (*text) {
        char item[128];
        char *value = NULL;
        pp_status status = take(where, item, &text, &value, err);
        if (status)
            return status;
        int key = find(item, keys);
        if (key < 0) {
            const char *near = pp_text_nearest(item, keys);
            return pp_err_set(err, PP_USAGE, where,
                              "there is no setting '%.40s'%s%s%s; the settings are hidden, heads, "
                              "mlp, vocab, tied, tokens, dtype, lr and recompute",
                              item, near ? ", did you mean '" : "", near ? near : "",
                              near ? "'" : "");
        }
        if (said[key])
            return pp_err_set(err, PP_USAGE, where, "%s is given twice", keys[key]);
        said[key] = true;
        status = set(of, &s, key, value, err);
        if (status)
            return status;
    }
    pp_status status = check(where, &s, err);
    if (!status)
        *out = s;
    return status;
}

pp_status pp_cpu_settings_parse(const char *text, pp_cpu_settings *out, pp_err *err)
{
    return parse(&cpu, text, out, err);
}

pp_status pp_gpu_settings_parse(const char *text, pp_cpu_settings *out, pp_err *err)
{
    pp_cpu_settings s;
    pp_status status = parse(&gpu, text, &s, err);
    if (status)
        return status;
    if (s.hidden / s.heads > PP_GPU_HEAD_MAX)
        return pp_err_set(
            err, PP_USAGE, gpu.where,
            "hidden=%lld in heads=%lld: a head has at most %d elements; set more heads",
            (long long)s.hidden, (long long)s.heads, PP_GPU_HEAD_MAX);
    *out = s;
    return PP_OK;
}
