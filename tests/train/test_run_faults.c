/* tests/train/test_run_faults.c - a run is killed at each call that changes the disk, or its disk fails at each call:
 * it leaves a folder that --resume or a fresh start accepts, and ends with the weights of a run that was never
 * stopped. */
#include "tests/failing_disk.h"
#include "tests/training_run.h"

#include <signal.h>
#include <sys/wait.h>

#ifdef __SANITIZE_ADDRESS__
enum { STEP = 4 }; /* tries every fourth call, as each run takes five times as long */
#else
enum { STEP = 1 };
#endif

/* Runs to the end in the folder, under the plan; the status stays in the context. */
static void train(training_run *run, const char *folder, const disk_plan *plan) {
    *run = run_open(&usual_run, folder);
    disk_begin(plan);
    mo_trainer_run(run->trainer, NULL, NULL);
    mo_trainer_finish(run->trainer);
}

/* Runs in a child process that is killed at call k. Returns whether the child came to its end. */
static bool train_until_killed(const char *folder, disk_plan plan, long k) {
    plan.at = k;
    plan.fault = DISK_KILL;
    pid_t child = fork();
    if (child == 0) {
        training_run run;
        train(&run, folder, &plan);
        _exit(mo_ok(run.ctx) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status))
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    else
        assert_int_equal(WTERMSIG(status), SIGKILL);
    return !WIFSIGNALED(status);
}

/* Goes on as a user would: with --resume or, if that is refused, from the start. Returns whether it resumed. */
static bool take_up(const char *folder) {
    HELD(training_run) run = run_open(&usual_run, folder);
    bool resumed = mo_trainer_resume(run.trainer) == MO_OK;
    if (!resumed) {
        mo_clear_error(run.ctx);
        run_close(&run);
        run = run_open(&usual_run, folder);
    }
    mo_trainer_run(run.trainer, NULL, NULL);
    mo_trainer_finish(run.trainer);
    assert_run_ok(&run);
    return resumed;
}

/* Counts the temporary files that a run has left. */
static int left_over(const char *folder) {
    return folder_files(folder, ".tmp", NULL);
}

/* Counts the calls of a run to its end, in the folder `whole`, under the plan, which has no fault. */
static long count_calls(const char *whole, const disk_plan *plan) {
    HELD(training_run) run;
    train(&run, whole, plan);
    long n = disk_end();
    assert_run_ok(&run);
    return n;
}

/* Kills the run from its second checkpoint on: as a former one then exists, more kinds of calls occur than in the
 * first. */
static void expect_cuts_are_taken_up(scratch *s, bool named_only) {
    const char *whole = scratch_folder(s, "whole"), *folder = scratch_folder(s, "cut");
    int resumed = 0, fresh = 0, kills = 0;
    disk_plan plan = {.under = s->folder, .saves_only = true, .named_only = named_only};
    long n = count_calls(whole, &plan);
    assert_true(n >= 50 && train_until_killed(folder, plan, n + 1));
    for (long k = 1; k <= n; k += STEP, kills++) {
        folder_remove(folder);
        assert_false(train_until_killed(folder, plan, k));
        *(take_up(folder) ? &resumed : &fresh) += 1;
        assert_same_run(whole, folder);
        assert_int_equal(left_over(folder), 0);
    }
    print_message("killed at %d of %ld calls: %d times resumed, %d times begun anew\n", kills, n, resumed, fresh);
    assert_true(kills >= n / STEP && fresh >= 1 && resumed > fresh);
}

TEST(a_run_killed_at_any_call_is_taken_up) {
    expect_cuts_are_taken_up(*state, false);
}

TEST(so_it_is_where_temporary_files_have_names) {
    expect_cuts_are_taken_up(*state, true);
}

/* ---- a disk that fails ---- */

/* run.json is saved before the first checkpoint, and the log before the checkpoint that counts its lines. */
TEST_OF(the_files_of_a_run_are_saved_in_order, scratch *s) {
    const char *whole = scratch_folder(s, "whole");
    char path[600], wrong[400];
    static const char *const saved[] = {"run.json", "checkpoint.safetensors", "weights.safetensors"};
    count_calls(whole, &(disk_plan){.under = s->folder});
    const char *calls = disk_calls();
    for (int i = 0; i < 3; i++) {
        long written;
        snprintf(path, sizeof path, "%s/%s", whole, saved[i]);
        if (!disk_save_in_order(calls, path, &written, wrong))
            fail_msg("%s\n%s", wrong, calls);
        HELD(bytes) b = run_file(whole, saved[i]);
        assert_int_equal(written, b.n);
    }
    snprintf(path, sizeof path, "%s/run.json\n", whole);
    const char *run = strstr(calls, path), *checkpoint = strstr(calls, "/checkpoint.safetensors\n");
    assert_true(run && checkpoint && run < checkpoint);
    int checkpoints = 0;
    for (const char *at = checkpoint; (at = strstr(at + 1, "/checkpoint.safetensors\n")); checkpoints++) {
        const char *log = NULL, *line = calls;
        for (; line < at; line = strchr(line, '\n') + 1)
            if (strstr(line, "/log.jsonl") && strstr(line, "/log.jsonl") < strchr(line, '\n'))
                log = line;
        assert_true(log && !strncmp(log, "sync ", 5));
    }
    print_message("%d checkpoints behind the sync of the log\n", checkpoints);
    assert_true(checkpoints >= 3);
}

/* A folder with only run.json is a run without a step; with other settings it is refused. */
TEST_OF(only_run_json_is_the_beginning_of_its_own_run, scratch *s) {
    run_options other = usual_run;
    const char *folder = scratch_folder(s, "run");
    run_until(&usual_run, folder, false, 1);
    leave_run_json(folder);
    other.lr = 2e-2;
    HELD(training_run) run = run_open(&other, folder);
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, MO_INVALID, PARTS("run.json was written with trainer.adamw.lr = 0.01", "has 0.02"));
    assert_true(take_up(folder));
}
