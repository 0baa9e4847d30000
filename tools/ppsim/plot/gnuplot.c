/* Runs gnuplot as a child process, without a shell and without the user's settings. */
#include "tools/ppsim/plot/gnuplot.h"

#include "sim/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_THERE 127 /* exit status of a child that could not start gnuplot */

const char *pp_plot_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *with_suffix(const char *path, size_t stem, const char *suffix)
{
    size_t room = stem + strlen(suffix) + 1;
    char *whole = malloc(room);
    if (whole)
        snprintf(whole, room, "%.*s%s", (int)stem, path, suffix);
    return whole;
}

pp_status pp_plot_files_name(const char *picture, pp_plot_files *files_out, pp_err *err)
{
    const char *base = pp_plot_base_name(picture);
    const char *dot = strrchr(base, '.');
    int format = 0;
    while (dot && format < PP_PLOT_FORMATS &&
           strcmp(dot + 1, pp_plot_suffix((pp_plot_format)format)) != 0)
        format++;
    if (!dot || dot == base || format == PP_PLOT_FORMATS)
        return pp_err_set(err, PP_USAGE, "-o", "'%.64s' must end in .svg, .png or .pdf", picture);
    for (const char *c = picture; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return pp_err_set(err, PP_USAGE, "-o", "the name contains a control character");
    }
    size_t stem = (size_t)(dot - picture);
    pp_plot_files files = { .picture = picture, .format = (pp_plot_format)format };
    files.script = with_suffix(picture, stem, ".gp");
    files.data = with_suffix(picture, stem, ".dat");
    files.folder =
        base == picture ? pp_copy_text(".") : with_suffix(picture, (size_t)(base - picture), "");
    if (!files.script || !files.data || !files.folder) {
        pp_plot_files_free(&files);
        return pp_err_nomem(err);
    }
    *files_out = files;
    return PP_OK;
}

void pp_plot_files_free(pp_plot_files *files)
{
    free(files->script);
    free(files->data);
    free(files->folder);
    *files = (pp_plot_files){ 0 };
}

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* Looks for gnuplot in the folders of PATH, as a shell does, and makes its path absolute, since the
 * child changes its folder. Returns NULL if it is in none; the caller frees it. */
static char *find_gnuplot(void)
{
    static const char name[] = "/gnuplot";
    const char *path = getenv("PATH");
    struct stat info;
    for (const char *at = path; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        char program[PATH_MAX];
        const int length = (int)strcspn(at, ":");
        if (length >= (int)(sizeof program - sizeof name))
            continue;
        snprintf(program, sizeof program, "%.*s%s", length ? length : 1, length ? at : ".", name);
        if (stat(program, &info) == 0 && S_ISREG(info.st_mode) && access(program, X_OK) == 0)
            return realpath(program, NULL);
    }
    return NULL;
}

/* Runs in the child process and never returns. */
static void become_gnuplot(const char *program, const pp_plot_files *files, int out, int words)
{
    char script[512]; /* "./" comes first, so that a name with a leading dash is not an option */
    int length = snprintf(script, sizeof script, "./%s", pp_plot_base_name(files->script));
    char *const argv[] = { "gnuplot", "-d", script, NULL };
    int nothing = open("/dev/null", O_RDONLY);
    setenv("LC_ALL", "C.UTF-8", 1); /* names may be UTF-8, whatever the user's locale */
    if (length < (int)sizeof script && chdir(files->folder) == 0 && nothing >= 0 &&
        dup2(nothing, 0) == 0 && dup2(out, 1) == 1 && dup2(words, 2) == 2)
        execv(program, argv);
    _exit(NOT_THERE);
}

static pp_status read_back(FILE *file, char **text_out, size_t *bytes_out, pp_err *err)
{
    long bytes = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (bytes < 0)
        return pp_err_set(err, PP_IO, "gnuplot", "%s", strerror(errno));
    char *text = pp_alloc_array((size_t)bytes + 1, 1);
    if (!text)
        return pp_err_nomem(err);
    rewind(file);
    *bytes_out = fread(text, 1, (size_t)bytes, file);
    *text_out = text;
    return PP_OK;
}

/* Returns the first line with a message. Before it gnuplot prints the line of the script and a
 * caret. */
static const char *first_words(char *text)
{
    char *at = strstr(text, "line ");
    at = at ? at : text + strspn(text, "\n");
    at[strcspn(at, "\n")] = '\0';
    return *at ? at : "it said nothing";
}

static pp_status not_installed(const pp_plot_files *files, pp_err *err)
{
    return pp_err_set(
        err, PP_UNAVAILABLE, "gnuplot",
        "is not installed; the picture's script %.200s and data %.200s are written: install "
        "gnuplot, then run 'gnuplot %.100s > %.100s' in their folder",
        files->script, files->data, pp_plot_base_name(files->script),
        pp_plot_base_name(files->picture));
}

static pp_status judge(const pp_plot_files *files, int status, FILE *out, FILE *words,
                       char **picture_out, size_t *bytes_out, pp_err *err)
{
    char *said PP_CLEANUP(pp_free_text) = NULL;
    char *picture PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE)
        return not_installed(files, err);
    pp_status read = read_back(words, &said, &bytes, err);
    if (read || (read = read_back(out, &picture, &bytes, err)))
        return read;
    if (strstr(said, "unknown or ambiguous terminal type"))
        return pp_err_set(err, PP_UNAVAILABLE, "gnuplot",
                          "this one was built without Cairo and cannot write .%s; install the "
                          "gnuplot of your distribution, or give a name that ends in .svg",
                          pp_plot_suffix(files->format));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !bytes)
        return pp_err_set(err, PP_IO, files->script, "gnuplot cannot draw it: %.400s",
                          first_words(said));
    *picture_out = picture;
    *bytes_out = bytes;
    picture = NULL; /* the caller owns it now */
    return PP_OK;
}

pp_status pp_gnuplot_run(const pp_plot_files *files, char **picture_out, size_t *bytes_out,
                         pp_err *err)
{
    char *program PP_CLEANUP(pp_free_text) = find_gnuplot();
    if (!program)
        return not_installed(files, err);
    FILE *out PP_CLEANUP(close_file) = tmpfile();
    FILE *words PP_CLEANUP(close_file) = tmpfile();
    int status = 0;
    if (!out || !words)
        return pp_err_set(err, PP_IO, "gnuplot", "a temporary file cannot be made: %s",
                          strerror(errno));
    pid_t child = fork();
    if (child == 0)
        become_gnuplot(program, files, fileno(out), fileno(words));
    while (child > 0 && waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            child = -1;
    }
    if (child < 0)
        return pp_err_set(err, PP_IO, "gnuplot", "cannot be started: %s", strerror(errno));
    return judge(files, status, out, words, picture_out, bytes_out, err);
}
