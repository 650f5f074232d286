/* tests/autograd/test_print.c - the recorded graph as text, for graphviz and as a .tape file. */
#include "autograd/inside.h"
#include "ops/inside.h"
#include "tests/scratch.h"
#include "tests/toy_ops.h"

static const mo_print_options plain = {.format = MO_PRINT_TEXT}, dot = {.format = MO_PRINT_DOT};

/* Releases the context too, as kernels keep scratch memory in it. */
static int release_with_context(void **state) {
    toy *y = *state;
    mo_tape_release(y->t);
    mo_context_release(y->ctx);
    free(y);
    return 0;
}

static const fixtures around_each = {toy_create, toy_release}, freed_with_context = {toy_create, release_with_context};

/* Collects the text that the library writes by mo_write. */
typedef struct text_sink {
    char text[1 << 16];
    size_t n;
} text_sink;

static void sink_text(const char *text, void *state) {
    text_sink *s = state;
    size_t n = strlen(text);
    assert_true(s->n + n < sizeof s->text);
    memcpy(s->text + s->n, text, n + 1);
    s->n += n;
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

/* Records a parameter, a constant, a value computed from constants (not recorded), a view, and a product. */
static mo_tensor *small_graph(toy *y, mo_tensor **W) {
    *W = toy_own(y, mo_parameter(y->ctx, "W", MO_F64, 2, (int64_t[]){2, 3}));
    mo_tensor_write(*W, (double[]){1, 2, 3, 4, 5, 6.25}, 6 * sizeof(double));
    mo_tensor *x = mo_scale(y->t, mo_full(y->t, MO_F64, 2, (int64_t[]){2, 3}, 2), 1, -1);
    return mo_sum(y->t, mo_matmul(y->t, x, mo_transpose(y->t, *W)), MO_ALL, MO_DROP_AXES);
}

TEST_OF(text_shows_ops_inputs_shapes_and_types, toy *y) {
    mo_tensor *W, *loss = small_graph(y, &W);
    mo_label labels[] = {{"loss", loss}};
    assert_text(print(y, &(mo_print_options){.n_labels = 1, .labels = labels}),
        "W float64 [2, 3]: parameter\n"
        "%0 float64 [3, 2] = transpose(W), a view\n"
        "data1 float64 [2, 3]\n"
        "%1 float64 [2, 2] = matmul(data1, %0)\n"
        "%2 float64 [] (loss) = sum(%1)\n");
}

TEST_OF(values_are_shown_where_few, toy *y) {
    mo_tensor *W;
    small_graph(y, &W);
    const char *text = print(y, &(mo_print_options){.values = 4});
    assert_null(strstr(text, "6.25"));
    assert_non_null(strstr(text, "= matmul(data1, %0) = [[6, 15.25], [6, 15.25]]\n"));
    assert_non_null(strstr(text, "= sum(%1) = 42.5\n"));
    assert_non_null(
        strstr(print(y, &(mo_print_options){.values = 6}), "W float64 [2, 3]: parameter = [[1, 2, 3], [4, 5, 6.25]]"));
}

TEST_OF(recorded_backward_names_its_rules, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *f = mo_sum(y->t, mo_mul(y->t, a, mo_square(y->t, a)), MO_ALL, MO_DROP_AXES), *g;
    mo_grad(y->t, &f, NULL, 1, &a, &g, 1, MO_CREATE_GRAPH);
    const char *text = print(y, &(mo_print_options){.n_labels = 1, .labels = &(mo_label){"gradient of a", g}});
    assert_non_null(strstr(text, "data0 float64 [2]: leaf\n"));
    assert_non_null(strstr(text, ", in the vjp of %1 mul\n"));
    assert_non_null(strstr(text, ", in the vjp of %0 square\n"));
    assert_non_null(strstr(text, "(gradient of a) = accumulate("));
    assert_non_null(strstr(print(y, &dot), "mistyrose"));
}

TEST_AROUND(several_outputs_are_numbered, &freed_with_context) {
    toy *y = *state;
    HELD(mo_tensor) *A =
        mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 2, (int64_t[]){2, 2}, (double[]){1, 0, 0, 2}));
    mo_tensor *w, *V;
    mo_eigh(y->t, A, &w, &V);
    mo_square(y->t, V);
    assert_text(print(y, &plain), "data0 float64 [2, 2]: leaf\n"
                                  "%0.0 float64 [2], %0.1 float64 [2, 2] = eigh(data0)\n"
                                  "%1 float64 [2, 2] = square(%0.1)\n");
    assert_non_null(strstr(print(y, &dot), "n0 -> n1 [label=\"1\"];"));
}

TEST_OF(dot_has_a_line_for_each_node_leaf_and_edge, toy *y) {
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
}

TEST_OF(names_are_quoted_for_graphviz, toy *y) {
    HELD(mo_tensor) *p = mo_parameter(y->ctx, "a\"b\\c", MO_F64, 0, NULL);
    mo_square(y->t, p);
    assert_non_null(strstr(print(y, &dot), "label=\"a\\\"b\\\\c\\nfloat64 []\""));
}

/* A mo_write that only counts the lines. */
static void count_line(const char *text, void *state) {
    *(int64_t *)state += strchr(text, '\n') != NULL;
}

