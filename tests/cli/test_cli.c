/* tests/cli/test_cli.c - the command line: help, exit codes, JSON, errors that are one line. */
#include "tests/cli/program.h"

#include <math.h>

static void help_of_every_command_exits_0(void **state) {
    program *p = *state;
    const char *const commands[] = {
        "train", "eval", "embed", "data", "gradcheck", "graph", "lab", "pitfalls", "doctor"};
    RUN(p, "--help");
    assert_ended(p, 0, NULL);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        assert_non_null(strstr(p->out, commands[i]));
    RUN(p, "--version");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "mochi "));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "Usage: mochi %s", commands[i]);
        RUN(p, commands[i], "--help");
        assert_ended(p, 0, NULL);
        assert_non_null(strstr(p->out, usage));
        assert_string_equal(p->err, "");
    }
}

static void unknown_words_do_not_control_a_terminal(void **state) {
    program *p = *state;
    static const char *const words[][4] = {
        {"pre\x1b[2J", NULL, NULL, "mochi: no command named 'pre?[2J'"},
        {"predct", NULL, NULL, "mochi: no command named 'predct'; did you mean 'predict'; see mochi --help"},
        {"trian", NULL, NULL, "did you mean 'train'; see"},
        {"help", "sugest", NULL, "did you mean 'suggest'; see"},
        {"xyzzy", NULL, NULL, "mochi: no command named 'xyzzy'; see mochi --help"},
        {"", NULL, NULL, "mochi: no command named ''; see mochi --help"},
        {"help", "pre\x1b[2J", NULL, "mochi: no command named 'pre?[2J'"},
        {"data", "\x1b[2J", NULL, "mochi data: expected list, info, get, verify, convert or cache, found ?[2J"},
        {"predict", "--da\x1b[2Jta=x", NULL, "mochi: no option is named '--da?[2Jta'; see mochi predict --help"},
        {"predict", "-\x07", NULL, "mochi: no option is named '-?'"},
        {"predict", "--lambda", "\x1b[2J", "--lambda: expected a number above 0, found '?[2J'"},
        {"gradcheck", "so\x1b[2J", NULL, "no op named 'so?[2J'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        RUN(p, words[i][0], words[i][1], words[i][2]);
        assert_ended(p, p->code ? p->code : 1, words[i][3]);
    }
    RUN(p, "predict", "--data", "cora", "--labels=\x1b[2J"); /* a value may be anything */
    assert_ended(p, 1, "mochi: ?[2J: cannot open");
}

/* `mochi help COMMAND` is the page of `mochi COMMAND --help`; the actions of data have a page each. */
static void help_names_a_command_or_an_action(void **state) {
    program *p = *state;
    static const char *const pages[][6] = {
        {"train", NULL, "--without"},
        {"fit", NULL, "--tune"},
        {"data", "list", "--all"},
        {"data", "info", "--max-expand"},
        {"data", "get", "--sha256"},
        {"data", "verify", "--max-expand"},
        {"data", "convert", "OUT.npz"},
        {"data", "cache", "--older"},
    };
    static char page[MAX_TEXT];
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char usage[64];
        const char *action = pages[i][1];
        RUN(p, "help", pages[i][0], action);
        assert_ended(p, 0, NULL);
        snprintf(usage, sizeof usage, "sage: mochi %s%s%s ", pages[i][0], action ? " " : "", action ? action : "");
        assert_non_null(strstr(p->out, usage));
        assert_non_null(strstr(p->out, pages[i][2]));
        snprintf(page, sizeof page, "%s", p->out);
        const char *last = i % 2 ? "-h" : "--help";
        RUN(p, pages[i][0], action ? action : last, action ? last : NULL);
        assert_ended(p, 0, NULL);
        assert_string_equal(p->out, page);
    }
    RUN(p, "data", "list", "--help");
    assert_null(strstr(p->out, "--sha256"));
    RUN(p, "--help");
    snprintf(page, sizeof page, "%s", p->out);
    RUN(p, "-h");
    assert_string_equal(p->out, page);
    RUN(p, "help");
    assert_string_equal(p->out, page);
    RUN(p, "help", "walk");
    assert_ended(p, 2, "walk");
}

