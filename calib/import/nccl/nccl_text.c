/* Reads logs of nccl-tests and rccl-tests line by line. A log may hold several tests, and output of
 * NCCL and of launchers between their rows and even within them. */
#include "calib/import/nccl/nccl_text.h"

#include "calib/import/common/lines.h"
#include "calib/import/nccl/nccl_json.h"
#include "calib/import/nccl/nccl_table.h"
#include "calib/import/nccl/nccl_version.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 1 << 20, ROWS_MAX = 1 << 22, LABEL_MAX = 120 };

typedef struct reader {
    const char *library;
    pp_nccl_section section;
    pp_nccl_layout layout;
    pp_span label;         /* text before every line, in which digits may vary */
    char mentioned[40];    /* the last program that a line named */
    char file_library[32]; /* the last version that was printed */
    bool configured;       /* the line "# nThread" was read */
    bool in_place_heading; /* the line above the header has "in-place", without "out-of-place" */
    pp_span half[PP_NCCL_COLUMNS_MAX]; /* first words of a row that other output interrupted */
    size_t half_count, half_line;
    size_t chatter, first_chatter;
    pp_skips notes;
    const char *file;
    pp_samples *samples;
} reader;

static void free_reader(reader *r)
{
    pp_nccl_section_free(&r->section);
    pp_skips_free(&r->notes);
}

