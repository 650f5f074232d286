/* tests/train/test_first_save.c - a run that is killed at any call with which its first save changes the disk leaves a
 * folder that --resume or a fresh start takes, and ends with the weights of a run that was never killed.
 *
 * The calls are those of the C library, which this program stands in front of. */
#include "tests/training_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int fatal_call, calls; /* the process kills itself before that call; 0: at none */
static bool unnamed_refused;  /* as on file systems without O_TMPFILE, whose temporary files have names */

static void count_call(void) {
    if (++calls == fatal_call)
        raise(SIGKILL);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    count_call();
    return syscall(SYS_write, fd, bytes, n);
}

int openat(int folder, const char *name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (unnamed_refused && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    count_call();
    return (int)syscall(SYS_openat, folder, name, flags, mode);
}

int fsync(int fd) {
    count_call();
    return (int)syscall(SYS_fsync, fd);
}

int mkdir(const char *path, mode_t mode) {
    count_call();
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    count_call();
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    count_call();
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int ftruncate(int fd, off_t length) {
    count_call();
    return (int)syscall(SYS_ftruncate, fd, length);
}

/* In a child: the first two steps of a run, killed at call k. Returns whether the child came to the end. */
static bool train_until_killed(const char *folder, int k) {
    pid_t child = fork();
    if (child == 0) {
        training_run run = run_open(&usual_run, folder);
        calls = 0;
        fatal_call = k;
        mo_trainer_run(run.trainer, stop_at, &(int64_t){1});
        _exit(mo_ok(run.ctx) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status))
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

/* As a user would: --resume, and where that is refused, from the beginning. Returns whether --resume was taken. */
static bool take_up(const char *folder) {
    training_run run = run_open(&usual_run, folder);
    bool resumed = mo_trainer_resume(run.trainer) == MO_OK;
    if (!resumed) {
        mo_clear_error(run.ctx);
        run_close(&run);
        run = run_open(&usual_run, folder);
    }
    mo_trainer_run(run.trainer, NULL, NULL);
    mo_trainer_finish(run.trainer);
    assert_run_ok(&run);
    run_close(&run);
    return resumed;
}

static void expect_cuts_are_taken_up(scratch *s) {
    char whole[400], folder[400];
    int resumed = 0, fresh = 0, k = 1;
    snprintf(whole, sizeof whole, "%s/whole", s->folder);
    snprintf(folder, sizeof folder, "%s/cut", s->folder);
    run_until(&usual_run, whole, false, usual_run.steps);
    for (bool ended = false; !ended; k++) {
        ended = train_until_killed(folder, k);
        *(take_up(folder) ? &resumed : &fresh) += 1;
        assert_same_run(whole, folder);
        folder_remove(folder);
    }
    print_message("killed at %d calls: %d times resumed, %d times begun anew\n", k - 2, resumed, fresh);
    assert_true(k - 2 >= 10 && fresh >= 2 && resumed > fresh);
    folder_remove(whole);
}

static void a_first_save_cut_anywhere_is_taken_up(void **state) {
    expect_cuts_are_taken_up(*state);
}

static void so_it_is_where_temporary_files_have_names(void **state) {
    unnamed_refused = true;
    expect_cuts_are_taken_up(*state);
    unnamed_refused = false;
}

/* A folder with run.json alone is a run that has taken no step; of other settings it is refused. */
static void only_run_json_is_the_beginning_of_its_own_run(void **state) {
    scratch *s = *state;
    char folder[400], path[600];
    run_options other = usual_run;
    snprintf(folder, sizeof folder, "%s/run", s->folder);
    run_until(&usual_run, folder, false, 1);
    static const char *const later[] = {"checkpoint.safetensors", "checkpoint.previous.safetensors", "log.jsonl"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, later[i]);
        assert_int_equal(unlink(path), 0);
    }
    other.lr = 2e-2;
    training_run run = run_open(&other, folder);
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, MO_INVALID, PARTS("run.json was written with trainer.adamw.lr = 0.01", "has 0.02"));
    run_close(&run);
    assert_true(take_up(folder));
    folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_save_cut_anywhere_is_taken_up),
        cmocka_unit_test(so_it_is_where_temporary_files_have_names),
        cmocka_unit_test(only_run_json_is_the_beginning_of_its_own_run),
    };
    return cmocka_run_group_tests(tests, scratch_create, planted_release);
}
