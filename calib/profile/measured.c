/* Answers the cost model from a profile: chooses, by its class, the entry that answers a question,
 * predicts the time with the form fitted to it, and records what was asked, so that a plan can
 * report which answers were extrapolated. Every look-up is linear in the number of entries. */
#include "calib/profile/measured.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/job/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE "probe cpu-ops"

static const char *const stage_classes[] = { "stage_f", "stage_i", "stage_w", "stage_b" };

static bool belongs(const pp_measured_profile *m, const pp_profile_entry *entry)
{
    return !entry->cold &&
           (m->part == PP_PROFILE_ALL || entry->link == (m->part == PP_PROFILE_LINKS));
}

static bool answers(const pp_measured_profile *m, const pp_profile_entry *entry)
{
    return entry->fitted && belongs(m, entry);
}

static size_t find(const pp_measured_profile *m, const char *class_name, bool spans)
{
    for (size_t i = 0; i < m->profile->count; i++) {
        const pp_profile_entry *entry = &m->profile->entry[i];
        if (answers(m, entry) && strcmp(entry->class_name, class_name) == 0 &&
            (!entry->link || entry->spans == spans))
            return i;
    }
    return PP_ENTRY_NONE;
}

/* "gemm_fwd" and "gemm_fwd mlp_up" are of the kind gemm_fwd. */
static bool is_kind(const char *class_name, const char *kind)
{
    const size_t bytes = strlen(kind);
    return strncmp(class_name, kind, bytes) == 0 &&
           (class_name[bytes] == '\0' || class_name[bytes] == ' ');
}

static bool inside(const pp_fit *fit, pp_variable variable, double value)
{
    const double slack = 1e-9;
    return value >= fit->at_low[variable] * (1 - slack) &&
           value <= fit->at_high[variable] * (1 + slack);
}

/* The entry must have been measured with these weights and so many experts, since a product of
 * other shapes is another kernel. Only the number of tokens may be outside the measured range. In 8
 * bits, products with one scale per tensor are measured, and no others. */
static size_t find_gemm(const pp_measured_profile *m, const pp_measured_at *at)
{
    static const char *const passes[] = { "fwd", "dgrad", "wgrad" };
    const bool plain = at->format == PP_GEMM_16BIT && !(at->experts > 0);
    char kind[32], number[16] = "";
    if (at->format != PP_GEMM_16BIT && at->format != PP_GEMM_FP8)
        return PP_ENTRY_NONE;
    if (at->experts > 0)
        snprintf(number, sizeof number, " %g", at->experts);
    snprintf(kind, sizeof kind, "gemm_%s%s%s%s", passes[at->kind - PP_MEASURED_GEMM_FWD],
             at->experts > 0 ? "_grouped" : "", at->format ? "_fp8" : "", number);
    const bool weight = at->kind == PP_MEASURED_GEMM_WGRAD;
    const pp_variable other = weight ? PP_VARIABLE_ROWS : PP_VARIABLE_DEPTH;
    for (size_t i = 0; i < m->profile->count; i++) {
        const pp_profile_entry *entry = &m->profile->entry[i];
        if (answers(m, entry) &&
            (is_kind(entry->class_name, kind) || (plain && at->kind == PP_MEASURED_GEMM_FWD &&
                                                  is_kind(entry->class_name, "linear_fwd"))) &&
            inside(&entry->choice.fit, PP_VARIABLE_COLUMNS, at->n) &&
            inside(&entry->choice.fit, other, weight ? at->m : at->k))
            return i;
    }
    return PP_ENTRY_NONE;
}

/* If NCCL was not measured, messages between threads or processes take its place. */
static size_t find_message(const pp_measured_profile *m, bool other_node)
{
    static const char *const names[] = { "send_recv", "sendrecv", "thread_link", "mpi_link" };
    size_t entry = PP_ENTRY_NONE;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && entry == PP_ENTRY_NONE; i++)
        entry = find(m, names[i], other_node);
    return entry;
}

