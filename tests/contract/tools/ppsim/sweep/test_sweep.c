/* A sweep that is killed, cut, sharded or spread over threads gives the same result as one that is
 * not. */
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "tests/support/step.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/sweep/file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POINTS = 3 * 3 * 7 * 2 };

/* Some points are illegal: interleaved needs multiples of pp, and two stages per rank. */
#define GRID                                                                       \
    "--study", "simulate", "--schedule", "1f1b,zb-h1,interleaved", "--pp", "2..4", \
        "--microbatches", "4..16+2", "--vpp", "1,2", "--costs", "F=1ms,I=1ms,W=1ms,comm=100us"

static char folder[64];

static const char *in_folder(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

/* Runs `ppsim sweep WORDS` in a process of its own, without output. file_bytes: the most that it
 * may write; 0: no limit. */
static pid_t start(const char *const words[], size_t file_bytes)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0)
        return child;
    pp_args *args = NULL;
    pp_err err = { 0 };
    int count = 0;
    const struct rlimit limit = { file_bytes, file_bytes };
    while (words[count])
        count++;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(99);
    signal(SIGXFSZ, SIG_IGN);
    if (file_bytes && setrlimit(RLIMIT_FSIZE, &limit))
        _exit(99);
    pp_status status = pp_args_parse(&pp_command_sweep, count, (char **)words, &args, &err);
    if (!status)
        status = pp_command_sweep.run(args, &err);
    _exit(pp_status_exit(status));
}

