# Prints C files as file:line:code, with comments blank and the contents of literals left out, so
# that the lints look at code alone. Line numbers stay.
function put(character) { code = code character }
FNR == 1 { in_comment = 0 }
{
    code = ""
    n = length($0)
    for (i = 1; i <= n; i++) {
        two = substr($0, i, 2)
        c = substr($0, i, 1)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (two == "/*") {
            in_comment = 1
            i++
            put(" ")
        } else if (two == "//") {
            break
        } else if (c == "\"" || c == "'") {
            put(c)
            # An #include keeps its name.
            keep = c == "\"" && $0 ~ /^[ \t]*#[ \t]*include/
            for (i++; i <= n && substr($0, i, 1) != c; i++) {
                if (keep) put(substr($0, i, 1))
                if (substr($0, i, 1) == "\\") i++
            }
            put(c)
        } else {
            put(c)
        }
    }
    print FILENAME ":" FNR ":" code
}
