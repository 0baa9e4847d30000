/* The help of every command: short enough to take in, complete, and in one form. */
#include "tools/ppsim/base/help.h"

#include "tests/support/step.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/commands.h"

#include <check.h>
#include <string.h>

#define EVERYDAY_LINES 40

static const pp_command *const commands[] = {
#define PP_COMMAND(id) &pp_command_##id,
#include "tools/ppsim/commands.def"
#undef PP_COMMAND
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (const char *line = text; *line; lines++) {
        const size_t bytes = strcspn(line, "\n");
        ck_assert_msg(bytes <= PP_COLUMNS, "%.*s", (int)bytes, line);
        line += bytes + 1;
    }
    return lines;
}

START_TEST(help_is_short)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_help_print(commands[_i], PP_HELP_EVERYDAY, &text);
    ck_assert(!text.failed);
    const size_t lines = count_lines(text.data);
    ck_assert_msg(lines <= EVERYDAY_LINES, "%s: %zu lines", commands[_i]->name, lines);
}
END_TEST

START_TEST(all_options_are_shown_once)
{
    pp_text all PP_CLEANUP(pp_text_free) = { 0 };
    pp_text megatron PP_CLEANUP(pp_text_free) = { 0 };
    const pp_option *o;
    pp_help_print(commands[_i], PP_HELP_ALL, &all);
    pp_help_print(commands[_i], PP_HELP_MEGATRON, &megatron);
    count_lines(all.data);
    count_lines(megatron.data);
    for (size_t i = 0; (o = pp_command_option(commands[_i], i)); i++) {
        const bool alone = o->group == PP_GROUP_MEGATRON;
        ck_assert_msg(strstr(alone ? megatron.data : all.data, o->name), "%s", o->name);
        ck_assert_msg(!o->alias || strstr(megatron.data, o->alias) || strstr(all.data, o->alias),
                      "%s", o->alias);
    }
}
END_TEST

START_TEST(rows_have_one_form)
{
    const pp_command *command = commands[_i];
    const pp_option *o;
    ck_assert(!strpbrk(command->summary, ".;"));
    for (size_t i = 0; (o = pp_command_option(command, i)); i++) {
        const size_t bytes = strlen(o->help);
        ck_assert_msg(o->group < PP_GROUP_COUNT, "%s has no group", o->name);
        ck_assert_msg(bytes > 0 && o->help[bytes - 1] != '.', "%s", o->name);
        ck_assert_msg(!strchr(o->help, ';') && !strstr(o->help, "default"), "%s: %s", o->name,
                      o->help);
        ck_assert_msg(!o->by_default || (*o->by_default && !strchr(o->by_default, ';')), "%s",
                      o->name);
        ck_assert_msg(!o->by_default || o->argument, "%s is a flag with a default", o->name);
    }
    for (size_t i = 0; command->everyday && command->everyday[i]; i++) {
        const char *name = command->everyday[i];
        bool found = false;
        for (size_t k = 0; (o = pp_command_option(command, k)); k++)
            found = found || strcmp(o->name, name) == 0;
        ck_assert_msg(found, "%s has no option %s", command->name, name);
    }
}
END_TEST

START_TEST(defaults_are_printed)
{
    static const pp_option options[] = {
        { PP_ROW("--a", "N", MODEL, "a number", "3") },
        { PP_ROW("--b", "N", OUTPUT, "another", NULL) },
        { "--c", "N", PP_GROUP_HARDWARE, "a third", NULL, "--sea", false },
        { PP_ROW_END },
    };
    static const pp_command command = {
        .name = "x", .arguments = "FILE", .summary = "do it", .options = options
    };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text table PP_CLEANUP(pp_text_free) = { 0 };
    pp_help_print(&command, PP_HELP_EVERYDAY, &text);
    ck_assert_str_eq(text.data, "Do it.\n\n"
                                "usage: ppsim x FILE\n\n"
                                "Model and data:\n"
                                "  --a N              a number (default: 3)\n"
                                "Hardware:\n"
                                "  --c N              a third\n"
                                "Output:\n"
                                "  --b N              another\n"
                                "  --json             print the result as JSON\n"
                                "  -o, --output FILE  write the result to FILE (default: stdout)\n"
                                "  -h, --help         print this help\n\n"
                                "ppsim x --help megatron: Megatron's names\n");
    pp_help_print(&command, PP_HELP_MEGATRON, &table);
    ck_assert_str_eq(table.data, "'ppsim x' accepts these options of Megatron-LM:\n\n"
                                 "  ppsim                  Megatron-LM\n"
                                 "  --c                    --sea\n");
}
END_TEST

typedef struct request {
    const char *words[6];
    int topic; /* -1: no help is asked for */
} request;

static const request requests[] = {
    { { "--help" }, PP_HELP_EVERYDAY },
    { { "-h" }, PP_HELP_EVERYDAY },
    { { "--help", "all" }, PP_HELP_ALL },
    { { "--help=all" }, PP_HELP_ALL },
    { { "--help", "megatron" }, PP_HELP_MEGATRON },
    { { "--pp", "4", "--help" }, PP_HELP_EVERYDAY },
    { { "--no-such-option", "--help", "all" }, PP_HELP_ALL },
    { { "--help", "plan.json" }, PP_HELP_EVERYDAY },
    { { "--", "--help" }, -1 },
    { { "plan.json" }, -1 },
};

START_TEST(help_wins_at_any_position)
{
    const request *r = &requests[_i];
    char *argv[8] = { (char[]){ "ppsim" }, (char[]){ "plan" } };
    char words[6][32];
    int argc = 2;
    for (int i = 0; r->words[i]; i++) {
        strcpy(words[i], r->words[i]);
        argv[argc++] = words[i];
    }
    pp_help_topic topic = PP_HELP_MANUAL;
    ck_assert_int_eq(pp_help_requested(argc, argv, &topic), r->topic >= 0);
    ck_assert_int_eq(topic, r->topic >= 0 ? r->topic : (int)PP_HELP_MANUAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("help");
    TCase *rules = tcase_create("rules");
    tcase_add_loop_test(rules, help_is_short, 0, COMMANDS);
    tcase_add_loop_test(rules, all_options_are_shown_once, 0, COMMANDS);
    tcase_add_loop_test(rules, rows_have_one_form, 0, COMMANDS);
    tcase_add_test(rules, defaults_are_printed);
    tcase_add_loop_test(rules, help_wins_at_any_position, 0, sizeof requests / sizeof requests[0]);
    suite_add_tcase(suite, rules);
    return step_run(suite);
}
