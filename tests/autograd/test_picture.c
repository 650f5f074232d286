/* tests/autograd/test_picture.c - a program's own tape as a file for graphviz, as a page, and as a .tape file. */
#include "ops/inside.h"
#include "tests/text_sink.h"
#include "tests/toy_ops.h"

static char folder[] = "/tmp/mochi-picture-XXXXXX", path[64];

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

/* loss = sum (W x)^2 with x = (1, 2): the encoder is W x, the head the rest. W x = (5, 11), the gradient 2 (W x) x^T.
 */
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

static void dot_has_values_gradients_and_clusters(void **state) {
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

/* A picture leaves the tape as it was: the same backward afterwards, and the gradients that it announced. */
static void a_picture_leaves_the_tape_as_it_was(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    int64_t nodes = mo_tape_nodes(y->t);
    mo_tape_html(y->t, in_folder("x.html"));
    assert_int_equal(mo_tape_nodes(y->t), nodes);
    assert_null(mo_grad_of(W));
    assert_int_equal(mo_backward(y->t, loss), MO_OK);
    assert_true(at(mo_grad_of(W), 0) == 10 && at(mo_grad_of(W), 3) == 44);
    mo_tensor_release(W);
}

static void after_backward_leaves_have_gradients_and_values_are_freed(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    mo_backward(y->t, loss);
    assert_int_equal(mo_tape_dot(y->t, in_folder("x.dot")), MO_OK);
    const char *text = content("x.dot");
    assert_has(text, "gradient [[10, 20], [22, 44]]\"];\n");
    assert_has(text, "%0 matmul\\nfloat64 [2, 1]\\nreleased\"];\n");
    assert_int_equal(mo_tape_html(y->t, in_folder("x.html")), MO_OK);
    assert_has(content("x.html"), "freed by backward</span>");
    mo_tensor_release(W);
}

static void a_leaf_that_was_released_is_no_obstacle(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    mo_backward(y->t, loss);
    mo_tensor_release(W);
    assert_int_equal(mo_tape_dot(y->t, in_folder("x.dot")), MO_OK);
    assert_has(content("x.dot"), "label=\"W\\nfloat64 [2, 2]\\nreleased\"];\n");
}

static void a_page_has_a_row_of_each_value(void **state) {
    toy *y = *state;
    mo_tensor *p = mo_parameter(y->ctx, "a<b&c", MO_F64, 1, (int64_t[]){2}), *W;
    two_sections(y, &W);
    mo_square(y->t, p);
    assert_int_equal(mo_tape_html(y->t, in_folder("x.html")), MO_OK);
    const char *text = content("x.html");
    for (int i = 0; i < 7; i++) {
        char row[32];
        snprintf(row, sizeof row, "<tr id=\"v%d\" data-node=", i);
        assert_has(text, row);
    }
    assert_has(text, "<th colspan=\"5\">encoder</th>");
    assert_has(text, "square(a&#60;b&#38;c)");
    assert_has(text, "data-node=\"1\" class=\"made in\" data-reached=\"\" data-in=\"2\"");
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "href="));
    assert_null(strstr(text, "url("));
    mo_tensor_release(p);
    mo_tensor_release(W);
}

static void sections_of_backward_are_those_of_forward(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W), *g;
    mo_grad(y->t, &loss, NULL, 1, &W, &g, 1, MO_CREATE_GRAPH);
    assert_int_equal(mo_tape_dot(y->t, in_folder("x.dot")), MO_OK);
    assert_has(content("x.dot"), "    label=\"encoder\";\n    n0; n");
    mo_tape_reset(y->t);
    assert_null(mo_tape_section(y->t, NULL));
    mo_tensor_release(W);
}

static const char *print_file(mo_context *ctx, const char *name) {
    static text_sink sink;
    sink.n = 0;
    sink.text[0] = '\0';
    mo_tape_file_print(ctx, in_folder(name), &(mo_print_options){.values = 64}, sink_text, &sink);
    return sink.text;
}

static void a_file_is_read_as_it_was_recorded(void **state) {
    toy *y = *state;
    mo_tensor *W, *loss = two_sections(y, &W);
    mo_print_options options = {
        .format = MO_PRINT_TAPE, .values = 64, .n_labels = 1, .labels = &(mo_label){"loss", loss}};
    assert_int_equal(mo_tape_write(y->t, &options, in_folder("x.tape")), MO_OK);
    assert_string_equal(print_file(y->ctx, "x.tape"),
        "W float64 [2, 2]: parameter = [[1, 2], [3, 4]], gradient [[10, 20], [22, 44]]\n"
        "data1 float64 [2, 1] = [[1], [2]]\n"
        "%0 float64 [2, 1] = matmul(W, data1) = [[5], [11]], gradient [[10], [22]]\n"
        "%1 float64 [2, 1] = square(%0) = [[25], [121]], gradient [[1], [1]]\n"
        "%2 float64 [] (loss) = sum(%1) = 146, gradient 1\n");
    mo_tensor_release(W);
}

