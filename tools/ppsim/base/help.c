/* Prints the help of a command from its option table: a summary, usage lines, options under the
 * headings of their groups, and examples. --help shows the options that people use, --help all the
 * others too, and --help megatron the spellings that Megatron-LM has for them. The manual pages
 * take the same text as roff (tools/dev/man-pages). */
#include "tools/ppsim/base/help.h"

#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LEFT_MAX 22 /* a longer name has a line of its own */

static const char *const headings[PP_GROUP_COUNT] = {
#define PP_OPTION_GROUP(id, heading) heading,
    PP_OPTION_GROUPS(PP_OPTION_GROUP)
#undef PP_OPTION_GROUP
};

static const char *const topics[PP_HELP_TOPIC_COUNT] = { "", "all", "megatron", "man" };

bool pp_help_topic_find(const char *name, pp_help_topic *topic_out)
{
    for (int i = PP_HELP_ALL; i < PP_HELP_TOPIC_COUNT; i++) {
        if (strcmp(topics[i], name) == 0) {
            *topic_out = (pp_help_topic)i;
            return true;
        }
    }
    return false;
}

bool pp_help_requested(int argc, char **argv, pp_help_topic *topic_out)
{
    static const char with_topic[] = "--help=";
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *topic = NULL;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            topic = i + 1 < argc ? argv[i + 1] : "";
        else if (strncmp(argv[i], with_topic, sizeof with_topic - 1) == 0)
            topic = argv[i] + sizeof with_topic - 1;
        if (!topic)
            continue;
        *topic_out = PP_HELP_EVERYDAY;
        (void)pp_help_topic_find(topic, topic_out); /* any other word is ignored */
        return true;
    }
    return false;
}

/* Returns the alias if it is not a spelling of Megatron: -h for --help, --output for -o. */
static const char *short_form(const pp_option *option)
{
    return option->alias && (option->name[1] != '-' || option->alias[1] != '-') ? option->alias
                                                                                : NULL;
}

static bool is_shown(const pp_command *command, const pp_option *option, pp_help_topic topic)
{
    if (option->group == PP_GROUP_MEGATRON)
        return false;
    if (topic != PP_HELP_EVERYDAY || !command->everyday)
        return true;
    for (const char *const *name = command->everyday; *name; name++) {
        if (strcmp(*name, option->name) == 0)
            return true;
    }
    return false;
}

/* Writes "-o, --output FILE" or "--pp P". */
static void write_left(const pp_option *o, char *left, size_t size)
{
    const char *other = short_form(o);
    const bool first = other && other[1] != '-';
    snprintf(left, size, "%s%s%s%s%s%s%s", first ? other : "", first ? ", " : "", o->name,
             other && !first ? ", " : "", other && !first ? other : "", o->argument ? " " : "",
             o->argument ? o->argument : "");
}

static void add_help(const pp_option *o, pp_text *text)
{
    pp_text_add(text, "%s", o->help);
    if (o->by_default)
        pp_text_add(text, " (default: %s)", o->by_default);
}

static void print_option(const pp_option *o, size_t width, pp_text *text)
{
    char left[96];
    pp_text help PP_CLEANUP(pp_text_free) = { 0 };
    const size_t column = width + 4;
    write_left(o, left, sizeof left);
    add_help(o, &help);
    if (strlen(left) > width)
        pp_text_add(text, "  %s\n%*s", left, (int)column, "");
    else
        pp_text_add(text, "  %-*s  ", (int)width, left);
    pp_print_words(text, help.data ? help.data : "", column, column);
    text->failed |= help.failed;
}

/* Returns the width of the column of names: that of the longest one which is not too long. */
static size_t find_width(const pp_command *command, pp_help_topic topic)
{
    size_t width = 0;
    const pp_option *o;
    for (size_t i = 0; (o = pp_command_option(command, i)); i++) {
        char left[96];
        write_left(o, left, sizeof left);
        const size_t bytes = strlen(left);
        if (is_shown(command, o, topic) && bytes <= LEFT_MAX && bytes > width)
            width = bytes;
    }
    return width;
}

/* Writes one option: with its column of names in the help, or without it in the manual. */
static void print_row(const pp_option *o, pp_help_topic topic, size_t width, pp_text *text);

