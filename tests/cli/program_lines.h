/* tests/cli/program_lines.h - command lines on toy sizes with a preloaded library that makes calls fail, and what they
 * leave. */
#ifndef PROGRAM_LINES_H
#define PROGRAM_LINES_H

#include "tests/embedding_files.h"

#include <dirent.h>

enum { SECONDS = 60 };

/* ---- files of a run ---- */

/* Takes out the numbers that are times. */
static inline void drop_seconds(char *text) {
    for (char *at = text; (at = strstr(at, "\"seconds\":"));) {
        at += strlen("\"seconds\":");
        memmove(at, at + strcspn(at, ",}"), strlen(at + strcspn(at, ",}")) + 1);
    }
}

enum { FILES = 24 };

/* The files of the folder `out` of the test, and standard output. */
typedef struct outcome {
    int n;
    char name[FILES][64];
    char *content[FILES];
    size_t bytes[FILES];
    char said[MAX_TEXT];
} outcome;

static inline void free_outcome(outcome *o) {
    for (int i = 0; i < o->n; i++)
        free(o->content[i]);
    o->n = 0;
}

static inline void take_files(outcome *o, const char *folder, const char *prefix) {
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[1024], name[300];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path ||
            snprintf(name, sizeof name, "%s%s", prefix, e->d_name) >= (int)sizeof name - 1)
            fail_msg("%s: a name too long", e->d_name);
        if (e->d_type == DT_DIR) {
            strcat(name, "/");
            take_files(o, path, name);
            continue;
        }
        assert_true(o->n < FILES && strlen(name) < sizeof o->name[0]);
        memcpy(o->name[o->n], name, strlen(name) + 1);
        read_file(path, &o->content[o->n], &o->bytes[o->n]);
        o->content[o->n][o->bytes[o->n]] = '\0';
        if (strstr(name, ".jsonl")) {
            drop_seconds(o->content[o->n]);
            o->bytes[o->n] = strlen(o->content[o->n]);
        }
        o->n++;
    }
    if (dir)
        closedir(dir);
}

/* Forgets temporary files: a program that ends at once leaves what a kill leaves, and the next save takes it away. */
static inline void forget_temporary(outcome *o) {
    int kept = 0;
    for (int i = 0; i < o->n; i++)
        if (strstr(o->name[i], ".mochi-"))
            free(o->content[i]);
        else {
            memmove(o->name[kept], o->name[i], sizeof o->name[0]);
            o->content[kept] = o->content[i];
            o->bytes[kept++] = o->bytes[i];
        }
    o->n = kept;
}

static inline int find_file(const outcome *o, const char *name) {
    for (int i = 0; i < o->n; i++)
        if (!strcmp(o->name[i], name))
            return i;
    return -1;
}

/* Fails unless a run that succeeded did the same as the whole one. */
static inline void expect_same(const char *what, const outcome *whole, const outcome *o) {
    if (strcmp(o->said, whole->said) != 0)
        fail_msg("%s: exit code 0 and another output: %s\nexpected: %s", what, o->said, whole->said);
    for (int i = 0; i < whole->n; i++) {
        int at = find_file(o, whole->name[i]);
        if (at < 0 || o->bytes[at] != whole->bytes[i] || memcmp(o->content[at], whole->content[i], whole->bytes[i]))
            fail_msg("%s: exit code 0 and %s %s", what, at < 0 ? "no" : "another", whole->name[i]);
    }
}

/* Fails where a run has left a file that the whole one does not leave. */
static inline void expect_no_others(const char *what, const outcome *whole, const outcome *o) {
    for (int i = 0; i < o->n; i++)
        if (find_file(whole, o->name[i]) < 0)
            fail_msg("%s: left %s", what, o->name[i]);
}

/* ---- runs ---- */

/* @ is the folder `out`, which is empty before a run except for the files that `before` writes; $ is the folder of the
 * test. */
typedef struct line {
    const char *words, *before;
} line;