/* Every truncation, and a changed byte anywhere, is refused in one line that names the file. */
static void damaged_files_are_refused(void **state) {
    toy *y = *state;
    mo_tensor *W;
    two_sections(y, &W);
    mo_tape_write(y->t, &(mo_print_options){.format = MO_PRINT_TAPE, .values = 64}, in_folder("x.tape"));
    static char bytes[1 << 14];
    FILE *file = fopen(in_folder("x.tape"), "rb");
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = 0; i < 2 * n; i += 13) {
        size_t length = i < n ? i : n;
        file = fopen(in_folder("bad.tape"), "wb");
        bytes[i % n] ^= i < n ? 0 : 1;
        fwrite(bytes, 1, length, file);
        bytes[i % n] ^= i < n ? 0 : 1;
        fclose(file);
        print_file(y->ctx, "bad.tape");
        assert_failed(y->ctx, MO_FORMAT, PARTS("bad.tape"));
    }
    mo_tensor_release(W);
}

static void files_that_are_no_tape_say_so(void **state) {
    toy *y = *state;
    static const struct {
        const char *metadata, *part;
    } files[] = {
        {"{\"format\":\"mochi readout\"}", "it holds no recorded graph"},
        {"{\"format\":\"mochi-tape\",\"version\":\"2\"}", "expected version 1"},
        {"{\"format\":\"mochi-tape\",\"version\":\"1\"}", "expected a graph as JSON text"},
        {"{\"format\":\"mochi-tape\",\"version\":\"1\",\"graph\":\"{\"}", "expected a graph as JSON text"},
        {"{\"format\":\"mochi-tape\",\"version\":\"1\",\"graph\":\"{}\"}", "expected a graph of values and nodes"},
        {"{\"format\":\"mochi-tape\",\"version\":\"1\",\"graph\":\"{\\\"values\\\":[{\\\"dtype\\\":\\\"float64\\\","
         "\\\"shape\\\":[]}],\\\"nodes\\\":[{\\\"op\\\":\\\"x\\\",\\\"in\\\":[0],\\\"out\\\":[0]}],\\\"loss\\\":-1}\"}",
            "node 0: its inputs are not older"},
        {"{\"format\":\"mochi-tape\",\"version\":\"1\",\"graph\":\"{\\\"values\\\":[{\\\"dtype\\\":\\\"float64\\\","
         "\\\"shape\\\":[]}],\\\"nodes\\\":[],\\\"loss\\\":-1}\"}",
            "no node reads value 0"},
        {"{\"format\":\"mochi-tape\",\"version\":\"1\",\"graph\":\"{\\\"values\\\":[{\\\"dtype\\\":\\\"float63\\\","
         "\\\"shape\\\":[]}],\\\"nodes\\\":[],\\\"loss\\\":-1}\"}",
            "value 0 has no known dtype"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        mo_arrays *arrays = mo_arrays_create(y->ctx);
        assert_int_equal(mo_safetensors_write(arrays, files[i].metadata, in_folder("other.tape")), MO_OK);
        mo_arrays_release(arrays);
        print_file(y->ctx, "other.tape");
        assert_failed(y->ctx, MO_FORMAT, PARTS("other.tape", files[i].part));
    }
    print_file(y->ctx, "absent.tape");
    assert_failed(y->ctx, MO_IO, PARTS("absent.tape"));
    assert_int_equal(mo_tape_dot(y->t, in_folder("no/such/x.dot")), MO_IO);
    assert_failed(y->ctx, MO_IO, PARTS("x.dot"));
}

static int open_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"x.dot", "x.html", "x.tape", "bad.tape", "other.tape"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(in_folder(names[i]));
    return rmdir(folder);
}

/* Releases the context too: its kernels have scratch memory. */
static int release_with_context(void **state) {
    toy *y = *state;
    mo_tape_release(y->t);
    mo_context_release(y->ctx);
    free(y);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dot_has_values_gradients_and_clusters, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(a_picture_leaves_the_tape_as_it_was, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(
            after_backward_leaves_have_gradients_and_values_are_freed, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(a_leaf_that_was_released_is_no_obstacle, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(a_page_has_a_row_of_each_value, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(sections_of_backward_are_those_of_forward, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(a_file_is_read_as_it_was_recorded, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(damaged_files_are_refused, toy_create, release_with_context),
        cmocka_unit_test_setup_teardown(files_that_are_no_tape_say_so, toy_create, release_with_context),
    };
    return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
