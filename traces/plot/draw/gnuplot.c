/* Writes gnuplot's language. All data of a picture are sets of one file. A comment names each set,
 * and the elements of the plot command refer to it by that name. */
#include "traces/plot/draw/gnuplot.h"

#include <stdio.h>
#include <string.h>

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

const char *pp_plot_suffix(pp_plot_format format)
{
    static const char *const suffixes[PP_PLOT_FORMATS] = {
#define PP_PLOT_FORMAT_TEXT(name, suffix) [PP_PLOT_##name] = #suffix,
        PP_PLOT_FORMAT_MAP(PP_PLOT_FORMAT_TEXT)
#undef PP_PLOT_FORMAT_TEXT
    };
    return suffixes[format];
}

double pp_plot_font(pp_plot_output out, int pixels)
{
    return out.format == PP_PLOT_SVG ? pixels : pixels * 0.75;
}

void pp_plot_terminal(pp_plot_size size, pp_text *script)
{
    const double scale = size.out.scale > 0 ? size.out.scale : 1;
    pp_text_add(script, "set encoding utf8\nset terminal ");
    switch (size.out.format) {
    case PP_PLOT_PNG:
        pp_text_add(script, "pngcairo noenhanced size %.0f,%.0f font 'Sans,9'", size.width * scale,
                    size.height * scale);
        if (scale != 1)
            pp_text_add(script, " fontscale %g linewidth %g pointscale %g", scale, scale, scale);
        break;
    case PP_PLOT_PDF: /* its unit of lines is 2/3 of a pixel, and that of fonts 4/3 of a point */
        pp_text_add(script,
                    "pdfcairo noenhanced size %.4fin,%.4fin font 'Sans,9' fontscale 0.75 "
                    "linewidth 1.5 background rgb 'white'",
                    size.width / 96.0, size.height / 96.0);
        break;
    default:
        pp_text_add(script, "svg noenhanced size %d,%d font 'Helvetica,12' background rgb 'white'",
                    size.width, size.height);
    }
    pp_text_add(script, "\nset tics scale 0.5\n");
}

void pp_plot_margins(pp_plot_size size, const double edges[4], pp_text *script)
{
    pp_text_add(script,
                "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
                "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
                edges[0] / size.width, edges[2] / size.width, 1 - edges[1] / size.height,
                1 - edges[3] / size.height);
}

const char *pp_plot_colour(size_t index)
{
    static const char *const colours[] = { "#2f62bd", "#c9721a", "#2f8a86",
                                           "#8a3f9a", "#4f8a2f", "#606060" };
    return colours[index % (sizeof colours / sizeof colours[0])];
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
