/* tools/page/ as one text, made by cmake/EmbedPage.cmake. */
#ifndef PPSIM_TOOLS_PPSIM_PAGE_TEMPLATE_H
#define PPSIM_TOOLS_PPSIM_PAGE_TEMPLATE_H

/* HTML with its style and script; the line <!-- DATA --> is the place of the data. Ends with a NUL.
 */
extern const char pp_page_template[];

#endif
