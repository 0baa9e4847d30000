/* Parses a list KEY=VALUE,...: standard deviations of the logarithm of durations, a slow rank, a
 * slow link, and the number of scenarios. The key of one class of ops overrides `compute`,
 * whichever comes first. */
#include "planner/robustness/jitter_spec.h"

#include "sim/base/field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "compute=0.02,comm=0.1,slow-rank=3:1.3,scenarios=1000"

enum { KEY_COMPUTE = PP_OP_KIND_COUNT, KEY_COMM, KEY_RANK, KEY_LINK, KEY_SCENARIOS, KEY_COUNT };

static const char *const keys[KEY_COUNT] = {
    [PP_OP_F] = "F",          [PP_OP_I] = "I",           [PP_OP_W] = "W",
    [PP_OP_B] = "B",          [KEY_COMPUTE] = "compute", [KEY_COMM] = "comm",
    [KEY_RANK] = "slow-rank", [KEY_LINK] = "slow-link",  [KEY_SCENARIOS] = "scenarios",
};

static pp_status find_key(const char *text, size_t length, int *key_out, pp_err *err)
{
    for (int k = 0; k < KEY_COUNT; k++) {
        if (strlen(keys[k]) == length && memcmp(keys[k], text, length) == 0) {
            *key_out = k;
            return PP_OK;
        }
    }
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_JITTER),
                      "unknown key '%.*s'; the keys are compute, F, I, W, B, comm, slow-rank, "
                      "slow-link, scenarios",
                      (int)(length < 40 ? length : 40), text);
}

/* A plain decimal number. */
static pp_status read_number(const char *text, const char *where, double low, double high,
                             double *out, pp_err *err)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (!*text || text[strspn(text, "0123456789.-")] || *end || !(value >= low && value <= high))
        return pp_err_set(err, PP_USAGE, where, "'%.40s' is not a number from %g to %g", text, low,
                          high);
    *out = value;
    return PP_OK;
}

static pp_status read_int(const char *text, const char *where, int64_t low, int64_t high,
                          int64_t *out, pp_err *err)
{
    pp_err inner = pp_err_like(err);
    pp_status status = pp_parse_int(text, where, low, high, out, &inner);
    return status ? pp_err_set(err, PP_USAGE, inner.where, "%s", inner.text) : PP_OK;
}

/* "3:1.3" or "any:1.3". */
static pp_status read_slow(const char *text, const char *where, pp_jitter_slow *out, pp_err *err)
{
    char at[24];
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!length || length >= sizeof at)
        return pp_err_set(err, PP_USAGE, where,
                          "'%.40s' is not NUMBER:FACTOR; write for example 3:1.3 or any:1.3", text);
    memcpy(at, text, length);
    at[length] = '\0';
    out->at = PP_JITTER_ANY;
    pp_status status = PP_OK;
    if (strcmp(at, "any") != 0)
        status = read_int(at, where, 0, PP_RANKS_MAX - 1, &out->at, err);
    return status ? status
                  : read_number(colon + 1, where, 1 / PP_JITTER_SLOW_MAX, PP_JITTER_SLOW_MAX,
                                &out->factor, err);
}

static pp_status read_value(int key, const char *text, const bool *seen, pp_jitter_spec *spec,
                            pp_err *err)
{
    char where[32];
    snprintf(where, sizeof where, "%s %s", pp_err_name(err, PP_FIELD_JITTER), keys[key]);
    if (seen[key])
        return pp_err_set(err, PP_USAGE, where, "is given twice; leave one out");
    switch (key) {
    case KEY_COMM:
        return read_number(text, where, 0, PP_JITTER_SIGMA_MAX, &spec->comm_sigma, err);
    case KEY_RANK:
        return read_slow(text, where, &spec->rank, err);
    case KEY_LINK:
        return read_slow(text, where, &spec->link, err);
    case KEY_SCENARIOS:
        return read_int(text, where, 1, PP_JITTER_SCENARIOS_MAX, &spec->scenarios, err);
    default:
        break;
    }
    double sigma = 0;
    pp_status status = read_number(text, where, 0, PP_JITTER_SIGMA_MAX, &sigma, err);
    for (int kind = 0; kind < PP_OP_KIND_COUNT && !status; kind++) {
        if (key == kind || (key == KEY_COMPUTE && !seen[kind])) /* the kind's own key wins */
            spec->sigma[kind] = sigma;
    }
    return status;
}

pp_status pp_jitter_parse(const char *text, pp_jitter_spec *out, pp_err *err)
{
    pp_jitter_spec spec = { .scenarios = 1000 };
    bool seen[KEY_COUNT] = { false };
    do {
        char value[40];
        int key = 0;
        size_t length = strcspn(text, ",");
        size_t name = strcspn(text, "=,");
        if (name >= length || length - name - 1 >= sizeof value || length == name + 1)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_JITTER),
                              "'%.*s' is not KEY=VALUE; write for example " EXAMPLE,
                              (int)(length < 80 ? length : 80), text);
        memcpy(value, text + name + 1, length - name - 1);
        value[length - name - 1] = '\0';
        pp_status status = find_key(text, name, &key, err);
        if (status || (status = read_value(key, value, seen, &spec, err)))
            return status;
        seen[key] = true;
        text += length;
        if (*text == ',' && !*++text)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_JITTER),
                              "ends with a comma; write for example " EXAMPLE);
    } while (*text);
    *out = spec;
    return PP_OK;
}