TEST_OF(many_leaves_are_told_apart, toy *y) {
    enum { N = 3000 };
    mo_tensor *leaves[N], *x = NULL;
    for (int i = 0; i < N; i++) {
        leaves[i] = toy_leaf_apart(y->ctx, 1, 2);
        x = x ? toy_add(y->t, x, leaves[i]) : leaves[i];
    }
    int64_t lines = 0;
    assert_int_equal(mo_tape_print(y->t, &plain, count_line, &lines), MO_OK);
    assert_int_equal(lines, N + N - 1);
    for (int i = 0; i < N; i++)
        mo_tensor_release(leaves[i]);
}

static char folder[] = "/tmp/mochi-print-XXXXXX", path[64];

static const char *in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *content(const char *name) {
    static char text[1 << 17];
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

__attribute__((noinline)) static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("expected '%s' in:\n%s", part, text);
}

/* loss = sum (W x)^2 for x = (1, 2): section encoder is W x = (5, 11), section head the rest; the gradient is 2 (W x)
 * x^T. */
static mo_tensor *two_sections(toy *y, mo_tensor **W) {
    *W = mo_parameter(y->ctx, "W", MO_F64, 2, (int64_t[]){2, 2});
    mo_tensor_write(*W, (double[]){1, 2, 3, 4}, 4 * sizeof(double));
    assert_null(mo_tape_section(y->t, "encoder"));
    mo_tensor *z = mo_matmul(y->t, *W, mo_from(y->t, MO_F64, 2, (int64_t[]){2, 1}, (double[]){1, 2}));
    assert_string_equal(mo_tape_section(y->t, "head"), "encoder");
    mo_tensor *loss = mo_sum(y->t, mo_square(y->t, z), MO_ALL, MO_DROP_AXES);
    assert_string_equal(mo_tape_section(y->t, NULL), "head");
    return loss;
}

TEST_AROUND(dot_has_values_gradients_and_clusters, &freed_with_context) {
    toy *y = *state;
    mo_tensor *W;
    two_sections(y, &W);
    assert_int_equal(mo_tape_dot(y->t, in_folder("x.dot")), MO_OK);
    const char *text = content("x.dot");
    assert_has(text, "label=\"W\\nfloat64 [2, 2]\\n[[1, 2], [3, 4]]\\ngradient [[10, 20], [22, 44]]\"];\n");
    assert_has(text, "%0 matmul\\nfloat64 [2, 1]\\n[[5], [11]]\\ngradient [[10], [22]]");
    assert_has(text, "  subgraph \"cluster_1\" {\n    label=\"encoder\";\n    n0;\n  }\n");
    assert_has(text, "    label=\"head\";\n    n1; n2;\n  }\n}\n");
    mo_tensor_release(W);
}

TEST_AROUND(after_backward_leaves_have_gradients_and_values_are_freed, &freed_with_context) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    mo_backward(y->t, loss);
    assert_int_equal(mo_tape_dot(y->t, in_folder("x.dot")), MO_OK);
    const char *text = content("x.dot");
    assert_has(text, "gradient [[10, 20], [22, 44]]\"];\n");
    assert_has(text, "%0 matmul\\nfloat64 [2, 1]\\nreleased\"];\n");
    mo_tensor_release(W);
}

TEST_AROUND(a_leaf_that_was_released_is_no_obstacle, &freed_with_context) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    mo_backward(y->t, loss);
    mo_tensor_release(W);
    assert_int_equal(mo_tape_dot(y->t, in_folder("x.dot")), MO_OK);
    assert_has(content("x.dot"), "label=\"W\\nfloat64 [2, 2]\\nreleased\"];\n");
}

/* The metadata hold the graph, with quotes escaped once; the tensors hold its elements and gradients. */
TEST_AROUND(a_tape_file_holds_the_graph, &freed_with_context) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    mo_print_options options = {
        .format = MO_PRINT_TAPE, .values = 64, .n_labels = 1, .labels = &(mo_label){"loss", loss}};
    assert_int_equal(mo_tape_write(y->t, &options, in_folder("x.tape")), MO_OK);
    HELD(mo_arrays) *arrays = mo_safetensors_read(y->ctx, in_folder("x.tape"));
    assert_non_null(arrays);
    assert_has(arrays->metadata, "\"format\":\"mochi-tape\"");
    assert_has(arrays->metadata, "\\\"loss\\\":4,");
    assert_has(arrays->metadata,
        "{\\\"in\\\":[0,1],\\\"op\\\":\\\"matmul\\\",\\\"out\\\":[2],\\\"section\\\":\\\"encoder\\\"}");
    assert_has(arrays->metadata, "\\\"name\\\":\\\"W\\\",\\\"reached\\\":true");
    assert_has(arrays->metadata, "\\\"label\\\":\\\"loss\\\"");
    assert_true(at(mo_arrays_find(arrays, "v4"), 0) == 146 && at(mo_arrays_find(arrays, "v2"), 1) == 11);
    assert_true(at(mo_arrays_find(arrays, "g0"), 3) == 44 && !mo_arrays_find(arrays, "g1"));
    assert_int_equal(mo_tape_dot(y->t, in_folder("no/such/x.dot")), MO_IO);
    assert_failed(y->ctx, MO_IO, PARTS("x.dot"));
    mo_tensor_release(W);
}

static int open_folder(void **state) {
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    remove(in_folder("x.dot"));
    remove(in_folder("x.tape"));
    return rmdir(folder);
}

static const fixtures around_all = {open_folder, remove_folder};
