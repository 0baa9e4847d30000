/* Reads the CSV file of `ppsim plan --candidates` into a picture: the fastest candidate of each
 * schedule that fits. */
#include "tools/ppsim/plot/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL_BYTES 64

/* The columns that are drawn or used in names. */
enum { STATUS, SCHEDULE, VPP, TP, DP, BATCH, RECOMPUTE, STEP, BUBBLE, PEAK, USED };

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
};

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

/* Reads the header at *text and moves *text behind it. place[i] receives the position of column
 * i. */
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
    size_t length = strlen(schedule);
    for (size_t i = from; i < picture->bar_count; i++) {
        if (strncmp(picture->bar[i].name, schedule, length) == 0 &&
            picture->bar[i].name[length] == ' ')
            return true;
    }
    return false;
}

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
    snprintf(bar->name, sizeof bar->name, "%.40s vpp %.8s tp %.8s dp %.8s mbs %.8s recompute %.16s",
             cells[SCHEDULE], cells[VPP], cells[TP], cells[DP], cells[BATCH], cells[RECOMPUTE]);
    return PP_OK;
}

pp_status pp_candidates_read(const char *text, const char *file, pp_picture *picture, pp_err *err)
{
    int place[USED];
    char cells[USED][CELL_BYTES];
    char where[256];
    size_t from = picture->bar_count;
    pp_status status = read_header(&text, file, place, err);
    for (int line = 2; *text && !status; line++) {
        text = read_row(text, place, cells);
        snprintf(where, sizeof where, "%.200s:%d:1", file, line);
        if (strcmp(cells[STATUS], "ok") == 0 && !seen(picture, from, cells[SCHEDULE]))
            status = add_row(cells, where, picture, err);
    }
    if (!status && picture->bar_count == from)
        status = pp_err_set(err, PP_INPUT, file, "has no candidate that fits");
    return status;
}
