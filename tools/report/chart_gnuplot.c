/* tools/report/chart_gnuplot.c - runs gnuplot, its script and its output in files without a name. */
#include "tools/report/chart_gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* Reads a file from its start; NULL if memory or the file fails. */
static char *read_whole_file(FILE *f) {
    long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    char *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    rewind(f);
    if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
        free(text);
        return NULL;
    }
    if (text)
        text[n] = '\0';
    return text;
}

/* Runs gnuplot on files for script, output and errors. Returns the error number if it does not start, else 0 with the
 * status of the process in *status. */
static int run_gnuplot(FILE *const files[3], int *status) {
    posix_spawn_file_actions_t actions;
    char *const argv[] = {"gnuplot", "-d", "-", NULL};
    pid_t child;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    for (int i = 0; i < 3 && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(files[i]), i);
    if (!error)
        error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!error && waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return error;
}

/* Raises the reason, which is in gnuplot's last line, after the place: `"-" line 3: ...`. */
static void fail_with(mo_context *ctx, FILE *errors, int status) {
    char *text = read_whole_file(errors), *line = text;
    for (size_t n = text ? strlen(text) : 0; n && text[n - 1] == '\n'; n = strlen(text))
        text[n - 1] = '\0';
    if (text && strrchr(text, '\n'))
        line = strrchr(text, '\n') + 1;
    for (char *c = line; c && *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    mo_fail(ctx, MO_IO, "gnuplot: ended with status %d: %.200s", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        line ? line : "");
    free(text);
}

char *gnuplot_run(mo_context *ctx, const char *script) {
    errno = 0;
    FILE *files[3] = {tmpfile(), tmpfile(), tmpfile()};
    char *output = NULL;
    int status = 0, error = files[0] && files[1] && files[2] ? 0 : errno;
    if (!script)
        mo_fail(ctx, MO_MEMORY, "chart: out of memory");
    else if (error || fputs(script, files[0]) < 0 || fflush(files[0]) != 0)
        mo_fail(ctx, MO_IO, "chart: cannot write a temporary file: %s", strerror(error ? error : errno));
    else if (rewind(files[0]), (error = run_gnuplot(files, &status)) == ENOENT)
        mo_fail(
            ctx, MO_UNSUPPORTED, "gnuplot is not installed; expected the program of the Debian package gnuplot-nox");
    else if (error)
        mo_fail(ctx, MO_IO, "gnuplot: cannot be started: %s", strerror(error));
    else if (status != 0)
        fail_with(ctx, files[2], status);
    else if (!(output = read_whole_file(files[1])))
        mo_fail(ctx, MO_MEMORY, "chart: out of memory");
    for (int i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    return output;
}
