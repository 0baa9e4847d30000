/* Fits the published measurements of links in traces/data/links and prints the table of
 * docs/explanation/calibration.md. */
#include "tests/support/links.h"

int main(void)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    link_print_header(&text);
    for (size_t i = 0; i < LINK_SETS; i++) {
        const link_row row = link_row_of(&link_sets[i]);
        link_print(&link_sets[i], &row, &text);
    }
    return text.failed || fputs(text.data, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