static pp_status end_section(reader *r, size_t line, pp_err *err)
{
    if (!r->section.library[0])
        memcpy(r->section.library, r->file_library, sizeof r->file_library);
    if (r->half_count)
        pp_skip_add(&r->notes, r->half_line, "a row that was cut off");
    r->half_count = 0;
    pp_status status = pp_nccl_section_finish(&r->section, r->file, r->samples, &r->notes, err);
    pp_nccl_section_free(&r->section);
    r->section.line = line;
    r->layout = (pp_nccl_layout){ 0 };
    r->configured = false;
    r->in_place_heading = false;
    return status;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Prints "nccl 2.29.7" for "2.29.7+cuda12.9"; returns false if there is no number. */
static bool set_version(const char *library, pp_span version, char *text, size_t size)
{
    char number[20];
    size_t length = 0;
    while (length < version.bytes && length < sizeof number - 1 &&
           strchr("0123456789.", version.at[length]) && version.at[length])
        length++;
    pp_span_copy((pp_span){ version.at, length }, number, sizeof number);
    if (length)
        snprintf(text, size, "%s %s", library, number);
    return length > 0;
}

static pp_span after(pp_span line, const char *found, const char *text)
{
    const char *end = line.at + line.bytes;
    const char *from = found + strlen(text);
    return (pp_span){ from, (size_t)(end - from) };
}

/* Finds the version in a line with "NCCL version 2.29.7+cuda12.9" or "RCCL version
 * : 2.22.3-HEAD:...".
 */
static bool find_version(reader *r, pp_span line)
{
    bool found = false;
    static const char *const marks[] = { "NCCL version ", "RCCL version " };
    for (size_t i = 0; i < 2; i++) {
        const char *at = pp_span_find(line, marks[i]);
        pp_span word;
        if (!at)
            continue;
        pp_span rest = after(line, at, marks[i]);
        if (pp_span_word(&rest, &word) && pp_span_is(word, ":"))
            (void)pp_span_word(&rest, &word);
        if (set_version(i ? "rccl" : r->library, word, r->file_library, sizeof r->file_library))
            memcpy(r->section.library, r->file_library, sizeof r->file_library);
        found = true;
    }
    return found;
}

/* Reads the number before `text` in a line with "..., 32 p2p channels, 16 p2p channels per peer".
 */
static bool number_before(pp_span line, const char *text, int64_t *value_out)
{
    const char *at = pp_span_find(line, text);
    const char *from = at;
    while (from && from > line.at && is_digit(from[-1]))
        from--;
    return at && pp_span_int((pp_span){ from, (size_t)(at - from) }, 1024, value_out);
}

static void find_channels(reader *r, pp_span line)
{
    int64_t most = 0;
    int64_t peer = 0;
    pp_nccl_section *s = &r->section;
    if (!number_before(line, " p2p channels per peer", &peer) ||
        !number_before(line, " p2p channels,", &most))
        return;
    if (s->channels_max && (s->channels_max != most || s->channels_peer != peer))
        pp_skip_add(
            &r->notes, 0,
            "NCCL reports different numbers of p2p channels within one test; the smallest is used");
    if (!s->channels_max || most < s->channels_max)
        s->channels_max = most;
    if (!s->channels_peer || peer < s->channels_peer)
        s->channels_peer = peer;
}

/* Finds the program in a word that ends in "_perf" or "_perf_mpi", without its path. */
static bool program_of(pp_span word, char *name, size_t size)
{
    size_t from = word.bytes;
    const char *perf = pp_span_find(word, "_perf");
    if (!perf)
        return false;
    size_t end = (size_t)(perf - word.at) + 5;
    from = end;
    while (from > 0 &&
           ((word.at[from - 1] >= 'a' && word.at[from - 1] <= 'z') || word.at[from - 1] == '_'))
        from--;
    size_t length = end - from;
    if (length <= 5 || length >= size)
        return false;
    memcpy(name, word.at + from, length);
    name[length] = '\0';
    return true;
}

static void find_program(reader *r, pp_span line)
{
    pp_span word;
    if (!pp_span_find(line, "_perf"))
        return;
    while (pp_span_word(&line, &word)) {
        if (program_of(word, r->mentioned, sizeof r->mentioned))
            return;
    }
}

/* Reads "#  Rank  0 Group  0 Pid 2633223 on HOST device  0 [0000:1b:00] NVIDIA H100 80GB HBM3". */
static pp_status read_rank(reader *r, pp_span rest, size_t line, pp_err *err)
{
    pp_nccl_rank rank = { 0 };
    pp_span word = { 0 };
    bool good = pp_span_word(&rest, &word) && pp_span_int(word, RANKS_MAX, &rank.rank) &&
                pp_span_word(&rest, &word);
    if (good && pp_span_is(word, "Group"))
        good = pp_span_word(&rest, &word) && pp_span_int(word, RANKS_MAX, &rank.group) &&
               pp_span_word(&rest, &word);
    while (good && !pp_span_is(word, "on")) /* passes over "Pid 123" */
        good = pp_span_word(&rest, &word);
    good = good && pp_span_word(&rest, &rank.host);
    while (good && (!word.bytes || word.at[0] != '['))
        good = pp_span_word(&rest, &word);
    if (!good || r->section.rank_count == RANKS_MAX) {
        pp_skip_add(&r->notes, line, "a line of a rank that cannot be read");
        return PP_OK;
    }
    while (rest.bytes && rest.at[0] == ' ')
        rest = (pp_span){ rest.at + 1, rest.bytes - 1 };
    while (rest.bytes && rest.at[rest.bytes - 1] == ' ')
        rest.bytes--;
    rank.device = rest;
    return pp_nccl_add_rank(&r->section, &rank, err);
}

/* Reads the header of a table, "size count type ...", after its "#". */
static pp_status read_header(reader *r, pp_span rest, size_t line, pp_err *err)
{
    pp_nccl_layout layout = { 0 };
    pp_status status = PP_OK;
    if (r->section.row_count && (status = end_section(r, line, err)))
        return status;
    if (!pp_nccl_layout_read(rest, &layout)) {
        pp_skip_add(&r->notes, line, "a header without size, time, algbw and busbw");
        return PP_OK;
    }
    if (r->half_count)
        pp_skip_add(&r->notes, r->half_line, "a row that was cut off");
    r->half_count = 0;
    r->layout = layout;
    if (r->in_place_heading)
        pp_skip_add(&r->notes, line, "a table with in-place times only; these are used");
    if (layout.cpu_time)
        pp_skip_add(
            &r->notes, line,
            "cputime is the time of the launches, so times are computed from the bandwidth");
    return PP_OK;
}

static pp_status begin(reader *r, bool again, size_t line, pp_err *err)
{
    if (again || r->section.row_count)
        return end_section(r, line, err);
    if (!r->section.line)
        r->section.line = line;
    return PP_OK;
}

static void read_settings(reader *r, pp_span rest)
{
    pp_span word;
    bool seen_iters = false;
    while (pp_span_word(&rest, &word)) {
        if (pp_span_is(word, "warmup") || pp_span_is(word, "agg")) {
            (void)pp_span_word(&rest, &word);
        } else if (pp_span_is(word, "iters:") && !seen_iters) {
            seen_iters =
                pp_span_word(&rest, &word) && pp_span_int(word, INT32_MAX, &r->section.iterations);
        }
    }
}

/* Reads the text after a "#". */
static pp_status read_comment(reader *r, pp_span all, size_t number, pp_err *err)
{
    static const char starting[] = "Collective test starting:";
    static const char code[] = "ccl-library="; /* of nccl or rccl */
    pp_span rest = all;
    pp_span word = { 0 };
    pp_status status = PP_OK;
    int64_t value = 0;
    const char *at;
    if (!pp_span_word(&rest, &word))
        return PP_OK;
    if (pp_span_is(word, "Rank"))
        return read_rank(r, rest, number, err);
    if (pp_span_is(word, "size"))
        return read_header(r, all, number, err);
    bool in_place = pp_span_find(all, "in-place") != NULL;
    if (in_place)
        r->in_place_heading = !pp_span_find(all, "out-of-place");
    if (pp_span_is(word, "nThread")) {
        status = begin(r, r->configured, number, err);
        r->configured = true;
        if (!r->section.program[0] && r->mentioned[0]) {
            memcpy(r->section.program, r->mentioned, sizeof r->mentioned);
            r->section.only_mentioned = true;
        }
        r->mentioned[0] = '\0';
        read_settings(r, rest);
    } else if (pp_span_is(word, "Using")) {
        status = begin(r, r->section.rank_count > 0, number, err);
    } else if ((at = pp_span_find(all, starting))) {
        rest = after(all, at, starting);
        status = begin(r, r->section.program[0] || r->configured, number, err);
        r->section.program[0] = '\0';
        r->section.only_mentioned = false;
        if (pp_span_word(&rest, &word) &&
            !program_of(word, r->section.program, sizeof r->section.program))
            pp_span_copy(word, r->section.program, sizeof r->section.program);
        r->mentioned[0] = '\0';
    } else if (pp_span_find(all, "Collective test concluded")) {
        status = end_section(r, number, err);
        r->mentioned[0] = '\0';
    } else if ((at = pp_span_find(all, code))) {
        status = begin(r, r->section.program[0] || r->configured, number, err);
        rest = after(all, at, code);
        const char *library = at > all.at && at[-1] == 'r' ? "rccl" : r->library;
        if (pp_span_word(&rest, &word) && pp_span_int(word, 1 << 30, &value))
            pp_nccl_version_text(library, value, r->section.library, sizeof r->section.library);
    } else if (pp_span_find(all, "_perf")) {
        find_program(r, all);
    }
    return status;
}

static pp_status take_row(reader *r, const pp_span *words, size_t count, size_t line, pp_err *err)
{
    const pp_nccl_layout *l = &r->layout;
    pp_nccl_row row = { .p10_s = (double)NAN, .p90_s = (double)NAN };
    pp_span cells[PP_NCCL_COLUMNS_MAX];
    size_t expected = l->count + (l->timestamp && count == l->count + 1);
    if (r->section.row_count == ROWS_MAX)
        return pp_err_set(err, PP_INPUT, r->file, "more than %d rows in one test", ROWS_MAX);
    if (count != expected) {
        pp_skip_add(&r->notes, line, "a row with another number of columns than its header");
        return PP_OK;
    }
    memcpy(cells, words, l->count * sizeof *cells); /* a timestamp is the last column */
    const char *fault = pp_nccl_row_read(l, cells, &row);
    if (fault) {
        pp_skip_add(&r->notes, line, "%s", fault);
        return PP_OK;
    }
    row.repeats = (uint32_t)r->section.iterations;
    return pp_nccl_add_row(&r->section, &row, err);
}

/* Cuts off the "[0]" that mpiexec -prepend-rank puts after every part of a row. */
static pp_span cut_rank(pp_span word)
{
    size_t length = 0;
    while (length < word.bytes && word.at[length] != '[')
        length++;
    size_t end = length + 1;
    while (end < word.bytes && is_digit(word.at[end]))
        end++;
    bool ranked = end > length + 1 && end + 1 == word.bytes && word.at[end] == ']';
    return ranked ? (pp_span){ word.at, length } : word;
}

static size_t split(pp_span line, pp_span *words)
{
    size_t count = 0;
    while (count < PP_NCCL_COLUMNS_MAX && pp_span_word(&line, &words[count])) {
        words[count] = cut_rank(words[count]);
        count += words[count].bytes > 0;
    }
    return count;
}

static bool is_number(pp_span word)
{
    double value = 0;
    return pp_span_real(word, &value) || pp_nccl_is_none(word) || pp_span_is(word, "-1");
}

static bool all_numbers(const pp_span *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_number(words[i]))
            return false;
    }
    return count > 0;
}

