/* Finds which files are compared with which: two files, the files of two folders by relative
 * path, or a file or folder and its baseline for this machine. */
#include "tools/ppsim/compare/files.h"

#include "calib/samples/environment.h"
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/compare/read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 32
#define SIMULATED "simulated"

typedef struct names {
    char **name; /* relative, sorted */
    size_t count, capacity;
} names;

static void free_names(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

void pp_compare_pairs_free(pp_compare_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        pp_compare_pair *pair = &pairs->pair[i];
        free(pair->name);
        free(pair->base_path);
        free(pair->new_path);
        pp_compare_file_free(&pair->base);
        pp_compare_file_free(&pair->now);
    }
    free(pairs->pair);
    *pairs = (pp_compare_pairs){ 0 };
}

static char *join(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s", folder, name);
    return path;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length > strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

static pp_status add_name(names *n, char *name, pp_err *err)
{
    void *all = n->name;
    pp_status status =
        name ? pp_grow(&all, &n->capacity, n->count + 1, sizeof *n->name, err) : pp_err_nomem(err);
    if (status) {
        free(name);
        return status;
    }
    n->name = all;
    n->name[n->count++] = name;
    return PP_OK;
}

/* Collects all .json and .json.gz files below root/below that are not hidden. */
static pp_status list_folder(const char *root, const char *below, int depth, names *n, pp_err *err)
{
    char *path PP_CLEANUP(pp_free_text) = *below ? join(root, below) : pp_copy_text(root);
    DIR *folder PP_CLEANUP(close_folder) = path ? opendir(path) : NULL;
    if (!path)
        return pp_err_nomem(err);
    if (!folder)
        return pp_err_set(err, PP_IO, path, "%s", strerror(errno));
    if (depth > DEPTH_MAX)
        return pp_err_set(err, PP_INPUT, path, "is nested more than %d folders deep", DEPTH_MAX);
    pp_status status = PP_OK;
    const struct dirent *entry;
    while (!status && (entry = readdir(folder))) {
        struct stat info;
        if (entry->d_name[0] == '.')
            continue;
        char *inner PP_CLEANUP(pp_free_text) =
            *below ? join(below, entry->d_name) : pp_copy_text(entry->d_name);
        char *full PP_CLEANUP(pp_free_text) = inner ? join(root, inner) : NULL;
        if (!full)
            return pp_err_nomem(err);
        if (stat(full, &info))
            return pp_err_set(err, PP_IO, full, "%s", strerror(errno));
        if (S_ISDIR(info.st_mode))
            status = list_folder(root, inner, depth + 1, n, err);
        else if (ends_with(inner, ".json") || ends_with(inner, ".json.gz"))
            status = add_name(n, pp_copy_text(inner), err);
    }
    return status;
}

static pp_status list(const char *folder, names *n, pp_err *err)
{
    pp_status status = list_folder(folder, "", 0, n, err);
    if (!status && n->count)
        qsort(n->name, n->count, sizeof *n->name, compare_names);
    return status;
}

static bool has_name(const names *n, const char *name)
{
    return n->count && bsearch(&name, n->name, n->count, sizeof *n->name, compare_names);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static pp_status read_one(const char *path, pp_compare_file *file, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_file_read(path, &text, &bytes, err);
    return status ? status : pp_compare_parse(text, bytes, path, file, err);
}

/* Adds a pair and reads its files. `base` and `now` are paths, or NULL if there is no file;
 * the pair takes them over, even on failure. In folders, a pair without a file of a known kind
 * counts as missing on both sides. */
static pp_status add_pair(const char *name, char *base, char *now, pp_compare_pairs *pairs,
                          pp_err *err)
{
    void *all = pairs->pair;
    pp_status status = pp_grow(&all, &pairs->capacity, pairs->count + 1, sizeof *pairs->pair, err);
    if (status) {
        free(base);
        free(now);
        return status;
    }
    pairs->pair = all;
    pp_compare_pair *pair = &pairs->pair[pairs->count++];
    *pair = (pp_compare_pair){ .name = pp_compare_printable(name),
                               .base_path = base,
                               .new_path = now,
                               .has_base = base != NULL,
                               .has_now = now != NULL };
    if (!pair->name)
        return pp_err_nomem(err);
    if ((base && (status = read_one(base, &pair->base, err))) ||
        (now && (status = read_one(now, &pair->now, err))))
        return status;
    bool foreign = (!base || pair->base.kind == PP_COMPARE_OTHER) &&
                   (!now || pair->now.kind == PP_COMPARE_OTHER);
    if (pairs->folders && foreign)
        pair->has_base = pair->has_now = false;
    return PP_OK;
}

static pp_status add_union(const char *base, const char *now, const names *a, const names *b,
                           pp_compare_pairs *pairs, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0, k = 0; !status && (i < a->count || k < b->count);) {
        int order = i == a->count ? 1 : k == b->count ? -1 : strcmp(a->name[i], b->name[k]);
        const char *name = order <= 0 ? a->name[i] : b->name[k];
        char *base_path = order <= 0 ? join(base, name) : NULL;
        char *new_path = order >= 0 ? join(now, name) : NULL;
        i += order <= 0;
        k += order >= 0;
        if ((order <= 0 && !base_path) || (order >= 0 && !new_path)) {
            free(base_path);
            free(new_path);
            return pp_err_nomem(err);
        }
        status = add_pair(name, base_path, new_path, pairs, err);
    }
    return status;
}

pp_status pp_compare_pair_up(const char *base, const char *now, pp_compare_pairs *pairs,
                             pp_err *err)
{
    names a PP_CLEANUP(free_names) = { 0 };
    names b PP_CLEANUP(free_names) = { 0 };
    pairs->folders = is_folder(base);
    if (pairs->folders != is_folder(now))
        return pp_err_set(err, PP_USAGE, NULL,
                          "%.200s is a %s, but %.200s is a %s; give two files or two folders", base,
                          pairs->folders ? "folder" : "file", now,
                          pairs->folders ? "file" : "folder");
    if (!pairs->folders) {
        char *paths[2] = { pp_copy_text(base), pp_copy_text(now) };
        if (paths[0] && paths[1])
            return add_pair(now, paths[0], paths[1], pairs, err);
        free(paths[0]);
        free(paths[1]);
        return pp_err_nomem(err);
    }
    pp_status status = list(base, &a, err);
    if (status || (status = list(now, &b, err)))
        return status;
    if (a.count + b.count == 0)
        return pp_err_set(err, PP_USAGE, base, "neither this folder nor %.200s has a .json file",
                          now);
    return add_union(base, now, &a, &b, pairs, err);
}

/* Turns the name of a machine into that of a folder: "amd-epyc-9b14-2-cores" for "AMD EPYC 9B14 2
 * cores". */
static void platform_key(const char *text, char *key, size_t size)
{
    size_t used = 0;
    for (const char *c = text; *c && used + 2 < size; c++) {
        if (isalnum((unsigned char)*c))
            key[used++] = (char)tolower((unsigned char)*c);
        else if (used && key[used - 1] != '-')
            key[used++] = '-';
    }
    key[used] = '\0';
}

static pp_status set_platform(const char *given, pp_compare_pairs *pairs, pp_err *err)
{
    pp_environment here;
    char text[sizeof here.cpu + 32];
    pairs->platform_given = given != NULL;
    if (!given) {
        pp_environment_look(&here);
        snprintf(text, sizeof text, "%s %d cores", here.cpu[0] ? here.cpu : "unknown",
                 (int)here.cores);
        platform_key(text, pairs->platform, sizeof pairs->platform);
        return PP_OK;
    }
    bool fits = *given && strlen(given) < sizeof pairs->platform && *given != '.';
    for (const char *c = given; *c && fits; c++)
        fits = isalnum((unsigned char)*c) || strchr("-_.+", *c);
    if (!fits || strcmp(given, SIMULATED) == 0)
        return pp_err_set(err, PP_USAGE, "--platform",
                          "'%.64s' is not a folder name; use letters, digits and - _ . + only",
                          given);
    snprintf(pairs->platform, sizeof pairs->platform, "%s", given);
    return PP_OK;
}

/* Finds the path of the last pair's baseline, and reads the file if it exists. A file that lies in
 * the folder itself, put there by hand, counts if there is none where --refresh keeps it. */
static pp_status find_baseline(const char *folder, const char *relative, pp_compare_pairs *pairs,
                               pp_err *err)
{
    pp_compare_pair *pair = &pairs->pair[pairs->count - 1];
    char own[sizeof pair->now.platform]; /* a profile holds the name of the machine that it was
                                            measured on */
    platform_key(pair->now.platform, own, sizeof own);
    const char *platform = *own && !pairs->platform_given ? own : pairs->platform;
    char *key PP_CLEANUP(pp_free_text) = join(folder, pair->now.measured ? platform : SIMULATED);
    if (!pair->has_now)
        return PP_OK;
    if (pair->now.kind == PP_COMPARE_OTHER)
        return pp_err_set(err, PP_USAGE, pair->now.name,
                          "is not a plan, report, timeline or profile");
    if (!key || !(pair->base_path = join(key, relative)))
        return pp_err_nomem(err);
    pair->has_base = access(pair->base_path, F_OK) == 0;
    char *by_hand = pair->has_base ? NULL : join(folder, relative);
    if (!pair->has_base && !by_hand)
        return pp_err_nomem(err);
    if (by_hand && access(by_hand, F_OK) == 0) {
        free(pair->base_path);
        pair->base_path = by_hand;
        pair->has_base = true;
    } else {
        free(by_hand);
    }
    return pair->has_base ? read_one(pair->base_path, &pair->base, err) : PP_OK;
}

/* Adds a pair for every baseline file that is not among the new files. key: a folder in `folder`,
 * or "" for the files in `folder` itself. */
static pp_status add_gone(const char *folder, const char *key, const names *now,
                          pp_compare_pairs *pairs, pp_err *err)
{
    names old PP_CLEANUP(free_names) = { 0 };
    char *below PP_CLEANUP(pp_free_text) = *key ? join(folder, key) : pp_copy_text(folder);
    if (!below)
        return pp_err_nomem(err);
    if (!is_folder(below))
        return PP_OK;
    pp_status status = list(below, &old, err);
    for (size_t i = 0; i < old.count && !status; i++) {
        const bool of_others = !*key && strchr(old.name[i], '/');
        char *path = of_others || has_name(now, old.name[i]) ? NULL : join(below, old.name[i]);
        if (path)
            status = add_pair(old.name[i], path, NULL, pairs, err);
    }
    return status;
}

static pp_status check_any(const char *folder, const char *now, const pp_compare_pairs *pairs,
                           pp_err *err)
{
    const pp_compare_pair *first = NULL;
    for (size_t i = 0; i < pairs->count; i++) {
        if (pairs->pair[i].has_base)
            return PP_OK;
        first = !first && pairs->pair[i].base_path ? &pairs->pair[i] : first;
    }
    const bool given = pairs->platform_given;
    return pp_err_set(err, PP_UNAVAILABLE, folder,
                      "nothing is recorded there for %.200s: there is neither %.300s nor "
                      "%.200s/%.200s; record it with 'ppsim compare --baseline %.200s %.200s%s%s "
                      "--refresh', or copy the old result there under that name",
                      now, first ? first->base_path : SIMULATED, folder,
                      first ? first->name : "a result", folder, now, given ? " --platform " : "",
                      given ? pairs->platform : "");
}

pp_status pp_compare_pair_baseline(const char *folder, const char *now, const char *platform,
                                   bool refresh, pp_compare_pairs *pairs, pp_err *err)
{
    names all PP_CLEANUP(free_names) = { 0 };
    const char *slash = strrchr(now, '/');
    pp_status status = set_platform(platform, pairs, err);
    pairs->folders = is_folder(now);
    if (status ||
        (status = pairs->folders ? list(now, &all, err)
                                 : add_name(&all, pp_copy_text(slash ? slash + 1 : now), err)))
        return status;
    if (!all.count)
        return pp_err_set(err, PP_USAGE, now, "has no .json file");
    for (size_t i = 0; i < all.count && !status; i++) {
        char *path = pairs->folders ? join(now, all.name[i]) : pp_copy_text(now);
        status = path ? add_pair(all.name[i], NULL, path, pairs, err) : pp_err_nomem(err);
        if (!status)
            status = find_baseline(folder, all.name[i], pairs, err);
    }
    if (!status && pairs->folders && !(status = add_gone(folder, SIMULATED, &all, pairs, err)))
        status = add_gone(folder, pairs->platform, &all, pairs, err);
    if (!status && pairs->folders)
        status = add_gone(folder, "", &all, pairs, err);
    return status || refresh ? status : check_any(folder, now, pairs, err);
}

/* Creates all folders above the file. */
static pp_status make_folders(char *path, pp_err *err)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        bool failed = mkdir(path, 0777) && errno != EEXIST;
        pp_status status = failed ? pp_err_set(err, PP_IO, path, "%s", strerror(errno)) : PP_OK;
        *c = '/';
        if (status)
            return status;
    }
    return PP_OK;
}