/* Prefers the kernels that frameworks run (cuDNN) to the slower ones of compute cuda, and a source
 * that has both directions to one that has a single one. */
static void find_attention(pp_measured_profile *m)
{
    static const char *const sources[][2] = { { "attn_fwd", "attn_bwd" },
                                              { "attn_fwd ppsim", "attn_bwd ppsim" } };
    int most = 0;
    m->attention[0] = m->attention[1] = PP_ENTRY_NONE;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        const size_t forward = find(m, sources[i][0], false);
        const size_t backward = find(m, sources[i][1], false);
        const int has = (forward != PP_ENTRY_NONE) + (backward != PP_ENTRY_NONE);
        if (has <= most)
            continue;
        most = has;
        m->attention[0] = forward;
        m->attention[1] = backward;
    }
}

static size_t find_for(const pp_measured_profile *m, const pp_measured_at *at)
{
    switch (at->kind) {
    case PP_MEASURED_GEMM_FWD:
    case PP_MEASURED_GEMM_DGRAD:
    case PP_MEASURED_GEMM_WGRAD:
        return find_gemm(m, at);
    case PP_MEASURED_ATTENTION_FWD:
    case PP_MEASURED_ATTENTION_BWD:
        return m->attention[at->kind - PP_MEASURED_ATTENTION_FWD];
    case PP_MEASURED_QUANTIZE:
    case PP_MEASURED_QUANTIZE_CURRENT:
        return at->format != PP_GEMM_FP8          ? PP_ENTRY_NONE
               : at->kind == PP_MEASURED_QUANTIZE ? find(m, "quantize_fp8", false)
                                                  : find(m, "quantize_fp8_current", false);
    case PP_MEASURED_MESSAGE:
        return find_message(m, at->other_node);
    case PP_MEASURED_ALL_REDUCE:
        return find(m, "all_reduce", at->spans);
    case PP_MEASURED_ALL_GATHER:
        return find(m, "all_gather", at->spans);
    case PP_MEASURED_REDUCE_SCATTER:
        return find(m, "reduce_scatter", at->spans);
    case PP_MEASURED_ALL_TO_ALL:
        return find(m, "all_to_all", at->spans);
    default:
        return PP_ENTRY_NONE;
    }
}

static pp_sample sample_of(const pp_measured_at *at)
{
    pp_sample sample = pp_sample_of(NAN);
    if (at->kind >= PP_MEASURED_QUANTIZE) {
        sample.at[PP_VARIABLE_BYTES] = at->bytes;
    } else if (at->kind >= PP_MEASURED_GEMM_FWD && at->kind <= PP_MEASURED_GEMM_WGRAD) {
        sample.at[PP_VARIABLE_ROWS] = at->m;
        sample.at[PP_VARIABLE_COLUMNS] = at->n;
        sample.at[PP_VARIABLE_DEPTH] = at->k;
    } else {
        sample.at[PP_VARIABLE_TOKENS] = at->tokens;
        sample.at[PP_VARIABLE_SQUARES] = at->square_sum;
        sample.at[PP_VARIABLE_LONGEST] = at->longest;
        sample.at[PP_VARIABLE_TILES] = at->tiles;
    }
    return sample;
}

static double distance(double at, double low, double high)
{
    return at > high ? at / high : low / fmax(at, 1e-300);
}

double pp_use_distance(const pp_entry_use *use)
{
    return distance(use->at, use->low, use->high);
}

static void note_outside(const pp_fit *fit, const pp_sample *sample, int64_t ranks,
                         const char *outside, pp_entry_use *use)
{
    double at = (double)ranks, low = fit->ranks_low, high = fit->ranks_high;
    for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
        if (strcmp(pp_variable_key((pp_variable)v), outside) != 0)
            continue;
        at = sample->at[v];
        low = fit->at_low[v];
        high = fit->at_high[v];
    }
    if (!use->outside || distance(at, low, high) > pp_use_distance(use)) {
        snprintf(use->variable, sizeof use->variable, "%s", outside);
        use->at = at;
        use->low = low;
        use->high = high;
    }
    use->outside++;
}

