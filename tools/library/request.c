/* Builds requests: a request is the command line that a user would type, checked against the option
 * table of the command as it grows, so that whatever the command can do the library can, too. */
#include "tools/library/request.h"

#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The simulator of a web page has a list of its own (tools/page/commands.def). */
#ifndef PPSIM_LIBRARY_COMMANDS
#define PPSIM_LIBRARY_COMMANDS "tools/library/commands.def"
#endif
static const pp_command *const commands[] = {
#define PP_COMMAND(id) &pp_command_##id,
#include PPSIM_LIBRARY_COMMANDS
#undef PP_COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

#define SAME_STATUS(name, exit_status, text) \
    _Static_assert((int)PP_##name == (int)PPSIM_##name, "the numbers are shared");
PP_STATUS_MAP(SAME_STATUS)
#undef SAME_STATUS

const char *ppsim_status_text(ppsim_status status)
{
    return pp_status_text((pp_status)status);
}

const char *ppsim_version(void)
{
    return PPSIM_VERSION;
}

ppsim_plain ppsim_plain_begin(void)
{
    ppsim_plain locales = { .plain = newlocale(LC_ALL_MASK, "C", (locale_t)0) };
    locales.before = locales.plain ? uselocale(locales.plain) : (locale_t)0;
    return locales;
}

void ppsim_plain_end(const ppsim_plain *locales)
{
    if (!locales->plain)
        return;
    uselocale(locales->before);
    freelocale(locales->plain);
}

pp_console ppsim_console_of(const ppsim_request *request)
{
    return (pp_console){ .keeps_files = request->keeps_files,
                         .stop = request->stop,
                         .progress = request->progress,
                         .context = request->context,
                         .input = request->input,
                         .inputs = request->inputs };
}

void ppsim_console_leave(pp_console *console)
{
    console->stop = NULL;
    console->progress = NULL;
    console->context = NULL;
    console->input = NULL;
    console->inputs = 0;
}

ppsim_status ppsim_report(const pp_err *err, ppsim_error *error)
{
    if (!error)
        return (ppsim_status)err->status;
    error->status = (ppsim_status)err->status;
    snprintf(error->field, sizeof error->field, "%s", err->where);
    snprintf(error->reason, sizeof error->reason, "%s", err->text);
    return error->status;
}

ppsim_status ppsim_finish(const pp_err *err, ppsim_error *error)
{
    if (err->status)
        return ppsim_report(err, error);
    if (error)
        *error = (ppsim_error){ .status = PPSIM_OK };
    return PPSIM_OK;
}

static const pp_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

const char *ppsim_command_name(size_t index)
{
    return index < COMMANDS ? commands[index]->name : NULL;
}

static size_t count_options(const pp_option *options)
{
    size_t count = 0;
    while (options[count].name)
        count++;
    return count;
}

/* Returns the index-th option: the command's own ones, those that it borrows, then -o. */
static const pp_option *option_at(const pp_command *command, size_t index)
{
    const size_t own = count_options(command->options);
    if (index < own)
        return &command->options[index];
    index -= own;
    for (size_t i = 0; command->borrowed && command->borrowed[i]; i++) {
        const size_t more = count_options(command->borrowed[i]->options);
        if (index < more)
            return &command->borrowed[i]->options[index];
        index -= more;
    }
    const pp_option *shared;
    for (size_t i = own; (shared = pp_command_option(command, i)); i++) {
        if (strcmp(shared->name, "-o") == 0)
            return index == 0 ? shared : NULL;
    }
    return NULL;
}

int ppsim_option_at(const char *command, size_t index, ppsim_option *option_out)
{
    static const char *const headings[] = {
#define HEADING(id, heading) heading,
        PP_OPTION_GROUPS(HEADING)
#undef HEADING
    };
    const pp_command *found = find_command(command);
    const pp_option *o = found ? option_at(found, index) : NULL;
    if (!o)
        return 0;
    *option_out = (ppsim_option){ o->name,       o->argument, headings[o->group], o->help,
                                  o->by_default, o->alias,    o->repeated };
    return 1;
}

ppsim_status ppsim_request_new(const char *command, ppsim_request **request_out, ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    ppsim_request *request = pp_alloc_array(1, sizeof *request);
    *request_out = NULL;
    if (!request) {
        (void)pp_err_nomem(&err);
        return ppsim_report(&err, error);
    }
    request->command = find_command(command);
    if (!request->command) {
        free(request);
        const char *names[COMMANDS + 1] = { NULL };
        char hint[PP_TEXT_HINT_BYTES];
        char all[256] = "";
        for (size_t i = 0; i < COMMANDS; i++) {
            const size_t used = strlen(all);
            names[i] = commands[i]->name;
            const char *before = i + 1 < COMMANDS ? ", " : " and ";
            snprintf(all + used, sizeof all - used, "%s%s", i ? before : "", names[i]);
        }
        pp_text_nearest_hint("command", command, names, hint);
        (void)pp_err_set(&err, PP_USAGE, NULL, "the library has no command '%.40s'%s%s it has %s",
                         command, hint, pp_text_hint_end(hint), all);
        return ppsim_report(&err, error);
    }
    *request_out = request;
    return ppsim_finish(&err, error);
}

void ppsim_request_free(ppsim_request *request)
{
    if (!request)
        return;
    for (size_t i = 0; i < request->words; i++)
        free(request->word[i]);
    for (size_t i = 0; i < request->inputs; i++) {
        free((char *)request->input[i].name);
        free((char *)request->input[i].content);
    }
    free(request->word);
    free(request->input);
    free(request);
}

/* Appends "before" "text" as one word. */
static pp_status add_word(ppsim_request *request, const char *before, const char *text, pp_err *err)
{
    void *grown = request->word;
    pp_status status =
        pp_grow(&grown, &request->word_capacity, request->words + 1, sizeof *request->word, err);
    if (status)
        return status;
    request->word = grown;
    const size_t bytes = strlen(before) + strlen(text) + 1;
    char *word = malloc(bytes);
    if (!word)
        return pp_err_nomem(err);
    snprintf(word, bytes, "%s%s", before, text);
    request->word[request->words++] = word;
    return PP_OK;
}

/* Finds an option of a request, by a name with its dashes; --json and --help are no options here.
 * Asks the parser about an unknown one, for its words. */
static pp_status find_option(const ppsim_request *request, char *name, const pp_option **option_out,
                             pp_err *err)
{
    const pp_option *o;
    for (size_t i = 0; (o = option_at(request->command, i)); i++) {
        if (strcmp(o->name, name) == 0 || (o->alias && strcmp(o->alias, name) == 0)) {
            *option_out = o;
            return PP_OK;
        }
    }
    pp_args *args PP_CLEANUP(pp_args_free) = NULL;
    char *words[] = { NULL, NULL, name };
    pp_status status = pp_args_parse(request->command, 3, words, &args, err);
    return status ? status
                  : pp_err_set(err, PP_USAGE, name,
                               "is for people who type; the library has no use "
                               "for it");
}

/* Returns whether a word is an option, alone or with its value. Values that begin with a dash are
 * joined to their options, so that no other word looks like one. */
static bool is_option(const char *word, const char *name)
{
    const size_t bytes = name ? strlen(name) : 0;
    return name && strncmp(word, name, bytes) == 0 && (!word[bytes] || word[bytes] == '=');
}

/* Returns whether values of an option are added to those that it has. */
static bool adds(const ppsim_request *request, const pp_option *option)
{
    const pp_option *own = request->command->options;
    return option->repeated || (request->command->borrowed && strcmp(option->name, "-o") != 0 &&
                                !pp_option_find(own, option->name, strlen(option->name)));
}

/* Removes an option with its values from the first `count` words. */
static void drop_option(ppsim_request *request, const pp_option *option, size_t count)
{
    for (size_t i = 0; i < count;) {
        const char *word = request->word[i];
        if (!is_option(word, option->name) && !is_option(word, option->alias)) {
            i++;
            continue;
        }
        const size_t gone = option->argument && !strchr(word, '=') ? 2 : 1;
        for (size_t k = i; k < i + gone; k++)
            free(request->word[k]);
        request->words -= gone;
        count -= gone;
        memmove(request->word + i, request->word + i + gone,
                (request->words - i) * sizeof *request->word);
    }
}

static pp_status add_option(ppsim_request *request, const pp_option *option, const char *name,
                            const char *value, pp_err *err)
{
    if (value && value[0] == '-' && value[1]) { /* it would look like an option */
        char joined[132];
        snprintf(joined, sizeof joined, "%s=", strcmp(name, "-o") == 0 ? option->alias : name);
        return add_word(request, joined, value, err);
    }
    pp_status status = add_word(request, name, "", err);
    if (status || !value)
        return status;
    status = add_word(request, value, "", err);
    if (status)
        free(request->word[--request->words]); /* the name alone would take the next word */
    return status;
}

static pp_status set_option(ppsim_request *request, const char *option, const char *value,
                            pp_err *err)
{
    char name[128];
    const pp_option *found = NULL;
    const bool dashed = option[0] == '-';
    if (!option[strspn(option, "-")])
        return pp_err_set(err, PP_USAGE, NULL, "the name of an option is empty");
    if (strlen(option) + 3 > sizeof name)
        return pp_err_set(err, PP_USAGE, NULL, "'%.40s...' is no option: its name is too long",
                          option);
    snprintf(name, sizeof name, "%s%s", dashed ? "" : option[1] ? "--" : "-", option);
    name[strcspn(name, "=")] = '\0'; /* a name has none */
    pp_status status = find_option(request, name, &found, err);
    if (status)
        return status;
    if (!value && found->argument)
        return pp_err_set(err, PP_USAGE, found->name, "needs a value: %s %s", found->name,
                          found->argument);
    if (value && !found->argument)
        return pp_err_set(err, PP_USAGE, found->name, "takes no value");
    const size_t before = request->words;
    status = add_option(request, found, name, value, err);
    if (!status && !adds(request, found))
        drop_option(request, found, before);
    return status;
}

ppsim_status ppsim_request_set(ppsim_request *request, const char *option, const char *value,
                               ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    err.status = set_option(request, option, value, &err);
    return ppsim_finish(&err, error);
}

ppsim_status ppsim_request_word(ppsim_request *request, const char *word, ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    if (word[0] == '-' && word[1])
        err.status =
            pp_err_set(&err, PP_USAGE, NULL,
                       "'%.40s' begins with a dash; write ./%.40s if it is a file", word, word);
    else
        err.status = add_word(request, word, "", &err);
    return ppsim_finish(&err, error);
}

static pp_status add_input(ppsim_request *request, const char *name, const void *content,
                           size_t bytes, pp_err *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    void *grown = request->input;
    if (!*name || name[0] == '-' || strlen(name) > 128 || name[strspn(name, allowed)])
        return pp_err_set(err, PP_USAGE, NULL,
                          "'%.40s' is no name for a file in memory; use up to 128 letters, digits, "
                          "'.', '_' and '-', and do not begin with '-'",
                          name);
    for (size_t i = 0; i < request->inputs; i++) {
        if (strcmp(request->input[i].name, name) == 0)
            return pp_err_set(err, PP_USAGE, NULL, "there are two files '%s' in memory", name);
    }
    pp_status status =
        pp_grow(&grown, &request->input_capacity, request->inputs + 1, sizeof *request->input, err);
    if (status)
        return status;
    request->input = grown;
    char *own_name = pp_copy_text(name);
    char *own_content = malloc(bytes ? bytes : 1);
    if (!own_name || !own_content) {
        free(own_name);
        free(own_content);
        return pp_err_nomem(err);
    }
    if (bytes)
        memcpy(own_content, content, bytes);
    request->input[request->inputs++] = (pp_console_input){ own_name, own_content, bytes };
    return PP_OK;
}

ppsim_status ppsim_request_input(ppsim_request *request, const char *name, const void *content,
                                 size_t bytes, ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    err.status = add_input(request, name, content, bytes, &err);
    return ppsim_finish(&err, error);
}

void ppsim_request_keep_files(ppsim_request *request, int keep)
{
    request->keeps_files = keep != 0;
}

void ppsim_request_progress(ppsim_request *request,
                            void (*progress)(void *context, const char *line), void *context)
{
    request->progress = progress;
    request->context = context;
}

void ppsim_request_stop(ppsim_request *request, const volatile sig_atomic_t *stop)
{
    request->stop = stop;
}
