/* Parses a command line against the option table of its command. An option's name, its alias and
 * --name=value are accepted; unknown names are answered with the nearest one. Look-ups are linear:
 * a command line has few options. */
#include "tools/ppsim/base/args.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/base/synonyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The options that every command has. */
static const pp_option shared[] = {
    { PP_ROW("--json", NULL, OUTPUT, "print the result as JSON", NULL) },
    { "-o", "FILE", PP_GROUP_OUTPUT, "write the result to FILE", "stdout", "--output", false },
    { "--help", NULL, PP_GROUP_OUTPUT, "print this help", NULL, "-h", false },
    { PP_ROW_END },
};

typedef struct given {
    const pp_option *option;
    const char *value; /* NULL: a flag */
} given;

struct pp_args {
    const pp_command *command;
    int argc;
    char **argv;
    given *options;
    size_t option_count, option_capacity;
    const char **words;
    size_t word_count, word_capacity;
    struct replaced {
        char *text;                /* a word, or the value of an option */
        const char *name, *before; /* the name that stands at its end, and in its place before */
    } * replaced;
    size_t replaced_count, replaced_capacity;
    int *descriptor; /* [descriptors]: closed with this */
    size_t descriptors, descriptor_capacity;
    int64_t begin_ns;
};

int64_t pp_args_begin_ns(const pp_args *args)
{
    return args->begin_ns;
}

const pp_option *pp_option_find(const pp_option *options, const char *name, size_t length)
{
    for (const pp_option *o = options; o->name; o++) {
        if ((strlen(o->name) == length && memcmp(o->name, name, length) == 0) ||
            (o->alias && strlen(o->alias) == length && memcmp(o->alias, name, length) == 0))
            return o;
    }
    return NULL;
}

static const pp_option *find(const pp_command *command, const char *name, size_t length)
{
    const pp_option *found = pp_option_find(command->options, name, length);
    for (size_t i = 0; !found && command->borrowed && command->borrowed[i]; i++)
        found = pp_option_find(command->borrowed[i]->options, name, length);
    return found ? found : pp_option_find(shared, name, length);
}

static const pp_option_alias *find_option_alias(const pp_command *command, const pp_option *option)
{
    for (const pp_option_alias *s = command->aliases; s && s->flag; s++) {
        if (strcmp(s->flag, option->name) == 0)
            return s;
    }
    const pp_option_alias *found = NULL;
    for (size_t i = 0; !found && command->borrowed && command->borrowed[i]; i++)
        found = find_option_alias(command->borrowed[i], option);
    return found;
}

static bool may_repeat(const pp_command *command, const pp_option *option)
{
    size_t length = strlen(option->name);
    return option->repeated || (!pp_option_find(command->options, option->name, length) &&
                                !pp_option_find(shared, option->name, length));
}

/* Offers the names and aliases of a table, without their dashes. */
static void offer_names(const pp_option *options, pp_text_search *search)
{
    for (const pp_option *o = options; o->name; o++) {
        pp_text_search_offer(search, o->name + strspn(o->name, "-"));
        if (o->alias && !pp_name_likeness("option", search->text, o->name))
            pp_text_search_offer(search, o->alias + strspn(o->alias, "-"));
    }
}

static pp_status unknown_option(const pp_command *command, const char *name, pp_err *err)
{
    char bare[64];
    const char *start = name + strspn(name, "-");
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(start, "="), start);
    pp_text_search search = pp_text_search_begin("option", bare);
    offer_names(command->options, &search);
    offer_names(shared, &search);
    for (size_t i = 0; command->borrowed && command->borrowed[i]; i++)
        offer_names(command->borrowed[i]->options, &search);
    pp_text hint PP_CLEANUP(pp_text_free) = { 0 };
    for (size_t i = 0; i < search.count; i++)
        pp_text_add(&hint, "%s%s%s",
                    i == 0                  ? ", did you mean "
                    : i + 1 == search.count ? " or "
                                            : ", ",
                    strlen(search.nearest[i]) > 1 ? "--" : "-", search.nearest[i]);
    return pp_err_set(err, PP_USAGE, name,
                      "'ppsim %s' has no such option%s%s 'ppsim %s --help all' lists all options",
                      command->name, hint.data ? hint.data : "", hint.data ? "?" : ";",
                      command->name);
}

