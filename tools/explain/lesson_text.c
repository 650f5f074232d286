/* tools/explain/lesson_text.c - prints a lesson on the terminal, at most 80 columns wide. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 9, INDENT = 5, COLUMNS = 79, BESIDE = 17, TEXT_BYTES = 1024 };

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

static void print_prose(const char *text, int indent) {
    char bare[TEXT_BYTES];
    strip(text, bare);
    print_wrapped(bare, indent);
}

static void print_row(const matrix *m, int row) {
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

/* Prints blanks after `used` printed columns, up to the width of a matrix; none after a line's last matrix. */
static void pad_cell(const matrix *m, int used, bool last) {
    printf("%*s", last || used >= width_of(m) ? 0 : width_of(m) - used, "");
}

static void print_beside(const matrix *m, int n) {
    int most = 0;
    printf("%*s", INDENT - 2, "");
    for (int i = 0; i < n; i++) {
        printf("    ");
        pad_cell(&m[i], print_bare(m[i].name), i + 1 == n);
        most = m[i].rows > most ? m[i].rows : most;
    }
    putchar('\n');
    for (int r = 0; r < most; r++) {
        printf("%*s", INDENT - 2, "");
        for (int i = 0; i < n; i++) {
            printf("    ");
            if (r < m[i].rows)
                print_row(&m[i], r);
            else
                printf("%*s", m[i].columns * WIDTH, "");
            pad_cell(&m[i], m[i].columns * WIDTH, i + 1 == n);
        }
        putchar('\n');
    }
}

/* Prints as many matrices side by side as fit. */
static void print_matrices(const matrix *m, int n) {
    for (int i = 0, count; i < n; i += count) {
        int used = INDENT - 2;
        for (count = 0; i + count < n; count++) {
            const matrix *next = &m[i + count];
            if (count && used + 4 + next->columns * WIDTH > COLUMNS + 1)
                break;
            used += 4 + width_of(next);
        }
        print_beside(m + i, count);
    }
}

/* Prints two matrices and a word between them: side by side if they fit, else one below the other. */
static void print_both(const matrix *m, const char *between) {
    bool beside = INDENT + BESIDE + 2 * m->columns * WIDTH <= COLUMNS + 1;
    for (int which = 0; which < (beside ? 1 : 2); which++) {
        if (which)
            printf("%*s%s\n", INDENT, "", between);
        for (int r = 0; r < m->rows; r++) {
            printf("%*s", INDENT, "");
            print_row(&m[which], r);
            if (beside) {
                printf("%*s", BESIDE, r == 0 ? between : "");
                print_row(&m[1], r);
            }
            putchar('\n');
        }
    }
}

static void print_title(const lesson *l, const block *b) {
    int used = printf("%s: ", l->topic) + print_bare(b->text), source = (int)strlen(l->source) + 2;
    if (used + 1 + source > COLUMNS) {
        putchar('\n');
        used = 0;
    }
    printf("%*s(%s)\n", COLUMNS - 1 - used - source, "", l->source);
}

void put_on_terminal(lesson *l, const block *b) {
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
        printf("%*s", INDENT, "");
        break;
    case BLOCK_LINE:
        if (l->ask)
            ask_for_matrix(l, b->text, &b->matrices[0]);
        printf("%3d. ", b->number);
        break;
    case BLOCK_AGREE:
        printf("  check: ");
        break;
    }
    print_bare(b->text);
    putchar('\n');
    if (b->n)
        print_both(b->matrices, b->kind == BLOCK_LINE ? "by differences:" : "and:");
}