static bool ask_entry(pp_measured_profile *m, size_t index, const pp_measured_at *at,
                      pp_fit_value *value_out)
{
    const pp_profile_entry *entry = &m->profile->entry[index];
    const pp_fit *fit = &entry->choice.fit;
    const pp_sample sample = sample_of(at);
    pp_entry_use *use = &m->use[index];
    pp_series where = m->profile->samples.series[entry->series[0]];
    pp_fit_value value;
    pp_err why = { 0 };
    if (entry->link) {
        where.ranks = (int32_t)at->ranks;
        where.nodes = at->spans ? 2 : 1;
    }
    if (pp_fit_predict(fit, &where, &sample, &value, &why)) {
        snprintf(use->refusal, sizeof use->refusal, "%.150s", why.text);
        return false;
    }
    use->asked++;
    if (value.outside)
        note_outside(fit, &sample, at->ranks, value.outside, use);
    const bool moved = m->towards && m->moved != PP_ENTRY_NONE &&
                       pp_entry_family(m->profile, index) == pp_entry_family(m->profile, m->moved);
    *value_out = value;
    if (moved)
        value_out->seconds = m->towards < 0 ? value.low_s : value.high_s;
    return true;
}

/* The end of a pipeline adds work to a forward. If the stage at an end is nevertheless faster than
 * one in the middle, by more than the uncertainty, it must have been measured with fewer layers. */
static void note_unequal(const pp_measured_profile *m, const pp_fit_value *middle,
                         const pp_fit_value *end, pp_entry_use *use)
{
    const double less_s = middle->seconds - end->seconds;
    if (end->high_s >= middle->low_s || less_s < middle->seconds / (double)m->layers / 2 ||
        less_s <= use->middle_s - use->end_s)
        return;
    use->end_s = end->seconds;
    use->middle_s = middle->seconds;
}

/* The time of an end (embedding, head) is that of the stage at the end minus that of a stage in the
 * middle. */
static bool ask_stage(pp_measured_profile *m, const pp_measured_at *at, double *seconds_out)
{
    const int of = (int)at->kind % 4;
    const size_t middle = m->stage[PP_STAGE_MIDDLE][of];
    const size_t end = m->stage[at->kind < PP_MEASURED_LAST ? PP_STAGE_FIRST : PP_STAGE_LAST][of];
    pp_fit_value at_middle;
    pp_fit_value at_end;
    if (middle == PP_ENTRY_NONE || !ask_entry(m, middle, at, &at_middle))
        return false;
    if (at->kind < PP_MEASURED_FIRST) {
        *seconds_out = at_middle.seconds / (double)m->layers;
        return true;
    }
    if (end == PP_ENTRY_NONE || !ask_entry(m, end, at, &at_end))
        return false;
    if (of == PP_OP_F)
        note_unequal(m, &at_middle, &at_end, &m->use[end]);
    *seconds_out = at_end.seconds - at_middle.seconds;
    return true;
}

static bool ask(void *context, const pp_measured_at *at, double *seconds_out)
{
    pp_measured_profile *m = context;
    const bool stage = at->kind < PP_MEASURED_STAGES;
    const size_t entry = stage ? PP_ENTRY_NONE : find_for(m, at);
    pp_fit_value value = { 0 };
    const bool asked = stage ? ask_stage(m, at, &value.seconds)
                             : entry != PP_ENTRY_NONE && ask_entry(m, entry, at, &value);
    if (asked)
        *seconds_out = value.seconds;
    if (!asked)
        *(at->experts > 0 ? &m->experts_lacked : &m->lacked) |= 1u << at->kind;
    return asked;
}

