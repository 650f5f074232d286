/* tests/cli/test_cli_heads.c - heads of the library and of the user's own through the program: checked, trained with,
 * evaluated, refused; and the skeleton of `mochi new`. */
#include "tests/cli/program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

#define TINY                                                                                                           \
    "train", "--recipe", "paper++", "--pool", "mutag", "--dim", "8", "--k", "2:4", "--q", "2:5", "--steps", "4",       \
        "--power-iterations", "1"

static const char *plugin(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/head_%s.so", getenv("MOCHI_PLUGINS"), name);
    return path;
}

TEST(help_names_every_head) {
    program *p = *state;
    char first[68];
    RUN(p, "gradcheck", "--head", "all", "--order", "1", "--json");
    assert_ended(p, 0, NULL);
    int n = count_lines(p->out);
    assert_true(n >= 9);
    char names[32][64];
    for (int i = 0; i < n && i < 32; i++) {
        json_t *o = json_line(p, i, "head,order,samples,error,pass");
        snprintf(names[i], sizeof names[i], "%s", json_text_of(o, "head"));
        json_decref(o);
    }
    RUN(p, "train", "--help");
    for (char *c = p->out; *c; c++) /* help breaks lines anywhere */
        if (*c == '\n' || *c == ',')
            *c = ' ';
    for (int i = 0; i < n && i < 32; i++) {
        snprintf(first, sizeof first, " %.61s ", names[i]);
        if (!strstr(p->out, first))
            fail_msg("mochi train --help does not name the head %s", names[i]);
    }
}

TEST(gradcheck_checks_a_head_of_the_users) {
    program *p = *state;
    RUN(p, "gradcheck", "--head", plugin("good"), "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2);
    json_t *o = json_line(p, 1, "head,order,samples,error,pass");
    assert_string_equal(json_text_of(o, "head"), "projected");
    assert_true(json_real_of(o, "samples") >= 3 && json_real_of(o, "error") < 1e-5);
    json_decref(o);
    const char *const wrong[] = {"wrong", "twice"};
    for (int i = 0; i < 2; i++) {
        RUN(p, "gradcheck", "--head", plugin(wrong[i]));
        assert_int_equal(p->code, 1);
        assert_non_null(strstr(p->out, "FAIL"));
    }
}

/* Its first 5000 bytes, as after an interrupted copy. */
static void cut_short(const char *from, const char *to) {
    char bytes[5000];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    assert_int_equal(fread(bytes, 1, sizeof bytes, in), sizeof bytes);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, out), sizeof bytes);
    fclose(in);
    fclose(out);
}

TEST(heads_that_do_not_fit_end_every_command) {
    program *p = *state;
    const struct {
        const char *name, *part;
    } objects[] = {
        {"missing", "head_missing.so"},
        {"unnamed", "exports no mo_head_plugin"},
        {"old", "was built for version 1, a head of"},
        {"small", "a head of 16 bytes; expected"},
    };
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        RUN(p, "gradcheck", "--head", plugin(objects[i].name));
        assert_ended(p, 1, objects[i].part);
        assert_string_equal(p->out, "");
        RUN(p, TINY, "--out", in_folder(p, "none"), "--head", plugin(objects[i].name));
        assert_ended(p, 1, objects[i].part);
        RUN(p, "eval", "--weights", "none", "--data", "mutag", "--dim", "8", "--head", plugin(objects[i].name));
        assert_ended(p, 1, objects[i].part);
    }
    assert_int_not_equal(access(in_folder(p, "none"), F_OK), 0);
    RUN(p, "gradcheck", "--head", "tests/cli/plugin_heads.c");
    assert_ended(p, 1, "tests/cli/plugin_heads.c");
    cut_short(plugin("good"), in_folder(p, "cut.so"));
    RUN(p, "gradcheck", "--head", in_folder(p, "cut.so"));
    assert_ended(p, 1, "cut.so: expected a shared object, found one cut short");
    RUN(p, "gradcheck", "--op", in_folder(p, "cut.so"));
    assert_ended(p, 1, "cut.so: expected a shared object, found one cut short");
    RUN(p, "gradcheck", "--head", "hat");
    assert_ended(p, 2, "no head named 'hat'; there are ridge,");
}

