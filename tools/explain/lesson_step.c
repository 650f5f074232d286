/* tools/explain/lesson_step.c - `mochi explain --step`: the reader answers before the lesson does. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line of standard input; NULL at its end, from where on the lesson goes on by itself. */
static char *read_answer(void) {
    char *line = NULL;
    size_t room = 0;
    fflush(stdout);
    if (feof(stdin) || getline(&line, &room, stdin) < 0) {
        free(line);
        putchar('\n');
        return NULL;
    }
    return line;
}

void wait_for_reader(void) {
    if (feof(stdin))
        return;
    printf("  -- Enter goes on --");
    free(read_answer());
}

/* The numbers of an answer that are right to the digits a lesson prints; *given: how many there are. */
static int count_right(char *answer, const matrix *m, int *given) {
    int right = 0;
    char *rest = answer, *word, *end;
    *given = 0;
    while ((word = strsep(&rest, ",; \t\n"))) {
        double v = strtod(word, &end);
        if (end == word)
            continue;
        if (*given < m->rows * m->columns) {
            double wanted = m->values[*given];
            right += fabs(v - wanted) <= 5e-3 * fmax(1, fabs(wanted));
        }
        ++*given;
    }
    return right;
}

void ask_for_matrix(const char *formula, const matrix *m) {
    int given, name = (int)strcspn(formula, " "), numbers = m->rows * m->columns;
    if (feof(stdin))
        return;
    printf("\n  %.*s = ?   Its formula, or its %d numbers (%d x %d, row by row), or Enter: ", name, formula, numbers,
        m->rows, m->columns);
    char *answer = read_answer();
    if (!answer)
        return;
    int right = count_right(answer, m, &given);
    if (given == numbers && right == numbers)
        puts("  Right.");
    else if (given >= numbers || (given && numbers == 1))
        printf("  %d of %d are right.\n", right, numbers);
    else if (given && !strpbrk(answer, "=^_"))
        printf("  %d numbers, where %d x %d are asked for.\n", given, m->rows, m->columns);
    free(answer);
}
