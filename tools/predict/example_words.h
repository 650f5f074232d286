/* tools/predict/example_words.h - a node, or a graph of a set, in words: its attributes and its neighbours. */
#ifndef EXAMPLE_WORDS_H
#define EXAMPLE_WORDS_H

#include "tools/cli/command.h"

#include <stdio.h>

/* The attributes of an example, and the names of its neighbours with their classes, in indented lines; of a graph of a
 * set its size. class_of [examples]: known classes, or -1; class_name: their names. Free the text. */
char *example_words(const mo_graph *graph, int64_t id, const int64_t *class_of, char *const *class_name);
/* Prints a text, '?' in place of control characters. */
void print_safely(FILE *out, const char *text);

#endif
