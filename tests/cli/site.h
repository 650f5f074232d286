/* tests/cli/site.h - a data folder, a cache folder and a server that misbehaves (data_server.py) around `mochi data
 * get`.
 */
#ifndef SITE_H
#define SITE_H

#include "tests/cli/program.h"

#include <dirent.h>
#include <time.h>

enum { EDGES = 3000 }; /* of the ring that is served */

/* The program, and the server beside it. */
typedef struct site {
    program *p;
    pid_t server;
    int port;
    char digits[65]; /* SHA-256 of edges.txt */
} site;

static site the_site; /* of this test program */

/* ---- the server ---- */

static inline void run_python(const char *const *words) {
    pid_t child = fork();
    if (child == 0) {
        execvp("python3", (char *const *)words);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static inline pid_t start_server(const char *folder, const char *port, const char *log) {
    pid_t child = fork();
    if (child == 0) {
        execlp("python3", "python3", "tests/cli/data_server.py", folder, port, log, NULL);
        _exit(127);
    }
    return child;
}

/* Waits for the port; 0 where the server did not start. */
static inline int read_port(pid_t server, const char *path) {
    int port = 0;
    for (int i = 0; i < 400 && port == 0 && waitpid(server, NULL, WNOHANG) == 0; i++) {
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%d", &port) != 1)
            port = 0;
        if (file)
            fclose(file);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return port;
}

static inline void sha256_of(const char *path, char digits[65]) {
    char command[600];
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%64s", digits), 1);
    pclose(pipe);
}

/* Group set-up: a ring of edges to serve, archives, the server, folders of data and cache of our own. */
static inline int open_site(void **state) {
    if (program_create(state) != 0)
        return -1;
    site *s = &the_site;
    s->p = *state;
    if (system("python3 -c '' 2>/dev/null") != 0) {
        print_message("skipped: no python3 to serve files\n");
        return 0;
    }
    mkdir(in_folder(s->p, "served"), 0700);
    FILE *file = fopen(in_folder(s->p, "served/edges.txt"), "w");
    for (int i = 0; i < EDGES; i++)
        fprintf(file, "%d %d\n", i, (i + 1) % EDGES);
    fclose(file);
    sha256_of(in_folder(s->p, "served/edges.txt"), s->digits);
    char served[300], port[300], log[300];
    snprintf(served, sizeof served, "%s/served", s->p->folder);
    snprintf(port, sizeof port, "%s/port", s->p->folder);
    snprintf(log, sizeof log, "%s/log", s->p->folder);
    run_python((const char *const[]){"python3", "tests/cli/data_server.py", "--archives", served, NULL});
    s->server = start_server(served, port, log);
    s->port = read_port(s->server, port);
    setenv("MOCHI_DATA", in_folder(s->p, "data"), 1);
    setenv("XDG_CACHE_HOME", in_folder(s->p, "cache"), 1);
    setenv("no_proxy", "127.0.0.1", 1);
    return s->port ? 0 : -1;
}

static inline int close_site(void **state) {
    if (the_site.server > 0) {
        kill(the_site.server, SIGTERM);
        waitpid(the_site.server, NULL, 0);
    }
    return program_release(state);
}

/* ---- files left behind ---- */

static int files;

static inline int count_file(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)path, (void)status, (void)at;
    files += kind != FTW_D && kind != FTW_DP;
    return 0;
}

/* Files below a folder of the site. */
static inline int files_below(const char *name) {
    files = 0;
    nftw(in_folder(the_site.p, name), count_file, 8, FTW_PHYS);
    return files;
}

static inline void remove_below(const char *name) {
    nftw(in_folder(the_site.p, name), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Before each test: no data, no cache, no log; without a server the test is skipped. */
static inline program *fresh(void) {
    if (!the_site.port)
        skip();
    remove_below("data");
    remove_below("cache");
    remove(in_folder(the_site.p, "log"));
    return the_site.p;
}

static inline int requests(const char *part) {
    static char log[MAX_TEXT];
    int n = 0;
    read_text(in_folder(the_site.p, "log"), log);
    for (const char *at = log; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* A manifest of one data set, ring, whose file has these other members. Returns its path. */
static inline const char *manifest_of(const char *more, const char *how, int edges) {
    static char path[300];
    snprintf(path, sizeof path, "%s", in_folder(the_site.p, "manifest.json"));
    FILE *file = fopen(path, "w");
    fprintf(file,
        "{\"datasets\": [{\"name\": \"ring\", \"licence\": \"none\", \"page\": \"https://x.org/\", \"path\": "
        "\"p/edges.txt\", \"counts\": {\"edges\": %d}, \"files\": [{\"path\": \"p/edges.txt\", \"url\": "
        "\"http://127.0.0.1:%d/%s\"%s}]}]}",
        edges, the_site.port, how, more);
    fclose(file);
    return path;
}

/* Asserts that the command failed with one line and left no file in either folder; with `parts`, partial downloads may
 * remain. */
static inline void assert_refused(const char *line, bool parts) {
    assert_ended(the_site.p, 1, line);
    assert_int_equal(files_below("data"), 0);
    if (!parts)
        assert_int_equal(files_below("cache"), 0);
}

#endif