/* Returns whether a row begins here: size and count, which are digits, and a type. */
static bool begins_row(const pp_span *words, size_t count)
{
    int64_t value = 0;
    return count >= 3 && pp_span_int(words[0], INT64_MAX, &value) &&
           pp_span_int(words[1], INT64_MAX, &value) && words[2].at[0] >= 'a' &&
           words[2].at[0] <= 'z';
}

/* Keeps the words of a row that is not complete, as when other output was printed into the middle
 * of it. The rest is expected in one of the next lines. */
static bool keep_half(reader *r, const pp_span *words, size_t count, size_t line)
{
    if (!r->layout.count || count >= r->layout.count)
        return false;
    if (r->half_count)
        pp_skip_add(&r->notes, r->half_line, "a row that was cut off");
    memcpy(r->half, words, count * sizeof *words);
    r->half_count = count;
    r->half_line = line;
    return true;
}

static pp_status read_row(reader *r, const pp_span *words, size_t count, size_t line, pp_err *err)
{
    if (!r->layout.count && !pp_nccl_layout_guess(count, &r->layout)) {
        pp_skip_add(&r->notes, line, "a row without a header, of an unknown layout");
        return PP_OK;
    }
    if (keep_half(r, words, count, line))
        return PP_OK;
    return take_row(r, words, count, line, err);
}

