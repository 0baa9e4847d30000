/* Profiles of known truth: every class a straight line over one variable. */
#ifndef PPSIM_TESTS_SUPPORT_PROFILE_RIG_H
#define PPSIM_TESTS_SUPPORT_PROFILE_RIG_H

#include "calib/profile/measured.h"
#include "sim/base/alloc.h"
#include "tests/support/step.h"

#define RIG_SIZES 12

/* seconds = a + b x, at 64, 128, ... of the variable; every other sample off by `noise`. */
typedef struct rig_class {
    const char *name;
    pp_variable variable;
    double a, b, noise;
    bool link;
    int32_t nodes;
    double n, k;        /* of products */
    const char *source; /* NULL: an import */
} rig_class;

static inline double rig_size(size_t i)
{
    return 64.0 * (double)(1u << i / 2) * (i % 2 ? 1.5 : 1);
}

static inline void rig_series(const rig_class *c, pp_series *s)
{
    pp_err err = { 0 };
    s->link = c->link;
    s->ranks = c->link ? 2 : 0;
    s->nodes = c->nodes;
    snprintf(s->source, sizeof s->source, "%s", c->source ? c->source : "rig");
    for (size_t i = 0; i < 3 * RIG_SIZES; i++) {
        const double x = rig_size(i / 3);
        const double off[] = { 1, 1 + c->noise, 1 - c->noise };
        pp_sample sample = pp_sample_of((c->a + c->b * x) * off[i % 3]);
        sample.at[c->variable] = x;
        sample.pass = (uint32_t)(i % 3);
        if (c->n > 0) {
            sample.at[PP_VARIABLE_COLUMNS] = c->n;
            sample.at[PP_VARIABLE_DEPTH] = c->k;
        }
        STEP_OK(pp_series_add(s, &sample, &err), err);
    }
}

/* classes end with a NULL name. */
static inline pp_profile *rig_profile(const rig_class *classes)
{
    pp_err err = { 0 };
    pp_profile *p = pp_alloc_array(1, sizeof *p);
    size_t count = 0;
    while (classes[count].name)
        count++;
    p->entry = pp_alloc_array(count, sizeof *p->entry);
    p->count = count;
    snprintf(p->sha256, sizeof p->sha256, "%064d", (int)count);
    for (size_t i = 0; i < count; i++) {
        pp_series *s;
        pp_profile_entry *e = &p->entry[i];
        STEP_OK(pp_samples_add_series(&p->samples, classes[i].name, &s, &err), err);
        rig_series(&classes[i], s);
        snprintf(e->class_name, sizeof e->class_name, "%s", classes[i].name);
        e->link = s->link;
        e->series = pp_alloc_array(1, sizeof *e->series);
        e->series[0] = i;
        e->series_count = 1;
        e->fitted = true;
        const pp_series *const one[] = { s };
        STEP_OK(pp_fit_series(one, 1, NULL, &e->choice, &err), err);
    }
    return p;
}

static inline void rig_free(pp_profile **p)
{
    if (!*p)
        return;
    for (size_t i = 0; i < (*p)->count; i++)
        free((*p)->entry[i].series);
    free((*p)->entry);
    pp_samples_free(&(*p)->samples);
    free(*p);
    *p = NULL;
}

#endif
