#include "traces/plot/draw/plot_int.h"

#include "sim/base/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 1200 /* pixels of a picture that may choose */
#define TIC_PX 15  /* between two labels of an axis */

#define PP_PLOT(id) extern const pp_plot pp_plot_##id;
#include "traces/plots.def"
#undef PP_PLOT

static const pp_plot *const plots[] = {
#define PP_PLOT(id) &pp_plot_##id,
#include "traces/plots.def"
#undef PP_PLOT
};

enum { PLOT_COUNT = sizeof plots / sizeof plots[0] };

size_t pp_plot_count(void)
{
    return PLOT_COUNT;
}

const pp_plot *pp_plot_at(size_t index)
{
    return plots[index];
}

static pp_status none_fits(pp_err *err)
{
    char kinds[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < PLOT_COUNT; i++) {
        int n = snprintf(kinds + used, sizeof kinds - used, "%s%s: %s", used ? "; " : "",
                         plots[i]->name, plots[i]->needs);
        if (n > 0 && (size_t)n < sizeof kinds - used)
            used += (size_t)n;
    }
    return pp_err_set(err, PP_USAGE, "--kind", "no kind of picture fits what was given (%s)",
                      kinds);
}

static const char *name_at(size_t index)
{
    return plots[index]->name;
}

static const pp_registry registry = {
    .noun = "kind", .option = "--kind", .list = "plots", .count = PLOT_COUNT, .name = name_at
};

pp_status pp_plot_choose(const char *name, const pp_picture *picture, const pp_plot **plot_out,
                         pp_err *err)
{
    size_t index = 0;
    if (name) {
        pp_status status = pp_registry_get(&registry, name, &index, err);
        if (status)
            return status;
        if (!plots[index]->fits(picture))
            return pp_err_set(err, PP_USAGE, "--kind", "%s needs %s", name, plots[index]->needs);
    } else {
        while (index < PLOT_COUNT && !plots[index]->fits(picture))
            index++;
        if (index == PLOT_COUNT)
            return none_fits(err);
    }
    *plot_out = plots[index];
    return PP_OK;
}

pp_status pp_plot_draw(const pp_plot *plot, const pp_picture *picture, pp_text *script,
                       pp_text *data, pp_err *err)
{
    char path[512]; /* a folder before it, so that no name is special to gnuplot */
    snprintf(path, sizeof path, "./%s", picture->data_name);
    pp_text_add(script, "# gnuplot prints the picture on stdout: gnuplot THIS > FILE.%s\n",
                picture->png ? "png" : "svg");
    pp_text_add(script, "data = ");
    pp_plot_quoted(script, path);
    pp_text_add(script, "\n");
    pp_status status = plot->draw(picture, script, data, err);
    if (status || (status = pp_text_check(script, err)))
        return status;
    return pp_text_check(data, err);
}

pp_plot_unit pp_plot_time_unit(pp_ns largest_ns)
{
    static const pp_plot_unit units[] = {
        { "s", 1000000000, 9 }, { "ms", 1000000, 6 }, { "us", 1000, 3 }, { "ns", 1, 0 }
    };
    size_t i = 0;
    while (i < 3 && largest_ns < 2 * units[i].divisor)
        i++;
    return units[i];
}

pp_plot_unit pp_plot_bytes_unit(int64_t largest)
{
    static const pp_plot_unit units[] = {
        { "GiB", 1 << 30, 4 }, { "MiB", 1 << 20, 4 }, { "KiB", 1 << 10, 4 }, { "B", 1, 0 }
    };
    size_t i = 0;
    while (i < 3 && largest < 2 * units[i].divisor)
        i++;
    return units[i];
}

void pp_plot_number(pp_text *text, int64_t value, pp_plot_unit unit)
{
    char buffer[64];
    int length =
        snprintf(buffer, sizeof buffer, "%.*f", unit.digits, (double)value / (double)unit.divisor);
    while (unit.digits && buffer[length - 1] == '0')
        length--;
    if (buffer[length - 1] == '.')
        length--;
    pp_text_add_bytes(text, buffer, (size_t)length);
}

