/* train/run/run_log.c - log.jsonl: one JSON object per step, each written by one call to a file opened for appending.
 *
 * The process that has the log open holds a lock on it: two processes that continued one run would mix their steps. The
 * system releases the lock whenever the process ends. */
#include "train/run/trainer.h"

#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether a line is the JSON object of that step; lack of memory raises. */
static bool is_step(mo_context *ctx, const char *label, const char *line, size_t n, int64_t step) {
    json_error_t error;
    json_t *object = mo_json_decode(line, n, JSON_REJECT_DUPLICATES, &error);
    if (!object && mo_json_code(&error) == MO_MEMORY)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for step %" PRId64, label, step);
    json_t *number = json_object_get(object, "step");
    bool found = json_is_integer(number) && json_integer_value(number) == step;
    json_decref(object);
    return found;
}

/* The offset behind the lines of the first `steps` steps; -1 if they are incomplete. */
static int64_t end_of_steps(mo_context *ctx, const char *path, int64_t steps) {
    mo_file_bytes content;
    char label[MO_LABEL];
    if (steps == 0)
        return 0;
    mo_file_label("log", path, label);
    if (!mo_file_read(ctx, label, path, &content))
        return -1;
    size_t at = 0;
    for (int64_t step = 0; step < steps; step++) {
        const char *line = (const char *)content.data + at, *end = memchr(line, '\n', content.n - at);
        if (!end || !is_step(ctx, label, line, (size_t)(end - line), step)) {
            mo_fail(ctx, MO_FORMAT, "%s: expected step %" PRId64 " in line %" PRId64 ", found %s", label, step,
                step + 1, at < content.n ? "another text" : "the end of the file");
            break;
        }
        at += (size_t)(end - line) + 1;
    }
    mo_file_bytes_free(ctx, &content);
    return mo_ok(ctx) ? (int64_t)at : -1;
}

/* The process that holds a lock on an open file; 0 if the system does not know it (a process of another machine). A
 * lock on the same inode of another device counts if there is no better match: some file systems report one device by
 * fstat and another in /proc/locks. */
static long holder_of(int fd) {
    struct stat st;
    char line[256];
    long holder = 0, process;
    bool sure = false;
    FILE *locks = fstat(fd, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && !sure && fgets(line, sizeof line, locks)) {
        unsigned long long inode;
        unsigned high, low;
        if (sscanf(line, "%*s FLOCK %*s WRITE %ld %x:%x:%llu", &process, &high, &low, &inode) != 4 ||
            inode != st.st_ino)
            continue;
        sure = high == (unsigned)major(st.st_dev) && low == (unsigned)minor(st.st_dev);
        holder = sure || !holder ? process : holder;
    }
    if (locks)
        fclose(locks);
    return holder;
}

/* Locks the log. A file system without locks only causes a notice. */
static bool lock_log(mo_context *ctx, int log, const char *path, mo_notice notice, void *state) {
    int code;
    do
        code = flock(log, LOCK_EX | LOCK_NB);
    while (code < 0 && errno == EINTR);
    if (code == 0)
        return true;
    char text[MO_LABEL + 160], holder[40] = "another process", shown[320];
    bool held = errno == EWOULDBLOCK;
    long process = held ? holder_of(log) : 0;
    if (process > 0)
        snprintf(holder, sizeof holder, "process %ld", process);
    mo_quote(path, strlen(path), shown, sizeof shown);
    if (held)
        mo_fail(ctx, MO_STATE, "log: %s: %s continues this run: wait for its end, or end it", shown, holder);
    snprintf(text, sizeof text, "log: %s: cannot be locked: %s; start no other process that continues this run", shown,
        strerror(errno));
    if (!held && notice)
        notice(text, state);
    return !held;
}

int mo_log_open(mo_context *ctx, const char *path, bool make, mo_notice notice, void *state) {
    char label[MO_LABEL];
    if (!mo_ok(ctx) || (!make && access(path, F_OK) < 0))
        return -1;
    int flags = O_WRONLY | O_APPEND | (make ? O_CREAT : 0);
    int log = mo_file_open_own(ctx, mo_file_label("log", path, label), path, flags);
    if (log < 0 || lock_log(ctx, log, path, notice, state))
        return log;
    close(log);
    return -1;
}

mo_code mo_log_cut(mo_context *ctx, int log, const char *path, int64_t steps) {
    int64_t end = mo_ok(ctx) ? end_of_steps(ctx, path, steps) : -1;
    if (end >= 0 && ftruncate(log, end) < 0)
        mo_fail(ctx, MO_IO, "log: %s: cannot cut it to %" PRId64 " steps: %s", path, steps, strerror(errno));
    return mo_code_of(ctx);
}

/* Nine digits distinguish all float32 values. */
static char *encode_log_line(const mo_trainer *trainer, const mo_step_report *r) {
    json_t *accuracy = json_object(), *sources = json_array();
    bool whole = true;
    for (int task = 0; task < MO_TASKS; task++)
        if (!isnan(r->accuracy[task]))
            whole &= !json_object_set_new(accuracy, mo_task_name((mo_task)task), json_real(r->accuracy[task]));
    for (int i = 0; i < trainer->options.episodes_per_step; i++) {
        const mo_source *data = mo_episode_source(trainer, i);
        whole &= !json_array_append_new(sources, json_pack("s++", data->graph->name, ":", mo_task_name(data->task)));
    }
    json_t *line = json_pack("{s:I, s:f, s:f, s:f, s:o, s:o, s:f}", "step", (json_int_t)r->step, "loss", r->loss, "lr",
        r->lr, "gradient_norm", r->gradient_norm, "accuracy", accuracy, "data", sources, "seconds", r->seconds);
    char *text = line && whole ? mo_json_encode(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(line);
    return text;
}

/* Writes text and a line feed, which replaces the terminating zero. */
static void write_log_line(const mo_trainer *trainer, int64_t step, char *text) {
    size_t length = strlen(text);
    text[length] = '\n';
    for (size_t done = 0; done < length + 1;) {
        ssize_t put = write(trainer->log, text + done, length + 1 - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            mo_fail(trainer->ctx, MO_IO, "log: %s/log.jsonl: cannot write step %" PRId64 ": %s", trainer->options.out,
                step, strerror(put < 0 ? errno : ENOSPC));
            break;
        }
        done += (size_t)put;
    }
}

mo_code mo_log_step(const mo_trainer *trainer, const mo_step_report *r) {
    char *text = encode_log_line(trainer, r);
    if (text)
        write_log_line(trainer, r->step, text);
    else
        mo_fail(trainer->ctx, MO_MEMORY, "log: step %" PRId64 " cannot be written as JSON", r->step);
    free(text);
    return mo_context_status(trainer->ctx)->code;
}