/* Returns 3 for the class "stage_f 3", or -1 if the class has no number. */
static int64_t stage_number(const char *class_name, const char *kind)
{
    int64_t number = -1;
    const size_t bytes = strlen(kind);
    if (strncmp(class_name, kind, bytes) != 0 || class_name[bytes] != ' ' ||
        pp_parse_int(class_name + bytes + 1, kind, 0, UINT16_MAX, &number, NULL))
        return -1;
    return number;
}

/* Returns the entry of the stage with this number, fitted or not, or PP_ENTRY_NONE. */
static size_t find_numbered(const pp_measured_profile *m, size_t kind, int64_t number)
{
    for (size_t i = 0; i < m->profile->count; i++) {
        const pp_profile_entry *entry = &m->profile->entry[i];
        if (belongs(m, entry) && stage_number(entry->class_name, stage_classes[kind]) == number)
            return i;
    }
    return PP_ENTRY_NONE;
}

static size_t find_fitted(const pp_measured_profile *m, size_t kind, int64_t number)
{
    const size_t entry = find_numbered(m, kind, number);
    return entry != PP_ENTRY_NONE && m->profile->entry[entry].fitted ? entry : PP_ENTRY_NONE;
}

/* Finds the entries of the first, a middle and the last stage, by name or, failing that, by number.
 * Of two numbered stages the first one also serves as the middle one, since an embedding is less
 * work than a head; its embedding is then attributed to the layers. */
static void find_stages(pp_measured_profile *m)
{
    const bool numbered = find(m, stage_classes[0], false) == PP_ENTRY_NONE;
    for (size_t kind = 0; kind < 4; kind++) {
        char first[32];
        char last[32];
        int64_t count = 0;
        snprintf(first, sizeof first, "%s first", stage_classes[kind]);
        snprintf(last, sizeof last, "%s last", stage_classes[kind]);
        m->stage[PP_STAGE_FIRST][kind] = find(m, first, false);
        m->stage[PP_STAGE_MIDDLE][kind] = find(m, stage_classes[kind], false);
        m->stage[PP_STAGE_LAST][kind] = find(m, last, false);
        if (!numbered)
            continue;
        while (find_numbered(m, kind, count) != PP_ENTRY_NONE)
            count++;
        m->stage[PP_STAGE_FIRST][kind] = find_fitted(m, kind, 0);
        m->stage[PP_STAGE_MIDDLE][kind] = find_fitted(m, kind, count ? (count - 1) / 2 : 0);
        m->stage[PP_STAGE_LAST][kind] = find_fitted(m, kind, count ? count - 1 : 0);
    }
}

size_t pp_entry_family(const pp_profile *profile, size_t entry)
{
    const pp_profile_entry *e = &profile->entry[entry];
    const size_t bytes = strcspn(e->class_name, " ");
    size_t first = 0;
    while (strncmp(profile->entry[first].class_name, e->class_name, bytes) != 0 ||
           strcspn(profile->entry[first].class_name, " ") != bytes ||
           profile->entry[first].spans != e->spans)
        first++;
    return first;
}

/* Returns the settings, from "layers=" on, in the source of the series that the probe of compute
 * cpu made, or NULL if there is none. */
static const char *probe_source(const pp_profile *profile)
{
    for (size_t i = 0; i < profile->samples.count; i++) {
        const char *source = profile->samples.series[i].source;
        const char *layers = strstr(source, "layers=");
        if (strncmp(source, PROBE, strlen(PROBE)) == 0 && layers)
            return layers;
    }
    return NULL;
}

