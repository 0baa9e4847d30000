/* What a machine's kernels and links take: samples, the forms fitted to them, and where they come
 * from. "format":"ppsim.profile"; docs/calibration.md and docs/formats.md. */
#ifndef PPSIM_CALIB_PROFILE_H
#define PPSIM_CALIB_PROFILE_H

#include "calib/environment.h"
#include "calib/fit_series.h"
#include "calib/probes.h"
#include "sim/text.h"

/* One curve: the series of one class that are of one kind. Links within a node and between nodes
 * are two kinds, warm and cold caches too. */
typedef struct pp_profile_entry {
    char class_name[64]; /* as in pp_series */
    bool link, cold;
    size_t *series; /* [series_count], into pp_profile.samples */
    size_t series_count;
    bool fitted; /* otherwise `reason` says why not, and choice holds nothing */
    char reason[256];
    pp_fit_choice choice;
} pp_profile_entry;

/* Owner frees with pp_profile_free. */
typedef struct pp_profile {
    pp_samples samples;
    pp_profile_entry *entry; /* kernels first, then links, each by class */
    size_t count;
    pp_environment environment; /* of the probes; cpu "" where nothing was measured here */
    pp_series_note *note;       /* [note_count]: what probes say of their series */
    size_t note_count;
    pp_interference interference; /* NaN: not known */
    char sha256[65];              /* of all the above as written, without this line */
} pp_profile;

/* Fits every class of `samples`, which move into the profile (also on failure they are freed with
 * it). A class that no form fits is kept with its reason. calibration NULL: nothing was measured
 * here. options NULL: nothing is known. progress: told the class before it is fitted; may be NULL.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_profile_make(pp_samples *samples, const pp_calibration *calibration,
                                        const pp_fit_options *options,
                                        void (*progress)(void *context, const char *class_name),
                                        void *context, pp_profile **profile_out, pp_err *err);
void pp_profile_free(pp_profile **profile); /* for PP_CLEANUP; *profile NULL is fine */

/* A file of ours. What it says is taken as it stands; nothing is fitted again.
 * Fails: INPUT with file and JSON pointer (also where sha256 is not that of the rest), NOMEM. */
PP_MUST_CHECK pp_status pp_profile_parse(const char *text, size_t bytes, const char *file,
                                         pp_profile **profile_out, pp_err *err);
/* The text that pp_profile_parse reads; the same profile gives the same bytes. */
PP_MUST_CHECK pp_status pp_profile_write(const pp_profile *profile, pp_text *text, pp_err *err);

/* The entry of this class that fits best: of a communicator that spans nodes or does not, warm.
 * spans: of links only. NULL: none was fitted. */
const pp_profile_entry *pp_profile_find(const pp_profile *profile, const char *class_name,
                                        bool spans);

#endif
