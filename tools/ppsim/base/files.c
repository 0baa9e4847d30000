/* Compares the files that a command line names. A product is an option of the group "Output" that
 * takes a FILE; an input is any other option that takes one, and every word. A path stands for the
 * device and inode of its file, or, while there is no file, for those of its folder and the name in
 * it, after all links; so that two spellings of one file are found. */
#include "tools/ppsim/base/files.h"

#include "sim/base/alloc.h"
#include "sim/base/text.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/console.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40

/* Where a path leads. */
typedef struct place {
    dev_t device;
    ino_t inode;
    char name[NAME_MAX + 1]; /* in the folder of device and inode; empty: the file exists */
    bool known, special;
} place;

/* Writes the folder of a path, with its slash, or "" into `folder`. Returns the rest. */
static const char *split(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash + 1 - path) : 0, path);
    return slash ? slash + 1 : path;
}

/* Replaces the path of a link by that of its target. Returns false if it is no link. */
static bool follow(char path[PATH_MAX])
{
    char target[PATH_MAX];
    char folder[PATH_MAX];
    const ssize_t bytes = readlink(path, target, sizeof target - 1);
    if (bytes <= 0)
        return false;
    target[bytes] = '\0';
    split(path, folder);
    if (target[0] == '/')
        folder[0] = '\0';
    return snprintf(path, PATH_MAX, "%s%s", folder, target) < PATH_MAX;
}

static place find_place(const char *given)
{
    place found = { .known = false };
    char path[PATH_MAX];
    char folder[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s", given) >= (int)sizeof path)
        return found;
    int links = 0;
    bool exists = stat(path, &info) == 0;
    while (!exists && links++ < LINKS_MAX && follow(path))
        exists = stat(path, &info) == 0;
    if (!exists) {
        const char *name = split(path, folder);
        if (stat(folder[0] ? folder : ".", &info) || strlen(name) > NAME_MAX)
            return found;
        snprintf(found.name, sizeof found.name, "%s", name);
    }
    found.special = exists && !S_ISREG(info.st_mode);
    found.device = info.st_dev;
    found.inode = info.st_ino;
    found.known = true;
    return found;
}

bool pp_files_same(const char *a, const char *b)
{
    const place first = find_place(a);
    const place second = find_place(b);
    if (!first.known || !second.known)
        return strcmp(a, b) == 0;
    return !first.special && !second.special && first.device == second.device &&
           first.inode == second.inode && strcmp(first.name, second.name) == 0;
}

/* Returns whether an option writes a file. */
static bool is_product(const pp_option *option)
{
    return option->argument && strstr(option->argument, "FILE") &&
           (option->group == PP_GROUP_OUTPUT || strcmp(option->name, "--flight") == 0);
}

bool pp_files_is_input(const pp_option *option)
{
    return option->argument && !is_product(option) &&
           (strstr(option->argument, "FILE") || strcmp(option->name, "--model") == 0 ||
            strcmp(option->name, "--hw") == 0 || strcmp(option->name, "--stack") == 0);
}

/* Returns where an option writes its product. Its value may be FORMAT=FILE. */
static const char *target_of(const pp_option *option, const char *value)
{
    const char *equals = strchr(option->argument, '=') ? strchr(value, '=') : NULL;
    return equals ? equals + 1 : value;
}

/* Returns the index-th product on the command line, and its option; NULL after the last. Standard
 * output is none. */
static const char *product_at(const pp_args *args, size_t index, const char **option_out)
{
    const pp_option *option;
    const char *value = NULL;
    for (size_t i = 0; (option = pp_args_given(args, i, &value)); i++) {
        if (!is_product(option))
            continue;
        const char *path = target_of(option, value);
        *option_out = option->name;
        if (strcmp(path, "-") != 0 && *path && index-- == 0)
            return path;
    }
    return NULL;
}

/* Compares a product with an input, whose option is NULL for a word. */
static pp_status compare(const char *option, const char *product, const char *input, pp_err *err)
{
    if (pp_console_find_input(input) || access(input, F_OK) || /* the name of a model is no file */
        !pp_files_same(product, input))
        return PP_OK;
    if (strcmp(product, input) == 0)
        return pp_err_set(err, PP_USAGE, option, "%.200s is an input file; choose another name",
                          product);
    return pp_err_set(err, PP_USAGE, option, "%.200s is the input file %.200s; choose another name",
                      product, input);
}

/* Compares a product with what an option reads. The value may be FORMAT=FILE, or in a sweep a list
 * of files. */
static pp_status compare_value(const char *option, const char *product, const char *value,
                               pp_err *err)
{
    const char *equals = strchr(value, '=');
    pp_status status = compare(option, product, value, err);
    if (!status && equals)
        status = compare(option, product, equals + 1, err);
    for (const char *at = value; !status && strchr(value, ','); at++) {
        char *item PP_CLEANUP(pp_free_text) = strndup(at, strcspn(at, ","));
        if (!item)
            return pp_err_nomem(err);
        status = compare(option, product, item, err);
        at += strlen(item);
        if (!*at)
            break;
    }
    return status;
}

/* A file to which the shell sends the output would be replaced under it. */
static pp_status compare_streams(const char *option, const char *product, pp_err *err)
{
    static const char *const names[] = { NULL, "standard output", "standard error" };
    const place of = find_place(product);
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++) {
        struct stat info;
        if (of.known && !*of.name && fstat(stream, &info) == 0 && S_ISREG(info.st_mode) &&
            info.st_dev == of.device && info.st_ino == of.inode)
            return pp_err_set(err, PP_USAGE, option,
                              "%.200s is the file that %s goes to; choose another name%s", product,
                              names[stream],
                              stream == STDOUT_FILENO ? ", or - for standard output" : "");
    }
    return PP_OK;
}

