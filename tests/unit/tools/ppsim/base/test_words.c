/* Text in lines of 80 columns. */
#include "tools/ppsim/base/words.h"

#include "tests/support/step.h"

#include <string.h>

/* "2.4 %", "4.00 GiB" and "27.9 ms" are not torn apart, whatever column they reach. */
START_TEST(a_unit_stays_with_its_number)
{
    static const char *const quantities[] = { "2.4 %",   "2.4 %,",  "4.00 GiB", "1.732 MiB",
                                              "27.9 ms", "5.00 s)", "3 ns;",    "1 us" };
    for (size_t q = 0; q < sizeof quantities / sizeof *quantities; q++) {
        for (int before = 50; before < 80; before++) {
            pp_text text = { 0 };
            char words[128];
            snprintf(words, sizeof words, "%0*d %s end", before, 0, quantities[q]);
            pp_print_words(&text, words, 0, 0);
            ck_assert_ptr_nonnull(strstr(text.data, quantities[q]));
            for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
                ck_assert_uint_le(strcspn(line, "\n"), PP_COLUMNS);
            pp_text_free(&text);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("words");
    TCase *tc = tcase_create("words");
    tcase_add_test(tc, a_unit_stays_with_its_number);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
