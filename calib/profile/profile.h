/* What a machine's kernels and links take: samples, the forms fitted to them, and where they come
 * from. "format":"ppsim.profile"; docs/calibration.md and docs/formats.md. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_H
#define PPSIM_CALIB_PROFILE_PROFILE_H

#include "calib/fit/fit_series.h"
#include "calib/probe/calibrate.h"
#include "calib/profile/interference.h"
#include "calib/samples/environment.h"
#include "sim/base/text.h"

/* One curve: the series of one class that are of one kind. Links inside a node and between nodes
 * are two kinds, warm and cold caches too. */
typedef struct pp_profile_entry {
    char class_name[64]; /* as in pp_series */
    bool link, cold;
    bool spans;     /* of links: more than one node */
    size_t *series; /* [series_count], into pp_profile.samples */
    size_t series_count;
    bool fitted;      /* otherwise `reason` says why not, and choice holds nothing */
    char reason[256]; /* of one that was not fitted */
    pp_fit_choice choice;
} pp_profile_entry;

/* Owner frees with pp_profile_free. */
typedef struct pp_profile {
    pp_samples samples;
    pp_profile_entry *entry; /* kernels first, then links, each by class */
    size_t count;
    int sm_count;               /* that waves were fitted with; 0: not known */
    bool measured;              /* by probes here: environment and notes hold something */
    bool interrupted;           /* the probes were */
    uint32_t unfinished;        /* bits by pp_probe_at; 0 though interrupted: not known which */
    pp_environment environment; /* of the probes */
    pp_gpu_states gpus;         /*   "   */
    pp_series_note *note;       /* [note_count]: what probes say of their series */
    size_t note_count;
    pp_interference interference; /* NaN: not known */
    char sha256[65];              /* of the file without this line */
} pp_profile;

/* Told of every class before it is fitted. */
typedef struct pp_profile_watch {
    void (*fitting)(void *context, const char *class_name, size_t done, size_t total);
    void *context;
    const volatile sig_atomic_t
        *stop; /* not 0: what is not fitted yet stays so; NULL: nobody can */
} pp_profile_watch;

/* Fits every class of `samples`, which move into the profile; they stay with the caller when it
 * fails. A class that no form fits is kept with its reason. calibration NULL: nothing was measured
 * here; its notes move too. options NULL: nothing is known. watch NULL: nobody watches.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_make(pp_samples *samples, pp_calibration *calibration,
                                        const pp_fit_options *options,
                                        const pp_profile_watch *watch, pp_profile **profile_out,
                                        pp_err *err);
/* What the interrupted run `before` knew besides samples goes into a calibration that went on with
 * these probes: notes of series that were not measured now, probes that were not asked for again.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_carry(const pp_profile *before, const char *const *names,
                                         pp_calibration *calibration, pp_err *err);
void pp_profile_free(pp_profile **profile); /* for PP_CLEANUP; *profile NULL is fine */

/* Makes the entries of the samples that `profile` holds; none of them is fitted. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_group(pp_profile *profile, pp_err *err);

/* The fitted entry of this class, caches warm. spans: of links only. NULL: there is none. */
const pp_profile_entry *pp_profile_find(const pp_profile *profile, const char *class_name,
                                        bool spans);
/* Samples of this class that are of its kind (warm or cold). Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_samples(const pp_profile *profile, const pp_profile_entry *entry,
                                           pp_samples *samples_out, pp_err *err);

#endif
