/* Prints a profile for people: a table of classes, the fitted forms with their parameters and
 * errors, and what could not be fitted and why. */
#include "tools/ppsim/calibrate/print.h"

#include "calib/profile/product_ratios.h"
#include "sim/base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 80, VALUE_BYTES = 64 };

/* Writes a value with a scaled unit: "12.3 us per token" for 0.0000123 "s per token". */
static const char *print_scaled(char *buffer, size_t size, double value, const char *const names[],
                                double least, const char *rest)
{
    size_t k = 0;
    double scaled = value / least;
    while (fabs(scaled) >= 999.5 && names[k + 1]) {
        scaled /= 1000;
        k++;
    }
    snprintf(buffer, size, "%.3g %s%s", scaled, names[k], rest);
    return buffer;
}

static const char *print_value(char *buffer, size_t size, double value, const char *unit)
{
    static const char *const seconds[] = { "fs", "ps", "ns", "us", "ms", "s", NULL };
    static const char *const rates[] = { "B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL };
    static const char *const flops[] = { "flop/s",  "kflop/s", "Mflop/s", "Gflop/s",
                                         "Tflop/s", "Pflop/s", NULL };
    if (!isfinite(value))
        snprintf(buffer, size, "any");
    else if (value == 0)
        snprintf(buffer, size, "0");
    else if (unit[0] == 's' && (unit[1] == '\0' || unit[1] == ' '))
        print_scaled(buffer, size, value, seconds, 1e-15, unit + 1);
    else if (strcmp(unit, "B/s") == 0)
        print_scaled(buffer, size, value, rates, 1, "");
    else if (strcmp(unit, "flop/s") == 0)
        print_scaled(buffer, size, value, flops, 1, "");
    else if (strcmp(unit, "B") == 0 && value < (double)PP_BYTES_MAX)
        pp_format_bytes(buffer, size, llround(value));
    else
        snprintf(buffer, size, "%.4g%s%s", value, unit[0] ? " " : "", unit);
    return buffer;
}

/* A paragraph that is wrapped as words are added. */
typedef struct paragraph {
    pp_text *text;
    size_t column, indent;
} paragraph;

static void say(paragraph *p, const char *words)
{
    size_t bytes = strlen(words);
    if (p->column > p->indent && p->column + 1 + bytes > LINE) {
        pp_text_add(p->text, "\n%*s", (int)p->indent, "");
        p->column = p->indent;
    } else if (p->column > p->indent) {
        pp_text_add(p->text, " ");
        p->column++;
    }
    pp_text_add(p->text, "%s", words);
    p->column += bytes;
}

static paragraph begin(pp_text *text, size_t indent)
{
    pp_text_add(text, "%*s", (int)indent, "");
    return (paragraph){ .text = text, .column = indent, .indent = indent };
}

static void print_parameters(const pp_fit *fit, pp_text *text)
{
    paragraph p = begin(text, 4);
    char value[VALUE_BYTES], low[VALUE_BYTES], high[VALUE_BYTES], words[4 * VALUE_BYTES];
    if (fit->form->terms == 0) {
        snprintf(words, sizeof words, "%zu knots", fit->parameters);
        say(&p, words);
    }
    for (size_t k = 0; k < fit->parameters && fit->form->terms; k++) {
        const pp_form_parameter *parameter = &fit->form->parameter[k];
        const char *unit = parameter->unit;
        snprintf(words, sizeof words, "%s %s (%s to %s)%s", parameter->name,
                 print_value(value, sizeof value, fit->value[k], unit),
                 print_value(low, sizeof low, fit->low[k], unit[0] == 's' ? "s" : unit),
                 print_value(high, sizeof high, fit->high[k], unit[0] == 's' ? "s" : unit),
                 k + 1 < fit->parameters ? "," : "");
        say(&p, words);
    }
    pp_text_add(text, "\n");
}

static const char *unit_of(unsigned variable)
{
    static const char *const units[PP_VARIABLE_COUNT] = {
#define UNIT(id, key, unit) [PP_VARIABLE_##id] = unit,
        PP_VARIABLE_MAP(UNIT)
#undef UNIT
    };
    return units[variable];
}

/* Writes the ranges of the samples' variables: "bytes 32 KiB to 16 GiB, ranks 8". */
static void print_domain(const pp_fit *fit, pp_text *text)
{
    paragraph p = begin(text, 4);
    char low[VALUE_BYTES], high[VALUE_BYTES], words[4 * VALUE_BYTES];
    say(&p, "measured at");
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        if (!isfinite(fit->at_low[v]))
            continue;
        const char *unit = strcmp(unit_of(v), "tokens") == 0 ? "" : unit_of(v);
        print_value(low, sizeof low, fit->at_low[v], unit);
        print_value(high, sizeof high, fit->at_high[v], unit);
        if (fit->at_low[v] == fit->at_high[v])
            snprintf(words, sizeof words, "%s %s,", pp_variable_key((pp_variable)v), low);
        else
            snprintf(words, sizeof words, "%s %s to %s,", pp_variable_key((pp_variable)v), low,
                     high);
        say(&p, words);
    }
    snprintf(words, sizeof words, "%zu samples of %zu sizes", fit->samples, fit->sizes);
    say(&p, words);
    if (fit->outliers) {
        snprintf(words, sizeof words, "(%zu outliers)", fit->outliers);
        say(&p, words);
    }
    if (fit->assumed_channels)
        say(&p, "with 32 channels assumed, as NVSwitch has");
    pp_text_add(text, "\n");
}

