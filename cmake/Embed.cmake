# cmake -DOUTPUT=file.c -DDATA=folder -DKINDS=models,hardware -P Embed.cmake
# Writes a C file that holds folder/<kind>/*.json as tables sorted by name; traces/read/data.h reads it.
string(REPLACE "," ";" kinds "${KINDS}")
set(arrays "")
set(tables "")
set(index "")
foreach(kind IN LISTS kinds)
    file(GLOB files ${DATA}/${kind}/*.json)
    set(names)
    foreach(file IN LISTS files)
        cmake_path(GET file STEM LAST_ONLY name)
        list(APPEND names ${name})
    endforeach()
    list(SORT names COMPARE STRING)
    list(LENGTH names count)
    set(rows "")
    set(number 0)
    foreach(name IN LISTS names)
        file(READ ${DATA}/${kind}/${name}.json hex HEX)
        string(LENGTH "${hex}" digits)
        math(EXPR bytes "${digits} / 2")
        string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
        string(REPLACE "0x0a," "0x0a,\n    " hex "${hex}") # a line of the file is a line here
        string(APPEND arrays "static const unsigned char ${kind}_${number}[] = {\n    ${hex}0};\n")
        string(APPEND rows "    {\"${name}\", (const char *)${kind}_${number}, ${bytes}},\n")
        math(EXPR number "${number} + 1")
    endforeach()
    string(APPEND tables "static const pp_data_file ${kind}[] = {\n${rows}    {NULL, NULL, 0},\n};\n")
    string(APPEND index "    {${kind}, ${count}},\n")
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/Embed.cmake from traces/data; do not edit. */
#include \"traces/read/data_table.h\"

${arrays}
${tables}
const pp_data_table pp_data_tables[PP_DATA_KIND_COUNT] = {
${index}};
")