static pp_status find_layers(pp_measured_profile *m, int64_t layers, pp_err *err)
{
    const char *source = probe_source(m->profile);
    int64_t probed = source ? strtol(source + strlen("layers="), NULL, 10) : 0;
    probed = probed > 0 && probed <= PP_MODEL_LAYERS_MAX ? probed : 0;
    if (probed > 0 && layers && layers != probed)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_PROFILE_LAYERS),
                          "the probe measured stages of %" PRId64 " layers; leave this option out",
                          probed);
    m->layers = layers ? layers : probed;
    if (m->layers > 0)
        return PP_OK;
    m->layers = 1;
    const size_t stage = m->stage[PP_STAGE_MIDDLE][0];
    if (stage == PP_ENTRY_NONE)
        return PP_OK;
    return pp_err_set(
        err, PP_USAGE, pp_err_name(err, PP_FIELD_PROFILE_LAYERS),
        "is missing: the profile has times of whole stages (%s), but not their number of layers",
        m->profile->entry[stage].class_name);
}

static bool host_timed(const pp_profile *profile, const pp_profile_entry *entry)
{
    const char *source = profile->samples.series[entry->series[0]].source;
    return strncmp(source, PP_SOURCE_HOST, strlen(PP_SOURCE_HOST)) == 0 ||
           strncmp(source, PROBE, strlen(PROBE)) == 0;
}

void pp_measured_settings(const pp_profile *profile, char *settings_out, size_t size)
{
    const char *source = probe_source(profile);
    const char *comma = source ? strchr(source, ',') : NULL;
    snprintf(settings_out, size, "%s", comma ? comma + 1 : "");
}

pp_status pp_measured_open(const pp_profile *profile, pp_profile_part part, int64_t layers,
                           pp_measured_profile **measured_out, pp_err *err)
{
    char lacks[128];
    pp_measured_profile *m PP_CLEANUP(pp_measured_close) = pp_alloc_array(1, sizeof *m);
    if (!m)
        return pp_err_nomem(err);
    *m = (pp_measured_profile){ .measured = { .ask = ask, .context = m },
                                .profile = profile,
                                .part = part,
                                .use = pp_alloc_array(profile->count + 1, sizeof *m->use),
                                .moved = PP_ENTRY_NONE };
    if (!m->use)
        return pp_err_nomem(err);
    find_stages(m);
    find_attention(m);
    m->measured.holds_gap = pp_measured_has_stages(m, lacks, sizeof lacks) &&
                            host_timed(profile, &profile->entry[m->stage[PP_STAGE_MIDDLE][0]]);
    pp_status status = find_layers(m, layers, err);
    if (status)
        return status;
    *measured_out = m;
    m = NULL;
    return PP_OK;
}

void pp_measured_close(pp_measured_profile **measured)
{
    pp_measured_profile *m = *measured;
    if (!m)
        return;
    free(m->use);
    free(m);
    *measured = NULL;
}

void pp_measured_forget(pp_measured_profile *measured)
{
    memset(measured->use, 0, measured->profile->count * sizeof *measured->use);
    measured->lacked = measured->experts_lacked = 0;
}

void pp_measured_move(pp_measured_profile *measured, size_t entry, int towards)
{
    measured->moved = entry;
    measured->towards = towards;
}

bool pp_measured_has_stages(const pp_measured_profile *measured, char *text, size_t size)
{
    const size_t *has = measured->stage[PP_STAGE_MIDDLE];
    const bool forward = has[0] != PP_ENTRY_NONE;
    const bool backward = has[3] != PP_ENTRY_NONE || pp_measured_splits(measured);
    snprintf(text, size, "%s%s%s", forward ? "" : "stage_f", forward || backward ? "" : ", ",
             backward ? "" : "stage_b (or stage_i and stage_w)");
    return forward && backward;
}

bool pp_measured_splits(const pp_measured_profile *measured)
{
    const size_t *has = measured->stage[PP_STAGE_MIDDLE];
    return has[1] != PP_ENTRY_NONE && has[2] != PP_ENTRY_NONE;
}

const char *pp_entry_name(const pp_profile *profile, size_t entry, char *buffer, size_t size)
{
    const pp_profile_entry *e = &profile->entry[entry];
    snprintf(buffer, size, "%s%s", e->class_name, e->spans ? " between nodes" : "");
    return buffer;
}
