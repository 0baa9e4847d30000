/* The look of pictures that are no timelines, after Tufte's rule that ink shows data: axes are grey
 * letters on light grid lines, and labels stand at what they name. A label is placed only where it
 * covers no line, mark or other label: the rectangles of these are kept in a list, and each label
 * is compared with all of them, O(labels x rectangles). */
#include "traces/plot/draw/quiet.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FONT = 12, FONT_LEAST = 7, EDGE = 12 }; /* pixels */

void pp_plot_quiet_axes(const char *grid, pp_text *script)
{
    pp_text_add(script, "unset key\nset border 0\nset tics scale 0\n"
                        "set xtics nomirror tc rgb '" PP_PLOT_LETTERS "'\n"
                        "set ytics nomirror tc rgb '" PP_PLOT_LETTERS "'\n");
    for (; *grid; grid++)
        pp_text_add(script, "set grid %ctics lt 1 lw 0.6 lc rgb '" PP_PLOT_GRID "'\n", *grid);
}

void pp_plot_captions(pp_plot_size size, const double edges[4], const char *x, const char *y,
                      pp_text *script)
{
    static const char style[] = "tc rgb '" PP_PLOT_LETTERS "'";
    double centre = (edges[0] + edges[2]) / 2;
    double room = 2 * (centre < size.width - centre ? centre : size.width - centre) - EDGE;
    if (*x)
        pp_plot_text_at(size, centre, size.height - 13, PP_PLOT_CENTRE,
                        pp_plot_fitting_font(x, FONT, room), style, x, script);
    if (*y)
        pp_plot_text_at(size, EDGE, edges[1] - PP_PLOT_CAPTION_PX * 0.6, PP_PLOT_LEFT,
                        pp_plot_fitting_font(y, FONT, size.width - 2 * EDGE), style, y, script);
}

void pp_plot_taken_free(pp_plot_taken *taken)
{
    free(taken->rect);
}

void pp_plot_take(pp_plot_taken *taken, pp_plot_rect rect)
{
    void *list = taken->rect;
    taken->failed |=
        pp_reserve(&list, &taken->capacity, taken->count + 1, sizeof rect, NULL) != PP_OK;
    if (taken->failed)
        return;
    taken->rect = list;
    taken->rect[taken->count++] = rect;
}

static bool is_free(const pp_plot_taken *taken, pp_plot_rect r)
{
    const pp_plot_rect *w = &taken->within;
    if (r.left < w->left || r.right > w->right || r.top < w->top || r.bottom > w->bottom)
        return false;
    for (size_t i = 0; i < taken->count; i++) {
        const pp_plot_rect *other = &taken->rect[i];
        if (r.left < other->right && other->left < r.right && r.top < other->bottom &&
            other->top < r.bottom)
            return false;
    }
    return true;
}

bool pp_plot_label(pp_plot_taken *taken, pp_plot_size size, double x, double y, pp_plot_align align,
                   int font, const char *style, const char *words, pp_text *script)
{
    double wide = pp_plot_text_px(words, strlen(words), font);
    double left = x - (align == PP_PLOT_RIGHT ? wide : align == PP_PLOT_CENTRE ? wide / 2 : 0);
    const pp_plot_rect rect = { left, y - font * 0.62, left + wide, y + font * 0.62 };
    if (!is_free(taken, rect))
        return false;
    pp_plot_take(taken, rect);
    if (script)
        pp_plot_text_at(size, x, y, align, font, style, words, script);
    return true;
}
