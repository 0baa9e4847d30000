/* ppsim completion: writes completion scripts for bash, zsh and fish from the option tables. */
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"

#include <stdio.h>
#include <string.h>

static const pp_command *const commands[] = {
#define PP_COMMAND(id) &pp_command_##id,
#include "tools/ppsim/commands.def"
#undef PP_COMMAND
    NULL,
};

static const pp_option options[] = {
    { PP_ROW_END },
};

typedef enum source {
    NOTHING, /* a flag */
    FILES,   /* the values are not known; shells offer files */
    WORDS,   /* the values are words */
    NAMES,   /* the values are names of 'ppsim list KIND', or a file */
    FORMATS, /* the values are such a name, then = and a file */
} source;

/* The values that an option can have. */
typedef struct values {
    source source;
    char words[256]; /* WORDS: the words, separated by spaces; NAMES, FORMATS: the KIND */
    char more[64];   /* NAMES: words that are also values, each after a space */
} values;

/* Finds the words that are values: "auto uniform" for "auto|uniform|LAYOUT". A word in capitals is
 * a placeholder. */
static bool find_words(const char *argument, values *out)
{
    size_t used = 0;
    out->words[0] = '\0';
    if (!strchr(argument, '|'))
        return false;
    while (*argument) {
        size_t length = strcspn(argument, "|");
        bool plain = strspn(argument, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
        if (plain && used + length + 2 <= sizeof out->words)
            used += (size_t)snprintf(out->words + used, sizeof out->words - used, "%s%.*s",
                                     used ? " " : "", (int)length, argument);
        argument += length + (argument[length] == '|');
    }
    return used > 0;
}

static values values_of(const pp_option *option)
{
    static const char list[] = "'ppsim list ";
    values found = { .source = NOTHING };
    if (!option->argument)
        return found;
    const char *kind = strstr(option->help, list);
    if (kind) {
        if (find_words(option->argument, &found))
            snprintf(found.more, sizeof found.more, " %.60s", found.words);
        kind += sizeof list - 1;
        found.source = strchr(option->argument, '=') ? FORMATS : NAMES;
        snprintf(found.words, sizeof found.words, "%.*s", (int)strcspn(kind, "'"), kind);
    } else {
        found.source = find_words(option->argument, &found) ? WORDS : FILES;
    }
    return found;
}

static void add_word(pp_text *text, const char *word)
{
    if (word)
        pp_text_add(text, " %s", word);
}

static void add_commands(pp_text *text)
{
    for (const pp_command *const *c = commands; *c; c++)
        add_word(text, (*c)->name);
}

/* --- bash: readline offers files if the script offers nothing */

static void bash_values(const pp_command *command, const pp_option *option, pp_text *text)
{
    values v = values_of(option);
    if (v.source == NOTHING)
        return;
    pp_text_add(text, "    %s:%s", command->name, option->name);
    if (option->alias)
        pp_text_add(text, " | %s:%s", command->name, option->alias);
    pp_text_add(text, ")");
    if (v.source == WORDS)
        pp_text_add(text, " words='%s'", v.words);
    else if (v.source == NAMES)
        pp_text_add(text, " words=\"$(ppsim list %s 2>/dev/null | sed 's/ .*//')%s\"", v.words,
                    v.more);
    else if (v.source == FORMATS)
        pp_text_add(text,
                    " words=$(ppsim list %s 2>/dev/null | sed 's/ .*/=/'); compopt -o nospace",
                    v.words);
    pp_text_add(text, " ;;\n");
}

static void bash(pp_text *text)
{
    pp_text_add(text, "# bash completion of ppsim, made by 'ppsim completion bash'\n"
                      "_ppsim()\n{\n"
                      "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                      "    case $COMP_CWORD:$word in\n    1:*) words='");
    add_commands(text);
    pp_text_add(text, " help --help --version' ;;\n    *)\n"
                      "    case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in\n    *:=) ;;\n"
                      "    help:help) words='");
    add_commands(text);
    pp_text_add(text, "' ;;\n    help:*) words='all megatron' ;;\n");
    for (const pp_command *const *c = commands; *c; c++) {
        const pp_option *option;
        values v;
        for (size_t i = 0; (option = pp_command_option(*c, i)); i++)
            bash_values(*c, option, text);
        pp_text_add(text, "    %s:*) words='%s", (*c)->name,
                    find_words((*c)->arguments, &v) ? v.words : "");
        for (size_t i = 0; (option = pp_command_option(*c, i)); i++) {
            add_word(text, option->name);
            add_word(text, option->alias);
        }
        pp_text_add(text, "' ;;\n");
    }
    pp_text_add(text, "    esac ;;\n    esac\n"
                      "    COMPREPLY=()\n"
                      "    [ \"$word\" != = ] || word=\n"
                      "    while IFS= read -r word; do COMPREPLY+=(\"$word\"); done "
                      "< <(compgen -W \"$words\" -- \"$word\")\n"
                      "}\ncomplete -o default -F _ppsim ppsim\n");
}

/* --- zsh */

/* Escapes text for single quotes, with a backslash before the characters in `special`. */
static void add_escaped(pp_text *text, const char *words, const char *special)
{
    for (; *words; words++) {
        if (*words == '\'')
            pp_text_add(text, "'\\''");
        else
            pp_text_add(text, "%s%c", strchr(special, *words) ? "\\" : "", *words);
    }
}

static void zsh_option(const pp_option *option, const char *name, pp_text *text)
{
    values v = values_of(option);
    pp_text_add(text, " \\\n            '%s%s[", option->repeated ? "*" : "", name);
    add_escaped(text, option->help, "[]\\");
    pp_text_add(text, "]");
    if (option->argument) {
        pp_text_add(text, ":");
        add_escaped(text, option->argument, ":\\");
    }
    if (v.source == FILES)
        pp_text_add(text, ":_files'");
    else if (v.source == WORDS)
        pp_text_add(text, ":(%s)'", v.words);
    else if (v.source == NAMES || v.source == FORMATS)
        pp_text_add(text, ":_ppsim_%s %s%s'", v.source == NAMES ? "names" : "formats", v.words,
                    v.source == NAMES ? v.more : "");
    else
        pp_text_add(text, "'");
}

static void zsh_command(const pp_command *command, pp_text *text)
{
    const pp_option *option;
    values v;
    pp_text_add(text, "    %s)\n        _arguments", command->name);
    for (size_t i = 0; (option = pp_command_option(command, i)); i++) {
        zsh_option(option, option->name, text);
        if (option->alias)
            zsh_option(option, option->alias, text);
    }
    if (find_words(command->arguments, &v))
        pp_text_add(text, " \\\n            '*:word:(%s)' ;;\n", v.words);
    else
        pp_text_add(text, " \\\n            '*:file:_files' ;;\n");
}

static void zsh(pp_text *text)
{
    pp_text_add(text, "#compdef ppsim\n# zsh completion of ppsim, made by 'ppsim completion zsh'\n"
                      "_ppsim_names() {\n"
                      "    local -a names=(${${(f)\"$(ppsim list $1 2>/dev/null)\"}%%%% *})\n"
                      "    compadd -a names\n    compadd -- ${@[2,-1]}\n    _files\n}\n"
                      "_ppsim_formats() {\n"
                      "    if compset -P '*='; then\n        _files\n        return\n    fi\n"
                      "    local -a names=(${${(f)\"$(ppsim list $1 2>/dev/null)\"}%%%% *})\n"
                      "    compadd -S = -a names\n}\n"
                      "_ppsim() {\n"
                      "    if (( CURRENT == 2 )); then\n        local -a commands=(\n");
    for (const pp_command *const *c = commands; *c; c++) {
        pp_text_add(text, "            '%s:", (*c)->name);
        add_escaped(text, (*c)->summary, "\\");
        pp_text_add(text, "'\n");
    }
    pp_text_add(
        text,
        "            'help:print help' '--help:print help' '--version:print version and licences'\n"
        "        )\n        _describe command commands\n        return\n    fi\n"
        "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n");
    for (const pp_command *const *c = commands; *c; c++)
        zsh_command(*c, text);
    pp_text_add(text, "    help)\n        _arguments '1:command:(");
    add_commands(text);
    pp_text_add(text, ")' '2:options:(all megatron)' ;;\n");
    pp_text_add(text, "    esac\n}\n_ppsim \"$@\"\n");
}

/* --- fish */

static void fish_text(pp_text *text, const char *words)
{
    pp_text_add(text, " -d '");
    for (; *words; words++)
        pp_text_add(text, "%s%c", strchr("'\\", *words) ? "\\" : "", *words);
    pp_text_add(text, "'\n");
}

static void fish_option(const pp_command *command, const pp_option *option, const char *name,
                        pp_text *text)
{
    values v = values_of(option);
    bool is_long = strncmp(name, "--", 2) == 0;
    pp_text_add(text, "complete -c ppsim -n '__fish_seen_subcommand_from %s' -%c %s", command->name,
                is_long ? 'l' : 's', name + (is_long ? 2 : 1));
    if (v.source == WORDS)
        pp_text_add(text, " -x -a '%s'", v.words);
    else if (v.source == NAMES)
        pp_text_add(text, " -r -a '(ppsim list %s | string replace -r \" .*\" \"\")%s'", v.words,
                    v.more);
    else if (v.source == FORMATS)
        pp_text_add(text, " -r -a '(ppsim list %s | string replace -r \" .*\" \"=\")'", v.words);
    else if (v.source == FILES)
        pp_text_add(text, " -r");
    fish_text(text, option->help);
}

static void fish(pp_text *text)
{
    pp_text_add(text, "# fish completion of ppsim, made by 'ppsim completion fish'\n");
    for (const pp_command *const *c = commands; *c; c++) {
        const pp_option *option;
        values v;
        pp_text_add(text, "complete -c ppsim -n __fish_use_subcommand -f -a %s", (*c)->name);
        fish_text(text, (*c)->summary);
        if (find_words((*c)->arguments, &v))
            pp_text_add(text, "complete -c ppsim -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                        (*c)->name, v.words);
        for (size_t i = 0; (option = pp_command_option(*c, i)); i++) {
            fish_option(*c, option, option->name, text);
            if (option->alias)
                fish_option(*c, option, option->alias, text);
        }
    }
    pp_text_add(text, "complete -c ppsim -n __fish_use_subcommand -f -a help -d 'print help'\n"
                      "complete -c ppsim -n '__fish_seen_subcommand_from help' -f -a '");
    add_commands(text);
    pp_text_add(text, " all megatron'\n");
    pp_text_add(text, "complete -c ppsim -n __fish_use_subcommand -l help -d 'print help'\n"
                      "complete -c ppsim -n __fish_use_subcommand -l version "
                      "-d 'print version and licences'\n");
}

static pp_status completion(const pp_args *args, pp_err *err)
{
    static const struct {
        const char *name;
        void (*write)(pp_text *text);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    const char *word = pp_args_word(args, 0);
    if (pp_args_has(args, "--json"))
        return pp_err_set(err, PP_USAGE, "--json",
                          "a shell script cannot be printed as JSON; remove the option");
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (!word || pp_args_word(args, 1) || strcmp(word, shells[i].name) != 0)
            continue;
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        shells[i].write(&text);
        pp_status status = pp_text_check(&text, err);
        return status ? status : pp_print_product(args, text.data, text.bytes, err);
    }
    return pp_err_set(err, PP_USAGE, NULL, "give the name of a shell: bash, zsh or fish");
}

const pp_command pp_command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print a script that completes ppsim's commands in a shell",
    .options = options,
    .examples = "source <(ppsim completion bash)\n"
                "ppsim completion fish -o ~/.config/fish/completions/ppsim.fish\n",
    .run = completion,
};
