/* Reads the published measurements of kernels, tests/data/kernel_samples.csv, and sums up how far
 * predictions are from them. */
#ifndef PPSIM_TESTS_SUPPORT_KERNEL_SAMPLES_H
#define PPSIM_TESTS_SUPPORT_KERNEL_SAMPLES_H

#include "sim/base/file.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_FIELDS 11

typedef struct samples {
    char *text;
    char *(*rows)[SAMPLE_FIELDS];
    size_t count;
} samples;

static inline samples samples_read(void)
{
    samples s = { 0 };
    size_t bytes = 0, capacity = 0;
    pp_err err = { 0 };
    const char *path = PPSIM_SOURCE_DIR "/tests/data/kernel_samples.csv";
    ck_assert_msg(pp_file_read(path, &s.text, &bytes, &err) == PP_OK, "%s", err.text);
    for (size_t i = 0; i < bytes; i++)
        capacity += s.text[i] == '\n';
    s.rows = calloc(capacity + 1, sizeof *s.rows);
    ck_assert_ptr_nonnull(s.rows);
    for (char *line = s.text; *line;) {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        if (*line != '#') {
            char *field = line;
            for (size_t k = 0; k < SAMPLE_FIELDS && field; k++) {
                s.rows[s.count][k] = field;
                field = strchr(field, ',');
                if (field)
                    *field++ = '\0';
            }
            s.count++;
        }
        line = end + 1;
    }
    return s;
}

static inline void samples_free(samples *s)
{
    free(s->rows);
    free(s->text);
}

static inline double sample_number(char *const *row, size_t field)
{
    char *end = NULL;
    ck_assert_ptr_nonnull(row[field]);
    const double value = strtod(row[field], &end);
    ck_assert_msg(end != row[field] && !*end, "%s is no number", row[field]);
    return value;
}

/* `words`: the required first fields; NULL stands for anything. */
static inline bool sample_is(char *const *row, size_t count, const char *const words[])
{
    for (size_t k = 0; k < count; k++) {
        if (words[k] && strcmp(words[k], row[k]) != 0)
            return false;
    }
    return true;
}

typedef struct gemm_sample {
    double m, n, k, seconds;
} gemm_sample;

static inline gemm_sample sample_gemm(char *const *row)
{
    gemm_sample s = { .m = sample_number(row, 2),
                      .n = sample_number(row, 3),
                      .k = sample_number(row, 4) };
    s.seconds = 2 * s.m * s.n * s.k / (1e12 * sample_number(row, 5));
    return s;
}

/* A row as the kernels that ppsim predicts; forward + backward has both. */
typedef struct attention_row {
    double batch, length, heads, qk_dim, v_dim, seconds;
    bool causal, forward, backward;
} attention_row;

static inline attention_row sample_attention(char *const *row)
{
    attention_row a = { .batch = sample_number(row, 5),
                        .length = sample_number(row, 6),
                        .heads = sample_number(row, 7),
                        .qk_dim = sample_number(row, 8),
                        .v_dim = sample_number(row, 9),
                        .causal = row[4][0] == '1',
                        .forward = strncmp(row[3], "fwd", 3) == 0,
                        .backward = strstr(row[3], "bwd") != NULL };
    const double times = (a.forward ? 1 : 0) + (a.backward ? 2.5 : 0);
    const double flops = 2 * a.batch * a.heads * a.length * a.length * (a.qk_dim + a.v_dim) *
                         (a.causal ? 0.5 : 1) * times;
    a.seconds = flops / (1e12 * sample_number(row, 10));
    return a;
}

/* Errors: predicted over measured time, minus 1; mean, median and max are those of absolute
 * values. */
typedef struct error_summary {
    double bias, mean, median, max;
} error_summary;

static inline int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* errors: [count], at least 1; replaced by their sorted absolute values. */
static inline error_summary summarize(double *errors, size_t count)
{
    error_summary s = { 0 };
    for (size_t i = 0; i < count; i++) {
        s.bias += errors[i] / (double)count;
        errors[i] = fabs(errors[i]);
        s.mean += errors[i] / (double)count;
    }
    qsort(errors, count, sizeof *errors, compare_doubles);
    s.median = (errors[(count - 1) / 2] + errors[count / 2]) / 2;
    s.max = errors[count - 1];
    return s;
}

#endif
