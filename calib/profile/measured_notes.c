/* Composes the notes of a plan about its profile: what was measured, what was taken from elsewhere,
 * and which answers were extrapolated or missing. */
#include "calib/profile/measured_notes.h"

#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOTE_PROFILE "profile"
#define NOTE_STAGES "measured stages"
#define NOTE_HALVES "I and W"
#define NOTE_GAP "host gap"
#define NOTE_REST "not in the profile"

/* Names for kinds of questions that got no answer. */
static const char *const kinds[] = {
    [PP_MEASURED_FIRST] = "embedding",
    [PP_MEASURED_LAST] = "head and loss",
    [PP_MEASURED_GEMM_FWD] = "products",
    [PP_MEASURED_GEMM_DGRAD] = NULL,
    [PP_MEASURED_GEMM_WGRAD] = NULL,
    [PP_MEASURED_ATTENTION_FWD] = "attention",
    [PP_MEASURED_ATTENTION_BWD] = NULL,
    [PP_MEASURED_QUANTIZE] = "quantization",
    [PP_MEASURED_QUANTIZE_CURRENT] = "quantization",
    [PP_MEASURED_MESSAGE] = "transfers",
    [PP_MEASURED_ALL_REDUCE] = "all-reduce",
    [PP_MEASURED_ALL_GATHER] = "all-gather",
    [PP_MEASURED_REDUCE_SCATTER] = "reduce-scatter",
    [PP_MEASURED_ALL_TO_ALL] = "all-to-all",
};

static pp_status note_used(const pp_measured_profile *m, pp_notes *notes, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    char name[96];
    size_t used = 0;
    for (size_t i = 0; i < m->profile->count; i++) {
        const pp_fit *fit = &m->profile->entry[i].choice.fit;
        if (m->use[i].asked)
            pp_text_add(&text, "%s%s (%s, %.1f %%)", used++ ? ", " : "",
                        pp_entry_name(m->profile, i, name, sizeof name), fit->form->name,
                        100 * fit->cv_mape);
    }
    pp_status status = pp_text_check(&text, err);
    return status ? status
                  : pp_notes_add(notes, err, NOTE_PROFILE, "%.16s: %s", m->profile->sha256,
                                 used ? text.data : "none of its classes was usable");
}

static bool was_asked(const pp_measured_profile *m, int op)
{
    const size_t entry = m->stage[PP_STAGE_MIDDLE][op];
    return entry != PP_ENTRY_NONE && m->use[entry].asked;
}

static pp_status note_stages(const pp_measured_profile *m, const char *hardware, pp_notes *notes,
                             pp_err *err)
{
    pp_status status = PP_OK;
    char settings[128];
    const bool split = was_asked(m, PP_OP_I) && was_asked(m, PP_OP_W);
    if (!was_asked(m, PP_OP_F) || !(split || was_asked(m, PP_OP_B)))
        return PP_OK;
    pp_measured_settings(m->profile, settings, sizeof settings);
    status = pp_notes_add(
        notes, err, NOTE_STAGES,
        "of %" PRId64 " layer%s each, split and recomputed as in the measurement%s", m->layers,
        m->layers == 1 ? "" : "s", settings[0] ? "" : "; the profile does not name their model");
    if (!status && !split)
        status =
            pp_notes_add(notes, err, NOTE_HALVES, "half of B each, because only B was measured");
    if (!status && hardware)
        status =
            m->measured.holds_gap
                ? pp_notes_add(notes, err, NOTE_GAP,
                               "included in the times, which were measured on the host")
                : pp_notes_add(notes, err, NOTE_GAP,
                               "that of %s, added to the times, which were measured on the device",
                               hardware);
    return status;
}

static pp_status note_rest(const pp_measured_profile *m, const char *hardware, pp_notes *notes,
                           pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (kinds[k] && m->lacked >> k & 1)
            pp_text_add(&text, "%s, ", kinds[k]);
    }
    pp_status status = pp_text_check(&text, err);
    if (status)
        return status;
    if (hardware)
        return pp_notes_add(notes, err, NOTE_REST, "%sthe rest: as in %s",
                            text.data ? text.data : "", hardware);
    return pp_notes_add(notes, err, NOTE_REST,
                        "%soptimizer: they take no time (add %s to model them)",
                        text.data ? text.data : "", pp_err_name(err, PP_FIELD_HARDWARE));
}

/* Returns a bit mask of the kinds (pp_measured_kind) for which this class has entries. */
static unsigned kinds_of(const char *class_name)
{
    static const struct {
        const char *word;
        pp_measured_kind kind;
    } words[] = {
        { "gemm_fwd", PP_MEASURED_GEMM_FWD },
        { "linear_fwd", PP_MEASURED_GEMM_FWD },
        { "gemm_dgrad", PP_MEASURED_GEMM_DGRAD },
        { "gemm_wgrad", PP_MEASURED_GEMM_WGRAD },
        { "attn_fwd", PP_MEASURED_ATTENTION_FWD },
        { "attn_bwd", PP_MEASURED_ATTENTION_BWD },
        { "quantize_fp8", PP_MEASURED_QUANTIZE },
        { "quantize_fp8_current", PP_MEASURED_QUANTIZE_CURRENT },
        { "send_recv", PP_MEASURED_MESSAGE },
        { "sendrecv", PP_MEASURED_MESSAGE },
        { "thread_link", PP_MEASURED_MESSAGE },
        { "mpi_link", PP_MEASURED_MESSAGE },
        { "all_reduce", PP_MEASURED_ALL_REDUCE },
        { "all_gather", PP_MEASURED_ALL_GATHER },
        { "reduce_scatter", PP_MEASURED_REDUCE_SCATTER },
        { "all_to_all", PP_MEASURED_ALL_TO_ALL },
    };
    const bool product = strncmp(class_name, "gemm_", 5) == 0; /* "gemm_fwd_fp8": as gemm_fwd */
    const size_t bytes = product ? 5 + strcspn(class_name + 5, "_ ") : strcspn(class_name, " ");
    if (strncmp(class_name, "stage_", 6) == 0)
        return (1u << PP_MEASURED_STAGES) - 1;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(class_name, words[i].word, bytes) == 0 && words[i].word[bytes] == '\0')
            return 1u << words[i].kind;
    }
    return 0;
}

