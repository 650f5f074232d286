/* tests/cli/test_cli_inspect.c - the commands that look inside: graph, doctor, bench solve, profiles, ops of the
 * user's. */
#include "tests/cli/program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

static const char bench_members[] =
    "case,variant,rows,gflop,min_ms,med_ms,max_ms,processor_ms,gemm_share,peak_mb,growth_mb,allocations";

static int count(const char *text, const char *part) {
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

TEST(graph_shows_a_step_of_every_task) {
    program *p = *state;
    const char *const tasks[] = {"nc", "lp", "gc"}, *const marks[] = {"gather_rows(", "= mul(", "segment_mean("};
    for (int i = 0; i < 3; i++) {
        RUN(p, "graph", tasks[i]);
        assert_ended(p, 0, NULL);
        assert_int_equal(count(p->out, "(loss) = softmax_cross_entropy("), 1);
        assert_int_equal(count(p->out, "(gradient of "), 1 + 8 + 4 + 6); /* log_temp, hop layers, attention, output */
        assert_non_null(strstr(p->out, "solve_spd("));
        assert_non_null(strstr(p->out, ", in the vjp of %"));
        assert_non_null(strstr(p->out, marks[i]));
        RUN(p, "graph", tasks[i], "--forward");
        assert_ended(p, 0, NULL);
        assert_null(strstr(p->out, "vjp"));
    }
}

TEST(graph_writes_for_graphviz_with_values) {
    program *p = *state;
    RUN(p, "graph", "--dot", "--values");
    assert_ended(p, 0, NULL);
    assert_int_equal(strncmp(p->out, "digraph tape {\n", 15), 0);
    assert_string_equal(p->out + strlen(p->out) - 2, "}\n");
    assert_true(count(p->out, " -> ") > 150);
    assert_non_null(strstr(p->out, "loss\\n0."));
    RUN(p, "graph", "tree");
    assert_ended(p, 2, "TASK");
    RUN(p, "graph", "--values=0");
    assert_ended(p, 2, "--values");
}

/* The file holds the graph, the elements of its values and their gradients; nothing is printed. */
TEST(graph_keeps_a_step_as_a_file) {
    program *p = *state;
    char text[1 << 16];
    RUN(p, "graph", "lp", "--out", in_folder(p, "run.tape"));
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, "");
    FILE *file = fopen(in_folder(p, "run.tape"), "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file), header = 8;
    fclose(file);
    text[n] = '\0';
    assert_int_equal(count(text + header, "mochi-tape"), 1);
    assert_int_equal(count(text + header, "softmax_cross_entropy"), 1);
    assert_true(count(text + header, "\"g") > 5);
    RUN(p, "graph", "--out", in_folder(p, "none/run.tape"));
    assert_ended(p, 1, "none/run.tape");
}

/* The figures depend on the machine; the test checks what holds on every machine. */
TEST(doctor_measures_every_core_it_names) {
    program *p = *state;
    RUN(p, "doctor", "--json", "--threads", "1");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1);
    json_t *o = json_line(p, 0,
        "processor,instructions,cores,cores_usable,cores_quota,cache_kib,memory_mib,memory_available_mib,"
        "memory_limit_mib,huge_pages,threads,blas_is_safe,blas,core,core_of_openblas,core_best,gemm_gflops,float32_"
        "gflops,"
        "bf16_gflops,gpu,gpu_note,gpu_libraries,libraries");
    assert_int_equal(json_real_of(o, "threads"), 1);
    assert_true(json_real_of(o, "cores_usable") >= 1);
    assert_true(json_is_true(json_object_get(o, "blas_is_safe")));
    assert_true(json_real_of(o, "float32_gflops") > 0.1);
    json_t *rates = json_object_get(o, "gemm_gflops"), *rate;
    const char *core, *best = json_string_value(json_object_get(o, "core_best"));
    double most = 0;
    json_object_foreach(rates, core, rate) {
        assert_true(json_real_value(rate) > 0.1);
        most = fmax(most, json_real_value(rate));
    }
    if (json_object_size(rates))
        assert_true(json_real_value(json_object_get(rates, best)) == most);
    json_decref(o);
    RUN(p, "doctor", "--threads", "1");
    assert_ended(p, 0, NULL);
    for (const char *const *part = (const char *const[]){"processor ", "caches ", "memory ", "BLAS ", "float32 ",
             "bf16 ", "GPU ", "libraries ", NULL};
         *part; part++)
        assert_non_null(strstr(p->out, *part));
}