TEST(a_head_of_wrong_shapes_ends_train_and_eval_with_one_line) {
    program *p = *state;
    RUN(p, TINY, "--out", in_folder(p, "shapes"), "--head", plugin("shapes"), "--quiet");
    assert_ended(p, 1, "head projected: it returned logits [");
    RUN(p, "eval", "--weights", "none", "--data", "mutag", "--dim", "8", "--hop", "1", "--quiet", "--head",
        plugin("shapes"));
    assert_ended(p, 1, "head projected: it returned logits [");
    RUN(p, "gradcheck", "--head", plugin("shapes"));
    assert_int_equal(p->code, 1);
    assert_non_null(strstr(p->out, "it returned logits [4, 1] float64, expected [4, 3] float64"));
}

TEST(a_head_of_the_users_is_trained_with_and_evaluated) {
    program *p = *state;
    char weights[600];
    RUN(p, TINY, "--out", in_folder(p, "own"), "--head", plugin("good"), "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--out", in_folder(p, "own"), "--resume", "--quiet"); /* run.json names the head */
    assert_ended(p, 0, NULL);
    snprintf(weights, sizeof weights, "%s", in_folder(p, "own/weights.safetensors"));
    RUN(p, "data", "info", weights);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "head.projection")); /* the head's parameters are saved with the weights */
    RUN(p, "eval", "--weights", weights, "--data", "mutag", "--shots", "4", "--seeds", "2", "--json", "--head",
        plugin("good"));
    assert_ended(p, 0, NULL);
    json_t *o = json_line(p, 2, "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds");
    assert_string_equal(json_text_of(o, "head"), "projected");
    json_decref(o);
    RUN(p, "eval", "--weights", weights, "--data", "mutag", "--shots", "4");
    assert_ended(p, 1, "was trained with the head projected");
    RUN(p, "embed", "--weights", weights, "--data", "mutag", "--out", in_folder(p, "Z.npy"));
    assert_ended(p, 0, NULL); /* embeddings need no head */
}

/* The mean of the first figure of `features` under a head. */
static double mean_of(program *p, const char *features, const char *head) {
    double mean = NAN;
    for (const char *line = p->out; line && *line && isnan(mean); line = strchr(line, '\n') + 1) {
        json_t *o = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        if (json_object_get(o, "mean") && !strcmp(json_text_of(o, "features"), features) &&
            !strcmp(json_text_of(o, "head"), head))
            mean = json_real_of(o, "mean");
        json_decref(o);
    }
    if (isnan(mean))
        fail_msg("no figure of %s under the head %s", features, head);
    return mean;
}

#define EVAL_BEST "eval", "--data", "mutag", "--shots", "8", "--seeds", "2", "--json", "--quiet"

TEST(every_head_reads_the_embeddings_of_best) {
    program *p = *state;
    char heads[600];
    RUN(p, EVAL_BEST);
    assert_ended(p, 0, NULL);
    double own = mean_of(p, "trained", "mixture"), single = mean_of(p, "hop", "ridge");
    snprintf(heads, sizeof heads, "mixture,logistic,mlp,ridge,%s", plugin("good"));
    RUN(p, EVAL_BEST, "--head", heads);
    assert_ended(p, 0, NULL);
    assert_true(mean_of(p, "trained", "mixture") == own);
    assert_true(mean_of(p, "hop", "ridge") == single);
    assert_true(mean_of(p, "trained", "logistic") > 50 && mean_of(p, "trained", "projected") > 0);
    assert_true(mean_of(p, "random", "mlp") > 50);
}

