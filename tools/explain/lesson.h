/* tools/explain/lesson.h - runs a topic of `mochi explain`.
 *
 * A topic is a text, topics/NAME.md: inputs with numbers of its own, the formulas of a loss and of named values that
 * lead to it, and the lesson, in which each line of the adjoint is a formula. Formulas are computed as written
 * (expression.c). Every line is compared with mo_grad and with central differences of the loss, which run forward again
 * with the named value moved. */
#ifndef LESSON_H
#define LESSON_H

#include "tools/cli/command.h"

#include <stdio.h>

enum { MOST_N = 8, MOST_VALUES = MOST_N * (MOST_N + 1), MOST_INPUTS = 5, MOST_NAMED = 32, NAME_BYTES = 64 };

typedef struct lesson_input {
    char name[NAME_BYTES], kind[NAME_BYTES];
    char size[2][8]; /* rows, columns: each a number, "n", "m" or "m+1"; "" if the input has fewer axes */
    int rows, columns;
    double values[MOST_VALUES]; /* the topic's own numbers, for the topic's own sizes; overwritten by drawn numbers */
} lesson_input;

/* The set in which a value is perturbed. */
typedef enum space { SPACE_ALL = 0, SPACE_SYMMETRIC, SPACE_LOWER } space;

typedef struct matrix {
    char name[NAME_BYTES];
    int rows, columns;
    double values[MOST_VALUES];
} matrix;

typedef enum block_kind {
    BLOCK_TITLE,    /* text: the formula */
    BLOCK_SECTION,  /* text: the section's heading */
    BLOCK_PROSE,    /* text: prose, with formulas in backquotes */
    BLOCK_FORMULA,  /* text: a formula on a line of its own */
    BLOCK_MATRICES, /* n matrices side by side */
    BLOCK_LINE,     /* a line of the adjoint: its formula in text; matrices by the formula and by central differences */
    BLOCK_AGREE,    /* an equation in text; matrices of its two sides */
    BLOCK_END       /* text */
} block_kind;

typedef struct block {
    block_kind kind;
    const char *text;
    const matrix *matrices;
    int n;
    int number;        /* the line's number in the lesson */
    double difference; /* the largest difference between the two matrices of a line or an equation */
} block;

typedef struct named_value {
    char name[NAME_BYTES];
    mo_tensor *value, *gradient; /* gradient NULL: the loss does not depend on the value */
    bool told;                   /* a line of the lesson has shown the gradient */
} named_value;

typedef struct lesson {
    mo_context *ctx;
    mo_tape *t;
    const char *topic, *summary, *source;
    const char *const *text; /* the lines of the topic's text below its heading */
    lesson_input input[MOST_INPUTS];
    mo_tensor *in[MOST_INPUTS];
    int n_inputs, own_n, own_m; /* own_n, own_m: the sizes of the topic's own numbers */
    int n, m;                   /* sizes of the inputs */
    named_value named[MOST_NAMED];
    int n_named;
    const char *moving; /* the value that differences perturb; NULL: no perturbation */
    mo_tensor *moved;
    mo_tensor *held;        /* a value that forward computes once and central differences keep fixed, such as a step
                             * size */
    int64_t factorizations; /* number of factorizations that backward computed */
    int lines;
    /* The largest differences so far. largest: between the two matrices of a line or an equation. from_mo_grad: between
     * a line's matrix and the gradient by mo_grad. */
    double largest, from_mo_grad;
    bool ask;     /* --step */
    int answered; /* the number of the line that the reader has answered; 0: none */
    const char *answer;
    json_t *json; /* with --json: the blocks so far; NULL: blocks are printed on the terminal */
} lesson;

/* ---- lesson.c ---- */

