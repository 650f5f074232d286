/* tests/cli/test_cli_encoder.c - an encoder of the user's own through the program: checked, trained, evaluated under
 * any head, embedded, refused; and the skeleton of `mochi new encoder`. */
#include "tests/cli/program.h"

static const fixtures around_all = {program_create, program_release};

#define TINY "train", "--pool", "mutag", "--dim", "16", "--steps", "4", "--power-iterations", "1", "--quiet"

static const char *plugin(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/encoder_%s.so", getenv("MOCHI_PLUGINS"), name);
    return path;
}

TEST(gradcheck_checks_an_encoder) {
    program *p = *state;
    RUN(p, "gradcheck", "--encoder", plugin("good"), "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2);
    json_t *o = json_line(p, 1, "encoder,order,samples,error,pass");
    assert_string_equal(json_text_of(o, "encoder"), "mixed");
    assert_true(json_real_of(o, "error") < 1e-5);
    json_decref(o);
    RUN(p, "gradcheck", "--encoder", plugin("wrong"));
    assert_int_equal(p->code, 1);
    assert_non_null(strstr(p->out, "FAIL"));
    RUN(p, "gradcheck", "--encoder", plugin("blocks"));
    assert_int_equal(p->code, 1);
    assert_non_null(strstr(p->out, "rows encoded in blocks differ"));
}

TEST(encoders_that_do_not_fit_are_refused) {
    program *p = *state;
    const char *const bad[][2] = {{"old", "was built for version 7"}, {"unnamed", "exports no mo_encoder_plugin"},
        {"taken", "encoder mochi: expected another name"}, {"missing", "cannot open"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        RUN(p, TINY, "--out", in_folder(p, "bad"), "--encoder", plugin(bad[i][0]));
        assert_ended(p, 1, bad[i][1]);
        RUN(p, "eval", "--data", "mutag", "--encoder", plugin(bad[i][0]));
        assert_ended(p, 1, bad[i][1]);
    }
    RUN(p, "train", "--out", in_folder(p, "bad"), "--encoder", "gamlp");
    assert_ended(p, 2, "no encoder named 'gamlp'");
    RUN(p, TINY, "--out", in_folder(p, "shapes"), "--encoder", plugin("shapes"));
    assert_ended(p, 1, "encoder mixed: it returned [7, ");
    RUN(p, TINY, "--out", in_folder(p, "without"), "--encoder", plugin("good"), "--without", "waves");
    assert_ended(p, 2, "--without: expected no --encoder");
    RUN(p, "eval", "--data", "mutag", "--encoder", plugin("good"));
    assert_ended(p, 1, "best: they are weights of the encoder invariant; expected no --encoder");
    RUN(p, "embed", "--weights", "none", "--data", "mutag", "--out", in_folder(p, "Z.npy"), "--encoder",
        plugin("good"));
    assert_ended(p, 2, "--encoder: expected --weights of that encoder");
}

TEST(an_encoder_is_trained_evaluated_and_embedded) {
    program *p = *state;
    char weights[600], shape[32];
    RUN(p, TINY, "--out", in_folder(p, "own"), "--encoder", plugin("good"), "--head", "mlp");
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--out", in_folder(p, "own"), "--resume", "--quiet"); /* run.json names the encoder */
    assert_ended(p, 0, NULL);
    snprintf(weights, sizeof weights, "%s", in_folder(p, "own/weights.safetensors"));
    RUN(p, "data", "info", weights);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "encoder.layer"));
    assert_non_null(strstr(p->out, "head.gc.W1"));
    assert_non_null(strstr(p->out, "kind = mixed"));
    for (int i = 0; i < 2; i++) {
        RUN(p, "eval", "--weights", weights, "--encoder", plugin("good"), "--data", "mutag,cora", "--shots", "4",
            "--seeds", "2", "--quiet", "--head", i ? "ridge" : "mlp,logistic");
        assert_ended(p, 0, NULL);
        assert_non_null(strstr(p->out, i ? "cora lp, ridge head" : "mutag gc, mlp head"));
        assert_non_null(strstr(p->out, "trained"));
    }
    RUN(p, "embed", "--weights", weights, "--encoder", plugin("good"), "--data", "mutag", "--out",
        in_folder(p, "Z.npy"));
    assert_ended(p, 0, NULL);
    snprintf(shape, sizeof shape, "[188, 7] of mutag");
    assert_non_null(strstr(p->out, shape));
    RUN(p, "eval", "--weights", weights, "--data", "mutag", "--shots", "4");
    assert_ended(p, 1, "they are weights of the encoder mixed; expected --encoder FILE.so");
    RUN(p, "embed", "--weights", weights, "--data", "mutag", "--out", in_folder(p, "Z.npy"));
    assert_ended(p, 1, "they are weights of the encoder mixed; expected --encoder FILE.so");
}

/* With blocks of rows the weights differ by rounding only, so the figures of both runs agree. */
TEST(an_encoder_works_in_blocks_on_every_family) {
    program *p = *state;
    RUN(p, "train", "--recipe", "paper++", "--pool", "cora,mutag", "--dim", "16", "--k", "2:4", "--q", "2:5", "--steps",
        "4", "--max-rows", "64", "--out", in_folder(p, "blocks"), "--encoder", plugin("good"), "--quiet");
    assert_ended(p, 0, NULL);
}

TEST(new_writes_an_encoder) {
    program *p = *state;
    char here[512], text[MAX_TEXT];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(p->folder), 0);
    RUN(p, "new", "encoder", "my_encoder");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "mochi gradcheck --encoder ./my_encoder.so"));
    read_text("my_encoder.c", text);
    assert_non_null(strstr(text, "const mo_encoder mo_encoder_plugin"));
    assert_null(strchr(text, '@'));
    read_text("my_encoder_test.c", text);
    assert_non_null(strstr(text, "\"./my_encoder.so\""));
    assert_null(strchr(text, '@'));
    assert_int_equal(chdir(here), 0);
}
