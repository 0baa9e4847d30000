/* Parses quantities as exact decimals: the digits become a whole number times a power of ten, so
 * that no unit is rounded on the way. */
#include "sim/base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct unit {
    const char *name;
    int64_t scale; /* in the base unit, ns or byte */
} unit;

static const unit durations[] = {
    { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { NULL, 0 },
};
/* clang-format off */
static const unit sizes[] = {
    { "B", 1 },
    { "kB", 1000 },
    { "MB", 1000000 },
    { "GB", 1000000000 },
    { "TB", 1000000000000 },
    { "KiB", 1 << 10 },
    { "MiB", 1 << 20 },
    { "GiB", 1 << 30 },
    { "TiB", (int64_t)1 << 40 },
    { NULL, 0 },
};
/* clang-format on */

/* A decimal number: the whole number `digits` (at most 18 digits) times 10^-fraction. */
typedef struct decimal {
    int64_t digits;
    int fraction;
    const char *rest;
} decimal;

static bool read_decimal(const char *text, decimal *out)
{
    decimal d = { 0, 0, text };
    bool any = false;
    bool point = false;
    for (;; d.rest++) {
        if (*d.rest == '.' && !point) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*d.rest))
            break;
        any = true;
        if (d.digits > (INT64_MAX - 9) / 10)
            return false;
        d.digits = d.digits * 10 + (*d.rest - '0');
        d.fraction += point;
    }
    while (d.fraction > 0 && d.digits % 10 == 0) {
        d.digits /= 10;
        d.fraction--;
    }
    *out = d;
    return any;
}

/* Computes digits * 10^-fraction * scale. Returns false unless it is a whole number <= `limit`. */
static bool scale_exactly(decimal d, int64_t scale, int64_t limit, int64_t *out)
{
    while (d.fraction > 0 && scale % 10 == 0) {
        scale /= 10;
        d.fraction--;
    }
    /* for binary units, a factor 5 of the digits cancels the fraction, as in 1.5GiB */
    while (d.fraction > 0 && scale % 2 == 0 && d.digits % 5 == 0) {
        scale /= 2;
        d.digits /= 5;
        d.fraction--;
    }
    if (d.fraction > 0 || (d.digits && scale > limit / d.digits))
        return false;
    *out = d.digits * scale;
    return true;
}

/* Computes digits * 10^-fraction * scale, rounded down. The digits behind the point are taken from
 * the last one on, since rounding down after each division by ten gives the same as rounding once.
 * Returns false if a positive quantity is rounded down to zero, or if it exceeds `limit`. */
static bool scale_down(decimal d, int64_t scale, int64_t limit, int64_t *out)
{
    int64_t part = 0;
    for (; d.fraction > 0; d.fraction--) {
        part = (part + d.digits % 10 * scale) / 10;
        d.digits /= 10;
    }
    if (scale == 1 || (d.digits && scale > (limit - part) / d.digits))
        return false;
    if (!d.digits && !part)
        return false;
    *out = d.digits * scale + part;
    return true;
}

/* rounds: a quantity that is finer than the base unit is rounded down. */
static pp_status parse_quantity(const char *text, const char *where, const unit *units,
                                const char *example, bool rounds, int64_t limit, int64_t *out,
                                pp_err *err)
{
    decimal d;
    if (!read_decimal(text, &d))
        return pp_err_set(err, PP_INPUT, where, "'%.64s' is not a quantity; write for example %s",
                          text, example);
    if (*d.rest == '\0') {
        if (d.digits != 0)
            return pp_err_set(err, PP_INPUT, where,
                              "'%.64s' has no unit; write for example %s (only 0 needs none)", text,
                              example);
        *out = 0;
        return PP_OK;
    }
    for (const unit *u = units; u->name; u++) {
        if (strcmp(u->name, d.rest) != 0)
            continue;
        if (scale_exactly(d, u->scale, limit, out) ||
            (rounds && scale_down(d, u->scale, limit, out)))
            return PP_OK;
        return pp_err_set(err, PP_INPUT, where,
                          "'%.64s' is too large, or finer than one %s; write for example %s", text,
                          units[0].name, example);
    }
    return pp_err_set(err, PP_INPUT, where,
                      "'%.64s' has an unknown unit '%.16s'; write for "
                      "example %s",
                      text, d.rest, example);
}

pp_status pp_parse_duration(const char *text, const char *where, pp_ns *ns_out, pp_err *err)
{
    return parse_quantity(text, where, durations, "18.5ms, 12us, 3s", false, PP_NS_MAX, ns_out,
                          err);
}

pp_status pp_parse_bytes(const char *text, const char *where, int64_t *bytes_out, pp_err *err)
{
    return parse_quantity(text, where, sizes, "64MiB, 80GB", true, PP_BYTES_MAX, bytes_out, err);
}

