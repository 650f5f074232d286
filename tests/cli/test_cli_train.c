/* tests/cli/test_cli_train.c - a tiny run through the program: trained, stopped, resumed, evaluated, embedded. */
#include "tests/cli/program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

/* Everything but --out and --steps; a citation graph and a small set of molecules serve all three families. */
#define TINY                                                                                                           \
    "train", "--recipe", "paper++", "--pool", "cora:nc+lp,mutag", "--dim", "16", "--k", "2:4", "--q", "2:5", "--seed", \
        "3", "--checkpoint-every", "10"

TEST(train_writes_a_line_a_step_and_the_weights) {
    program *p = *state;
    RUN(p, TINY, "--steps", "60", "--out", in_folder(p, "whole"), "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 60);
    for (int i = 0; i < 60; i++) {
        json_t *o = json_line(p, i, "step,steps,loss,lr,gradient_norm,accuracy,seconds");
        assert_int_equal(json_real_of(o, "step"), i);
        assert_true(json_real_of(o, "loss") > 0);
        assert_int_equal(json_object_size(json_object_get(o, "accuracy")), 3);
        json_decref(o);
    }
    const char *const files[] = {"weights.safetensors", "checkpoint.safetensors", "log.jsonl", "run.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        snprintf(name, sizeof name, "whole/%s", files[i]);
        assert_int_equal(access(in_folder(p, name), R_OK), 0);
    }
}

TEST(the_thread_count_changes_no_weight) {
    program *p = *state;
    RUN(p, TINY, "--steps", "60", "--out", in_folder(p, "single"), "--quiet", "--threads", "1");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, "");
    assert_same_file(p, "single/weights.safetensors", "whole/weights.safetensors");
}

/* Waits until the file has a line. */
static void wait_for_line(const char *path) {
    char text[MAX_TEXT] = "";
    for (int i = 0; i < 20000 && !strchr(text, '\n'); i++) {
        usleep(1000);
        read_text(path, text);
    }
    assert_non_null(strchr(text, '\n'));
}

/* 60 steps of which the first must take longer than it takes to see that they have begun. */
TEST(an_interrupted_run_resumes_to_the_same_weights) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    program *p = *state;
    char out[300], err[300], run[300], weights[32];
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        snprintf(run, sizeof run, "%s/halves%d", p->folder, signals[i]);
        snprintf(weights, sizeof weights, "halves%d/weights.safetensors", signals[i]);
        pid_t child =
            start_program((const char *const[]){TINY, "--steps", "60", "--out", run, "--json", NULL}, out, err);
        wait_for_line(out);
        kill(child, signals[i]);
        wait_for_program(p, child, out, err);
        assert_ended(p, 128 + signals[i], "--resume");
        assert_true(count_lines(p->out) < 60);
        RUN(p, "train", "--out", run, "--resume", "--quiet");
        assert_ended(p, 0, NULL);
        assert_same_file(p, weights, "whole/weights.safetensors");
    }
}

/* The second one says which process has the run; the first one is not disturbed. */
TEST(a_run_is_continued_by_one_at_a_time) {
    program *p = *state;
    char out[300], err[300], run[300], holder[64];
    snprintf(out, sizeof out, "%s/first-stdout", p->folder);
    snprintf(err, sizeof err, "%s/first-stderr", p->folder);
    snprintf(run, sizeof run, "%s/twice", p->folder);
    pid_t child = start_program((const char *const[]){TINY, "--steps", "60", "--out", run, "--json", NULL}, out, err);
    wait_for_line(out);
    kill(child, SIGINT);
    wait_for_program(p, child, out, err);
    unlink(out);
    child = start_program((const char *const[]){"train", "--out", run, "--resume", "--json", NULL}, out, err);
    wait_for_line(out);
    kill(child, SIGSTOP); /* it holds the run as long as the test likes */
    RUN(p, "train", "--out", run, "--resume", "--quiet");
    kill(child, SIGCONT);
    snprintf(holder, sizeof holder, "process %ld continues this run", (long)child);
    assert_ended(p, 1, holder);
    wait_for_program(p, child, out, err);
    assert_ended(p, 0, NULL);
    assert_same_file(p, "twice/weights.safetensors", "whole/weights.safetensors");
}

