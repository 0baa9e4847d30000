/* Pairs the files that are compared. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_FILES_H
#define PPSIM_TOOLS_PPSIM_COMPARE_FILES_H

#include "tools/ppsim/compare/quantities.h"

/* Two files to compare, the base and the new one. One of them may be missing. */
typedef struct pp_compare_pair {
    char *name; /* printable */
    char *base_path, *new_path;
    pp_compare_file base, now;
    bool has_base, has_now;
} pp_compare_pair;

typedef struct pp_compare_pairs {
    pp_compare_pair *pair;
    size_t count, capacity;
    bool folders;
    char platform[128]; /* folder below the baseline: named after this machine, or as given */
    bool platform_given;
} pp_compare_pairs;

void pp_compare_pairs_free(pp_compare_pairs *pairs); /* for PP_CLEANUP */
/* Pairs two files, or the files of two folders. Fails: USAGE (a file and a folder; empty folders),
 * IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_compare_pair_up(const char *base, const char *now,
                                           pp_compare_pairs *pairs, pp_err *err);
/* Pairs the file or folder `now` with its baseline below `folder`. When `platform` is NULL, the
 * folder of this machine is used. Fails: as pp_compare_pair_up; UNAVAILABLE when no file has a
 * baseline, unless `refresh` is set. */
PP_MUST_CHECK pp_status pp_compare_pair_baseline(const char *folder, const char *now,
                                                 const char *platform, bool refresh,
                                                 pp_compare_pairs *pairs, pp_err *err);
/* Makes the new files the baseline and removes files from it that have no new one. Fails: IO,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_compare_refresh(pp_compare_pairs *pairs, pp_err *err);

#endif