pp_status pp_parse_rate(const char *text, const char *where, double *bytes_per_s_out, pp_err *err)
{
    static const struct {
        const char *name;
        double bytes_per_s;
    } rates[] = {
        { "kB/s", 1e3 },       { "MB/s", 1e6 },       { "GB/s", 1e9 },       { "TB/s", 1e12 },
        { "kb/s", 1e3 / 8.0 }, { "Mb/s", 1e6 / 8.0 }, { "Gb/s", 1e9 / 8.0 }, { "Tb/s", 1e12 / 8.0 },
    };
    decimal d;
    if (read_decimal(text, &d) && d.digits > 0) {
        for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
            if (strcmp(rates[i].name, d.rest) == 0) {
                double rate = (double)d.digits * rates[i].bytes_per_s / pow(10.0, d.fraction);
                if (!(rate > 0))
                    break;
                *bytes_per_s_out = rate;
                return PP_OK;
            }
        }
    }
    return pp_err_set(err, PP_INPUT, where,
                      "'%.64s' is not a positive rate; write for example 50GB/s or 800Gb/s", text);
}

pp_status pp_parse_int(const char *text, const char *where, int64_t low, int64_t high,
                       int64_t *value_out, pp_err *err)
{
    const char *digits = text + (*text == '-');
    int64_t value = 0;
    bool good = *digits != '\0';
    for (const char *c = digits; good && *c; c++) {
        good = isdigit((unsigned char)*c) && value <= (INT64_MAX - (*c - '0')) / 10;
        if (good)
            value = value * 10 + (*c - '0');
    }
    if (*text == '-')
        value = -value;
    if (!good || value < low || value > high)
        return pp_err_set(err, PP_INPUT, where,
                          "'%.64s' is not a whole number from %" PRId64 " to %" PRId64, text, low,
                          high);
    *value_out = value;
    return PP_OK;
}

pp_status pp_ns_from_seconds(double seconds, const char *where, pp_ns *ns_out, pp_err *err)
{
    double ns = seconds * 1e9;
    if (!(ns >= 0.0 && ns <= (double)PP_NS_MAX))
        return pp_err_set(err, PP_INPUT, where, "a duration of %g s is outside 0 to %.0f s",
                          seconds, (double)PP_NS_MAX * 1e-9);
    *ns_out = (pp_ns)llround(ns);
    return PP_OK;
}

/* Prints four significant digits, with trailing zeros so that columns align. */
static void print_scaled(char *buffer, size_t size, double value, const char *name)
{
    double magnitude = fabs(value);
    int decimals = magnitude >= 999.95 ? 0 : magnitude >= 99.995 ? 1 : magnitude >= 9.9995 ? 2 : 3;
    snprintf(buffer, size, "%.*f %s", decimals, value, name);
}

const char *pp_format_duration(char *buffer, size_t size, pp_ns ns)
{
    double value = (double)ns;
    double magnitude = fabs(value);
    if (magnitude < 1e3)
        snprintf(buffer, size, "%" PRId64 " ns", ns);
    else if (magnitude < 999.95e3)
        print_scaled(buffer, size, value * 1e-3, "us");
    else if (magnitude < 999.95e6)
        print_scaled(buffer, size, value * 1e-6, "ms");
    else
        print_scaled(buffer, size, value * 1e-9, "s");
    return buffer;
}

const char *pp_format_bytes(char *buffer, size_t size, int64_t bytes)
{
    static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
    double value = (double)bytes;
    if (fabs(value) < 1024.0) {
        snprintf(buffer, size, "%" PRId64 " B", bytes);
        return buffer;
    }
    size_t i = 0;
    for (value /= 1024.0; fabs(value) >= 1023.5 && i < 4; i++)
        value /= 1024.0;
    print_scaled(buffer, size, value, names[i]);
    return buffer;
}

const char *pp_format_limit(char *buffer, size_t size, int64_t bytes)
{
    enum { MEGA = 1000000, GIGA = 1000000000 };
    char binary[32];
    char decimals[16] = "";
    pp_format_bytes(binary, sizeof binary, bytes);
    if (bytes < GIGA || bytes % MEGA != 0 || bytes % (1 << 20) == 0) {
        snprintf(buffer, size, "%s", binary);
        return buffer;
    }
    if (bytes % GIGA != 0) {
        snprintf(decimals, sizeof decimals, ".%03d", (int)(bytes % GIGA / MEGA));
        for (size_t end = 3; decimals[end] == '0'; end--)
            decimals[end] = '\0';
    }
    snprintf(buffer, size, "%" PRId64 "%sGB (%s)", bytes / GIGA, decimals, binary);
    return buffer;
}
