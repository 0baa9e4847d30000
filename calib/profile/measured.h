/* A profile that answers the cost model (sim/job/measured.h), and what was asked of it. */
#ifndef PPSIM_CALIB_PROFILE_MEASURED_H
#define PPSIM_CALIB_PROFILE_MEASURED_H

#include "calib/profile/profile.h"
#include "sim/analysis/report.h"
#include "sim/job/measured.h"

#define PP_ENTRY_NONE SIZE_MAX

/* Notes that are warnings too. */
#define PP_NOTE_OUTSIDE "outside what was measured"
#define PP_NOTE_REFUSED "measured, but gives no answer"
#define PP_NOTE_UNEQUAL "stages of unequal layers"

typedef enum pp_profile_part {
    PP_PROFILE_ALL,
    PP_PROFILE_KERNELS, /* all that is no link */
    PP_PROFILE_LINKS,
} pp_profile_part;

/* Which stage an entry was measured of. */
enum { PP_STAGE_FIRST, PP_STAGE_MIDDLE, PP_STAGE_LAST };

/* What was asked of one entry of the profile. */
typedef struct pp_entry_use {
    uint64_t asked;
    uint64_t outside;       /* how often a variable had left its domain */
    char variable[16];      /* which: of the farthest time */
    double at, low, high;   /* of it: asked for, and measured from where to where */
    double end_s, middle_s; /* of an end whose forward is at least half a layer shorter than that of
                               a stage in the middle: both, where they differ most */
    char refusal[160];      /* why it could not answer; "": it could */
} pp_entry_use;

/* How many times as far as the nearer end of what was measured. */
double pp_use_distance(const pp_entry_use *use);

/* Owner frees with pp_measured_close. Used by one thread at a time: asking changes `use`. */
typedef struct pp_measured_profile {
    pp_measured measured; /* its context is this object */
    const pp_profile *profile;
    pp_profile_part part;
    int64_t layers;      /* that a measured stage held */
    size_t stage[3][4];  /* entries by PP_STAGE_FIRST, ... and F, I, W, B; PP_ENTRY_NONE: not
                            measured */
    size_t attention[2]; /* forward and backward, likewise; of one source */
    pp_entry_use *use;   /* [profile->count] */
    unsigned lacked;     /* bits of pp_measured_kind that got no answer */
    size_t moved;        /* its family answers with an end of its 95 % interval */
    int towards;         /* negative: the lower end, positive: the upper one */
} pp_measured_profile;

/* profile: is kept.  layers: that a measured stage held; 0: what the probe of compute cpu says of
 * its own. Fails: USAGE (--profile-layers is needed), NOMEM. */
PP_MUST_CHECK pp_status pp_measured_open(const pp_profile *profile, pp_profile_part part,
                                         int64_t layers, pp_measured_profile **measured_out,
                                         pp_err *err);
void pp_measured_close(pp_measured_profile **measured); /* for PP_CLEANUP; NULL inside is fine */

/* Forgets what was asked until now. */
void pp_measured_forget(pp_measured_profile *measured);
/* entry PP_ENTRY_NONE: all answer as fitted. */
void pp_measured_move(pp_measured_profile *measured, size_t entry, int towards);

/* Are there times of F and of a backward? Otherwise `text` gets the classes that lack. */
bool pp_measured_has_stages(const pp_measured_profile *measured, char *text, size_t size);

/* Are there times of I and of W? */
bool pp_measured_splits(const pp_measured_profile *measured);

/* --compute-settings that compute cpu was measured with; "": it was not, or they are not known. */
void pp_measured_settings(const pp_profile *profile, char *settings_out, size_t size);

/* Classes that differ in what stands behind the first word are one family (stage_f, stage_f first):
 * they were measured alike and err alike. The first entry of it. */
size_t pp_entry_family(const pp_profile *profile, size_t entry);

/* "stage_f", "send_recv between nodes". Returns buffer. */
const char *pp_entry_name(const pp_profile *profile, size_t entry, char *buffer, size_t size);

#endif