/* doctor says whether the processor has products of bf16; train takes them, and says so, or refuses in one line. */
TEST(math_bf16_is_taken_where_doctor_finds_it) {
    program *p = *state;
    RUN(p, "doctor", "--json", "--threads", "1");
    json_t *o = json_loads(p->out, 0, NULL), *rate = json_object_get(o, "bf16_gflops");
    bool there = json_is_number(rate);
    assert_true(there || json_is_null(rate));
    json_decref(o);
    RUN(p, "train", "--pool", "mutag", "--dim", "8", "--k", "2:4", "--q", "2:5", "--steps", "2", "--recipe", "paper",
        "--quiet", "--math", "bf16", "--out", in_folder(p, "rounded"));
    if (!there) {
        assert_ended(p, 1, "no AVX512-BF16");
        assert_int_equal(count_lines(p->err), 1);
        return;
    }
    assert_ended(p, 0, NULL);
    char *text;
    size_t n;
    read_file(in_folder(p, "rounded/run.json"), &text, &n);
    assert_non_null(strstr(text, "\"math\": \"bf16\""));
    free(text);
    RUN(p, "train", "--out", in_folder(p, "rounded"), "--resume", "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "train", "--out", in_folder(p, "rounded"), "--resume", "--quiet", "--math", "fp32");
    assert_ended(p, 2, "has \"bf16\", found \"fp32\"; a resumed run keeps its settings");
}

TEST(bench_solve_times_both_solves_and_adjoints) {
    program *p = *state;
    const char *const variants[] = {"solve", "solve+adjoint", "solve_spd", "solve_spd+adjoint"};
    const double n = 16, column = 2 * n * n * 3, factor[] = {2 * n * n * n / 3, n * n * n / 3};
    RUN(p, "bench", "solve", "8x16x3", "--runs", "2", "--warmup", "1", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 4);
    for (int i = 0; i < 4; i++) {
        json_t *o = json_line(p, 1 + i, bench_members);
        assert_string_equal(json_text_of(o, "variant"), variants[i]);
        assert_true(fabs(json_real_of(o, "gflop") - 1e-9 * 8 * (factor[i / 2] + (i % 2 ? 3 : 1) * column)) < 1e-9);
        assert_int_equal(json_real_of(o, "allocations"), 0);
        json_decref(o);
    }
    RUN(p, "bench", "rows", "softmax:8x16", "spmm:9x3x4", "--runs", "2", "--warmup", "1", "--json");
    assert_int_equal(p->code, 0);
    for (int i = 0; i < 2; i++)
        json_decref(json_line(p, 1 + i, bench_members));
    RUN(p, "bench", "rows", "spmm:9x10x4");
    assert_ended(p, 2, "bench rows has no case 'spmm:9x10x4'");
    RUN(p, "bench", "solve", "8");
    assert_ended(p, 2, "'8'");
}

TEST(bench_expect_compares_the_expected_accuracy_with_the_true_one) {
    program *p = *state;
    RUN(p, "bench", "expect", "mutag:4", "--runs", "4", "--json");
    assert_int_equal(p->code, 0);
    json_t *o = json_line(p, 1, "case,k,draws,expected,accuracy,covered,below,above,width");
    double accuracy = json_real_of(o, "accuracy"), expected = json_real_of(o, "expected");
    assert_true(accuracy > 0.5 && accuracy < 1 && fabs(expected - accuracy) < 0.3);
    assert_true(json_real_of(o, "covered") + json_real_of(o, "below") + json_real_of(o, "above") == 1);
    assert_true(json_real_of(o, "width") > 1 && json_real_of(o, "width") < 1.3);
    json_decref(o);
    RUN(p, "bench", "expect", "mutag");
    assert_ended(p, 2, "bench expect has no case 'mutag'");
    RUN(p, "bench", "expect", "gnutella06:4", "--runs", "1");
    assert_ended(p, 1, "gnutella06 has no labels");
}

TEST(profile_follows_the_case) {
    program *p = *state;
    RUN(p, "bench", "step", "nc15", "--dim", "16", "--runs", "2", "--warmup", "1", "--profile");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "nc15 mochi++, 2 runs:\n"));
    assert_non_null(strstr(p->out, "\neverything"));
    assert_int_equal(count(p->out, "\nsolve_spd "), 2); /* forward, and in its own vjp */
    RUN(p, "bench", "step", "nc15", "--dim", "16", "--runs", "2", "--warmup", "1", "--profile", "--json");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
    assert_int_equal(count(p->out, "\"op\":\"solve_spd\""), 2);
    json_decref(json_line(p, 2, "kind,case,variant,op,where,runs,calls,ms,gflop,mb"));
}

