/* Runs a fuzz target as an ordinary test, if libFuzzer is not available:
 *   replay_x [--seconds N] [--seed N] FILE-OR-FOLDER...
 * First every input is run unchanged, in the order of their names; then, for N seconds, inputs made
 * from them. The sequence depends only on the seed, and the time only decides where it ends. An
 * input that crashes or hangs the target is left as fuzz-failure-<pid> in the current folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 16, CORPUS_MAX = 65536, HANG_S = 20 /* of processor time */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

typedef struct {
    uint8_t *data;
    size_t bytes;
} input;

static struct {
    input *inputs;
    size_t count;
} corpus;

static const uint8_t *volatile current; /* the input of the target, for the crash handler */
static volatile size_t current_bytes;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "fuzz driver: %s: %s\n", what, why);
    exit(2);
}

/* Async-signal-safe. */
static void keep_current(void)
{
    char name[] = "fuzz-failure-0000000000";
    size_t end = sizeof name - 2;
    for (long pid = (long)getpid(); pid > 0; pid /= 10)
        name[end--] = (char)('0' + pid % 10);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t written = file < 0 || !current ? -1 : write(file, current, current_bytes);
    static const char text[] = "fuzz driver: the input is kept in ";
    if (written < 0 || write(2, text, sizeof text - 1) < 0 || write(2, name, sizeof name - 1) < 0 ||
        write(2, "\n", 1) < 0)
        return;
}

static void on_signal(int number)
{
    keep_current();
    signal(number, SIG_DFL);
    raise(number);
}

/* SIGPROF comes after this many seconds of processor time; 0: never. */
static void limit(time_t seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = seconds }, NULL);
}

static void run_one(const uint8_t *data, size_t bytes)
{
    /* A copy of exactly this size, so that reading beyond it is noticed. */
    uint8_t *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        die("input", "out of memory");
    if (bytes)
        memcpy(copy, data, bytes);
    current_bytes = bytes;
    current = copy;
    limit(HANG_S);
    (void)LLVMFuzzerTestOneInput(copy, bytes);
    limit(0);
    current = NULL;
    free(copy);
}

static void add_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die(path, strerror(errno));
    uint8_t *data = malloc(INPUT_MAX);
    if (!data || corpus.count == CORPUS_MAX)
        die(path, "too much input");
    size_t bytes = fread(data, 1, INPUT_MAX, file);
    fclose(file);
    uint8_t *fitting = realloc(data, bytes ? bytes : 1);
    corpus.inputs[corpus.count++] = (input){ .data = fitting ? fitting : data, .bytes = bytes };
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        die(path, strerror(errno));
    if (!S_ISDIR(status.st_mode)) {
        add_file(path);
        return;
    }
    struct dirent **entries;
    int count = scandir(path, &entries, visible, alphasort);
    if (count < 0)
        die(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        free(entries[i]);
        add_path(inner);
    }
    free(entries);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t limit)
{
    return limit ? (size_t)(next_random(state) % limit) : 0;
}

/* Replaces data[at, at + removed) by `added` bytes of `with`. Returns the new length. */
static size_t splice(uint8_t *data, size_t bytes, size_t at, size_t removed, const void *with,
                     size_t added)
{
    if (bytes - removed + added > INPUT_MAX)
        return bytes;
    memmove(data + at + added, data + at + removed, bytes - at - removed);
    memcpy(data + at, with, added);
    return bytes - removed + added;
}

/* Values that readers often handle wrongly. */
static const char *const tokens[] = {
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e999",
    "-0.0",
    "NaN",
    "Infinity",
    "1e-400",
    "4294967296",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "\"\"",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\ud800",
    "\xff",
    "\xc3\xa9",
    "\n",
    "\r\n",
    "\t",
    " ",
    ";",
    "%s",
    "#",
    "0F0",
    "0B0",
    "0I0",
    "0W0",
    "3SEND_F7",
    "4RECV_F7",
    "(1F2;0B3)OVERLAP_F_B",
    "GiB",
    "ms",
    "\"format\"",
    "\"version\"",
};

static size_t mutate_once(uint8_t *data, size_t bytes, uint64_t *state)
{
    size_t at = below(state, bytes + 1);
    size_t rest = bytes - at;
    size_t length = below(state, (rest < 16 ? rest : below(state, 4) ? 16 : rest) + 1);
    uint8_t byte = (uint8_t)next_random(state);
    switch (below(state, 8)) {
    case 0: /* one bit */
        if (rest)
            data[at] ^= (uint8_t)(1u << below(state, 8));
        return bytes;
    case 1: /* one byte */
        return splice(data, bytes, at, rest ? 1 : 0, &byte, 1);
    case 2: /* remove */
        return splice(data, bytes, at, length, "", 0);
    case 3: /* repeat */
    {
        static uint8_t piece[INPUT_MAX];
        memcpy(piece, data + at, length);
        return splice(data, bytes, at, 0, piece, length);
    }
    case 4: /* cut off */
        return at;
    case 5: /* a digit becomes another one */
        for (size_t i = at; i < bytes; i++) {
            if (data[i] >= '0' && data[i] <= '9') {
                data[i] = (uint8_t)('0' + below(state, 10));
                return bytes;
            }
        }
        return bytes;
    case 6: /* a piece of another input */
    {
        const input *other = &corpus.inputs[below(state, corpus.count)];
        size_t from = below(state, other->bytes + 1);
        size_t taken = below(state, other->bytes - from + 1);
        return splice(data, bytes, at, length, other->data + from, taken);
    }
    default: /* a token replaces a piece or is inserted */
    {
        const char *token = tokens[below(state, sizeof tokens / sizeof tokens[0])];
        return splice(data, bytes, at, below(state, 2) ? length : 0, token, strlen(token));
    }
    }
}

static double now_s(void)
{
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t number_argument(const char *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end || errno)
        die(option, "needs a number");
    return value;
}

int main(int argc, char **argv)
{
    static uint8_t data[INPUT_MAX];
    uint64_t seconds = 0;
    uint64_t state = 1;
    static const int fatal[] = { SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGPROF };

    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    corpus.inputs = calloc(CORPUS_MAX, sizeof *corpus.inputs);
    if (!corpus.inputs)
        die("corpus", "out of memory");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0) {
            i++;
            seconds = number_argument("--seconds", argv[i]);
        } else if (strcmp(argv[i], "--seed") == 0) {
            i++;
            state = number_argument("--seed", argv[i]);
        } else {
            add_path(argv[i]);
        }
    }
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_current);

    for (size_t i = 0; i < corpus.count; i++)
        run_one(corpus.inputs[i].data, corpus.inputs[i].bytes);
    run_one(data, 0);
    uint64_t made = 0;
    for (double end = now_s() + (double)seconds; seconds && now_s() < end; made++) {
        size_t bytes = 0;
        if (corpus.count) {
            const input *start = &corpus.inputs[below(&state, corpus.count)];
            bytes = start->bytes;
            memcpy(data, start->data, bytes);
        }
        for (size_t n = 1 + below(&state, 6); n > 0; n--)
            bytes = mutate_once(data, bytes, &state);
        run_one(data, bytes);
    }
    printf("fuzz driver: %zu inputs of the corpus, %llu made from them\n", corpus.count,
           (unsigned long long)made);
    for (size_t i = 0; i < corpus.count; i++)
        free(corpus.inputs[i].data);
    free(corpus.inputs);
    return 0;
}
