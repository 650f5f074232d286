/* tools/explain/lesson_text.c - prints a lesson on the terminal, and asks for its lines. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 9, INDENT = 5, GAP = 4, BESIDE = 17, TRIES = 3, TEXT_BYTES = 1024 };

/* Copies a text to `bare`, without the backquotes around formulas and the quotes around words in formulas. Returns the
 * width of `bare`. */
static int strip(const char *text, char bare[TEXT_BYTES]) {
    int n = 0;
    for (; *text && n < TEXT_BYTES - 1; text++)
        if (*text != '`' && *text != '"')
            bare[n++] = *text;
    bare[n] = '\0';
    return n;
}

static int print_bare(const char *text) {
    char bare[TEXT_BYTES];
    strip(text, bare);
    return printf("%s", bare);
}

/* Prints a text, as print_wrapped does, on a line of which `indent` columns are printed. */
static void print_rest(const char *text, int indent) {
    char bare[TEXT_BYTES];
    strip(text, bare);
    print_wrapped(bare, indent);
}

static void print_prose(const char *text, int indent) {
    print_rest(text, printf("%*s", indent, ""));
}

static void print_matrix_row(const matrix *m, int row) {
    for (int j = 0; j < m->columns; j++) {
        double v = m->values[row * m->columns + j];
        v = fabs(v) < 5e-5 ? 0 : v; /* no -0.0000 */
        printf(fabs(v) < 1e3 ? "%*.4f" : "%*.2e", WIDTH, v);
    }
}

/* Returns the width of a matrix on the terminal: the width of its numbers or of its name, whichever is larger. */
static int width_of(const matrix *m) {
    char bare[TEXT_BYTES];
    int name = strip(m->name, bare), numbers = m->columns * WIDTH;
    return name > numbers ? name : numbers;
}

/* Prints blanks after `used` printed columns, up to the width of a matrix. */
static void pad_cell(const matrix *m, int used) {
    printf("%*s", width_of(m) - used, "");
}

/* indent: of the first matrix. */
static void print_beside(const matrix *m, int n, int indent) {
    int most = 0;
    for (int i = 0; i < n; i++) {
        printf("%*s", i ? GAP : indent, "");
        if (i + 1 == n)
            print_rest(m[i].name, indent);
        else
            pad_cell(&m[i], print_bare(m[i].name));
        most = m[i].rows > most ? m[i].rows : most;
    }
    for (int r = 0; r < most; r++) {
        for (int i = 0; i < n; i++) {
            printf("%*s", i ? GAP : indent, "");
            if (r < m[i].rows)
                print_matrix_row(&m[i], r);
            else
                printf("%*s", m[i].columns * WIDTH, "");
            if (i + 1 < n)
                pad_cell(&m[i], m[i].columns * WIDTH);
        }
        putchar('\n');
    }
}

/* Prints as many matrices side by side as fit. */
static void print_matrices(const matrix *m, int n) {
    for (int i = 0, count; i < n; i += count) {
        const int first = INDENT + 2 + width_of(&m[i]) <= text_width() ? INDENT + 2 : 0;
        int used = first + width_of(&m[i]);
        for (count = 1; i + count < n; count++) {
            const matrix *next = &m[i + count];
            if (used + GAP + width_of(next) > text_width())
                break;
            used += GAP + width_of(next);
        }
        print_beside(m + i, count, first);
    }
}

/* Prints two matrices and a word between them: side by side if they fit, else one below the other. */
static void print_both(const matrix *m, const char *between) {
    const int indent = INDENT + m->columns * WIDTH <= text_width() ? INDENT : 0;
    bool beside = INDENT + BESIDE + 2 * m->columns * WIDTH <= text_width();
    for (int which = 0; which < (beside ? 1 : 2); which++) {
        if (which)
            printf("%*s%s\n", INDENT, "", between);
        for (int r = 0; r < m->rows; r++) {
            printf("%*s", indent, "");
            print_matrix_row(&m[which], r);
            if (beside) {
                printf("%*s", BESIDE, r == 0 ? between : "");
                print_matrix_row(&m[1], r);
            }
            putchar('\n');
        }
    }
}

