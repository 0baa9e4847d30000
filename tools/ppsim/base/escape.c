/* Shows control characters in place of sending them to the terminal, which obeys them: names and
 * file contents of others may hold any. These are the characters of C0 and C1 and DEL (ECMA-48),
 * the latter in UTF-8 and as single bytes, and the characters that turn the direction of text
 * (UAX 9), which hide what a line says.
 *
 * The form \u001b is that of JSON, so that JSON keeps its meaning, and of many languages. */
#include "tools/ppsim/base/escape.h"

#include "tools/ppsim/base/colour.h"

#include <string.h>

/* Returns the character whose `length` bytes are at `at`; of no UTF-8 (0) the byte itself. */
static unsigned decode(const char *at, size_t length)
{
    unsigned character = (unsigned char)at[0];
    if (length > 1)
        character &= 0x7fU >> length;
    for (size_t i = 1; i < length; i++)
        character = character << 6 | ((unsigned char)at[i] & 0x3f);
    return character;
}

static bool is_control(unsigned character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x61c ||
           character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

void pp_escape_add(pp_text *out, const char *text, size_t count, const char *kept, bool colour)
{
    size_t added = 0; /* bytes of `text` */
    for (size_t i = 0; i < count;) {
        const size_t length = pp_text_sequence(text + i);
        const size_t mark = colour ? pp_colour_mark(text + i) : 0;
        const size_t bytes = mark ? mark : length ? length : 1;
        const unsigned character = decode(text + i, length);
        const bool shown = is_control(character) && (!text[i] || !strchr(kept, text[i]));
        if (mark || shown) {
            pp_text_add_bytes(out, text + added, i - added);
            if (mark)
                pp_text_add(out, "%s", pp_colour_sequence(text + i));
            else
                pp_text_add(out, "\\u%04x", character);
            added = i + bytes;
        }
        i += bytes;
    }
    pp_text_add_bytes(out, text + added, count - added);
}