static void wrong_usage_exits_2_with_one_line(void **state) {
    program *p = *state;
    const struct {
        const char *words[8], *part;
    } uses[] = {
        {{NULL}, "expected a command"},
        {{"walk"}, "walk"},
        {{"train"}, "--out"},
        {{"train", "--out", "x", "--k", "9:8"}, "9:8"},
        {{"train", "--out", "x", "--q", "0"}, "--q"},
        {{"train", "--out", "x", "--dim", "0"}, "--dim"},
        {{"train", "--out", "x", "--steps", "1e3"}, "1e3"},
        {{"train", "--out", "x", "--steps", "99999999999999999999"}, "--steps"},
        {{"train", "--out", "x", "--recipe", "paper", "--lambda", "0"}, "--lambda"},
        {{"train", "--out", "x", "--lr", "nan"}, "--lr"},
        {{"train", "--out", "x", "--recipe", "soup"}, "paper, paper++, released or best"},
        {{"train", "--out", "x", "--recipe", "best", "--layers", "2"}, "--layers: the recipe best"},
        {{"train", "--out", "x", "--episodes-per-step", "0"}, "from 1 to 65535"},
        {{"train", "--out", "x", "--episodes-per-step", "65536"}, "'65536'"},
        {{"train", "--out", "x", "--recipe", "paper", "--head", "hat"}, "hat"},
        {{"train", "--out", "x", "--pool", "cora,,mutag"}, "--pool"},
        {{"train", "--out", "x", "--recipe", "paper", "--dropout", "1"}, "--dropout"},
        {{"train", "--out", "x", "y"}, "'y'"},
        {{"eval", "--weights", "a,b,c,d,e,f,g,h,i"}, "at most 8"},
        {{"eval", "--weights", "none", "--shots", "4,,8"}, "--shots"},
        {{"eval", "--weights", "none", "--shots", "4,x"}, "'x'"},
        {{"eval", "--weights", "none", "--task", "cv"}, "cv"},
        {{"eval", "--weights", "none", "--protocol", "guess"}, "split, episode or public"},
        {{"embed", "--weights", "w"}, "--data"},
        {{"embed", "--data", "cora", "--out", "Z.npy", "--hop", "1"}, "--weights none"},
        {{"data"}, "list"},
        {{"data", "info"}, "info"},
        {{"gradcheck", "--order", "3"}, "--order"},
        {{"gradcheck", "no_such_op"}, "no_such_op"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        run_program_to(p, NULL, uses[i].words);
        assert_ended(p, 2, uses[i].part);
        assert_string_equal(p->out, "");
    }
    RUN(p, "train", "--no-such-option"); /* reported by the C library, with a second line that points to --help */
    assert_ended(p, 2, NULL);
    assert_non_null(strstr(p->err, "--help"));
}

static void missing_files_are_one_line_that_names_them(void **state) {
    program *p = *state;
    const char *const words[][8] = {
        {"data", "info", "/no/such.npy"},
        {"data", "info", "/no/such.npz"},
        {"data", "info", "/no/such.safetensors"},
        {"data", "info", "/no/such.txt.gz"},
        {"eval", "--weights", "/no/such.safetensors"},
        {"eval", "--weights", "none", "--hop", "1", "--data", "/no/such.npz"},
        {"embed", "--weights", "/no/such.safetensors", "--data", "cora", "--out", "no-such-run.npy"},
        {"train", "--pool", "/no/such.npz", "--out", "no-such-run"}, /* made, and removed */
        {"train", "--out", "/no/such", "--resume"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        run_program_to(p, NULL, words[i]);
        assert_ended(p, 1, "/no/such");
    }
    assert_int_not_equal(access("no-such-run", F_OK), 0);
}

static void data_list_names_the_embedded_graphs(void **state) {
    program *p = *state;
    unsetenv("MOCHI_DATA");
    RUN(p, "data", "list", "--json");
    assert_ended(p, 0, NULL);
    bool has_cora = false;
    for (int i = 0; i < count_lines(p->out); i++) {
        json_t *o = json_line(p, i, "name,path,embedded");
        assert_true(json_is_true(json_object_get(o, "embedded")));
        has_cora |= !strcmp(json_text_of(o, "name"), "cora");
        json_decref(o);
    }
    assert_true(has_cora);
}

static void data_info_describes_graphs_and_arrays(void **state) {
    program *p = *state;
    RUN(p, "data", "info", "cora", "tests/arrays/f4.npy", "tests/arrays/stored.npz",
        "tests/arrays/reference.safetensors", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 4);
    json_t *graph = json_line(p, 0,
        "path,kind,name,graphs,nodes,edges,isolated,largest_degree,mean_degree,dropped_loops,dropped_duplicates,"
        "features,attributes,feature_nnz,classes,unlabelled,tasks,hash,divisions,manifest");
    assert_int_equal(json_real_of(graph, "nodes"), 2708);
    assert_int_equal(json_real_of(graph, "edges"), 5278);
    assert_int_equal(json_array_size(json_object_get(graph, "classes")), 7);
    json_decref(graph);
    for (int i = 1; i < 4; i++) {
        json_t *o = json_line(p, i, "path,kind,tensors,metadata"), *tensors = json_object_get(o, "tensors");
        assert_true(json_array_size(tensors) > 0);
        assert_non_null(json_object_get(json_array_get(tensors, 0), "dtype"));
        json_decref(o);
    }
}

static void one_bad_file_does_not_hide_the_others(void **state) {
    program *p = *state;
    RUN(p, "data", "info", "/no/such.npy", "cora", "--json");
    assert_ended(p, 1, "/no/such.npy");
    assert_int_equal(count_lines(p->out), 1);
}

static void gradcheck_reports_each_op_and_order(void **state) {
    program *p = *state;
    RUN(p, "gradcheck", "solve_spd", "matmul", "--order", "2", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 4);
    for (int i = 0; i < 4; i++) {
        json_t *o = json_line(p, i, "op,order,samples,error,pass");
        assert_string_equal(json_text_of(o, "op"), i < 2 ? "solve_spd" : "matmul");
        assert_int_equal(json_real_of(o, "order"), i % 2 + 1);
        assert_true(json_real_of(o, "samples") >= 1);
        assert_true(json_real_of(o, "error") <= (i % 2 ? 1e-5 : 1e-6));
        assert_true(json_is_true(json_object_get(o, "pass")));
        json_decref(o);
    }
}

static void a_full_disk_is_reported(void **state) {
    program *p = *state;
    const char *const words[][8] = {
        {"--help"},
        {"data", "--help"},
        {"train", "--help"},
        {"data", "list"},
        {"data", "list", "--json"},
        {"data", "info", "cora", "--json"},
        {"gradcheck", "neg", "--json"},
    };
    if (access("/dev/full", W_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        run_program_to(p, "/dev/full", words[i]);
        assert_ended(p, 1, "standard output");
    }
}

/* Whatever core the user names is kept; otherwise the program starts itself again at most once and works. */
static void the_blas_core_of_the_user_is_kept(void **state) {
    program *p = *state;
    setenv("OPENBLAS_CORETYPE", "HASWELL", 1);
    RUN(p, "--version");
    assert_ended(p, 0, NULL);
    unsetenv("OPENBLAS_CORETYPE");
    RUN(p, "--version");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_of_every_command_exits_0),
        cmocka_unit_test(help_names_a_command_or_an_action),
        cmocka_unit_test(unknown_words_do_not_control_a_terminal),
        cmocka_unit_test(wrong_usage_exits_2_with_one_line),
        cmocka_unit_test(missing_files_are_one_line_that_names_them),
        cmocka_unit_test(data_list_names_the_embedded_graphs),
        cmocka_unit_test(data_info_describes_graphs_and_arrays),
        cmocka_unit_test(one_bad_file_does_not_hide_the_others),
        cmocka_unit_test(gradcheck_reports_each_op_and_order),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(the_blas_core_of_the_user_is_kept),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