/* Compares a product with all inputs, and with standard output. */
static pp_status check_product(const pp_args *args, const char *own, const char *product,
                               pp_err *err)
{
    const pp_option *option;
    const char *value = NULL;
    pp_status status = compare_streams(own, product, err);
    for (size_t i = 0; !status && (option = pp_args_given(args, i, &value)); i++) {
        if (pp_files_is_input(option))
            status = compare_value(own, product, value, err);
    }
    for (size_t i = 0; !status && pp_args_word(args, i); i++)
        status = compare(own, product, pp_args_word(args, i), err);
    return status;
}

/* Compares a product with the first `count` others. */
static pp_status check_others(const pp_args *args, const char *product, size_t count, pp_err *err)
{
    const char *option;
    const char *other;
    for (size_t i = 0; i < count && (other = product_at(args, i, &option)); i++) {
        if (!pp_files_same(product, other))
            continue;
        if (strcmp(product, other) == 0)
            return pp_err_set(err, PP_USAGE, product,
                              "is the target of two outputs; choose another file");
        return pp_err_set(err, PP_USAGE, product,
                          "is the same file as %.200s, the target of another output; choose "
                          "another file",
                          other);
    }
    return PP_OK;
}

/* Two products on standard output would be mixed. */
static pp_status check_standard_output(const pp_args *args, pp_err *err)
{
    const pp_option *option;
    const char *value = NULL;
    int count = 0;
    for (size_t i = 0; (option = pp_args_given(args, i, &value)); i++)
        count += is_product(option) && strcmp(target_of(option, value), "-") == 0;
    return count < 2 ? PP_OK
                     : pp_err_set(err, PP_USAGE, "-",
                                  "is the target of two outputs; choose another file");
}

static pp_status check_names(const pp_args *args, pp_err *err)
{
    const pp_option *option;
    const char *value = NULL;
    for (size_t i = 0; (option = pp_args_given(args, i, &value)); i++) {
        if ((is_product(option) || pp_files_is_input(option)) && !*value)
            return pp_err_set(err, PP_USAGE, option->name, "the name of the file is empty");
    }
    for (size_t i = 0; pp_args_word(args, i); i++) {
        if (!*pp_args_word(args, i))
            return pp_err_set(err, PP_USAGE, NULL, "argument %zu, the name of a file, is empty",
                              i + 1);
    }
    return PP_OK;
}

pp_status pp_files_check(const pp_args *args, pp_err *err)
{
    const char *option;
    const char *product;
    pp_status status = check_names(args, err);
    if (!status)
        status = check_standard_output(args, err);
    for (size_t i = 0; !status && (product = product_at(args, i, &option)); i++) {
        status = check_product(args, option, product, err);
        if (!status)
            status = check_others(args, product, i, err);
    }
    return status;
}

pp_status pp_files_check_product(const pp_args *args, const char *path, pp_err *err)
{
    pp_status status = check_product(args, "-o", path, err);
    return status ? status : check_others(args, path, SIZE_MAX, err);
}

pp_status pp_files_check_input(const pp_args *args, const char *path, pp_err *err)
{
    const char *option;
    const char *product;
    pp_status status = PP_OK;
    for (size_t i = 0; !status && (product = product_at(args, i, &option)); i++)
        status = compare(option, product, path, err);
    return status;
}
