/* Reads the CSV file of `ppsim plan --candidates` into a picture: the fastest candidate of each
 * schedule that fits. */
#include "tools/ppsim/plot/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_BYTES 64

/* The columns that are drawn or used in names. */
enum {
    STATUS,
    SCHEDULE,
    VPP,
    TP,
    DP,
    BATCH,
    RECOMPUTE,
    STEP,
    BUBBLE,
    PEAK,
    GPUS,
    PP,
    MICROBATCHES,
    USED
};
enum { FIRST_SETTING = VPP, LAST_SETTING = RECOMPUTE };

static const char *const names[USED] = {
    "status",
    "schedule",
    "vpp",
    "tp",
    "dp",
    "micro_batch_size",
    "recompute",
    "step_ns",
    "bubble_fraction",
    "peak_memory_bytes",
    "gpus",
    "pp",
    "microbatches",
};

/* The settings of the first row, and which of them differ in other rows. */
typedef struct settings {
    char first[USED][CELL_BYTES];
    bool differ[USED];
} settings;

bool pp_candidates_recognise(const char *text, size_t bytes)
{
    static const char start[] = "status,schedule,";
    return bytes >= sizeof start - 1 && memcmp(text, start, sizeof start - 1) == 0;
}

/* Copies the cell at `at` and returns the position after it, which holds a comma, a newline or NUL.
 * A quoted cell is skipped and gives an empty text. */
static const char *read_cell(const char *at, char cell[CELL_BYTES])
{
    size_t length = 0;
    cell[0] = '\0';
    if (*at == '"') {
        for (at++; *at && (*at != '"' || at[1] == '"'); at++)
            at += *at == '"';
        return *at ? at + 1 : at;
    }
    length = strcspn(at, ",\n");
    snprintf(cell, CELL_BYTES, "%.*s", length < CELL_BYTES ? (int)length : CELL_BYTES - 1, at);
    return at + length;
}

/* Reads the header at *text and moves *text past it. place[i] receives the position of column i. */
static pp_status read_header(const char **text, const char *file, int place[USED], pp_err *err)
{
    const char *at = *text;
    char cell[CELL_BYTES];
    char where[256];
    for (int i = 0; i < USED; i++)
        place[i] = -1;
    for (int column = 0;; column++) {
        at = read_cell(at, cell);
        for (int i = 0; i < USED; i++)
            place[i] = strcmp(cell, names[i]) == 0 ? column : place[i];
        if (*at != ',')
            break;
        at++;
    }
    *text = *at ? at + 1 : at;
    snprintf(where, sizeof where, "%.200s:1:1", file);
    for (int i = 0; i < USED; i++) {
        if (place[i] < 0)
            return pp_err_set(err, PP_INPUT, where,
                              "has no column %s; give a file that 'ppsim plan --candidates' wrote",
                              names[i]);
    }
    return PP_OK;
}

static const char *read_row(const char *at, const int place[USED], char cells[USED][CELL_BYTES])
{
    for (int i = 0; i < USED; i++)
        cells[i][0] = '\0';
    for (int column = 0;; column++) {
        char cell[CELL_BYTES];
        at = read_cell(at, cell);
        for (int i = 0; i < USED; i++) {
            if (place[i] == column)
                memcpy(cells[i], cell, CELL_BYTES);
        }
        if (*at != ',')
            break;
        at++;
    }
    return *at == '\n' ? at + 1 : at + strlen(at);
}

/* Returns whether the schedule has a bar already. The file is sorted by speed, so that the first
 * row of a schedule is its best. */
static bool seen(const pp_picture *picture, size_t from, const char *schedule)
{
    for (size_t i = from; i < picture->bar_count; i++) {
        if (strcmp(picture->bar[i].name, schedule) == 0)
            return true;
    }
    return false;
}