static void print_groups(const pp_command *command, pp_help_topic topic, pp_text *text)
{
    const size_t width = find_width(command, topic);
    bool first = true;
    for (int group = 0; group < PP_GROUP_COUNT; group++) {
        bool open = false;
        const pp_option *o;
        for (size_t i = 0; (o = pp_command_option(command, i)); i++) {
            if ((int)o->group != group || !is_shown(command, o, topic))
                continue;
            if (!open)
                pp_text_add(text,
                            topic == PP_HELP_MANUAL         ? ".SS %s\n"
                            : topic == PP_HELP_ALL || first ? "\n%s:\n"
                                                            : "%s:\n",
                            headings[group]);
            open = true;
            first = false;
            print_row(o, topic, width, text);
        }
    }
}

/* Calls `print` for each line of `lines`. */
static void each_line(const char *lines, pp_text *text,
                      void print(const char *line, size_t bytes, bool first, pp_text *text))
{
    bool first = true;
    while (lines && *lines) {
        const size_t bytes = strcspn(lines, "\n");
        print(lines, bytes, first, text);
        lines += bytes + (lines[bytes] == '\n');
        first = false;
    }
}

static void print_paragraph(const char *line, size_t bytes, bool first, pp_text *text)
{
    char copy[512];
    (void)first;
    snprintf(copy, sizeof copy, "%.*s", (int)bytes, line);
    pp_print_words(text, copy, 0, 0);
}

static void print_example(const char *line, size_t bytes, bool first, pp_text *text)
{
    (void)first;
    pp_text_add(text, "  %.*s\n", (int)bytes, line);
}

/* Prints "usage: ppsim plan ...", and further lines below it. */
static void print_usage(const pp_command *command, pp_text *text)
{
    const char *line = command->arguments;
    const size_t column = strlen("usage: ppsim ") + strlen(command->name) + 1;
    for (bool first = true; *line; first = false) {
        char copy[256];
        const size_t bytes = strcspn(line, "\n");
        snprintf(copy, sizeof copy, "%.*s", (int)bytes, line);
        pp_text_add(text, "%s ppsim %s ", first ? "usage:" : "      ", command->name);
        pp_print_words(text, copy, column, column);
        line += bytes + (line[bytes] == '\n');
    }
}

static bool has_megatron(const pp_command *command)
{
    const pp_option *o;
    for (size_t i = 0; (o = pp_command_option(command, i)); i++) {
        if (o->group == PP_GROUP_MEGATRON || (o->alias && !short_form(o)))
            return true;
    }
    return false;
}

/* Prints a table: an option of ppsim, and what Megatron-LM calls it. */
static void print_megatron(const pp_command *command, pp_text *text)
{
    static const char same[] = "same as ";
    const pp_option *o;
    if (!has_megatron(command)) {
        pp_text_add(text, "No option of 'ppsim %s' has another name in Megatron-LM.\n",
                    command->name);
        return;
    }
    pp_text_add(text, "'ppsim %s' accepts these options of Megatron-LM:\n\n", command->name);
    pp_text_add(text, "  %-*s Megatron-LM\n", LEFT_MAX, "ppsim");
    for (size_t i = 0; (o = pp_command_option(command, i)); i++) {
        char left[96];
        char right[96];
        const bool alone = o->group == PP_GROUP_MEGATRON;
        if (!alone && (!o->alias || short_form(o)))
            continue;
        snprintf(left, sizeof left, "%s",
                 !alone                                         ? o->name
                 : strncmp(o->help, same, sizeof same - 1) == 0 ? o->help + sizeof same - 1
                                                                : o->help);
        snprintf(right, sizeof right, "%s%s%s", alone ? o->name : o->alias,
                 alone && o->argument ? " " : "", alone && o->argument ? o->argument : "");
        if (strlen(left) > LEFT_MAX || 2 + LEFT_MAX + 1 + strlen(right) > PP_COLUMNS)
            pp_text_add(text, "  %s\n%*s%s\n", left,
                        (int)(2 + LEFT_MAX + 1 + strlen(right) > PP_COLUMNS
                                  ? PP_COLUMNS - strlen(right)
                                  : 2 + LEFT_MAX + 1),
                        "", right);
        else
            pp_text_add(text, "  %-*s %s\n", LEFT_MAX, left, right);
    }
}

/* --- the manual, as roff */