/* nohup ignores SIGHUP before the program starts: the run goes on. */
TEST(an_ignored_signal_stays_ignored) {
    program *p = *state;
    char out[300], err[300];
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    void (*before)(int) = signal(SIGHUP, SIG_IGN);
    pid_t child = start_program(
        (const char *const[]){TINY, "--steps", "60", "--out", in_folder(p, "ignored"), "--json", NULL}, out, err);
    signal(SIGHUP, before);
    wait_for_line(out);
    kill(child, SIGHUP);
    wait_for_program(p, child, out, err);
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 60);
}

/* Whoever has lost run.json is told where the settings are, and that way leads to the same weights. */
TEST(a_run_without_its_settings_says_where_they_are) {
    program *p = *state;
    char run[512];
    snprintf(run, sizeof run, "%s", in_folder(p, "lost"));
    RUN(p, "train", "--out", run, "--pool", "mutag", "--steps", "2", "--checkpoint-every", "1", "--quiet");
    assert_ended(p, 0, NULL);
    assert_int_equal(rename(in_folder(p, "lost/weights.safetensors"), in_folder(p, "lost.safetensors")), 0);
    assert_int_equal(unlink(in_folder(p, "lost/run.json")), 0);
    RUN(p, "train", "--out", run, "--resume", "--quiet");
    assert_ended(p, 1, "lost/run.json is not there; write into it the metadata.settings that `mochi data info --json ");
    RUN(p, "data", "info", "--json", in_folder(p, "lost/checkpoint.safetensors"));
    json_t *o = json_line(p, 0, "path,kind,tensors,metadata");
    write_text(in_folder(p, "lost/run.json"), json_text_of(json_object_get(o, "metadata"), "settings"));
    json_decref(o);
    RUN(p, "train", "--out", run, "--resume", "--quiet");
    assert_ended(p, 0, NULL);
    assert_same_file(p, "lost/weights.safetensors", "lost.safetensors");
    assert_int_equal(unlink(in_folder(p, "lost/run.json")) | unlink(in_folder(p, "lost/log.jsonl")), 0);
    RUN(p, "train", "--out", run, "--resume", "--quiet");
    assert_ended(p, 1, "without it and log.jsonl a checkpoint is not continued: train again, in another folder");
    RUN(p, "train", "--out", in_folder(p, "never"), "--resume", "--quiet");
    assert_ended(p, 1, "never/run.json: unable to open");
}

TEST(a_resumed_run_refuses_other_settings) {
    program *p = *state;
    RUN(p, "train", "--out", in_folder(p, "whole"), "--resume", "--lr", "0.5", "--quiet");
    assert_ended(p, 2, "--lr: ");
}

