#include "sim/alloc.h"
#include "tools/args.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_command *const commands[] = {
    &pp_command_plan,   &pp_command_simulate, &pp_command_run,       &pp_command_check,
    &pp_command_shapes, &pp_command_pack,     &pp_command_calibrate, &pp_command_compare,
    &pp_command_plot,   &pp_command_sweep,    &pp_command_list,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void add_usage(pp_text *text)
{
    pp_text_add(text, "ppsim predicts and plans pipeline-parallel training steps.\n\n"
                      "usage: ppsim COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        pp_text_add(text, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    pp_text_add(text, "\n'ppsim COMMAND --help' shows the options of a command, 'ppsim --version' "
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
    pp_err err = { 0 };
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
    err.status = status; /* also where nobody found words */
    return complain(&err);
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT + 1] = { NULL };
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    const char *near = pp_text_nearest(name, names);
    fprintf(stderr, "ppsim: there is no command '%s'%s%s%s; see 'ppsim --help'\n", name,
            near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return pp_status_exit(PP_USAGE);
}

static int print_words(const char *words)
{
    pp_err err = { 0 };
    return pp_print_stdout(words, strlen(words), &err) ? complain(&err) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    pp_alloc_keep_freed();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a message */
    pp_text usage PP_CLEANUP(pp_text_free) = { 0 };
    add_usage(&usage);
    if (argc < 2) {
        fputs(usage.data ? usage.data : "", stderr);
        return pp_status_exit(PP_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return print_words(usage.data ? usage.data : "");
    if (strcmp(argv[1], "--version") == 0)
        return print_words("ppsim " PPSIM_VERSION "\n"
                           "licence GPL-3.0-or-later with permission to link CUDA libraries\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, argv[1]) == 0)
            return run(commands[i], argc, argv);
    }
    return unknown_command(argv[1]);
}