static void add_roff(const char *words, size_t bytes, pp_text *text)
{
    for (size_t i = 0; i < bytes; i++) {
        if (words[i] == '-')
            pp_text_add(text, "\\-");
        else if (words[i] == '\\')
            pp_text_add(text, "\\e");
        else
            pp_text_add(text, "%s%c", i == 0 && strchr(".'", words[i]) ? "\\&" : "", words[i]);
    }
}

static void roff_option(const pp_option *o, pp_text *text)
{
    pp_text help PP_CLEANUP(pp_text_free) = { 0 };
    const char *other = o->alias;
    add_help(o, &help);
    pp_text_add(text, ".TP\n\\fB");
    add_roff(o->name, strlen(o->name), text);
    pp_text_add(text, "\\fR");
    if (other) {
        pp_text_add(text, ", \\fB");
        add_roff(other, strlen(other), text);
        pp_text_add(text, "\\fR");
    }
    if (o->argument) {
        pp_text_add(text, " \\fI");
        add_roff(o->argument, strlen(o->argument), text);
        pp_text_add(text, "\\fR");
    }
    pp_text_add(text, "\n");
    add_roff(help.data ? help.data : "", help.bytes, text);
    pp_text_add(text, "\n");
    text->failed |= help.failed;
}

static void roff_paragraph(const char *line, size_t bytes, bool first, pp_text *text)
{
    if (!first)
        pp_text_add(text, ".PP\n");
    add_roff(line, bytes, text);
    pp_text_add(text, "\n");
}

static void roff_example(const char *line, size_t bytes, bool first, pp_text *text)
{
    (void)first;
    add_roff(line, bytes, text);
    pp_text_add(text, "\n");
}

static void print_manual(const pp_command *command, pp_text *text)
{
    pp_text_add(text, ".SH OPTIONS\n");
    print_groups(command, PP_HELP_MANUAL, text);
    if (has_megatron(command)) {
        const pp_option *o;
        bool open = false;
        for (size_t i = 0; (o = pp_command_option(command, i)); i++) {
            if (o->group != PP_GROUP_MEGATRON)
                continue;
            if (!open)
                pp_text_add(text, ".SS %s\n", headings[PP_GROUP_MEGATRON]);
            open = true;
            roff_option(o, text);
        }
    }
    if (command->details) {
        pp_text_add(text, ".SH NOTES\n");
        each_line(command->details, text, roff_paragraph);
    }
    if (command->examples) {
        pp_text_add(text, ".SH EXAMPLES\n.nf\n");
        each_line(command->examples, text, roff_example);
        pp_text_add(text, ".fi\n");
    }
}

static void print_row(const pp_option *o, pp_help_topic topic, size_t width, pp_text *text)
{
    if (topic == PP_HELP_MANUAL)
        roff_option(o, text);
    else
        print_option(o, width, text);
}

static void print_summary(const pp_command *command, pp_text *text)
{
    char sentence[160];
    snprintf(sentence, sizeof sentence, "%c%s.", toupper((unsigned char)command->summary[0]),
             command->summary + 1);
    pp_print_words(text, sentence, 0, 0);
}

/* Prints the last line, which names the commands that show the other options. */
static void print_more(const pp_command *command, pp_help_topic topic, pp_text *text)
{
    const bool rest = topic == PP_HELP_EVERYDAY && command->everyday;
    const bool megatron = has_megatron(command);
    if (rest || megatron)
        pp_text_add(text, "\nppsim %s --help %s%s%s\n", command->name,
                    rest ? "all: every option" : "", rest && megatron ? "; --help " : "",
                    megatron ? "megatron: Megatron's names" : "");
}

void pp_help_print(const pp_command *command, pp_help_topic topic, pp_text *text)
{
    if (topic == PP_HELP_MANUAL) {
        print_manual(command, text);
        return;
    }
    if (topic == PP_HELP_MEGATRON) {
        print_megatron(command, text);
        return;
    }
    print_summary(command, text);
    pp_text_add(text, "\n");
    print_usage(command, text);
    print_groups(command, topic, text);
    if (command->details && (topic == PP_HELP_ALL || !command->everyday)) {
        pp_text_add(text, "\n");
        each_line(command->details, text, print_paragraph);
    }
    if (command->examples) {
        pp_text_add(text, "\nExamples:\n");
        each_line(command->examples, text, print_example);
    }
    print_more(command, topic, text);
}