/* Describes the worst sample by the first two variables that vary. */
static void print_worst(const pp_fit *fit, char *buffer, size_t size)
{
    size_t used = 0, named = 0;
    buffer[0] = '\0';
    for (unsigned v = 0; v < PP_VARIABLE_COUNT && named < 2 && used + VALUE_BYTES < size; v++) {
        char value[VALUE_BYTES];
        bool varies = fit->at_low[v] < fit->at_high[v];
        if (!varies || !isfinite(fit->worst.at[v]) || v == PP_VARIABLE_CHANNELS)
            continue;
        print_value(value, sizeof value, fit->worst.at[v],
                    strcmp(unit_of(v), "tokens") == 0 ? "" : unit_of(v));
        named++;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s%s%s", used ? " " : "",
                                 v == PP_VARIABLE_BYTES ? "" : pp_variable_key((pp_variable)v),
                                 v == PP_VARIABLE_BYTES ? "" : " ", value);
    }
}

static void print_kind(const pp_profile *profile, const pp_profile_entry *e, char *buffer,
                       size_t size)
{
    const pp_series *first = &profile->samples.series[e->series[0]];
    const pp_fit *fit = &e->choice.fit;
    char ranks[48] = "";
    if (e->link && fit->ranks_high > fit->ranks_low)
        snprintf(ranks, sizeof ranks, ", %d to %d ranks", fit->ranks_low, fit->ranks_high);
    else if (e->link && fit->ranks_high > 0)
        snprintf(ranks, sizeof ranks, ", %d ranks", fit->ranks_high);
    snprintf(buffer, size, "%s%s%s%s%s%.31s", e->class_name, e->cold ? ", cold caches" : "",
             e->spans ? ", between nodes" : "", ranks, first->library[0] ? ", " : "",
             first->library);
}

static void print_entry(const pp_profile *profile, const pp_profile_entry *e, pp_text *text)
{
    const pp_fit *fit = &e->choice.fit;
    char kind[192], worst[256];
    print_kind(profile, e, kind, sizeof kind);
    print_worst(fit, worst, sizeof worst);
    pp_text_add(text, "%s\n  %-16s %6.1f %% %8.1f %% %8.1f %%  %s\n", kind, fit->form->name,
                100 * fit->mape, 100 * fit->cv_mape, 100 * fit->max_ape, worst);
    print_parameters(fit, text);
    print_domain(fit, text);
}

