/* A profile of a machine: the measured times of its kernels and links, the forms fitted to them,
 * and their origin. Files have "format":"ppsim.profile"; see docs/explanation/calibration.md and
 * docs/reference/formats.md. */
#ifndef PPSIM_CALIB_PROFILE_PROFILE_H
#define PPSIM_CALIB_PROFILE_PROFILE_H

#include "calib/fit/fit_series.h"
#include "calib/probe/calibrate.h"
#include "calib/profile/interference.h"
#include "calib/samples/environment.h"
#include "sim/base/text.h"

/* One curve: the series of one class and kind. Links inside a node and links between nodes are
 * different kinds, and so are warm and cold caches. */
typedef struct pp_profile_entry {
    char class_name[64]; /* as in pp_series */
    bool link, cold;
    bool spans;     /* a link between nodes */
    size_t *series; /* [series_count], into pp_profile.samples */
    size_t series_count;
    bool fitted;      /* otherwise `choice` is empty */
    char reason[256]; /* why it was not fitted; "" if it was */
    pp_fit_choice choice;
} pp_profile_entry;

/* The owner frees it with pp_profile_free. */
typedef struct pp_profile {
    pp_samples samples;
    pp_profile_entry *entry; /* kernels first, then links, each by class */
    size_t count;
    int sm_count;               /* SMs of the GPU, for the form `wave`; 0: not known */
    bool measured;              /* by probes on this machine: environment, gpus and note are set */
    bool interrupted;           /* the probes were interrupted */
    uint32_t unfinished;        /* bits by pp_probe_at; if interrupted, 0 means unknown */
    pp_environment environment; /* where the probes ran */
    pp_gpu_states gpus;         /* before and after probes on GPUs */
    pp_series_note *note;       /* [note_count]: the quality of measured series */
    size_t note_count;
    pp_interference interference; /* NaN: not measured */
    char sha256[65];              /* hash of the file without this line, in hexadecimal */
} pp_profile;

/* Progress of pp_profile_make. */
typedef struct pp_profile_watch {
    /* Called before each class is fitted; NULL: no callback. */
    void (*fitting)(void *context, const char *class_name, size_t done, size_t total);
    void *context;
    /* Not 0: the remaining classes are not fitted; NULL: never. */
    const volatile sig_atomic_t *stop;
} pp_profile_watch;

/* Fits every class of `samples` and makes a profile of them. A class that no form fits is kept with
 * the reason. On success `samples` and the notes of `calibration` move into the profile; on failure
 * they stay with the caller. `calibration` is NULL if nothing was measured on this machine;
 * `options` and `watch` may be NULL. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_make(pp_samples *samples, pp_calibration *calibration,
                                        const pp_fit_options *options,
                                        const pp_profile_watch *watch, pp_profile **profile_out,
                                        pp_err *err);
/* Merges everything but samples of the interrupted run `before` into the calibration that resumed
 * it with the probes `names`: notes of series that were not measured this time, states of GPUs, and
 * unfinished probes that were not asked for again. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_carry(const pp_profile *before, const char *const *names,
                                         pp_calibration *calibration, pp_err *err);
void pp_profile_free(pp_profile **profile); /* for PP_CLEANUP; accepts *profile NULL */

/* Makes the entries of profile->samples, none of which is fitted. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_group(pp_profile *profile, pp_err *err);

/* Returns the fitted entry of this class with warm caches, or NULL. `spans` selects links between
 * nodes and does not matter for kernels. */
const pp_profile_entry *pp_profile_find(const pp_profile *profile, const char *class_name,
                                        bool spans);
/* Copies the samples of an entry. The caller frees them with pp_samples_free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_samples(const pp_profile *profile, const pp_profile_entry *entry,
                                           pp_samples *samples_out, pp_err *err);

#endif