/* A new file that was written to a temporary path in the folder of its baseline. */
typedef struct staged {
    char *text; /* NULL: there is none */
    size_t bytes;
    pp_staged_file file;
} staged;

typedef struct staged_files {
    staged *item;
    size_t count;
} staged_files;

static void free_staged(staged_files *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->item[i].text);
        pp_file_discard(&all->item[i].file);
    }
    free(all->item);
}

static pp_status stage_all(pp_compare_pairs *pairs, staged_files *all, pp_err *err)
{
    for (size_t i = 0; i < pairs->count; i++) {
        pp_compare_pair *pair = &pairs->pair[i];
        staged *s = &all->item[i];
        if (!pair->has_now)
            continue;
        pp_status status = pp_file_read(pair->new_path, &s->text, &s->bytes, err);
        if (status || (status = make_folders(pair->base_path, err)) ||
            (status = pp_output_stage(pair->base_path, s->text, s->bytes, &s->file, err)))
            return status;
    }
    return PP_OK;
}

pp_status pp_compare_refresh(pp_compare_pairs *pairs, pp_err *err)
{
    staged_files all PP_CLEANUP(free_staged) = { 0 };
    if (!(all.item = pp_alloc_array(pairs->count, sizeof *all.item)))
        return pp_err_nomem(err);
    all.count = pairs->count;
    pp_status status = stage_all(pairs, &all, err);
    for (size_t i = 0; i < pairs->count && !status; i++) {
        pp_compare_pair *pair = &pairs->pair[i];
        staged *s = &all.item[i];
        if (pair->has_now)
            status = pp_output_commit(&s->file, s->text, s->bytes, err);
        else if (pair->has_base && unlink(pair->base_path))
            status = pp_err_set(err, PP_IO, pair->base_path, "%s", strerror(errno));
    }
    return status;
}