/* Returns the index-th option of that name, or with `last` the last one. */
static const given *lookup(const pp_args *args, const char *name, size_t index, bool last)
{
    const given *found = NULL;
    for (size_t i = 0; i < args->option_count; i++) {
        if (strcmp(args->options[i].option->name, name) != 0)
            continue;
        found = &args->options[i];
        if (!last && index-- == 0)
            return found;
    }
    return last ? found : NULL;
}

static bool is_switch(const pp_option *option)
{
    return strcmp(option->argument, "on|off") == 0;
}

/* Returns whether a text is a value of an option on|off. A list of both values counts, too. */
static bool is_on_or_off(const char *text)
{
    static const char *const values[] = { "on", "off", "on,off", "off,on", NULL };
    size_t i = 0;
    while (values[i] && strcmp(text, values[i]) != 0)
        i++;
    return values[i] != NULL;
}

/* Returns whether the word after an option on|off is a misspelt value. The option may also be a
 * bare flag, so that the word can be another option or a file. */
static bool is_misspelt(const char *text)
{
    return text[0] != '-' && !is_on_or_off(text) && !strpbrk(text, "./");
}

static pp_status add_option(pp_args *args, int *at, pp_err *err)
{
    const char *text = args->argv[*at];
    const char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const pp_option *option = find(args->command, text, length);
    if (!option)
        return unknown_option(args->command, text, err);
    const char *value = equals ? equals + 1 : NULL;
    if (!option->argument && value)
        return pp_err_set(err, PP_USAGE, option->name, "takes no value");
    const pp_option_alias *alias = find_option_alias(args->command, option);
    if (alias) {
        option = find(args->command, alias->option, strlen(alias->option));
        value = alias->value;
    }
    if (option->argument && !value) {
        const char *next = *at + 1 < args->argc ? args->argv[*at + 1] : NULL;
        if (is_switch(option) && next && is_misspelt(next))
            return pp_err_set(err, PP_USAGE, option->name, "'%.40s' is neither on nor off", next);
        if (is_switch(option) && (!next || !is_on_or_off(next)))
            value = "on"; /* Megatron's spelling: a bare flag */
        else if (!next || strncmp(next, "--", 2) == 0)
            return pp_err_set(err, PP_USAGE, option->name, "needs a value: %s %s", option->name,
                              option->argument);
        else
            value = args->argv[++*at];
    }
    const given *before = lookup(args, option->name, 0, true);
    if (!may_repeat(args->command, option) && before) {
        /* Megatron-LM says some things twice: --grad-reduce-in-bf16 --main-grads-dtype bf16 */
        return before->value && strcmp(before->value, value) == 0
                   ? PP_OK
                   : pp_err_set(err, PP_USAGE, option->name, "is given twice; remove one");
    }
    void *grown = args->options;
    pp_status status =
        pp_grow(&grown, &args->option_capacity, args->option_count + 1, sizeof *args->options, err);
    if (status)
        return status;
    args->options = grown;
    args->options[args->option_count++] = (given){ option, value };
    return PP_OK;
}

static pp_status add_word(pp_args *args, const char *word, pp_err *err)
{
    void *grown = args->words;
    pp_status status =
        pp_grow(&grown, &args->word_capacity, args->word_count + 1, sizeof *args->words, err);
    if (status)
        return status;
    args->words = grown;
    args->words[args->word_count++] = word;
    return PP_OK;
}

pp_status pp_args_parse(const pp_command *command, int argc, char **argv, pp_args **args_out,
                        pp_err *err)
{
    pp_args *args PP_CLEANUP(pp_args_free) = pp_alloc_array(1, sizeof *args);
    if (!args)
        return pp_err_nomem(err);
    args->command = command;
    args->argc = argc;
    args->argv = argv;
    args->begin_ns = pp_clock_now_ns();
    bool only_words = false;
    for (int i = 2; i < argc; i++) {
        pp_status status;
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            continue;
        }
        if (!only_words && argv[i][0] == '-' && argv[i][1])
            status = add_option(args, &i, err);
        else
            status = add_word(args, argv[i], err);
        if (status)
            return status;
    }
    *args_out = args;
    args = NULL; /* the caller owns it now */
    return PP_OK;
}

void pp_args_free(pp_args **args)
{
    if (!*args)
        return;
    for (size_t i = 0; i < (*args)->replaced_count; i++)
        free((*args)->replaced[i].text);
    for (size_t i = 0; i < (*args)->descriptors; i++)
        close((*args)->descriptor[i]);
    free((*args)->descriptor);
    free((*args)->replaced);
    free((*args)->options);
    free((*args)->words);
    free(*args);
    *args = NULL;
}

