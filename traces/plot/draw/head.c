/* Places title, note and key of a picture. gnuplot's own title and key are placed by widths that it
 * guesses, and run into each other or out of the picture. Here text flows in lines by a table of
 * widths of letters, and every line has its own place, in pixels. */
#include "traces/plot/draw/head.h"

#include <stdio.h>
#include <string.h>

enum { EDGE = 12, TOP = 8, BELOW = 10 };              /* margins of the head, in pixels */
enum { SWATCH = 22, SWATCH_GAP = 5, ENTRY_GAP = 18 }; /* of the entries of the legend, in pixels */
enum { SMALL_FONT = 10 }; /* widths of smaller letters are rounded up to whole pixels in a PNG */
enum { FONT_MAX = 12, FONT_MIN = 7, TITLE_MORE = 3 }; /* the title's letters are larger */

#define STRIPE_IN 2 /* distance of a stripe from the edge of its swatch, in pixels */

/* One line of a wrapped text. */
typedef struct text_line {
    const char *from;
    size_t bytes;
    bool cut; /* a word is longer than the line */
} text_line;

double pp_plot_text_px(const char *words, size_t bytes, int font)
{
    /* DejaVu Sans, in hundredths of the font's size, from the blank to the tilde. */
    static const unsigned char widths[] = {
        32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36,  32, 34, 64, 64, 64,
        64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63,
        58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63,  61, 73, 68, 99, 69,
        61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35,  63, 63, 28, 28, 58,
        28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59,  52, 64, 34, 64, 84,
    };
    int sum = 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)words[i];
        if (c >= 0x20 && c < 0x7f)
            sum += widths[c - 0x20];
        else if (c < 0x80 || c >= 0xc0) /* not the second byte of a letter */
            sum += 100;
    }
    return sum * font * (font <= SMALL_FONT ? 0.0108 : 0.01);
}

int pp_plot_fitting_font(const char *words, int most, double room_px)
{
    int font = most;
    while (font > FONT_MIN && pp_plot_text_px(words, strlen(words), font) > room_px)
        font--;
    return font;
}

/* Returns how many bytes of the first `bytes` of `words` fit into `room_px` before "...". */
static size_t fitting_bytes(const char *words, size_t bytes, int font, double room_px)
{
    size_t fitting = 0;
    while (fitting < bytes &&
           pp_plot_text_px(words, fitting + 1, font) + pp_plot_text_px("...", 3, font) <= room_px)
        fitting++;
    while (fitting && ((unsigned char)words[fitting] & 0xc0) == 0x80)
        fitting--; /* not within a letter */
    return fitting;
}

void pp_plot_shorten(const char *words, int font, double room_px, char *text, size_t bytes)
{
    size_t length = strlen(words);
    bool whole = pp_plot_text_px(words, length, font) <= room_px;
    snprintf(text, bytes, "%.*s%s",
             (int)(whole ? length : fitting_bytes(words, length, font, room_px)), words,
             whole ? "" : "...");
}

/* Finds the next line of `words`: as many words as fit into `room_px`. Returns what is left. */
static const char *next_line(const char *words, int font, double room_px, text_line *line_out)
{
    size_t fitting = 0; /* up to the end of the last word that fits */
    words += strspn(words, " ");
    for (size_t end = 0; words[end];) {
        end += strspn(words + end, " ");
        end += strcspn(words + end, " ");
        if (pp_plot_text_px(words, end, font) > room_px)
            break;
        fitting = end;
    }
    *line_out = (text_line){ .from = words, .bytes = fitting };
    if (!*words || fitting)
        return words + fitting;
    size_t most = strcspn(words, " ");
    line_out->cut = true;
    line_out->bytes = fitting_bytes(words, most, font, room_px);
    return words + most;
}

void pp_plot_text_at(pp_plot_size size, double x, double y, pp_plot_align align, int font,
                     const char *style, const char *words, pp_text *script)
{
    static const char *const sides[] = { "left", "center", "right" };
    pp_text_add(script, "set label ");
    pp_plot_quoted(script, words);
    pp_text_add(script, " at screen %.5f,%.5f %s font ',%g'%s%s\n", x / size.width,
                1 - y / size.height, sides[align], pp_plot_font(size.out, font), *style ? " " : "",
                style);
}

/* Appends a text in lines from height `y` on, to `script` unless that is NULL; returns the height
 * below it. */
static int flow(const char *words, int font, const char *style, pp_plot_size size, int y,
                pp_text *script)
{
    char text[400];
    text_line l;
    int room = size.width - 2 * EDGE;
    int line_px = font * 4 / 3 + 1;
    for (; *words; y += line_px) {
        words = next_line(words, font, room, &l);
        snprintf(text, sizeof text, "%.*s%s", (int)l.bytes, l.from, l.cut ? "..." : "");
        if (script)
            pp_plot_text_at(size, EDGE, y + line_px * 0.5, PP_PLOT_LEFT, font, style, text, script);
    }
    return y;
}

static void draw_box(pp_plot_size size, double left, double right, double top, double bottom,
                     const char *style, pp_text *script)
{
    pp_text_add(script, "set object rectangle from screen %.5f,%.5f to screen %.5f,%.5f %s\n",
                left / size.width, 1 - bottom / size.height, right / size.width,
                1 - top / size.height, style);
}