/* Adds a bar that is named after its schedule. */
static pp_status add_row(char cells[USED][CELL_BYTES], const char *where, pp_picture *picture,
                         pp_err *err)
{
    double bubble = 0;
    pp_bar *bar = pp_picture_add_bar(picture, err);
    if (!bar)
        return PP_NOMEM;
    pp_status status = pp_parse_int(cells[STEP], where, 1, PP_NS_MAX, &bar->step_ns, err);
    if (status ||
        (status = pp_parse_int(cells[PEAK], where, 0, PP_BYTES_MAX, &bar->peak_bytes, err)))
        return status;
    if (sscanf(cells[BUBBLE], "%lf", &bubble) != 1 || !(bubble >= 0 && bubble <= 1))
        return pp_err_set(err, PP_INPUT, where, "bubble_fraction '%s' is not from 0 to 1",
                          cells[BUBBLE]);
    bar->bubble_fraction = bubble;
    snprintf(bar->name, sizeof bar->name, "%s", cells[SCHEDULE]);
    if (*cells[GPUS])
        snprintf(bar->about, sizeof bar->about, "%s GPUs (pp %s), batch %.0f", cells[GPUS],
                 cells[PP],
                 strtod(cells[BATCH], NULL) * strtod(cells[MICROBATCHES], NULL) *
                     strtod(cells[DP], NULL));
    return PP_OK;
}

/* Notes which settings differ from those of the first row. */
static void compare_settings(char cells[USED][CELL_BYTES], bool first, settings *s)
{
    for (int i = FIRST_SETTING; i <= LAST_SETTING; i++) {
        if (first)
            memcpy(s->first[i], cells[i], CELL_BYTES);
        s->differ[i] |= strcmp(s->first[i], cells[i]) != 0;
    }
}

static void add_words(const char *name, const char *value, const char *between, char *text,
                      size_t bytes)
{
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s %s", used ? between : "", name, value);
}

/* Adds to the names of the bars the settings in which they differ, and to the picture the others.
 * text: after the header. */
static void add_settings(const char *text, const int place[USED], const settings *s, size_t from,
                         pp_picture *picture)
{
    static const char *const names_of[USED] = {
        [VPP] = "vpp", [TP] = "tp", [DP] = "dp", [BATCH] = "micro-batch", [RECOMPUTE] = "recompute"
    };
    char cells[USED][CELL_BYTES];
    for (size_t i = from; *text && i < picture->bar_count;) {
        pp_bar *bar = &picture->bar[i];
        text = read_row(text, place, cells);
        if (strcmp(cells[STATUS], "ok") != 0 || strcmp(cells[SCHEDULE], bar->name) != 0)
            continue;
        for (int k = FIRST_SETTING; k <= LAST_SETTING; k++) {
            if (s->differ[k])
                add_words(names_of[k], cells[k], " ", bar->name, sizeof bar->name);
        }
        i++;
    }
    for (int k = FIRST_SETTING; k <= LAST_SETTING; k++) {
        if (!s->differ[k])
            add_words(names_of[k], s->first[k], ", ", picture->bars_share,
                      sizeof picture->bars_share);
    }
}

pp_status pp_candidates_read(const char *text, const char *file, pp_picture *picture, pp_err *err)
{
    int place[USED];
    char cells[USED][CELL_BYTES];
    char where[256];
    settings s = { .differ = { false } };
    size_t from = picture->bar_count;
    pp_status status = read_header(&text, file, place, err);
    const char *rows = text;
    for (int line = 2; *text && !status; line++) {
        text = read_row(text, place, cells);
        snprintf(where, sizeof where, "%.200s:%d:1", file, line);
        if (strcmp(cells[STATUS], "ok") != 0 || seen(picture, from, cells[SCHEDULE]))
            continue;
        compare_settings(cells, picture->bar_count == from, &s);
        status = add_row(cells, where, picture, err);
    }
    if (!status && picture->bar_count == from)
        status = pp_err_set(err, PP_INPUT, file, "has no candidate that fits");
    if (!status)
        add_settings(rows, place, &s, from, picture);
    return status;
}
