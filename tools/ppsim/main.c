/* The ppsim command: finds the command that was asked for, executes it, and turns its status into
 * an exit status. */
#include "sim/base/alloc.h"
#include "tools/ppsim/base/execute.h"
#include "tools/ppsim/base/help.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/version.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const pp_command *const commands[] = {
#define PP_COMMAND(id) &pp_command_##id,
#include "tools/ppsim/commands.def"
#undef PP_COMMAND
    NULL,
};

#define SUMMARY_COLUMN 13

static void add_usage(pp_text *text)
{
    pp_text_add(text, "ppsim plans and predicts pipeline-parallel training.\n\n"
                      "usage: ppsim COMMAND [options]\n\n");
    for (const pp_command *const *c = commands; *c; c++) {
        pp_text_add(text, "  %-10s ", (*c)->name);
        pp_print_words(text, (*c)->summary, SUMMARY_COLUMN, SUMMARY_COLUMN);
    }
    pp_text_add(text,
                "\nWords that the commands use:\n"
                "  rank       one position of the pipeline; rank 0 has the first layers\n"
                "  stage      consecutive layers that a rank computes as a unit\n"
                "  microbatch sequences that pass through the pipeline together\n"
                "  op         one computation of a stage on a microbatch: forward (F),\n"
                "             backward (B), or its halves for the input (I) and weights (W)\n"
                "  schedule   a rule for the order of the ops on each rank\n"
                "  executor   the way a training framework sends tensors between ranks\n"
                "  plan       the file with all decisions, which the other commands read\n"
                "\n'ppsim help COMMAND' shows the options of a command, 'ppsim --version' what "
                "is\ninstalled. A first try: ppsim plan --model gpt175b --pp 16\n");
}

static int complain(const pp_err *err)
{
    pp_complain(err);
    return pp_status_exit(err->status);
}

static int print_help(const pp_command *command, pp_help_topic topic)
{
    pp_err err = PP_COMMAND_ERR;
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_help_print(command, topic, &text);
    pp_status status = pp_text_check(&text, &err);
    if (!status)
        status = pp_print_stdout(text.data, text.bytes, &err);
    return status ? complain(&err) : EXIT_SUCCESS;
}

static int run(const pp_command *command, int argc, char **argv)
{
    pp_err err = PP_COMMAND_ERR;
    pp_help_topic topic;
    if (pp_help_requested(argc, argv, &topic))
        return print_help(command, topic);
    return pp_command_execute(command, argc, argv, &err) ? complain(&err) : EXIT_SUCCESS;
}

static const pp_command *find_command(const char *name)
{
    for (const pp_command *const *c = commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
    }
    return NULL;
}

static int unknown_command(const char *name)
{
    enum { COMMANDS = sizeof commands / sizeof commands[0] }; /* and a NULL */
    const char *names[COMMANDS + 2] = { NULL };
    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    names[COMMANDS - 1] = "help";
    names[COMMANDS] = "--version";
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_nearest_hint("command", name, names, hint);
    pp_err err = PP_COMMAND_ERR;
    (void)pp_err_set(&err, PP_USAGE, NULL, "there is no command '%s'%s%s see 'ppsim --help'", name,
                     hint, pp_text_hint_end(hint));
    return complain(&err);
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

/* ppsim help [COMMAND [all|megatron]] */
static int help(int argc, char **argv)
{
    pp_help_topic topic = PP_HELP_EVERYDAY;
    if (argc < 3)
        return print_words(add_usage);
    const pp_command *command = find_command(argv[2]);
    if (!command)
        return unknown_command(argv[2]);
    if (argc > 3 && (argc > 4 || !pp_help_topic_find(argv[3], &topic))) {
        pp_err err = PP_COMMAND_ERR;
        (void)pp_err_set(&err, PP_USAGE, "help",
                         "write 'ppsim help %s', 'ppsim help %s all' or 'ppsim help %s megatron'",
                         command->name, command->name, command->name);
        return complain(&err);
    }
    return print_help(command, topic);
}

/* Occupies the standard streams that are closed, lest a file of ours becomes one of them and
 * receives what is printed. They are opened the wrong way round, so that using one still fails. */
static bool open_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) < 0 &&
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!open_streams())
        return pp_status_exit(PP_IO);
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
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return print_words(pp_version_print);
    const pp_command *command = find_command(argv[1]);
    return command ? run(command, argc, argv) : unknown_command(argv[1]);
}
