/* The ppsim command: finds the command that was asked for, parses its options, runs it, and
 * turns its status into an exit status. */
#include "sim/base/alloc.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/version.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_command *const commands[] = {
#define PP_COMMAND(id) &pp_command_##id,
#include "tools/ppsim/commands.def"
#undef PP_COMMAND
    NULL,
};

#define SUMMARY_COLUMN 13

static void add_usage(pp_text *text)
{
    pp_text_add(text, "ppsim predicts and plans pipeline-parallel training steps.\n\n"
                      "usage: ppsim COMMAND [OPTIONS]\n\n");
    for (const pp_command *const *c = commands; *c; c++) {
        pp_text_add(text, "  %-10s ", (*c)->name);
        pp_print_words(text, (*c)->summary, SUMMARY_COLUMN, SUMMARY_COLUMN);
    }
    pp_text_add(text, "\n'ppsim COMMAND --help' shows the options of a command,\n'ppsim --version' "
                      "the version.\nA first try: ppsim plan --model gpt175b --pp 16\n");
}

static int complain(const pp_err *err)
{
    if (err->where[0])
        fprintf(stderr, "ppsim: %s: %s\n", err->where, err->text);
    else
        fprintf(stderr, "ppsim: %s\n", err->text[0] ? err->text : pp_status_text(err->status));
    return pp_status_exit(err->status);
}

static int run(const pp_command *command, int argc, char **argv)
{
    pp_err err = PP_COMMAND_ERR;
    pp_args *args PP_CLEANUP(pp_args_free) = NULL;
    pp_status status = pp_args_parse(command, argc, argv, &args, &err);
    if (!status && pp_args_has(args, "--help")) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_command_help(command, &text);
        status = pp_text_check(&text, &err);
        if (!status)
            status = pp_print_stdout(text.data, text.bytes, &err);
    } else if (!status) {
        status = command->run(args, &err);
    }
    if (!status)
        return EXIT_SUCCESS;
    err.status = status; /* also where no message was set */
    return complain(&err);
}

static int unknown_command(const char *name)
{
    const char *names[sizeof commands / sizeof commands[0]] = { NULL };
    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_nearest_hint(name, names, hint);
    fprintf(stderr, "ppsim: there is no command '%s'%s%s see 'ppsim --help'\n", name, hint,
            pp_text_hint_end(hint));
    return pp_status_exit(PP_USAGE);
}

static int print_words(void add(pp_text *))
{
    pp_err err = PP_COMMAND_ERR;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    add(&text);
    pp_status status = pp_text_check(&text, &err);
    if (!status)
        status = pp_print_stdout(text.data, text.bytes, &err);
    return status ? complain(&err) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    pp_alloc_keep_freed();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a message */
    if (argc < 2) {
        pp_text usage PP_CLEANUP(pp_text_free) = { 0 };
        add_usage(&usage);
        fputs(usage.data ? usage.data : "", stderr);
        return pp_status_exit(PP_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return print_words(add_usage);
    if (strcmp(argv[1], "--version") == 0)
        return print_words(pp_version_print);
    for (const pp_command *const *c = commands; *c; c++) {
        if (strcmp((*c)->name, argv[1]) == 0)
            return run(*c, argc, argv);
    }
    return unknown_command(argv[1]);
}