TEST(blocks_of_rows_are_part_of_a_run) {
    program *p = *state;
    const char *run = in_folder(p, "blocks");
    RUN(p, TINY, "--steps", "3", "--out", run, "--quiet", "--max-rows", "-1");
    assert_ended(p, 2, "--max-rows");
    RUN(p, TINY, "--steps", "3", "--out", run, "--quiet", "--max-rows", "40");
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--out", run, "--resume", "--quiet", "--max-rows", "41");
    assert_ended(p, 2, "has 40, found 41");
    RUN(p, "train", "--out", run, "--resume", "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "bench", "step", "lp", "--dim", "16", "--runs", "1", "--max-rows", "100");
    assert_ended(p, 0, NULL);
}

TEST(a_finished_run_is_not_overwritten) {
    program *p = *state;
    RUN(p, TINY, "--steps", "2", "--out", in_folder(p, "whole"), "--quiet");
    assert_ended(p, 1, "whole");
    assert_same_file(p, "single/weights.safetensors", "whole/weights.safetensors");
}

TEST(progress_is_plain_lines_when_piped) {
    program *p = *state;
    RUN(p, TINY, "--steps", "4", "--out", in_folder(p, "lines"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "step 4/4  loss "));
    assert_non_null(strstr(p->out, "steps/s"));
    assert_null(strchr(p->out, '\r'));
}

TEST(progress_is_redrawn_on_a_terminal) {
    program *p = *state;
    static const char *const kinds[] = {"xterm", "dumb"};
    for (int i = 0; i < 2; i++) {
        char text[4096], out[16];
        int terminal = posix_openpt(O_RDWR | O_NOCTTY);
        assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
        snprintf(out, sizeof out, "drawn%d", i);
        setenv("TERM", kinds[i], 1);
        const char *words[] = {TINY, "--steps", "3", "--out", in_folder(p, out), NULL};
        pid_t child = start_program(words, ptsname(terminal), in_folder(p, "stderr"));
        ssize_t n = 0, more; /* the end of the child's side is an error here */
        while (n < (ssize_t)sizeof text - 1 && (more = read(terminal, text + n, sizeof text - 1 - (size_t)n)) > 0)
            n += more;
        text[n] = '\0';
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_non_null(strstr(text, "step 3/3"));
        assert_true((strstr(text, "\033[K") != NULL) == (i == 0));
        close(terminal);
    }
}

TEST(a_full_disk_stops_training) {
    program *p = *state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    run_program_to(
        p, "/dev/full", (const char *const[]){TINY, "--steps", "60", "--out", in_folder(p, "full"), "--json", NULL});
    assert_ended(p, 1, "standard output");
}

/* At a rate of 1e30 the first step makes weights whose products are no numbers. */
TEST(a_step_that_fails_says_how_to_go_on) {
    program *p = *state;
    char checkpoint[600];
    RUN(p, "train", "--recipe", "paper++", "--pool", "mutag", "--dim", "8", "--k", "2:4", "--q", "2:5", "--steps", "9",
        "--out", in_folder(p, "fails"), "--lr", "1e30", "--quiet");
    assert_int_equal(p->code, 1);
    assert_non_null(strstr(p->err, "step 1"));
    snprintf(
        checkpoint, sizeof checkpoint, "%s/checkpoint.safetensors is of the last good step", in_folder(p, "fails"));
    assert_non_null(strstr(p->err, checkpoint));
    assert_non_null(strstr(p->err, "--resume --new-lr 5e+29"));
    RUN(p, "train", "--out", in_folder(p, "fails"), "--resume", "--new-lr", "1e-3", "--quiet");
    assert_int_equal(p->code, 1); /* it goes on, from weights that are lost */
    assert_non_null(strstr(p->err, "step 1"));
    RUN(p, "train", "--out", in_folder(p, "more"), "--pool", "mutag", "--new-lr", "1e-3");
    assert_ended(p, 2, "--new-lr: expected --resume");
}

/* Five steps at a rate of 1, a hundred times the recipe's, make the weights worse than their first values, if the
 * readout does not read the first ones beside the trained ones. */
TEST(weights_below_the_untrained_encoder_say_so) {
    program *p = *state;
    RUN(p, "train", "--pool", "cora:nc", "--steps", "5", "--lr", "5", "--without", "initial", "--out",
        in_folder(p, "below"), "--quiet");
    assert_int_equal(p->code, 0);
    assert_non_null(strstr(p->err, "below the untrained encoder: nc, "));
    assert_non_null(strstr(p->err, "episodes of the pool that were not trained on"));
    RUN(p, "eval", "--weights", in_folder(p, "below/weights.safetensors"), "--data", "cora", "--task", "nc", "--shots",
        "8", "--seeds", "8", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "below the untrained encoder: k = 8 (-"));
    RUN(p, "eval", "--data", "cora", "--task", "nc", "--shots", "8", "--seeds", "8", "--quiet");
    assert_ended(p, 0, NULL);
    assert_null(strstr(p->out, "below the untrained encoder"));
}