/* Appends the line to the saved partial row if it is the continuation of that row. */
static pp_status join_half(reader *r, const pp_span *words, size_t count, bool *joined_out,
                           pp_err *err)
{
    size_t total = r->half_count + count;
    bool stamped = r->layout.timestamp && count > 1 && total == r->layout.count + 1;
    *joined_out = false;
    if (!r->half_count || total > PP_NCCL_COLUMNS_MAX ||
        !all_numbers(words, count - (stamped ? 2 : 0)))
        return PP_OK;
    *joined_out = true;
    memcpy(r->half + r->half_count, words, count * sizeof *words);
    r->half_count = total;
    if (total < r->layout.count)
        return PP_OK;
    r->half_count = 0;
    return take_row(r, r->half, total, r->half_line, err);
}

/* Reads the text before "host:pid:tid [dev] NCCL INFO": nothing, or a part of a row, whose last
 * word then ends in the host's name. */
static void read_before_log(reader *r, pp_span line, const char *mark, size_t number)
{
    pp_span words[PP_NCCL_COLUMNS_MAX];
    pp_span last;
    size_t count = split((pp_span){ line.at, (size_t)(mark - line.at) }, words);
    if (count && words[count - 1].at[0] == '[')
        count--;
    if (count < 2)
        return;
    last = words[count - 1];
    size_t signs = last.at[0] == '-';
    size_t length = signs;
    while (length < last.bytes && is_digit(last.at[length]))
        length++;
    if (pp_span_begins(last, "N/A"))
        length = 3;
    if (r->layout.count && r->layout.type == count - 1)
        length = 1; /* the host's name follows a type, whose letters do not matter */
    words[count - 1].bytes = length;
    if (length <= signs)
        count--; /* the word is only the host's name */
    if (begins_row(words, count)) {
        (void)keep_half(r, words, count, number);
    } else if (r->half_count && r->half_count + count < r->layout.count && is_number(words[0])) {
        memcpy(r->half + r->half_count, words, count * sizeof *words);
        r->half_count += count;
    }
}

/* Cuts off what srun --label ("3: ") and mpirun --tag-output ("[1,0]<stdout>:") put before a line.
 */