const char *pp_args_replacement(const pp_args *args, const char *name)
{
    for (size_t i = 0; i < args->replaced_count; i++) {
        if (strcmp(args->replaced[i].before, name) == 0)
            return args->replaced[i].name;
    }
    return NULL;
}

pp_status pp_args_replace(pp_args *args, bool is_word, size_t index, size_t at, const char *name,
                          pp_err *err)
{
    const char **place = is_word ? &args->words[index] : &args->options[index].value;
    void *grown = args->replaced;
    pp_status status = pp_grow(&grown, &args->replaced_capacity, args->replaced_count + 1,
                               sizeof *args->replaced, err);
    if (status)
        return status;
    args->replaced = grown;
    const size_t bytes = at + strlen(name) + 1;
    char *text = malloc(bytes);
    if (!text)
        return pp_err_nomem(err);
    snprintf(text, bytes, "%.*s%s", (int)at, *place, name);
    args->replaced[args->replaced_count++] = (struct replaced){ text, text + at, *place + at };
    *place = text;
    return PP_OK;
}

pp_status pp_args_own(pp_args *args, int descriptor, pp_err *err)
{
    void *grown = args->descriptor;
    pp_status status = pp_grow(&grown, &args->descriptor_capacity, args->descriptors + 1,
                               sizeof *args->descriptor, err);
    if (status) {
        close(descriptor);
        return status;
    }
    args->descriptor = grown;
    args->descriptor[args->descriptors++] = descriptor;
    return PP_OK;
}

/* Puts `before` in the place of the first `name` in a text of `size` bytes. */
static void restore(char *text, size_t size, const char *name, const char *before)
{
    char rest[sizeof((pp_err *)0)->text];
    char *at = strstr(text, name);
    const size_t length = strlen(name);
    if (!at || (at[length] >= '0' && at[length] <= '9'))
        return;
    snprintf(rest, sizeof rest, "%s", at + length);
    snprintf(at, size - (size_t)(at - text), "%s%s", before, rest);
}

void pp_args_restore(const pp_args *args, pp_err *err)
{
    for (size_t i = 0; i < args->replaced_count; i++) {
        const struct replaced *r = &args->replaced[i];
        restore(err->where, sizeof err->where, r->name, r->before);
        restore(err->text, sizeof err->text, r->name, r->before);
    }
}

void pp_args_restore_text(const pp_args *args, pp_text *text)
{
    for (size_t i = 0; i < args->replaced_count && text->data; i++) {
        const struct replaced *r = &args->replaced[i];
        const size_t length = strlen(r->name);
        pp_text whole = { .failed = text->failed };
        const char *from = text->data;
        for (const char *at = from; (at = strstr(at, r->name)); at += length) {
            if (at[length] >= '0' && at[length] <= '9') /* a longer number */
                continue;
            pp_text_add_bytes(&whole, from, (size_t)(at - from));
            pp_text_add(&whole, "%s", r->before);
            from = at + length;
        }
        pp_text_add(&whole, "%s", from);
        pp_text_free(text);
        *text = whole;
    }
}

const char *pp_args_word(const pp_args *args, size_t index)
{
    return index < args->word_count ? args->words[index] : NULL;
}

bool pp_args_has(const pp_args *args, const char *option)
{
    return lookup(args, option, 0, true) != NULL;
}

const char *pp_args_text(const pp_args *args, const char *option)
{
    const given *found = lookup(args, option, 0, true);
    return found ? found->value : NULL;
}

const char *pp_args_each(const pp_args *args, const char *option, size_t index)
{
    const given *found = lookup(args, option, index, false);
    return found ? found->value : NULL;
}

const pp_option *pp_args_given(const pp_args *args, size_t index, const char **value_out)
{
    if (index >= args->option_count)
        return NULL;
    *value_out = args->options[index].value;
    return args->options[index].option;
}

/* Turns INPUT into USAGE: a bad value on the command line is wrong usage. */
static pp_status as_usage(pp_status status, const pp_err *inner, pp_err *err)
{
    if (status != PP_INPUT)
        return status ? pp_err_set(err, status, inner->where, "%s", inner->text) : PP_OK;
    return pp_err_set(err, PP_USAGE, inner->where, "%s", inner->text);
}