static int wait_for(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *read_all(const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    ck_assert_msg(!pp_file_read(path, &text, &bytes, &err), "%s", err.text);
    ck_assert_uint_eq(strlen(text), bytes);
    return text;
}

/* The files of the grid together have the same points as those of an uninterrupted run. */
static void assert_same(const char *whole, const char *const files[])
{
    char path[128];
    const char *words[16] = { "ppsim", "sweep", "--merge", "-o", in_folder("merged", path) };
    for (size_t i = 0; files[i]; i++)
        words[5 + i] = files[i];
    ck_assert_int_eq(wait_for(start(words, 0)), 0);
    char *merged PP_CLEANUP(pp_free_text) = read_all(path);
    ck_assert_str_eq(merged, whole);
}

static void sweep_to(const char *path, const char *threads, int wanted)
{
    const char *const words[] = { "ppsim", "sweep", GRID, "-o", path, "--threads", threads, NULL };
    ck_assert_int_eq(wait_for(start(words, 0)), wanted);
}

/* Uninterrupted, one thread, then sorted. */
static char *make_whole(void)
{
    char path[128];
    char merged[128];
    sweep_to(in_folder("whole", path), "1", 0);
    const char *const words[] = { "ppsim", "sweep", "--merge",
                                  path,    "-o",    in_folder("sorted", merged),
                                  NULL };
    ck_assert_int_eq(wait_for(start(words, 0)), 0);
    char *text = read_all(merged);
    size_t lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    ck_assert_uint_eq(lines, POINTS + 1);
    ck_assert_ptr_nonnull(strstr(text, "\"status\":\"ok\""));
    ck_assert_ptr_nonnull(strstr(text, "\"status\":\"illegal\""));
    return text;
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/ppsim-sweep-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void end(void)
{
    char path[128];
    static const char *const names[] = { "whole", "sorted", "merged", "a", "b", "c" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(in_folder(names[i], path));
    ck_assert_int_eq(rmdir(folder), 0);
}

/* Waits until the file holds this many bytes, or the child has ended. */
static void wait_for_bytes(const char *path, off_t bytes, pid_t child)
{
    const struct timespec nap = { .tv_nsec = 20000 };
    siginfo_t end = { 0 };
    struct stat file = { 0 };
    while ((stat(path, &file) || file.st_size < bytes) && !end.si_pid) {
        nanosleep(&nap, NULL);
        ck_assert_int_eq(waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT), 0);
    }
}

/* kill -9 at a random place: finished points stay as they are, and the next run adds the missing
 * ones. */
START_TEST(a_killed_sweep_loses_and_doubles_nothing)
{
    char path[128];
    char *whole PP_CLEANUP(pp_free_text) = make_whole();
    in_folder("a", path);
    uint64_t random = 1;
    int cut = 0;
    int kills = 200 / (int)sample_stride(4, 4);
    for (int i = 0; i < kills; i++) {
        const char *const words[] = { "ppsim", "sweep", GRID, "-o", path, "--threads", "2", NULL };
        unlink(path);
        pid_t child = start(words, 0);
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        wait_for_bytes(path, (off_t)((random >> 33) % strlen(whole)), child);
        kill(child, SIGKILL);
        int status = wait_for(child);
        ck_assert(status == 0 || status == -1);
        char *before PP_CLEANUP(pp_free_text) =
            access(path, F_OK) ? pp_copy_text("") : read_all(path);
        sweep_to(path, "2", 0);
        char *after PP_CLEANUP(pp_free_text) = read_all(path);
        const char *last = strrchr(before, '\n');
        size_t finished = last ? (size_t)(last - before) + 1 : 0;
        ck_assert_msg(memcmp(before, after, finished) == 0, "kill %d changed finished lines", i);
        cut += finished > 0 && finished < strlen(whole);
        ck_assert_uint_eq(strlen(after), strlen(whole)); /* each line once */
        assert_same(whole, (const char *const[]){ path, NULL });
    }
    ck_assert_msg(cut > kills / 10, "only %d kills came in the middle", cut);
}
END_TEST

/* A torn line, cut at any byte, is removed; so is a torn header. */
START_TEST(a_file_cut_at_any_byte_is_continued)
{
    char path[128];
    char *whole PP_CLEANUP(pp_free_text) = make_whole();
    size_t bytes = strlen(whole);
    size_t header = strcspn(whole, "\n") + 1;
    size_t second = header + strcspn(whole + header, "\n") + 1;
    in_folder("a", path);
    for (size_t cut = 0; cut < bytes; cut++) {
        pp_err err = { 0 };
        if (cut > header + 40 && cut + 40 < second)
            continue; /* the middle of a line is like its ends */
        if (cut > second + 2 && cut + 300 < bytes)
            continue;
        if (cut > header && cut % 7)
            continue;
        unlink(path);
        ck_assert(!pp_file_write(path, whole, cut, &err));
        sweep_to(path, "1", 0);
        assert_same(whole, (const char *const[]){ path, NULL });
    }
}
END_TEST

START_TEST(threads_make_no_difference)
{
    static const char *const threads[] = { "2", "5", "64" };
    char path[128];
    char *whole PP_CLEANUP(pp_free_text) = make_whole();
    for (size_t i = 0; i < 3; i++) {
        unlink(in_folder("a", path));
        sweep_to(path, threads[i], 0);
        assert_same(whole, (const char *const[]){ path, NULL });
    }
}
END_TEST

START_TEST(shards_together_are_the_whole)
{
    char path[3][128];
    char *whole PP_CLEANUP(pp_free_text) = make_whole();
    for (int i = 0; i < 3; i++) {
        char shard[8];
        snprintf(shard, sizeof shard, "%d/3", i);
        in_folder((const char[]){ (char)('a' + i), '\0' }, path[i]);
        const char *const words[] = {
            "ppsim", "sweep", GRID, "-o", path[i], "--shard", shard, NULL
        };
        ck_assert_int_eq(wait_for(start(words, 0)), 0);
    }
    assert_same(whole, (const char *const[]){ path[2], path[0], path[1], path[0], NULL });
    const char *const two[] = { "ppsim", "sweep", "--merge", path[0], path[2], NULL };
    ck_assert_int_eq(wait_for(start(two, 0)), pp_status_exit(PP_INFEASIBLE));
    sweep_to(path[0], "1", pp_status_exit(PP_INPUT)); /* a shard is not the whole */
}
END_TEST

/* The disk is full in the middle of a line: an error, and no torn line remains. */
START_TEST(a_full_disk_loses_nothing)
{
    char path[128];
    char *whole PP_CLEANUP(pp_free_text) = make_whole();
    size_t header = strcspn(whole, "\n") + 1;
    in_folder("a", path);
    for (size_t room = header + 100; room < strlen(whole); room += 3001) {
        const char *const words[] = { "ppsim", "sweep", GRID, "-o", path, NULL };
        unlink(path);
        ck_assert_int_eq(wait_for(start(words, room)), pp_status_exit(PP_IO));
        char *left PP_CLEANUP(pp_free_text) = read_all(path);
        ck_assert_int_eq(left[strlen(left) - 1], '\n');
        sweep_to(path, "2", 0);
        assert_same(whole, (const char *const[]){ path, NULL });
    }
}
END_TEST

/* If a file cannot be written, or does not belong to this sweep, the run ends before any point is
 * made. */
START_TEST(other_files_are_left_alone)
{
    char path[128];
    pp_err err = { 0 };
    char *whole PP_CLEANUP(pp_free_text) = make_whole();
    sweep_to("/dev/full", "1", pp_status_exit(PP_IO));
    sweep_to(folder, "1", pp_status_exit(PP_IO));
    sweep_to(in_folder("none/a", path), "1", pp_status_exit(PP_IO));
    in_folder("a", path);
    char *const other = strstr(whole, "zb-h1");
    other[4] = '2'; /* another grid */
    ck_assert(!pp_file_write(path, whole, strlen(whole), &err));
    sweep_to(path, "1", pp_status_exit(PP_INPUT));
    char *left PP_CLEANUP(pp_free_text) = read_all(path);
    ck_assert_str_eq(left, whole);
    other[4] = '1';
    char *const line = strstr(strchr(whole, '\n'), "\"schedule\":\"1f1b\"");
    line[12] = '2'; /* no point of the grid */
    ck_assert(!pp_file_write(path, whole, strlen(whole), &err));
    sweep_to(path, "1", pp_status_exit(PP_INPUT));
    if (geteuid() != 0) { /* permissions do not stop root */
        unlink(path);
        ck_assert(!pp_file_write(path, "", 0, &err));
        ck_assert_int_eq(chmod(path, 0444), 0);
        sweep_to(path, "1", pp_status_exit(PP_IO));
    }
}
END_TEST

START_TEST(one_sweep_writes_a_file)
{
    char path[128];
    in_folder("a", path);
    sweep_to(path, "1", 0);
    int held = open(path, O_RDONLY);
    ck_assert_int_ge(held, 0);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    sweep_to(path, "1", pp_status_exit(PP_IO));
    close(held);
    sweep_to(path, "1", 0);
}
END_TEST

/* The reader takes a part of a line that is longer than a pipe holds, and closes the pipe. */
START_TEST(a_reader_that_leaves_is_no_full_disk)
{
    enum { BYTES = 1 << 20 };
    int ends[2];
    char *line PP_CLEANUP(pp_free_text) = malloc(BYTES);
    pp_err err = { 0 };
    ck_assert_ptr_nonnull(line);
    memset(line, 'x', BYTES);
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t reader = fork();
    ck_assert_int_ge(reader, 0);
    if (reader == 0) {
        close(ends[1]);
        _exit(read(ends[0], line, 100) == 100 ? 0 : 1);
    }
    close(ends[0]);
    pp_sweep_file file = { .path = "pipe", .descriptor = ends[1] };
    ck_assert_int_eq(pp_sweep_file_append(&file, line, BYTES, &err), PP_IO);
    ck_assert_str_eq(err.text, strerror(EPIPE));
    close(ends[1]);
    ck_assert_int_eq(wait_for(reader), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tc = tcase_create("sweep");
    tcase_set_timeout(tc, 0); /* the limit is that of the test as a whole */
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_killed_sweep_loses_and_doubles_nothing);
    tcase_add_test(tc, a_file_cut_at_any_byte_is_continued);
    tcase_add_test(tc, threads_make_no_difference);
    tcase_add_test(tc, shards_together_are_the_whole);
    tcase_add_test(tc, a_full_disk_loses_nothing);
    tcase_add_test(tc, other_files_are_left_alone);
    tcase_add_test(tc, one_sweep_writes_a_file);
    tcase_add_test(tc, a_reader_that_leaves_is_no_full_disk);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