static void print_title(const lesson *l, const block *b) {
    char bare[TEXT_BYTES];
    const int topic = printf("%s: ", l->topic), used = topic + strip(b->text, bare), width = text_width();
    const int source = (int)strlen(l->source) + 2;
    const bool fits = used + 1 + source <= width;
    if (fits)
        printf("%s", bare);
    else
        print_wrapped(bare, topic);
    printf("%*s(%s)\n", width - 1 - (fits ? used : 0) - source, "", l->source);
}

/* ---- --step ---- */

/* Reads a line of standard input; NULL at its end, after which the lesson asks no more questions. */
static char *read_answer(void) {
    char *line = NULL;
    size_t room = 0;
    fflush(stdout);
    if (feof(stdin) || getline(&line, &room, stdin) < 0) {
        free(line);
        putchar('\n');
        return NULL;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

static void wait_for_reader(void) {
    if (feof(stdin))
        return;
    printf("  -- Enter goes on --");
    free(read_answer());
}

/* Judges an answer to the line, or gives a hint, and says so. Returns whether the question is to be asked again. */
static bool is_to_try_again(lesson *l, const block *line, const char *answer, int *tries) {
    char text[TEXT_BYTES];
    if (!answer[strspn(answer, " \t")])
        return false;
    if (!strcmp(answer, "?")) {
        write_hint(&line->matrices[0], text, sizeof text);
        print_prose(text, 2);
        return true;
    }
    judge_answer(l, answer, line->text, &line->matrices[0], text, sizeof text);
    print_prose(text, 2);
    return strcmp(text, "Right.") != 0 && ++*tries < TRIES;
}

static void ask_for_line(lesson *l, const block *line) {
    char text[TEXT_BYTES];
    const matrix *m = &line->matrices[0];
    const int numbers = m->rows * m->columns;
    bool again = !feof(stdin);
    if (again) {
        snprintf(text, sizeof text,
            "%.*s = ?   A formula, or %d number%s (%d x %d, row by row). ? gives a hint, Enter the answer.",
            (int)strcspn(line->text, " "), line->text, numbers, numbers == 1 ? "" : "s", m->rows, m->columns);
        putchar('\n');
        print_prose(text, 2);
    }
    for (int tries = 0; again;) {
        if (tries)
            printf("  again, %d of %d", tries + 1, TRIES);
        printf("  > ");
        char *answer = read_answer();
        again = answer && is_to_try_again(l, line, answer, &tries);
        free(answer);
    }
}

void put_on_terminal(lesson *l, const block *b) {
    int indent = 0; /* columns printed before the text */
    if (l->ask && (b->kind == BLOCK_SECTION || b->kind == BLOCK_AGREE))
        wait_for_reader();
    switch (b->kind) {
    case BLOCK_TITLE:
        print_title(l, b);
        return;
    case BLOCK_PROSE:
        print_prose(b->text, 2);
        return;
    case BLOCK_MATRICES:
        print_matrices(b->matrices, b->n);
        return;
    case BLOCK_END:
        putchar('\n');
        print_prose(b->text, 0);
        return;
    case BLOCK_SECTION:
        putchar('\n');
        break;
    case BLOCK_FORMULA:
        indent = printf("%*s", INDENT, "");
        break;
    case BLOCK_LINE:
        if (l->ask)
            ask_for_line(l, b);
        indent = printf("%3d. ", b->number);
        break;
    case BLOCK_AGREE:
        indent = printf("  check: ");
        break;
    }
    print_rest(b->text, indent);
    if (b->n)
        print_both(b->matrices, b->kind == BLOCK_LINE ? "by differences:" : "and:");
}
