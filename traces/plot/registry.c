/* The table of kinds of pictures, made from traces/plots.def. Finds a kind, and makes its script.
 */
#include "traces/plot/registry.h"

#include "sim/base/field.h"
#include "sim/base/registry.h"
#include "traces/plot/draw/gnuplot.h"

#include <stdio.h>
#include <string.h>

#define PP_PLOT(id) extern const pp_plot pp_plot_##id;
#include "traces/plots.def"
#undef PP_PLOT

static const pp_plot *const plots[] = {
#define PP_PLOT(id) &pp_plot_##id,
#include "traces/plots.def"
#undef PP_PLOT
};

PP_REGISTRY(plot, plots, .noun = "kind", .field = PP_FIELD_KIND, .all = PP_FIELD_ASK_PLOTS);

static const char *needs(const pp_plot *plot, const pp_err *err)
{
    return plot->needs ? plot->needs : pp_err_name(err, plot->input);
}

static pp_status none_fits(pp_err *err)
{
    char kinds[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < plot_count; i++) {
        int n = snprintf(kinds + used, sizeof kinds - used, "%s%s: %s", used ? "; " : "",
                         plots[i]->name, needs(plots[i], err));
        if (n > 0 && (size_t)n < sizeof kinds - used)
            used += (size_t)n;
    }
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND),
                      "no kind of picture fits what was given (%s)", kinds);
}

pp_status pp_plot_choose(const char *name, const pp_picture *picture, const pp_plot **plot_out,
                         pp_err *err)
{
    size_t index = 0;
    if (name) {
        pp_status status = pp_registry_get(&plot_registry, name, &index, err);
        if (status)
            return status;
        if (!plots[index]->fits(picture))
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND), "%s needs %s", name,
                              needs(plots[index], err));
    } else {
        while (index < plot_count && !plots[index]->fits(picture))
            index++;
        if (index == plot_count)
            return none_fits(err);
    }
    *plot_out = plots[index];
    return PP_OK;
}

pp_status pp_plot_draw(const pp_plot *plot, const pp_picture *picture, pp_text *script,
                       pp_text *data, pp_err *err)
{
    char path[512]; /* with a folder, so that no name is special to gnuplot */
    snprintf(path, sizeof path, "./%s", picture->data_name);
    pp_text_add(script, "# gnuplot prints the picture on stdout: gnuplot THIS > FILE.%s\n",
                pp_plot_suffix(picture->out.format));
    pp_text_add(script, "data = ");
    pp_plot_quoted(script, path);
    pp_text_add(script, "\n");
    pp_status status = plot->draw(picture, script, data, err);
    if (status || (status = pp_text_check(script, err)))
        return status;
    return pp_text_check(data, err);
}