/* The text with both folders in it. */
static inline void fill_in(const program *p, const char *text, char *filled, size_t bytes) {
    size_t n = 0;
    for (; *text && n + 1 < bytes; text++) {
        int more = *text == '@'   ? snprintf(filled + n, bytes - n, "%s/out", p->folder)
                   : *text == '$' ? snprintf(filled + n, bytes - n, "%s", p->folder)
                                  : snprintf(filled + n, bytes - n, "%c", *text);
        n += (size_t)more;
    }
    filled[n] = '\0';
}

/* Waits at most SECONDS. */
static inline void wait_in_time(pid_t child, const char *what) {
    siginfo_t ended = {0};
    for (int i = 0; i < 1000 * SECONDS && !ended.si_pid; i++) {
        assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        if (!ended.si_pid)
            usleep(1000);
    }
    if (!ended.si_pid) {
        kill(child, SIGKILL);
        fail_msg("%s: has not ended after %d seconds", what, SECONDS);
    }
}

/* A shared object of the build. */
static inline const char *library_path(const char *name) {
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", getenv("MOCHI_PLUGINS"), name);
    return path;
}

/* Skips the test, saying so, where the library is not built. */
static inline void skip_without(const char *library) {
    if (access(library_path(library), R_OK) == 0)
        return;
    print_message("skipped: no library to preload (a sanitizer has its own allocator)\n");
    skip();
}

/* Empties the folder `out` and makes in it what `before` says. */
static inline void prepare_line(const program *p, const line *l) {
    char command[1400];
    snprintf(command, sizeof command, "rm -rf '%s/out' && mkdir '%s/out'", p->folder, p->folder);
    assert_int_equal(system(command), 0);
    if (l->before) {
        fill_in(p, l->before, command, sizeof command);
        assert_int_equal(system(command), 0);
    }
}

/* Runs the line in a prepared folder with a library preloaded whose settings are in the environment. */
static inline void run_line(program *p, const line *l, const char *library, outcome *o) {
    char text[1200], out[300], err[300];
    const char *words[MAX_WORDS + 1];
    int n = 0;
    fill_in(p, l->words, text, sizeof text);
    for (char *rest = text, *word; (word = strsep(&rest, " "));)
        words[n++] = word;
    words[n] = NULL;
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    setenv("LD_PRELOAD", library_path(library), 1);
    pid_t child = start_program(words, out, err);
    unsetenv("LD_PRELOAD");
    wait_in_time(child, l->words);
    wait_for_program(p, child, out, err);
    drop_seconds(p->out);
    memcpy(o->said, p->out, sizeof o->said);
    snprintf(out, sizeof out, "%s/out", p->folder);
    o->n = 0;
    take_files(o, out, "");
}

/* ---- what the lines read ---- */

/* Group set-up: a finished run, the same before its last file was written, its evaluation, rows with labels, a few
 * labels and a readout that was fitted to them. */
static inline int lines_create(void **state) {
    setenv("OPENBLAS_CORETYPE", "Haswell", 0); /* else the program would start itself again, without the library */
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    unsetenv("MOCHI_CACHE");
    if (program_create(state) != 0)
        return -1;
    program *p = *state;
    char command[1400];
    write_rows(p, 1);
    RUN(p, "train", "--pool", "mutag", "--dim", "8", "--k", "2:3", "--q", "2:3", "--steps", "2", "--out",
        in_folder(p, "run"), "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "eval", "--weights", in_folder(p, "run/weights.safetensors"), "--data", "mutag", "--shots", "4", "--seeds",
        "2", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    write_text(in_folder(p, "eval.jsonl"), p->out);
    write_text(in_folder(p, "seeds.csv"), "graph,kind\n0,yes\n1,no\n2,no\n3,yes\n");
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "seeds.csv"), "--save",
        in_folder(p, "readout.safetensors"), "--quiet");
    assert_ended(p, 0, NULL);
    snprintf(command, sizeof command, "cp -r '%s/run' '%s/stopped' && rm '%s/stopped/weights.safetensors'", p->folder,
        p->folder, p->folder);
    return system(command);
}

#endif
