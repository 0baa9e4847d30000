/* Processes that write one file at once neither fail nor leave anything. */
#include "sim/base/file.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 6, WRITES = 2000 };

static int write_often(const char *path)
{
    pp_err err = { 0 };
    for (int i = 0; i < WRITES; i++) {
        if (pp_file_write(path, "text", 4, &err)) {
            fprintf(stderr, "%s: %s\n", err.where, err.text);
            return 1;
        }
    }
    return 0;
}

START_TEST(writers_of_one_file_do_not_disturb_each_other)
{
    char folder[] = "/tmp/ppsim-file-XXXXXX";
    char path[64];
    int failed = 0;
    int files = 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < WRITERS; i++) {
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            _exit(write_often(path));
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        ck_assert_int_gt(wait(&status), 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    for (const struct dirent *entry; (entry = readdir(list));)
        files += entry->d_name[0] != '.';
    closedir(list);
    ck_assert_int_eq(failed, 0);
    ck_assert_int_eq(files, 1);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tc = tcase_create("file");
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, writers_of_one_file_do_not_disturb_each_other);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