static bool was_attention_asked(const pp_measured_profile *m)
{
    bool asked = false;
    for (size_t i = 0; i < 2; i++)
        asked |= m->attention[i] != PP_ENTRY_NONE && m->use[m->attention[i]].asked;
    return asked;
}

/* Returns true if the entry would have been asked, had a form been fitted to it. For attention,
 * another source may have answered in its place. */
static bool lacks_a_form(const pp_measured_profile *m, const pp_profile_entry *e)
{
    const bool first =
        strcmp(e->class_name, "attn_fwd") == 0 || strcmp(e->class_name, "attn_bwd") == 0;
    const unsigned lacked = strstr(e->class_name, "_grouped") ? m->experts_lacked : m->lacked;
    return !e->fitted && !e->cold &&
           ((lacked & kinds_of(e->class_name)) != 0 || (first && was_attention_asked(m))) &&
           (m->part == PP_PROFILE_ALL || e->link == (m->part == PP_PROFILE_LINKS));
}

/* Describes the class that was asked farthest outside its domain, and names the others. */
static pp_status note_outside(const pp_measured_profile *m, pp_notes *notes, pp_err *err)
{
    pp_text others PP_CLEANUP(pp_text_free) = { 0 };
    char name[96];
    size_t farthest = PP_ENTRY_NONE;
    size_t count = 0;
    for (size_t i = 0; i < m->profile->count; i++) {
        if (m->use[i].outside && (farthest == PP_ENTRY_NONE ||
                                  pp_use_distance(&m->use[i]) > pp_use_distance(&m->use[farthest])))
            farthest = i;
    }
    for (size_t i = 0; i < m->profile->count; i++) {
        if (m->use[i].outside && i != farthest)
            pp_text_add(&others, "%s%s", count++ ? ", " : "",
                        pp_entry_name(m->profile, i, name, sizeof name));
    }
    pp_status status = pp_text_check(&others, err);
    if (status || farthest == PP_ENTRY_NONE)
        return status;
    const pp_entry_use *use = &m->use[farthest];
    pp_entry_name(m->profile, farthest, name, sizeof name);
    if (!count)
        return pp_notes_add(notes, err, PP_NOTE_OUTSIDE, "%s: %s %.6g, measured from %.6g to %.6g",
                            name, use->variable, use->at, use->low, use->high);
    return pp_notes_add(notes, err, PP_NOTE_OUTSIDE,
                        "%s: %s %.6g, measured from %.6g to %.6g; and %zu more: %s", name,
                        use->variable, use->at, use->low, use->high, count, others.data);
}

static pp_status note_refused(const pp_measured_profile *m, pp_notes *notes, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    char name[96];
    for (size_t i = 0; i < m->profile->count; i++) {
        const bool no_form = lacks_a_form(m, &m->profile->entry[i]);
        if (no_form || m->use[i].refusal[0])
            pp_text_add(&text, "%s%s: %s%s", text.bytes ? "; " : "",
                        pp_entry_name(m->profile, i, name, sizeof name),
                        no_form ? "not fitted, " : "",
                        no_form ? m->profile->entry[i].reason : m->use[i].refusal);
    }
    pp_status status = pp_text_check(&text, err);
    return status || !text.bytes ? status
                                 : pp_notes_add(notes, err, PP_NOTE_REFUSED, "%s", text.data);
}

static pp_status note_unequal(const pp_measured_profile *m, pp_notes *notes, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    char end[96];
    char middle[96];
    for (size_t i = 0; i < m->profile->count; i++) {
        const pp_entry_use *use = &m->use[i];
        if (use->middle_s > 0)
            pp_text_add(
                &text, "%s takes %.3g ms, %s %.3g ms; ",
                pp_entry_name(m->profile, i, end, sizeof end), 1e3 * use->end_s,
                pp_entry_name(m->profile, m->stage[PP_STAGE_MIDDLE][0], middle, sizeof middle),
                1e3 * use->middle_s);
    }
    pp_status status = pp_text_check(&text, err);
    return status || !text.bytes
               ? status
               : pp_notes_add(notes, err, PP_NOTE_UNEQUAL,
                              "%stimes are wrong if stages were measured with different "
                              "numbers of layers; measure equal ones",
                              text.data);
}

pp_status pp_measured_notes(const pp_measured_profile *measured, const char *hardware,
                            pp_notes *notes, pp_err *err)
{
    static const char *const keys[] = { NOTE_PROFILE,    NOTE_STAGES,    NOTE_HALVES,
                                        NOTE_GAP,        NOTE_REST,      PP_NOTE_UNEQUAL,
                                        PP_NOTE_OUTSIDE, PP_NOTE_REFUSED };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        pp_notes_drop(notes, keys[i]);
    pp_status status = note_used(measured, notes, err);
    if (!status)
        status = note_stages(measured, hardware, notes, err);
    if (!status)
        status = note_rest(measured, hardware, notes, err);
    if (!status)
        status = note_unequal(measured, notes, err);
    if (!status)
        status = note_outside(measured, notes, err);
    return status ? status : note_refused(measured, notes, err);
}