TEST(the_encoder_of_best_learns_under_a_head_of_the_users) {
    program *p = *state;
    char weights[600];
    RUN(p, "train", "--pool", "mutag", "--steps", "4", "--out", in_folder(p, "best"), "--head", plugin("good"),
        "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--out", in_folder(p, "best"), "--resume", "--quiet"); /* run.json names the head */
    assert_ended(p, 0, NULL);
    snprintf(weights, sizeof weights, "%s", in_folder(p, "best/weights.safetensors"));
    RUN(p, "data", "info", weights);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "head.gc.projection"));
    RUN(p, EVAL_BEST, "--weights", weights, "--head", plugin("good"));
    assert_ended(p, 0, NULL);
    assert_true(mean_of(p, "trained", "projected") > 0);
    RUN(p, EVAL_BEST, "--weights", weights);
    assert_ended(p, 1, "was trained with the head projected");
    RUN(p, "embed", "--weights", weights, "--data", "mutag", "--out", in_folder(p, "B.npy"));
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--pool", "mutag", "--out", in_folder(p, "none"), "--lambda", "2");
    assert_ended(p, 2, "--lambda: the recipe best's own readout, mixture, has its own");
}

TEST(every_head_trains_a_step) {
    program *p = *state;
    const char *const heads[] = {"ridge_intercept", "prototype_cosine", "prototype_centred", "lda", "mlp"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        RUN(p, TINY, "--out", in_folder(p, heads[i]), "--head", heads[i], "--quiet");
        assert_ended(p, 0, NULL);
    }
}

TEST(bench_times_a_head_with_and_without_gradients) {
    program *p = *state;
    RUN(p, "bench", "head", "lda:4x3x5x6", "mlp:2x2x3x4", "--runs", "2", "--warmup", "1", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 4);
    for (int i = 0; i < 4; i++) {
        json_t *o = json_line(p, 1 + i,
            "case,variant,rows,gflop,min_ms,med_ms,max_ms,processor_ms,gemm_share,peak_mb,growth_mb,allocations");
        assert_string_equal(json_text_of(o, "case"), i < 2 ? "lda:4x3x5x6" : "mlp:2x2x3x4");
        assert_string_equal(json_text_of(o, "variant"), i % 2 ? "logits+gradients" : "logits");
        assert_int_equal(json_real_of(o, "rows"), i < 2 ? 4 * 3 * 15 : 2 * 2 * 15);
        assert_true(json_real_of(o, "gflop") > 0 && json_real_of(o, "min_ms") > 0);
        assert_int_equal(json_real_of(o, "allocations"), 0); /* a second run allocates nothing */
        json_decref(o);
    }
    RUN(p, "bench", "head", "ridge:4x3x5");
    assert_ended(p, 2, "bench head has no case 'ridge:4x3x5'");
    RUN(p, "bench", "head", "hat");
    assert_ended(p, 2, "bench head has no case 'hat'");
}

TEST(new_writes_a_head_once) {
    program *p = *state;
    char here[512], text[MAX_TEXT];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(p->folder), 0);
    RUN(p, "new", "head", "my_head");
    assert_ended(p, 0, NULL);
    read_text("my_head.c", text);
    assert_non_null(strstr(text, "const mo_head mo_head_plugin"));
    assert_null(strchr(text, '@'));
    read_text("my_head_test.c", text);
    assert_non_null(strstr(text, "\"./my_head.so\""));
    assert_null(strchr(text, '@'));
    RUN(p, "new", "head", "my_head");
    assert_ended(p, 1, "my_head.c is there already");
    assert_int_equal(chdir(here), 0);
    RUN(p, "new", "head", "../evil");
    assert_ended(p, 2, "letters, digits and _");
    RUN(p, "new", "hat", "x");
    assert_ended(p, 2, "mochi new: kind: expected head, encoder or op, found 'hat'");
    RUN(p, "new");
    assert_ended(p, 2, "mochi new: expected what to write, and its name: mochi new head my_head");
}

TEST(new_writes_an_op) {
    program *p = *state;
    char here[512], text[MAX_TEXT];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(p->folder), 0);
    RUN(p, "new", "op", "my_op");
    assert_ended(p, 0, NULL);
    read_text("my_op.c", text);
    assert_non_null(strstr(text, "<Y_bar, dY> = <2 A B Y_bar, dA> + <A^2 Y_bar, dB>"));
    assert_non_null(strstr(text, "mo_tensor *my_op(mo_tape *t, mo_tensor *A, mo_tensor *B)"));
    assert_null(strchr(text, '@'));
    read_text("my_op_test.c", text);
    assert_non_null(strstr(text, "cc my_op_test.c my_op.c "));
    assert_null(strchr(text, '@'));
    assert_int_equal(chdir(here), 0);
}
