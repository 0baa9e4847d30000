/* Control characters are shown, and everything else stays. What reaches a terminal:
 * tests/golden/control-characters. */
#include "tools/ppsim/base/escape.h"

#include "tests/support/step.h"
#include "tools/ppsim/base/colour.h"

#include <string.h>

static void becomes(const char *text, const char *kept, bool colour, const char *expected)
{
    pp_text shown = { 0 };
    pp_escape_add(&shown, text, strlen(text), kept, colour);
    ck_assert_str_eq(shown.data, expected);
    pp_text_free(&shown);
}

START_TEST(control_characters_are_shown)
{
    becomes("a\033[2Jb\r\177", "\n\t", false, "a\\u001b[2Jb\\u000d\\u007f");
    becomes("\302\233 \302\237", "", false, "\\u009b \\u009f");    /* C1 in UTF-8 */
    becomes("\233\x80 \x9f", "", false, "\\u009b\\u0080 \\u009f"); /* and as bytes */
    becomes("\342\200\256 \342\201\246", "", false, "\\u202e \\u2066");
    becomes("a\nb\tc", "\t", false, "a\\u000ab\tc");
}
END_TEST

START_TEST(a_zero_byte_is_shown)
{
    pp_text shown = { 0 };
    pp_escape_add(&shown, "a\0b", 3, "\n\t", true);
    ck_assert_str_eq(shown.data, "a\\u0000b");
    pp_text_free(&shown);
}
END_TEST

START_TEST(text_stays)
{
    /* Letters of two, three and four bytes, a no-break space, and bytes of no UTF-8. */
    const char *text = "plain \303\251 \342\202\254 \360\237\230\200 \302\240 \351t\351 \377\n\t";
    becomes("", "", false, "");
    becomes(text, "\n\t", false, text);
    becomes(text, "\n\t", true, text);
}
END_TEST

START_TEST(only_own_colour_is_sent)
{
    pp_text own = { 0 };
    pp_text_add(&own, "%sred%s", pp_colour_begin(PP_COLOUR_BAD), pp_colour_end(PP_COLOUR_BAD));
    becomes(own.data, "", true, "\033[31mred\033[0m");
    becomes("\033[31mred\033[0m", "", true, "\\u001b[31mred\\u001b[0m");
    pp_text_free(&own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("escape");
    TCase *tc = tcase_create("escape");
    tcase_add_test(tc, control_characters_are_shown);
    tcase_add_test(tc, a_zero_byte_is_shown);
    tcase_add_test(tc, text_stays);
    tcase_add_test(tc, only_own_colour_is_sent);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
