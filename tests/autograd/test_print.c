/* tests/autograd/test_print.c - the recorded graph as text and for graphviz. */
#include "ops/inside.h"
#include "tests/text_sink.h"
#include "tests/toy_ops.h"

static const mo_print_options plain = {.format = MO_PRINT_TEXT}, dot = {.format = MO_PRINT_DOT};

/* Releases the context too: its kernels have scratch memory. */
static int release_with_context(void **state) {
    toy *y = *state;
    mo_tape_release(y->t);
    mo_context_release(y->ctx);
    free(y);
    return 0;
}

static const char *print(toy *y, const mo_print_options *options) {
    static text_sink sink;
    sink.n = 0;
    sink.text[0] = '\0';
    assert_int_equal(mo_tape_print(y->t, options, sink_text, &sink), MO_OK);
    return sink.text;
}

static void assert_text(const char *got, const char *expected) {
    if (strcmp(got, expected))
        fail_msg("expected:\n%s\nfound:\n%s", expected, got);
}

/* A parameter, a constant, data that was computed without being recorded, a view, and a product of the two. */
static mo_tensor *small_graph(toy *y, mo_tensor **W) {
    *W = mo_parameter(y->ctx, "W", MO_F64, 2, (int64_t[]){2, 3});
    mo_tensor_write(*W, (double[]){1, 2, 3, 4, 5, 6.25}, 6 * sizeof(double));
    mo_tensor *x = mo_scale(y->t, mo_full(y->t, MO_F64, 2, (int64_t[]){2, 3}, 2), 1, -1);
    return mo_sum(y->t, mo_matmul(y->t, x, mo_transpose(y->t, *W)), MO_ALL, MO_DROP_AXES);
}

static void text_shows_ops_inputs_shapes_and_types(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = small_graph(y, &W);
    mo_label labels[] = {{"loss", loss}};
    assert_text(print(y, &(mo_print_options){.n_labels = 1, .labels = labels}),
        "W float64 [2, 3]: parameter\n"
        "%0 float64 [3, 2] = transpose(W), a view\n"
        "data1 float64 [2, 3]\n"
        "%1 float64 [2, 2] = matmul(data1, %0)\n"
        "%2 float64 [] (loss) = sum(%1)\n");
    mo_tensor_release(W);
}

static void values_are_shown_where_few(void **state) {
    toy *y = *state;
    mo_tensor *W;
    small_graph(y, &W);
    const char *text = print(y, &(mo_print_options){.values = 4});
    assert_null(strstr(text, "6.25"));
    assert_non_null(strstr(text, "= matmul(data1, %0) = [[6, 15.25], [6, 15.25]]\n"));
    assert_non_null(strstr(text, "= sum(%1) = 42.5\n"));
    assert_non_null(
        strstr(print(y, &(mo_print_options){.values = 6}), "W float64 [2, 3]: parameter = [[1, 2, 3], [4, 5, 6.25]]"));
    mo_tensor_release(W);
}

static void released_values_say_so(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = small_graph(y, &W);
    mo_backward(y->t, loss);
    const char *text = print(y, &(mo_print_options){.values = 100});
    assert_non_null(strstr(text, "= matmul(data1, %0) = released\n"));
    assert_non_null(strstr(text, "= sum(%1) = 42.5\n")); /* the loss stays */
    mo_tensor_release(W);
}

static void recorded_backward_names_its_rules(void **state) {
    toy *y = *state;
    mo_tensor *a = toy_leaf(y->ctx, 2, 3), *f = mo_sum(y->t, mo_mul(y->t, a, mo_square(y->t, a)), MO_ALL, MO_DROP_AXES),
              *g;
    mo_grad(y->t, &f, NULL, 1, &a, &g, 1, MO_CREATE_GRAPH);
    const char *text = print(y, &(mo_print_options){.n_labels = 1, .labels = &(mo_label){"gradient of a", g}});
    assert_non_null(strstr(text, "data0 float64 [2]: leaf\n"));
    assert_non_null(strstr(text, ", in the vjp of %1 mul\n"));
    assert_non_null(strstr(text, ", in the vjp of %0 square\n"));
    assert_non_null(strstr(text, "(gradient of a) = accumulate("));
    assert_non_null(strstr(print(y, &dot), "mistyrose"));
    mo_tensor_release(a);
}