/* The lines of all topics; each begins with its heading, "# NAME: SUMMARY". Ended by NULL. */
extern const char *const lesson_lines[];
/* Returns the text after a word and a blank at the start of a line; NULL if the line starts otherwise. */
const char *behind(const char *line, const char *word);
/* Parses the heading line of a topic, "# NAME: SUMMARY". Returns false, with *summary NULL, for other lines. */
bool lesson_heading(const char *line, char name[NAME_BYTES], const char **summary);
/* Runs forward, computes the gradients and prints the lesson. Returns the exit code. */
int lesson_run(lesson *l);
/* Computes the formulas of forward and names their values. Returns the loss. */
mo_tensor *lesson_forward(lesson *l);
/* Writes the gradient of the loss in the named value, by central differences, to `slope`. Returns false on failure. */
bool lesson_differences(lesson *l, const char *name, mo_tensor *value, space moves, matrix *slope);
/* Copies T to m, with the name. Returns false on failure, or if T has more than MOST_VALUES elements. */
bool read_matrix(lesson *l, const char *name, mo_tensor *T, matrix *m);

/* ---- lesson_inputs.c ---- */

typedef struct lesson_choice {
    const char *matrix; /* a file; NULL: none */
    int64_t n, seed;    /* -1: not given */
} lesson_choice;

/* Makes the inputs that the topic describes, with its own numbers, the reader's matrix or random numbers. On failure
 * raises an error that names the file and what it should contain. */
void lesson_open_inputs(lesson *l, const lesson_choice *choice);

/* ---- lesson_text.c, lesson_json.c, lesson_step.c: output of a block, and answers to it ---- */

/* Prints the block. With --step waits before some, and asks for the matrix of a line until standard input has the right
 * one, or an empty line, or three that are wrong. */
void put_on_terminal(lesson *l, const block *b);
/* Compares the answer (numbers or a formula) to the line `formula` with the matrix: writes one sentence into text,
 * "Right." or the difference. Clears any error that the answer raises. */
void judge_answer(lesson *l, const char *answer, const char *formula, const matrix *m, char *text, size_t bytes);
/* Writes what may help to find the matrix of a line. */
void write_hint(const matrix *m, char *text, size_t bytes);
/* Adds the block to l->json. */
void put_in_json(lesson *l, const block *b);

/* ---- expression.c, functions.c, latex.c: formulas ---- */

/* Computes a formula on the lesson's values. asked: the name that a reader's formula defines, and so cannot use; else
 * "". If a function has two results, *second receives the second (NULL: dropped). Returns NULL with one line in `why`
 * if the formula cannot be read; failures of ops are in the context. */
mo_tensor *lesson_evaluate(
    lesson *l, const char *formula, const char *asked, mo_tensor **second, char *why, size_t bytes);

/* A function for formulas; exactly one of its function pointers is set. */
typedef struct lesson_function {
    const char *name;
    mo_tensor *(*of_one)(mo_tape *t, mo_tensor *X);
    mo_tensor *(*of_two)(mo_tape *t, mo_tensor *X, mo_tensor *Y);
    int arguments;
    mo_tensor *(*of_more)(mo_tape *t, mo_tensor *const *X);
    void (*two_results)(mo_tape *t, mo_tensor *X, mo_tensor **first, mo_tensor **second);
} lesson_function;
extern const lesson_function lesson_functions[]; /* the last one has no name */
/* inner: <A, B>, the sum of A_ij B_ij. total: the sum of all elements. transposed: A^T as a new matrix. inverse: A^-1.
 * symmetric_part: (A + A^T) / 2. */
mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B);
mo_tensor *total(mo_tape *t, mo_tensor *X);
mo_tensor *transposed(mo_tape *t, mo_tensor *M);
mo_tensor *inverse(mo_tape *t, mo_tensor *A);
mo_tensor *symmetric_part(mo_tape *t, mo_tensor *M);

/* Writes a formula of a topic such as "A_bar = -B_bar X^T" in LaTeX. If it does not fit, returns false with an empty
 * text. */
enum { LATEX_BYTES = 2048 };
bool lesson_latex(const char *formula, char *text, size_t bytes);

#endif