double pp_plot_step(double most, double count)
{
    double step = 1e-3;
    for (int i = 0; most / step > count; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

void pp_plot_add_words(pp_text *data, const char *words)
{
    for (; *words; words++) {
        bool plain = *words != '"' && *words != '\\' && (unsigned char)*words >= 0x20;
        pp_text_add_bytes(data, plain ? words : "'", 1);
    }
}

void pp_plot_quoted(pp_text *text, const char *words)
{
    pp_text_add(text, "'");
    for (; *words; words++) {
        bool control = (unsigned char)*words < 0x20 || *words == 0x7f;
        if (*words == '\'')
            pp_text_add(text, "''");
        else
            pp_text_add_bytes(text, control ? " " : words, 1);
    }
    pp_text_add(text, "'");
}

int pp_plot_font(bool png, int pixels)
{
    return png ? (pixels * 3 + 2) / 4 : pixels;
}

void pp_plot_fit_font(bool png, double room_px, size_t letters, pp_text *script)
{
    double fitting = room_px / (0.56 * (double)(letters ? letters : 1)); /* width of a letter */
    if (fitting < PP_PLOT_FONT_PX)
        pp_text_add(script, " font ',%d'", pp_plot_font(png, fitting > 7 ? (int)fitting : 7));
}

void pp_plot_terminal(const pp_picture *picture, int width, int height, pp_text *script)
{
    pp_text_add(script, "set encoding utf8\n");
    pp_text_add(script,
                picture->png
                    ? "set terminal pngcairo noenhanced size %d,%d font 'Sans,10'\n"
                    : "set terminal svg noenhanced size %d,%d font 'Helvetica,13' background "
                      "rgb 'white'\n",
                width, height);
}

static pp_ns end_of(const pp_track *track)
{
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++)
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    for (size_t i = 0; i < track->level_count; i++)
        end_ns = track->level[i].at_ns > end_ns ? track->level[i].at_ns : end_ns;
    return end_ns;
}

pp_status pp_plot_view_of(const pp_picture *picture, pp_plot_view *view_out, pp_err *err)
{
    uint32_t ranks = 0;
    pp_ns end_ns = 1; /* an axis needs a length */
    for (size_t i = 0; i < picture->tracks && i < PP_PICTURE_TRACKS; i++) {
        ranks = picture->track[i].ranks > ranks ? picture->track[i].ranks : ranks;
        pp_ns own_ns = end_of(&picture->track[i]);
        end_ns = own_ns > end_ns ? own_ns : end_ns;
    }
    if (picture->last_rank != UINT32_MAX && picture->last_rank >= ranks)
        return pp_err_set(err, PP_USAGE, "--ranks", "there are ranks 0 to %" PRIu32, ranks - 1);
    if (picture->from_ns >= end_ns) {
        char end[32];
        return pp_err_set(err, PP_USAGE, "--from", "is not before the end, %s",
                          pp_format_duration(end, sizeof end, end_ns));
    }
    *view_out = (pp_plot_view){ .first_rank = picture->first_rank,
                                .last_rank = ranks - 1,
                                .from_ns = picture->from_ns,
                                .to_ns = picture->to_ns ? picture->to_ns : end_ns };
    if (picture->last_rank != UINT32_MAX)
        view_out->last_rank = picture->last_rank;
    view_out->unit = pp_plot_time_unit(view_out->to_ns);
    return PP_OK;
}

void pp_plot_frame(const pp_picture *picture, pp_plot_view *view, int row_px, pp_plot_sides sides,
                   pp_text *script)
{
    uint32_t ranks = view->last_rank - view->first_rank + 1;
    uint32_t step = 1;
    int around = sides.top + sides.bottom;
    view->width = picture->width ? picture->width : WIDTH;
    view->height = picture->height ? picture->height : around + row_px * (int)ranks;
    view->png = picture->png;
    view->plot_px = view->width - sides.left - sides.right;
    view->row_px = (double)(view->height - around) / ranks;
    while (step < ranks && step * view->row_px < TIC_PX)
        step *= 2;
    pp_plot_terminal(picture, view->width, view->height, script);
    pp_text_add(script, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
                (double)sides.left / view->width, 1 - (double)sides.right / view->width);
    pp_text_add(script, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
                1 - (double)sides.top / view->height, (double)sides.bottom / view->height);
    pp_text_add(script,
                "set key tmargin center horizontal samplen 2 height 0.5\n"
                "set ytics scale 0 %" PRIu32 ",%" PRIu32 ",%" PRIu32 "\nset xtics nomirror\n"
                "set style textbox opaque noborder margins 0.2,0.2 fc rgb 'white'\n",
                view->first_rank, step, view->last_rank);
}

void pp_plot_axes(const pp_plot_view *view, pp_text *script)
{
    pp_text_add(script, "set xrange [");
    pp_plot_number(script, view->from_ns, view->unit);
    pp_text_add(script, ":");
    pp_plot_number(script, view->to_ns, view->unit);
    pp_text_add(script, "]\nset yrange [%.1f:%.1f]\n", view->last_rank + 0.5,
                view->first_rank - 0.5);
}

bool pp_plot_shows(const pp_plot_view *view, uint32_t rank, pp_ns start_ns, pp_ns end_ns)
{
    return rank >= view->first_rank && rank <= view->last_rank && end_ns >= view->from_ns &&
           start_ns <= view->to_ns;
}

void pp_plot_begin(pp_text *data, const char *prefix, const char *name)
{
    pp_text_add(data, "%s# %s%s\n", data->bytes ? "\n\n" : "", prefix, name);
}

void pp_plot_next(pp_text *script, const char *prefix, const char *name)
{
    bool first = script->bytes >= 5 && memcmp(script->data + script->bytes - 5, "plot ", 5) == 0;
    pp_text_add(script, "%sdata index '%s%s' ", first ? "" : ", \\\n    ", prefix, name);
}
