/* Colour takes no column and is taken out completely. When it is printed: tests/golden/colour. */
#include "tools/ppsim/base/colour.h"

#include "tests/support/step.h"
#include "tools/ppsim/base/words.h"

#include <string.h>

START_TEST(colour_is_stripped)
{
    pp_text text = { 0 };
    for (int k = PP_COLOUR_NONE; k <= PP_COLOUR_BAD; k++)
        pp_text_add(&text, "%s%d%s ", pp_colour_begin((pp_colour)k), k,
                    pp_colour_end((pp_colour)k));
    pp_text_add(&text, "\033[3 \033[5m");
    pp_colour_strip(&text);
    ck_assert_str_eq(text.data, "0 1 2 3 \033[3 \033[5m");
    ck_assert_uint_eq(text.bytes, strlen(text.data));
    pp_text_free(&text);
    pp_colour_strip(&text); /* of nothing */
    ck_assert_ptr_null(text.data);
}
END_TEST

/* Lines break where they would without colour. */
START_TEST(colour_takes_no_column)
{
    pp_text plain = { 0 };
    pp_text coloured = { 0 };
    pp_text words = { 0 };
    for (int i = 0; i < 40; i++)
        pp_text_add(&words, "%sword%d%s ", pp_colour_begin(PP_COLOUR_BAD), i,
                    pp_colour_end(PP_COLOUR_BAD));
    pp_text_add(&words, "end");
    pp_print_labelled(&coloured, "label", &words);
    pp_colour_strip(&words);
    pp_print_labelled(&plain, "label", &words);
    pp_colour_strip(&coloured);
    ck_assert_str_eq(coloured.data, plain.data);
    pp_text_free(&plain);
    pp_text_free(&coloured);
    pp_text_free(&words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("colour");
    TCase *tc = tcase_create("colour");
    tcase_add_test(tc, colour_is_stripped);
    tcase_add_test(tc, colour_takes_no_column);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