/* Line `at` is the first pair of columns, whose cells at its k are the lines 2 and 4 of their four at two k. */
static void expect_pair(const program *p, int cell, int at) {
    static const char members[] =
        "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds";
    json_t *a = json_line(p, 2 + cell, members), *b = json_line(p, 4 + cell, members);
    json_t *o =
        json_line(p, at, "kind,data,task,metric,k,head,features,other_features,difference,ci95,paired,apart,seen");
    double apart[2], difference = json_real_of(a, "mean") - json_real_of(b, "mean");
    for (size_t i = 0; i < 2; i++)
        apart[i] = json_number_value(json_array_get(json_object_get(a, "values"), i)) -
                   json_number_value(json_array_get(json_object_get(b, "values"), i));
    assert_string_equal(json_text_of(o, "kind"), "pair");
    assert_string_equal(json_text_of(o, "features"), "trained");
    assert_string_equal(json_text_of(o, "other_features"), "random");
    assert_int_equal(json_real_of(o, "k"), json_real_of(a, "k"));
    assert_true(json_real_of(a, "k") == json_real_of(b, "k"));
    assert_true(fabs(json_real_of(o, "difference") - difference) < 1e-6);
    /* of two values the interval is t(1) times half their distance */
    assert_true(fabs(json_real_of(o, "ci95") - 12.706205 * fabs(apart[0] - apart[1]) / 2) < 1e-3);
    assert_true(json_is_true(json_object_get(o, "paired")));
    json_decref(a);
    json_decref(b);
    json_decref(o);
}

TEST(eval_has_a_row_for_each_baseline) {
    program *p = *state;
    RUN(p, "eval", "--weights", in_folder(p, "whole/weights.safetensors"), "--data", "cora", "--task", "nc", "--shots",
        "4,8", "--seeds", "2", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2 + 8 + 12); /* six pairs of columns at two k */
    json_t *run = json_line(p, 0, "kind,format,command,versions,blas_core,device,weights,protocol,seed,seeds");
    assert_string_equal(json_text_of(run, "kind"), "run");
    assert_string_equal(json_text_of(json_array_get(json_object_get(run, "weights"), 0), "features"), "trained");
    assert_int_equal(strlen(json_text_of(json_array_get(json_object_get(run, "weights"), 0), "xxh3")), 32);
    json_decref(run);
    json_t *data =
        json_line(p, 1, "kind,data,task,xxh3,nodes,edges,graphs,columns,classes,svd_residual,svd_orthogonality");
    assert_int_equal(json_real_of(data, "nodes"), 2708);
    json_decref(data);
    int seen = 0;
    const char *const features[] = {"trained", "random", "x0", "hop"};
    for (int i = 0; i < 8; i++) {
        const char *members =
            "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds,hop";
        char without_hop[128];
        snprintf(without_hop, sizeof without_hop, "%.*s", (int)(strlen(members) - 4), members);
        json_t *o = json_line(p, 2 + i, i < 6 ? without_hop : members);
        assert_string_equal(json_text_of(o, "kind"), "cell");
        assert_string_equal(json_text_of(o, "data"), "cora");
        assert_int_equal(json_array_size(json_object_get(o, "values")), 2);
        assert_int_equal(json_real_of(o, "n_test"), 271);
        assert_string_equal(json_text_of(o, "task"), "nc");
        assert_string_equal(json_text_of(o, "head"), "ridge");
        assert_string_equal(json_text_of(o, "metric"), "accuracy");
        assert_true(json_real_of(o, "mean") > 0 && json_real_of(o, "mean") <= 100);
        for (int j = 0; j < 4; j++)
            if (!strcmp(json_text_of(o, "features"), features[j]))
                seen |= 1 << (4 * (json_real_of(o, "k") == 8) + j);
        json_decref(o);
    }
    assert_int_equal(seen, 0xff);
    expect_pair(p, 0, 10);
}

