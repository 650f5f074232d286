/* tests/train/fit/test_label_examples.c - labels of a graph's examples from an array of numbers or texts. */
#include "tests/scratch.h"
#include "train/inside.h"

#include <string.h>

static const fixtures around_all = {scratch_create, scratch_release};

/* An .npy array of that many elements. */
static const char *write_array(scratch *s, const char *descr, int n, const void *elements, size_t bytes) {
    static unsigned char file[512];
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(file + 10, ' ', 118);
    file[127] = '\n';
    char header[100];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", descr, n);
    memcpy(file + 10, header, (size_t)length);
    memcpy(file + 128, elements, bytes);
    return scratch_write(s, "labels.npy", file, 128 + bytes);
}

TEST(numbers_and_texts_are_labels_of_the_examples) {
    scratch *s = *state;
    mo_graph *graph = mo_graph_from_edges(s->ctx, "four", 4, 0, NULL, NULL);
    mo_labels labels;
    assert_true(mo_labels_read_column(graph, write_array(s, "|S2", 4, "b\0\0\0aab\0", 8), &labels));
    assert_int_equal(labels.n, 3);
    assert_memory_equal(labels.id, ((int64_t[]){0, 2, 3}), 3 * sizeof(int64_t));
    assert_memory_equal(labels.label, ((int64_t[]){1, 0, 1}), 3 * sizeof(int64_t));
    assert_int_equal(labels.classes, 2);
    assert_string_equal(labels.name[0], "aa");
    assert_string_equal(labels.name[1], "b");
    mo_labels_release(&labels);
    int64_t number[] = {5, -1, 3, 5};
    assert_true(mo_labels_read_column(graph, write_array(s, "<i8", 4, number, sizeof number), &labels));
    assert_memory_equal(labels.label, ((int64_t[]){1, 0, 1}), 3 * sizeof(int64_t));
    assert_string_equal(labels.name[1], "5");
    mo_labels_release(&labels);
    mo_graph_release(graph);
}

TEST(what_is_no_column_of_labels_is_refused) {
    scratch *s = *state;
    mo_graph *graph = mo_graph_from_edges(s->ctx, "four", 4, 0, NULL, NULL);
    mo_labels labels;
    double real[] = {0, 1, 0.5, 1};
    assert_false(mo_labels_read_column(graph, write_array(s, "|S1", 3, "aba", 3), &labels));
    assert_failed(s->ctx, MO_INVALID, PARTS("labels.npy: expected one label for each of 4 examples, found 3"));
    assert_false(mo_labels_read_column(graph, write_array(s, "|S1", 4, "\0\0\0\0", 4), &labels));
    assert_failed(s->ctx, MO_INVALID, PARTS("labels.npy: expected at least one label, found none"));
    assert_false(mo_labels_read_column(graph, write_array(s, "<f8", 4, real, sizeof real), &labels));
    assert_failed(s->ctx, MO_INVALID, PARTS("found 0.5 in row 2"));
    assert_null(labels.id); /* nothing is left to release */
    mo_graph_release(graph);
}