static void several_outputs_are_numbered(void **state) {
    toy *y = *state;
    mo_tensor *A = mo_require_grad(mo_tensor_from(y->ctx, MO_F64, 2, (int64_t[]){2, 2}, (double[]){1, 0, 0, 2}));
    mo_tensor *w, *V;
    mo_eigh(y->t, A, &w, &V);
    mo_square(y->t, V);
    assert_text(print(y, &plain), "data0 float64 [2, 2]: leaf\n"
                                  "%0.0 float64 [2], %0.1 float64 [2, 2] = eigh(data0)\n"
                                  "%1 float64 [2, 2] = square(%0.1)\n");
    assert_non_null(strstr(print(y, &dot), "n0 -> n1 [label=\"1\"];"));
    mo_tensor_release(A);
}

static void dot_has_a_line_for_each_node_leaf_and_edge(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = small_graph(y, &W);
    mo_label labels[] = {{"loss", loss}};
    assert_text(print(y, &(mo_print_options){.format = MO_PRINT_DOT, .values = 1, .n_labels = 1, .labels = labels}),
        "digraph tape {\n"
        "  node [shape=box, style=filled, fontsize=10];\n"
        "  l0 [shape=ellipse, fillcolor=lightblue, label=\"W\\nfloat64 [2, 3]\"];\n"
        "  n0 [fillcolor=white, label=\"%0 transpose\\nfloat64 [3, 2]\"];\n"
        "  l0 -> n0;\n"
        "  l1 [shape=ellipse, fillcolor=whitesmoke, label=\"data1\\nfloat64 [2, 3]\"];\n"
        "  n1 [fillcolor=white, label=\"%1 matmul\\nfloat64 [2, 2]\"];\n"
        "  l1 -> n1;\n"
        "  n0 -> n1;\n"
        "  n2 [fillcolor=white, label=\"%2 sum\\nfloat64 []\\nloss\\n42.5\"];\n"
        "  n1 -> n2;\n"
        "}\n");
    mo_tensor_release(W);
}

static void names_are_quoted_for_graphviz(void **state) {
    toy *y = *state;
    mo_tensor *p = mo_parameter(y->ctx, "a\"b\\c", MO_F64, 0, NULL);
    mo_square(y->t, p);
    assert_non_null(strstr(print(y, &dot), "label=\"a\\\"b\\\\c\\nfloat64 []\""));
    mo_tensor_release(p);
}

static void an_empty_tape_is_an_empty_graph(void **state) {
    toy *y = *state;
    assert_text(print(y, &plain), "");
    assert_text(print(y, &dot), "digraph tape {\n  node [shape=box, style=filled, fontsize=10];\n}\n");
}

static void the_error_state_is_no_obstacle_and_stays(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = small_graph(y, &W);
    mo_add(y->t, loss, mo_from(y->t, MO_F32, 0, NULL, &(float){1}));
    assert_non_null(strstr(print(y, &(mo_print_options){.values = 4}), "= sum(%1) = 42.5\n"));
    assert_failed(y->ctx, MO_MISMATCH, PARTS("add"));
    mo_tensor_release(W);
}

/* Counts the lines and keeps no text. */
static void count_line(const char *text, void *state) {
    *(int64_t *)state += strchr(text, '\n') != NULL;
}

static void many_leaves_are_told_apart(void **state) {
    toy *y = *state;
    enum { N = 3000 };
    mo_tensor *leaves[N], *x = NULL;
    for (int i = 0; i < N; i++) {
        leaves[i] = toy_leaf(y->ctx, 1, 2);
        x = x ? toy_add(y->t, x, leaves[i]) : leaves[i];
    }
    int64_t lines = 0;
    assert_int_equal(mo_tape_print(y->t, &plain, count_line, &lines), MO_OK);
    assert_int_equal(lines, N + N - 1);
    for (int i = 0; i < N; i++)
        mo_tensor_release(leaves[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_shows_ops_inputs_shapes_and_types, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(values_are_shown_where_few, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(released_values_say_so, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(recorded_backward_names_its_rules, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(several_outputs_are_numbered, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(dot_has_a_line_for_each_node_leaf_and_edge, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(names_are_quoted_for_graphviz, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(an_empty_tape_is_an_empty_graph, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(the_error_state_is_no_obstacle_and_stays, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(many_leaves_are_told_apart, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