static pp_span strip_label(pp_span line)
{
    static const char *const tags[] = { "<stdout>:", "<stderr>:" };
    pp_span begin = { line.at, line.bytes < 80 ? line.bytes : 80 };
    size_t i = 0;
    for (size_t k = 0; k < 2; k++) {
        const char *at = pp_span_find(begin, tags[k]);
        if (at)
            return after(line, at, tags[k]);
    }
    while (i < line.bytes && line.at[i] == ' ')
        i++;
    size_t digits = 0;
    while (i < line.bytes && is_digit(line.at[i])) {
        i++;
        digits++;
    }
    if (digits && i + 1 < line.bytes && line.at[i] == ':' && line.at[i + 1] == ' ')
        return (pp_span){ line.at + i + 2, line.bytes - i - 2 };
    return line;
}

/* Cuts off any other text before a line ("[0] ", a time, "> "): the text before the first lines of
 * a test precedes all of its lines. */
static pp_span strip_learnt(reader *r, pp_span line)
{
    static const char *const marks[] = { "# nThread ",
                                         "# Collective test starting:", "# nccl-tests version ",
                                         "# rccl-tests version " };
    pp_span begin = { line.at, line.bytes < LABEL_MAX ? line.bytes : LABEL_MAX };
    size_t same = 0;
    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++) {
        const char *at = pp_span_find(begin, marks[k]);
        if (at)
            r->label = (pp_span){ line.at, (size_t)(at - line.at) };
    }
    while (same < r->label.bytes && same < line.bytes &&
           (line.at[same] == r->label.at[same] ||
            (is_digit(line.at[same]) && is_digit(r->label.at[same]))))
        same++;
    return same == r->label.bytes ? (pp_span){ line.at + same, line.bytes - same } : line;
}

/* Returns whether a line lacks its "#", which web pages drop because it marks a headline there. */
static bool lost_its_mark(const pp_span *words, size_t count, pp_span line)
{
    int64_t number = 0;
    if (count < 3)
        return false;
    if (pp_span_is(words[0], "Rank"))
        return pp_span_int(words[1], RANKS_MAX, &number) && pp_span_find(line, " device ") != NULL;
    return (pp_span_is(words[0], "nThread") && pp_span_is(words[2], "nGpus")) ||
           (pp_span_is(words[0], "size") && pp_span_is(words[1], "count"));
}

static pp_status read_line(reader *r, pp_span line, size_t number, pp_err *err)
{
    pp_span words[PP_NCCL_COLUMNS_MAX];
    bool joined = false;
    pp_status status = PP_OK;
    line = strip_learnt(r, strip_label(line));
    bool version = find_version(r, line);
    const char *mark = pp_span_find(line, " NCCL INFO ");
    if (!mark)
        mark = pp_span_find(line, " NCCL WARN ");
    if (mark) {
        find_channels(r, line);
        read_before_log(r, line, mark, number);
        return PP_OK;
    }
    size_t count = split(line, words);
    if (count && (words[0].at[0] == '#' || lost_its_mark(words, count, line))) {
        const char *from = words[0].at + (words[0].at[0] == '#');
        return read_comment(r, (pp_span){ from, (size_t)(line.at + line.bytes - from) }, number,
                            err);
    }
    if (begins_row(words, count))
        return read_row(r, words, count, number, err);
    if ((status = join_half(r, words, count, &joined, err)) || joined || !count || version)
        return status;
    find_program(r, line);
    r->first_chatter = r->chatter++ ? r->first_chatter : number;
    return PP_OK;
}

static pp_status read_text(const char *text, size_t bytes, const char *file, const char *library,
                           pp_samples *samples, pp_err *err)
{
    reader r PP_CLEANUP(free_reader) = { .library = library, .file = file, .samples = samples };
    pp_lines lines = pp_lines_of(text, bytes);
    pp_status status = PP_OK;
    while (!status && pp_lines_next(&lines))
        status = read_line(&r, lines.line, lines.number, err);
    if (!status)
        status = end_section(&r, lines.number, err);
    if (status)
        return status;
    if (r.chatter)
        pp_skip_add(&r.notes, r.first_chatter, "%zu lines of other output", r.chatter);
    return pp_skips_finish(&r.notes, file, "contains no usable table of nccl-tests", samples, err);
}

pp_status pp_nccl_read(const char *text, size_t bytes, const char *file, const char *library,
                       pp_samples *samples, pp_err *err)
{
    size_t i = 0;
    while (i < bytes && memchr(" \t\r\n", text[i], 4))
        i++;
    if (i < bytes && text[i] == '{')
        return pp_nccl_json_read(text, bytes, file, library, samples, err);
    return read_text(text, bytes, file, library, samples, err);
}
