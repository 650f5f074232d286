/* tests/cli/program.h - runs the program `mochi` ($MOCHI) as a user does and keeps its output. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "tests/suite.h"

#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 32, MAX_TEXT = 1 << 18 };

typedef struct program {
    char folder[256]; /* removed at the end */
    int code;         /* exit code of the last run; 128 + n where signal n killed it */
    char out[MAX_TEXT], err[MAX_TEXT];
} program;

/* Group set-up: *state becomes a program. */
static inline int program_create(void **state) {
    static const int ignored[] = {SIGINT, SIGHUP, SIGTERM}; /* by nohup, or as a background job of a script */
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_DFL);
    program *p = calloc(1, sizeof *p);
    const char *parent = getenv("TMPDIR");
    snprintf(p->folder, sizeof p->folder, "%s/mochi-cli-XXXXXX", parent ? parent : "/tmp");
    *state = p;
    return p && getenv("MOCHI") && mkdtemp(p->folder) ? 0 : -1;
}

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

/* Group tear-down. */
static inline int program_release(void **state) {
    program *p = *state;
    nftw(p->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(p);
    return 0;
}

/* A path in the folder, in one of four buffers that take turns. */
static inline const char *in_folder(const program *p, const char *name) {
    static char paths[4][512];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", p->folder, name);
    return path;
}

static inline void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static inline void read_text(const char *path, char text[MAX_TEXT]) {
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, MAX_TEXT - 1, file) : 0;
    text[n] = '\0';
    if (file)
        fclose(file);
}

/* Starts `mochi words..` with its outputs at these paths. Returns the process. */
static inline pid_t start_program(const char *const *words, const char *out, const char *err) {
    char *argv[MAX_WORDS + 2] = {getenv("MOCHI")};
    for (int i = 0; i < MAX_WORDS && words[i]; i++)
        argv[i + 1] = (char *)words[i];
    pid_t child = fork();
    if (child == 0) {
        int files[] = {open("/dev/null", O_RDONLY), open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666),
            open(err, O_WRONLY | O_CREAT | O_TRUNC, 0666)};
        for (int i = 0; i < 3; i++)
            if (dup2(files[i], i) < 0)
                _exit(126);
        execv(argv[0], argv);
        _exit(127);
    }
    assert_true(child > 0);
    return child;
}

/* Takes out the lines about phases that take long: "mochi embed: features of cora, 5 s". How long is the machine's
 * affair. */
static inline void drop_phases(char *text) {
    for (char *line = text, *end; (end = strchr(line, '\n'));) {
        char *comma = end;
        while (comma > line && *comma != ',')
            comma--;
        bool phase = !strncmp(line, "mochi ", 6) && comma > line && end - comma > 4 && !strncmp(end - 2, " s", 2) &&
                     strspn(comma + 2, "0123456789") == (size_t)(end - comma - 4);
        if (phase)
            memmove(line, end + 1, strlen(end + 1) + 1);
        else
            line = end + 1;
    }
}

static inline void wait_for_program(program *p, pid_t child, const char *out, const char *err) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    p->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    p->out[0] = '\0';
    if (strcmp(out, "/dev/full"))
        read_text(out, p->out);
    read_text(err, p->err);
    drop_phases(p->err);
}

/* Runs `mochi words..`, standard output to a file of that path (NULL: kept in p->out). */
static inline void run_program_to(program *p, const char *out, const char *const *words) {
    char kept[300], err[300];
    snprintf(kept, sizeof kept, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    const char *path = out ? out : kept;
    wait_for_program(p, start_program(words, path, err), path, err);
}

#define RUN(p, ...) run_program_to((p), NULL, (const char *const[]){__VA_ARGS__, NULL})

/* From here on the leak checker of a sanitized build is off: MPI keeps memory at the program's end. */
static inline void ignore_leaks(void) {
    const char *given = getenv("ASAN_OPTIONS");
    char options[512];
    snprintf(options, sizeof options, "%.400s:detect_leaks=0", given ? given : "");
    setenv("ASAN_OPTIONS", options, 1);
}

static inline int count_lines(const char *text) {
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* The last run ended with that code and, for failures, said one line that holds the part. */
static inline void assert_ended(const program *p, int code, const char *part) {
    if (p->code != code)
        fail_msg("exit code %d, expected %d; standard error: %s", p->code, code, p->err);
    if (part && (count_lines(p->err) != 1 || !strstr(p->err, part)))
        fail_msg("expected one line with '%s', found '%s'", part, p->err);
}

static inline void read_file(const char *path, char **data, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be opened", path);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    *data = malloc(*n + 1);
    assert_int_equal(fread(*data, 1, *n, file), *n);
    fclose(file);
}

/* Two files of the folder are equal. */
static inline void assert_same_file(const program *p, const char *a, const char *b) {
    char *x, *y;
    size_t n, m;
    read_file(in_folder(p, a), &x, &n);
    read_file(in_folder(p, b), &y, &m);
    if (n != m || memcmp(x, y, n))
        fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

/* Line i of standard output as an object with exactly the members of a comma-separated list; owned. */
static inline json_t *json_line(const program *p, int i, const char *members) {
    const char *line = p->out;
    for (; i > 0 && line; i--)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    const char *end = line ? strchr(line, '\n') : NULL;
    if (!end)
        fail_msg("no such line on standard output: '%s'; standard error: %s", p->out, p->err);
    json_error_t error;
    json_t *o = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(o))
        fail_msg("not a JSON object (%s): %.*s", error.text, (int)(end - line), line);
    char *list = strdup(members), *rest = list, *name;
    size_t n = 0;
    for (; (name = strsep(&rest, ",")); n++)
        if (!json_object_get(o, name))
            fail_msg("no member %s in %.*s", name, (int)(end - line), line);
    assert_int_equal(json_object_size(o), n);
    free(list);
    return o;
}

static inline double json_real_of(const json_t *o, const char *name) {
    return json_number_value(json_object_get(o, name));
}

static inline const char *json_text_of(const json_t *o, const char *name) {
    return json_string_value(json_object_get(o, name));
}

#endif