/* Appends a line as wide as a swatch, whose left end is at x. */
static void draw_line(pp_plot_size size, double x, double y, const char *style, pp_text *script)
{
    pp_text_add(script, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead %s\n",
                x / size.width, 1 - y / size.height, (x + SWATCH) / size.width, 1 - y / size.height,
                style);
}

static void draw_entry(const pp_plot_entry *entry, int font, pp_plot_size size, double x, double y,
                       pp_text *script)
{
    double middle = x + SWATCH * 0.5;
    double half = font * 0.45;
    bool halves = *entry->right != '\0';
    if (*entry->fill)
        draw_box(size, x, halves ? middle : x + SWATCH, y - half, y + half, entry->fill, script);
    if (halves)
        draw_box(size, middle, x + SWATCH, y - half, y + half, entry->right, script);
    if (*entry->upper)
        draw_line(size, x, y - half + STRIPE_IN, entry->upper, script);
    if (*entry->lower)
        draw_line(size, x, y + half - STRIPE_IN, entry->lower, script);
    if (*entry->line)
        draw_line(size, x, y, entry->line, script);
    if (*entry->point)
        pp_text_add(script, "set label '' at screen %.5f,%.5f point %s\n", middle / size.width,
                    1 - y / size.height, entry->point);
}

/* Appends the key from height `y` on, to `script` unless that is NULL; returns the height below
 * it. */
static int flow_key(const pp_plot_head *head, int font, pp_plot_size size, int y, pp_text *script)
{
    char text[240];
    double x = EDGE;
    int line_px = font * 4 / 3 + 2;
    for (size_t i = 0; i < head->entries; i++) {
        const pp_plot_entry *entry = &head->entry[i];
        pp_plot_shorten(entry->words, font, size.width - 2 * EDGE - SWATCH - SWATCH_GAP, text,
                        sizeof text);
        double wide = SWATCH + SWATCH_GAP + pp_plot_text_px(text, strlen(text), font);
        if (x > EDGE && x + wide > size.width - EDGE) {
            x = EDGE;
            y += line_px;
        }
        if (script) {
            draw_entry(entry, font, size, x, y + line_px * 0.5, script);
            pp_plot_text_at(size, x + SWATCH + SWATCH_GAP, y + line_px * 0.5, PP_PLOT_LEFT, font,
                            "", text, script);
        }
        x += wide + ENTRY_GAP;
    }
    return head->entries ? y + line_px : y;
}

static int flow_all(const pp_plot_head *head, int font, pp_plot_size size, pp_text *script)
{
    int y = flow(head->title, font + TITLE_MORE, "", size, TOP, script);
    y = flow(head->note, font, "tc rgb '#404040'", size, y, script);
    return flow_key(head, font, size, y + (head->entries ? 3 : 0), script) + BELOW;
}

pp_plot_entry *pp_plot_head_add(pp_plot_head *head, const char *fill, const char *line,
                                const char *point, const char *words)
{
    if (head->entries == PP_PLOT_ENTRIES)
        return NULL;
    pp_plot_entry *entry = &head->entry[head->entries++];
    *entry = (pp_plot_entry){ .fill = "" };
    snprintf(entry->fill, sizeof entry->fill, "%s", fill ? fill : "");
    snprintf(entry->line, sizeof entry->line, "%s", line ? line : "");
    snprintf(entry->point, sizeof entry->point, "%s", point ? point : "");
    snprintf(entry->words, sizeof entry->words, "%s", words);
    return entry;
}

void pp_plot_head_name(pp_plot_head *head, const char *about, const char *name, const char *shown,
                       const char *more)
{
    char words[400];
    snprintf(words, sizeof words, "%s%s%s", name, *name && *shown ? ": " : "", shown);
    snprintf(head->title, sizeof head->title, "%s", *about ? about : words);
    snprintf(head->note, sizeof head->note, "%s%s%s", *about ? words : "",
             *about && *words && *more ? ". " : "", more);
}

void pp_plot_head_lay_out(pp_plot_head *head, int width, int most_px)
{
    const pp_plot_size size = { .width = width, .height = 1 };
    head->font = FONT_MAX + 1;
    do {
        head->font--;
        head->px = flow_all(head, head->font, size, NULL);
    } while (head->px > most_px && head->font > FONT_MIN);
    if (head->px > most_px)
        *head->note = '\0';
    while ((head->px = flow_all(head, head->font, size, NULL)) > most_px && head->entries)
        head->entries--;
}

void pp_plot_head_draw(const pp_plot_head *head, pp_plot_size size, pp_text *script)
{
    flow_all(head, head->font, size, script);
}

void pp_plot_axis_names(pp_plot_size size, const double edges[4], const char *x, const char *y,
                        pp_text *script)
{
    double centre = (edges[0] + edges[2]) / 2;
    double room = 2 * (centre < size.width - centre ? centre : size.width - centre) - EDGE;
    double high = edges[3] - edges[1];
    if (*x)
        pp_plot_text_at(size, centre, size.height - 13, PP_PLOT_CENTRE,
                        pp_plot_fitting_font(x, FONT_MAX, room), "", x, script);
    if (*y)
        pp_plot_text_at(size, 13, (edges[1] + edges[3]) / 2, PP_PLOT_CENTRE,
                        pp_plot_fitting_font(y, FONT_MAX, high), "rotate by 90", y, script);
}
