# cmake -DOUTPUT=file.c -DFOLDER=tools/page -P EmbedPage.cmake
# Writes a C file with the text of FOLDER/page.html, in which the lines <!-- STYLE -->, <!-- SCRIPT -->
# and <!-- SIMULATOR --> are replaced by page.css, page.js and simulator.js; tools/ppsim/page/template.h
# declares it.
foreach(part IN ITEMS html css js)
    file(READ ${FOLDER}/page.${part} hex HEX)
    set(${part} "${hex}")
endforeach()
file(READ ${FOLDER}/simulator.js simulator HEX)
# As digits, since CMake would take ; and [ of the text for lists.
function(pp_replace mark opening closing inner)
    foreach(text IN ITEMS mark opening closing)
        string(HEX "${${text}}" ${text})
    endforeach()
    string(FIND "${html}" "${mark}" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "page.html lacks a line for its style or script")
    endif()
    string(REPLACE "${mark}" "${opening}${inner}${closing}" html "${html}")
    set(html "${html}" PARENT_SCOPE)
endfunction()
pp_replace("<!-- STYLE -->" "<style>\n" "</style>" "${css}")
pp_replace("<!-- SIMULATOR -->" "<script>\n" "</script>" "${simulator}")
pp_replace("<!-- SCRIPT -->" "<script>\n" "</script>" "${js}")
string(REGEX REPLACE "(..)" "0x\\1," html "${html}")
string(REPLACE "0x0a," "0x0a,\n    " html "${html}")
file(WRITE ${OUTPUT} "/* Made by cmake/EmbedPage.cmake from tools/page; do not edit. */
#include \"tools/ppsim/page/template.h\"

const char pp_page_template[] = {
    ${html}0};
")