static void print_fitted(const pp_profile *profile, bool link, pp_text *text)
{
    bool first = true;
    for (size_t i = 0; i < profile->count; i++) {
        const pp_profile_entry *e = &profile->entry[i];
        if (!e->fitted || e->link != link)
            continue;
        if (first)
            pp_text_add(text, "\n%-18s %8s %10s %10s  %s\n", link ? "LINKS" : "KERNELS", "error",
                        "left out", "worst", "at");
        first = false;
        print_entry(profile, e, text);
    }
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns the median time of the samples in seconds, or NaN when out of memory. */
static double median_of(const pp_series *series)
{
    double *seconds = malloc(series->count * sizeof *seconds);
    if (!seconds)
        return NAN;
    for (size_t i = 0; i < series->count; i++)
        seconds[i] = series->sample[i].seconds;
    qsort(seconds, series->count, sizeof *seconds, by_size);
    double median = pp_quantile(seconds, series->count, 0.5);
    free(seconds);
    return median;
}

static void print_unfitted(const pp_profile *profile, pp_text *text)
{
    bool first = true;
    for (size_t i = 0; i < profile->count; i++) {
        const pp_profile_entry *e = &profile->entry[i];
        char value[VALUE_BYTES];
        if (e->fitted || pp_interference_class(e->class_name) || pp_product_class(e->class_name))
            continue;
        pp_text_add(text, "%s  %s%s: median %s; %s\n",
                    first ? "\nNOT FITTED (no curve; the samples are kept)\n" : "", e->class_name,
                    e->cold ? ", cold" : "",
                    print_value(value, sizeof value,
                                median_of(&profile->samples.series[e->series[0]]), "s"),
                    e->reason);
        first = false;
    }
}

static void print_products(const pp_profile *profile, pp_text *text)
{
    static const struct {
        const char *class_name, *text;
    } words[] = {
        { "product_fewer_sms", "a product with SMs taken from it" },
        { "product_beside_copy", "a product during copies on its GPU" },
        { "product_beside_self_send",
          "a product during messages of its GPU to itself, without a link," },
        { "product_sustained", "a product after long work, compared with one after rest," },
    };
    pp_product_ratio ratio[PP_PRODUCT_RATIOS_MAX];
    const size_t count = pp_product_ratios(&profile->samples, ratio);
    for (size_t i = 0; i < count; i++) {
        const bool begins = i == 0 || strcmp(ratio[i].class_name, ratio[i - 1].class_name) != 0;
        for (size_t k = 0; begins && k < sizeof words / sizeof words[0]; k++) {
            if (strcmp(words[k].class_name, ratio[i].class_name) == 0)
                pp_text_add(text, "\n%s takes", words[k].text);
        }
        pp_text_add(text, "%s x%.2f", begins ? "" : ",", ratio[i].ratio);
        if (ratio[i].taken > 0)
            pp_text_add(text, " (%g)", ratio[i].taken);
    }
    if (count)
        pp_text_add(text, "\n");
}

static void print_unfinished(const pp_profile *profile, pp_text *text)
{
    bool first = true;
    pp_text_add(text, "\ninterrupted: points are missing");
    for (size_t i = 0; i < pp_probe_count(); i++) {
        if (!(profile->unfinished >> i & 1))
            continue;
        pp_text_add(text, "%s%s", first ? " of " : ", ", pp_probe_at(i)->name);
        first = false;
    }
    pp_text_add(text, "; --resume -o FILE continues\n");
}

static void add_known(pp_text *text, double value, const char *unit, const char *what)
{
    if (value >= 0)
        pp_text_add(text, "%.0f %s", value, unit);
    else
        pp_text_add(text, "%s not known", what);
}

/* Writes a line with the state of each GPU after each probe. */
static void print_gpus(const pp_gpu_states *gpus, pp_text *text)
{
    char reasons[128];
    if (gpus->lacks[0])
        pp_text_add(text, "\nclocks and power of the GPUs are not %sknown: %s\n",
                    gpus->count ? "all " : "", gpus->lacks);
    for (uint32_t i = 0; i < gpus->count; i++) {
        const pp_gpu_state *s = &gpus->state[i];
        if (!s->after)
            continue;
        pp_gpu_reasons(s->reasons, reasons, sizeof reasons);
        pp_text_add(text, "%sGPU %d after %s: ", i < 2 ? "\n" : "", s->gpu, s->probe);
        add_known(text, s->sm_mhz, "MHz", "clock");
        pp_text_add(text, ", ");
        add_known(text, s->power_w, "W", "power");
        pp_text_add(text, ", ");
        add_known(text, s->celsius, "C", "temperature");
        pp_text_add(text, "%s%s\n",
                    s->reasons < 0 ? "; what slows it down is not known"
                    : reasons[0]   ? "; slowed down by "
                                   : "",
                    reasons);
    }
}

static void print_notes(const pp_profile *profile, pp_text *text)
{
    const pp_interference *f = &profile->interference;
    if (isfinite(f->compute) && isfinite(f->comm))
        pp_text_add(text,
                    "\ncompute during a transfer takes x%.2f, a transfer during compute "
                    "x%.2f\n",
                    f->compute, f->comm);
    for (size_t i = 0; i < profile->note_count; i++) {
        const pp_series_note *n = &profile->note[i];
        if (n->throttled)
            pp_text_add(text,
                        "%s: every pass was slower than the one before, %.1f %% in all: a "
                        "processor that grew hot\n",
                        n->class_name, 100 * n->drift);
        else if (n->drifts)
            pp_text_add(text,
                        "%s: passes differ by %.1f %%, more than their interval; measure "
                        "when nothing else runs\n",
                        n->class_name, 100 * n->drift);
    }
    print_gpus(&profile->gpus, text);
    if (profile->interrupted)
        print_unfinished(profile, text);
    if (profile->samples.skipped)
        pp_text_add(text, "\nleft out:\n%s", profile->samples.skipped);
}

void pp_profile_print(const pp_profile *profile, pp_text *text)
{
    size_t samples = 0, fitted = 0;
    for (size_t i = 0; i < profile->samples.count; i++)
        samples += profile->samples.series[i].count;
    for (size_t i = 0; i < profile->count; i++)
        fitted += profile->entry[i].fitted;
    pp_text_add(text, "%s: %zu samples, %zu curve%s\n",
                profile->samples.device[0] ? profile->samples.device : "a machine", samples, fitted,
                fitted == 1 ? "" : "s");
    print_fitted(profile, false, text);
    print_fitted(profile, true, text);
    print_unfitted(profile, text);
    print_products(profile, text);
    print_notes(profile, text);
    if (fitted)
        pp_text_add(text, "\nerror: mean over all samples; left out: of sizes that were not fitted "
                          "to; in brackets\n95 %% intervals. Next: ppsim plan --profile FILE, with "
                          "--profile-layers N\n"
                          "where stages were imported\n");
}