static const char *plugin(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s.so", getenv("MOCHI_PLUGINS"), name);
    return path;
}

TEST(gradcheck_loads_ops_from_a_shared_object) {
    program *p = *state;
    RUN(p, "gradcheck", "--op", plugin("plugin_good"), "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 4); /* its two ops, two orders; no op of the library */
    json_t *o = json_line(p, 2, "op,order,samples,error,pass");
    assert_string_equal(json_text_of(o, "op"), "triple_again");
    json_decref(o);
    RUN(p, "gradcheck", "--op", plugin("plugin_good"), "triple", "neg", "--order", "1", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2);
    RUN(p, "gradcheck", "--op", plugin("plugin_wrong"));
    assert_int_equal(p->code, 1);
    assert_int_equal(count(p->out, "FAIL"), 2); /* at order 1; a wrong gradient is not asked for its own */
}

TEST(gradcheck_catches_what_differences_at_a_sample_do_not_show) {
    program *p = *state;
    RUN(p, "gradcheck", "--op", plugin("plugin_planted"));
    assert_int_equal(p->code, 1);
    assert_non_null(strstr(p->out, "4 ops, 3 failed"));
    assert_int_equal(count(p->out, "planted_right"), 2);
    assert_int_equal(count(p->out, "pass\n"), 2); /* order 1 and 2 of the right one */
    assert_non_null(strstr(p->out, "the vjp reads input 1, which reads_in does not declare"));
    assert_non_null(strstr(p->out, "where no other input needs a gradient than 1: the gradient of input 1 is off by"));
    assert_non_null(strstr(p->out, "sample \"square, two in a batch\", input 1: vjp"));
}

TEST(shared_objects_that_do_not_fit_are_named) {
    program *p = *state;
    const struct {
        const char *name, *part;
    } objects[] = {
        {"plugin_missing", "plugin_missing.so"},
        {"plugin_unnamed", "exports no mo_ops"},
        {"plugin_old", "was built for version 99"},
        {"plugin_taken", "there is an op named matmul already"},
    };
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        RUN(p, "gradcheck", "--op", plugin(objects[i].name));
        assert_ended(p, 1, objects[i].part);
        assert_string_equal(p->out, "");
    }
    RUN(p, "gradcheck", "--op", "tests/cli/plugin_ops.c");
    assert_ended(p, 1, "tests/cli/plugin_ops.c");
    setenv("LD_LIBRARY_PATH", getenv("MOCHI_PLUGINS"), 1); /* the loader searches it for bare names */
    RUN(p, "gradcheck", "--op", "plugin_good.so");
    unsetenv("LD_LIBRARY_PATH");
    assert_ended(p, 1, "./plugin_good.so");
}