TEST(eval_prints_the_paper_beside_its_table) {
    program *p = *state;
    RUN(p, "eval", "--weights", "none", "--data", "cora", "--task", "nc", "--dim", "16", "--hop", "2", "--shots", "4",
        "--head", "ridge,prototype_inner", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "cora nc, ridge head, accuracy"));
    assert_non_null(strstr(p->out, "cora nc, prototype_inner head, accuracy"));
    assert_non_null(strstr(p->out, "34.9 "));
    assert_null(strstr(p->out, "trained"));
}

TEST(transductive_adds_a_column_on_nodes_and_graphs) {
    program *p = *state;
    RUN(p, "eval", "--transductive", "--data", "cora", "--task", "nc", "--shots", "4", "--seeds", "2", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2 + 5 + 10);
    double mean[2];
    for (int i = 0; i < 2; i++) {
        json_t *o = json_line(p, 2 + i,
            i ? "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds"
              : "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds,experts");
        assert_string_equal(json_text_of(o, "features"), i ? "trained+T" : "trained");
        mean[i] = json_real_of(o, "mean");
        json_decref(o);
    }
    assert_true(mean[0] > 55 && mean[1] > mean[0]);
    RUN(p, "eval", "--transductive", "--data", "mutag", "--shots", "4", "--seeds", "2", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, " trained+T "));
    RUN(p, "eval", "--transductive", "--weights", "none", "--hop", "2", "--data", "cora", "--task", "nc");
    assert_ended(p, 2, "expected weights of the recipe best");
}

/* A class without k examples gives all it has, some of them twice: the table says so, and a figure's line. */
TEST(support_beyond_a_class_is_said) {
    program *p = *state;
    RUN(p, "eval", "--weights", "none", "--hop", "1", "--dim", "8", "--data", "mutag", "--shots", "4,64,5000",
        "--seeds", "2");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\nfewer than k examples: 1 of 2 classes at k = 64, 2 of 2 classes at k = 5000;"));
    RUN(p, "eval", "--weights", "none", "--hop", "1", "--dim", "8", "--data", "mutag", "--shots", "4,5000", "--seeds",
        "2", "--json");
    assert_ended(p, 0, NULL);
    for (int i = 2; i < 6; i++) {
        char members[200]; /* by candidate: k = 4, which all classes have, then k = 5000; the last two are of hop */
        snprintf(members, sizeof members,
            "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds%s%s",
            i % 2 ? ",small_classes" : "", i >= 4 ? ",hop" : "");
        json_t *o = json_line(p, i, members);
        if (i % 2)
            assert_int_equal(json_real_of(o, "small_classes"), 2);
        json_decref(o);
    }
}

