/* A profile that answers the questions of the cost model (sim/job/measured.h) and records them. */
#ifndef PPSIM_CALIB_PROFILE_MEASURED_H
#define PPSIM_CALIB_PROFILE_MEASURED_H

#include "calib/profile/profile.h"
#include "sim/analysis/report.h"
#include "sim/job/measured.h"

#define PP_ENTRY_NONE SIZE_MAX

/* Keys of the notes that are also printed as warnings. */
#define PP_NOTE_OUTSIDE "outside what was measured"
#define PP_NOTE_REFUSED "measured, but gives no answer"
#define PP_NOTE_UNEQUAL "stages of unequal layers"

typedef enum pp_profile_part {
    PP_PROFILE_ALL,
    PP_PROFILE_KERNELS, /* everything except links */
    PP_PROFILE_LINKS,
} pp_profile_part;

/* The position in the pipeline of the stage that was measured. */
enum { PP_STAGE_FIRST, PP_STAGE_MIDDLE, PP_STAGE_LAST };

/* What the cost model asked of one entry of the profile. */
typedef struct pp_entry_use {
    uint64_t asked;         /* number of answers */
    uint64_t outside;       /* number of answers for which a variable was outside its domain */
    char variable[16];      /* the variable that was farthest outside */
    double at, low, high;   /* its value, and the range in which it was measured */
    double end_s, middle_s; /* forward times of this end and of a middle stage, if the end is faster
                               by half a layer or more, at the largest difference; else 0 */
    char refusal[160];      /* why it could not answer; "": it could */
} pp_entry_use;

/* Returns the ratio, above 1, by which the variable is outside the range that was measured. */
double pp_use_distance(const pp_entry_use *use);

/* The owner frees it with pp_measured_close. Not thread-safe, since every question changes `use`.
 */
typedef struct pp_measured_profile {
    pp_measured measured; /* its context is this object */
    const pp_profile *profile;
    pp_profile_part part;
    int64_t layers;      /* layers of a stage that was measured */
    size_t stage[3][4];  /* entries by PP_STAGE_FIRST, ... and F, I, W, B, or PP_ENTRY_NONE */
    size_t attention[2]; /* entries of forward and backward, from one source, or PP_ENTRY_NONE */
    pp_entry_use *use;   /* [profile->count] */
    unsigned lacked;     /* bits by pp_measured_kind of the questions without an answer */
    unsigned experts_lacked; /* those of experts together: single products answer in their place */
    size_t moved; /* the family of this entry answers with a bound of its 95 % interval */
    int towards;  /* negative: the lower bound; positive: the upper bound; 0: neither */
} pp_measured_profile;

/* Makes the part `part` of the profile answer questions. `profile` is retained. `layers` is the
 * number of layers in each measured stage; 0: as the probe of compute cpu recorded.
 * Fails: USAGE (`layers` is needed, or contradicts the profile), NOMEM. */
PP_MUST_CHECK pp_status pp_measured_open(const pp_profile *profile, pp_profile_part part,
                                         int64_t layers, pp_measured_profile **measured_out,
                                         pp_err *err);
void pp_measured_close(pp_measured_profile **measured); /* for PP_CLEANUP; accepts *measured NULL */

/* Clears what was recorded about earlier questions. */
void pp_measured_forget(pp_measured_profile *measured);
/* From now on the family of `entry` answers with a bound of its interval; PP_ENTRY_NONE: no family
 * does. */
void pp_measured_move(pp_measured_profile *measured, size_t entry, int towards);

/* Returns true if the profile has stage times for F and for a backward (B, or I and W). Otherwise
 * it writes the missing classes to `text`. */
bool pp_measured_has_stages(const pp_measured_profile *measured, char *text, size_t size);

/* Returns true if the profile has times of I and of W. */
bool pp_measured_splits(const pp_measured_profile *measured);

/* Writes the settings of compute cpu with which stages were measured, or "" if they are unknown. */
void pp_measured_settings(const pp_profile *profile, char *settings_out, size_t size);

/* Returns the first entry of the family of `entry`. Classes with the same first word (stage_f and
 * stage_f first) are a family: they were measured in the same way, so their errors are correlated.
 */
size_t pp_entry_family(const pp_profile *profile, size_t entry);

/* Writes the name that users see, such as "send_recv between nodes", and returns `buffer`. */
const char *pp_entry_name(const pp_profile *profile, size_t entry, char *buffer, size_t size);

#endif