pp_status pp_args_int(const pp_args *args, const char *option, int64_t low, int64_t high,
                      int64_t *out, pp_err *err)
{
    const char *text = pp_args_text(args, option);
    pp_err inner = pp_err_like(err);
    return text ? as_usage(pp_parse_int(text, option, low, high, out, &inner), &inner, err) : PP_OK;
}

pp_status pp_args_bytes(const pp_args *args, const char *option, int64_t *out, pp_err *err)
{
    const char *text = pp_args_text(args, option);
    pp_err inner = pp_err_like(err);
    return text ? as_usage(pp_parse_bytes(text, option, out, &inner), &inner, err) : PP_OK;
}

pp_status pp_args_duration(const pp_args *args, const char *option, pp_ns *out, pp_err *err)
{
    const char *text = pp_args_text(args, option);
    pp_err inner = pp_err_like(err);
    return text ? as_usage(pp_parse_duration(text, option, out, &inner), &inner, err) : PP_OK;
}

pp_status pp_args_rate(const pp_args *args, const char *option, double *out, pp_err *err)
{
    const char *text = pp_args_text(args, option);
    pp_err inner = pp_err_like(err);
    return text ? as_usage(pp_parse_rate(text, option, out, &inner), &inner, err) : PP_OK;
}

pp_status pp_args_rank_overrides(const pp_args *args, pp_rank_overrides *overrides, pp_err *err)
{
    static const char *const options[] = { "--rank-speed", "--rank-memory", "--rank-link" };
    pp_status status = PP_OK;
    for (int kind = PP_RANK_OVERRIDE_SPEED; kind <= PP_RANK_OVERRIDE_LINK && !status; kind++) {
        const char *text = pp_args_text(args, options[kind]);
        if (text)
            status = pp_rank_overrides_parse((pp_rank_override_kind)kind, options[kind], text,
                                             overrides, err);
    }
    return status;
}

pp_status pp_args_choice(const pp_args *args, const char *option, const char *const names[],
                         int *out, pp_err *err)
{
    const char *text = pp_args_text(args, option);
    if (!text)
        return PP_OK;
    pp_text all PP_CLEANUP(pp_text_free) = { 0 };
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return PP_OK;
        }
        pp_text_add(&all, "%s%s", i ? ", " : "", names[i]);
    }
    return pp_err_set(err, PP_USAGE, option, "'%.64s' is not one of %s", text,
                      all.data ? all.data : "");
}

pp_status pp_args_range(const pp_args *args, const char *option, int64_t *low, int64_t *high,
                        pp_err *err)
{
    const char *text = pp_args_text(args, option);
    char first[32];
    pp_err inner = pp_err_like(err);
    if (!text)
        return PP_OK;
    const char *dash = strchr(text, '-');
    snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - text) : 30, text);
    pp_status status = pp_parse_int(first, option, 0, INT32_MAX, low, &inner);
    if (!status)
        status = pp_parse_int(dash ? dash + 1 : first, option, *low, INT32_MAX, high, &inner);
    return status ? pp_err_set(err, PP_USAGE, option,
                               "'%.40s' is neither a number nor a range A-B with A <= B", text)
                  : PP_OK;
}

pp_status pp_args_switch(const pp_args *args, const char *option, bool *out, pp_err *err)
{
    static const char *const names[] = { "off", "on", NULL };
    int chosen = *out;
    pp_status status = pp_args_choice(args, option, names, &chosen, err);
    *out = chosen != 0;
    return status;
}

static void add_quoted(pp_text *text, const char *word)
{
    if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_=./,:+@%") == strlen(word)) {
        pp_text_add(text, "%s", word);
        return;
    }
    pp_text_add(text, "'");
    for (; *word; word++) {
        if (*word == '\'')
            pp_text_add(text, "'\\''");
        else
            pp_text_add_bytes(text, word, 1);
    }
    pp_text_add(text, "'");
}

char *pp_args_command(const pp_args *args)
{
    pp_text text = { 0 };
    pp_text_add(&text, "ppsim");
    for (int i = 1; i < args->argc; i++) {
        pp_text_add(&text, " ");
        add_quoted(&text, args->argv[i]);
    }
    if (text.failed)
        pp_text_free(&text);
    return text.data;
}

const pp_option *pp_command_option(const pp_command *command, size_t index)
{
    const pp_option *o = command->options;
    for (; o->name; o++) {
        if (index-- == 0)
            return o;
    }
    return index < sizeof shared / sizeof shared[0] - 1 ? &shared[index] : NULL;
}