/* Ten splits by default, three for a suite that asks for three; the table has the number. */
TEST(the_number_of_splits_is_said) {
    program *p = *state;
    const char *const base[] = {"eval", "--weights", "none", "--hop", "1", "--dim", "8", "--shots", "4"};
    const struct {
        const char *more[7], *title;
    } runs[] = {
        {{"--data", "mutag"}, "mutag gc, ridge head, accuracy in %, n = 10 seeds\n"},
        {{"--data", "mutag", "--seeds", "1"}, "mutag gc, ridge head, accuracy in %, n = 1 seed\n"},
        {{"--data", "mutag", "--protocol", "episode", "--episodes", "7"}, "in %, n = 7 episodes\n"},
        {{"--data", "cora", "--task", "lp", "--protocol", "episode"}, "--protocol: links"},
        {{"--data", "cora", "--task", "lp"}, "cora lp, ridge head, auc in %, n = 10 seeds\n"},
        {{"--data", "photo", "--task", "lp"}, "photo lp, ridge head, auc in %, n = 3 seeds\n"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const char *words[20];
        int n = 0;
        for (size_t j = 0; j < sizeof base / sizeof *base; j++)
            words[n++] = base[j];
        for (int j = 0; runs[i].more[j]; j++)
            words[n++] = runs[i].more[j];
        words[n] = NULL;
        run_program_to(p, NULL, words);
        if (!strstr(p->code == 0 ? p->out : p->err, runs[i].title))
            fail_msg("no '%s' in '%s%s'", runs[i].title, p->out, p->err);
    }
}

/* Figures of the metrics that are asked for, in the table and in JSON; tasks without any are not evaluated. */
TEST(metrics_are_chosen) {
    program *p = *state;
    RUN(p, "eval", "--weights", "none", "--hop", "1", "--dim", "8", "--data", "cora", "--shots", "4", "--seeds", "2",
        "--metric", "mrr,auc");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "cora lp, ridge head, auc in"));
    assert_non_null(strstr(p->out, "cora lp, ridge head, mrr in"));
    assert_null(strstr(p->out, "accuracy in"));
    assert_null(strstr(p->out, "ap in"));
    RUN(p, "eval", "--weights", "none", "--hop", "1", "--dim", "8", "--data", "cora", "--shots", "4", "--seeds", "2",
        "--metric", "accuracy", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2 + 2 + 1); /* the run, the nodes; x0 and hop; their difference */
    RUN(p, "eval", "--metric", "accuracy,recall");
    assert_ended(p, 2, "recall");
    RUN(p, "eval", "--metric", "auc", "--task", "gc");
    assert_ended(p, 2, "--metric");
}

TEST(embed_writes_a_row_a_node_or_graph) {
    program *p = *state;
    const char *weights = in_folder(p, "whole/weights.safetensors");
    const struct {
        const char *data;
        int rows;
    } sets[] = {{"cora", 2708}, {"mutag", 188}};
    for (int i = 0; i < 2; i++) {
        RUN(p, "embed", "--weights", weights, "--data", sets[i].data, "--out", in_folder(p, "Z.npy"), "--max-rows",
            "500");
        assert_ended(p, 0, NULL);
        RUN(p, "data", "info", in_folder(p, "Z.npy"), "--json");
        json_t *o = json_line(p, 0, "path,kind,tensors,metadata");
        json_t *Z = json_array_get(json_object_get(o, "tensors"), 0), *shape = json_object_get(Z, "shape");
        assert_string_equal(json_text_of(Z, "dtype"), "float32");
        assert_int_equal(json_integer_value(json_array_get(shape, 0)), sets[i].rows);
        assert_int_equal(json_integer_value(json_array_get(shape, 1)), 16);
        assert_int_equal(json_real_of(Z, "not_finite"), 0);
        json_decref(o);
    }
}

/* The default recipe at two thread counts; its weights, and those that come with the program. */
TEST(the_default_recipe_trains_evaluates_and_embeds) {
    program *p = *state;
    RUN(p, "train", "--pool", "cora:nc+lp,mutag", "--dim", "24", "--steps", "12", "--threads", "1", "--out",
        in_folder(p, "best"), "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--pool", "cora:nc+lp,mutag", "--dim", "24", "--steps", "12", "--threads", "3", "--out",
        in_folder(p, "best3"), "--quiet");
    assert_ended(p, 0, NULL);
    assert_same_file(p, "best/weights.safetensors", "best3/weights.safetensors");
    RUN(p, "eval", "--weights", in_folder(p, "best/weights.safetensors"), "--data", "mutag,cora", "--shots", "4",
        "--seeds", "2", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    /* the run, the data; gc, nc, the metrics of lp: four columns, six pairs of them */
    assert_int_equal(count_lines(p->out), 1 + 3 + (4 + 6) * (1 + 1 + 6));
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(p->folder), 0); /* where a run has the name of the embedded weights */
    RUN(p, "eval", "--data", "mutag", "--shots", "4", "--seeds", "2", "--json", "--quiet");
    assert_int_equal(chdir(here), 0);
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2 + 4 + 6);
    RUN(p, "embed", "--data", "mutag", "--out", in_folder(p, "B.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "float32 [188, "));
}
