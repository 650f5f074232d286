/* tools/explain/lesson.h - what a topic of `mochi explain` is made of, and what it calls.
 *
 * A topic is data (its inputs, with numbers for a first look) and two small programs on the library's ops: `forward`
 * computes a loss and names the values on its way, `tell` writes the lesson and gives each line of the adjoint as a
 * formula with its value. Every line is compared with mo_grad, and with central differences of `forward` in the named
 * value: forward runs again with that value moved. */
#ifndef LESSON_H
#define LESSON_H

#include "tools/command.h"

#include <stdio.h>

enum { MOST_N = 8, MOST_VALUES = MOST_N * (MOST_N + 1), MOST_INPUTS = 5, MOST_NAMED = 24, NAME_BYTES = 64 };

/* How an input is drawn, and what a matrix of the reader must be. */
typedef enum input_kind {
    INPUT_FREE = 0,
    INPUT_REGULAR,   /* square, diagonal dominant in draws */
    INPUT_SYMMETRIC, /* with distinct eigenvalues in draws */
    INPUT_SPD,       /* symmetric positive definite */
    INPUT_LOWER,     /* lower triangular, no zero on the diagonal */
    INPUT_POSITIVE,  /* above 0 */
    INPUT_LABELS,    /* one-hot rows; takes no gradient */
    INPUT_FIXED      /* takes no gradient */
} input_kind;

/* Sizes of an input: a number, or one of these. */
enum { SIZE_N = -1, SIZE_M = -2, SIZE_M_PLUS_1 = -3 };

typedef struct topic_input {
    const char *name;
    input_kind kind;
    int rows, columns;    /* columns 0: a vector, rows 0 too: a scalar */
    const double *values; /* at the topic's own sizes; NULL: always drawn */
} topic_input;

typedef struct lesson lesson;

typedef struct topic {
    const char *name, *summary;
    const char *title, *source;      /* a formula, and the file that has the rule */
    topic_input inputs[MOST_INPUTS]; /* ended by an empty one; --matrix replaces the first */
    int n, m;                        /* the sizes of `values` */
    /* Returns the loss; in[i] are the inputs, as lesson_at returned them. */
    mo_tensor *(*forward)(lesson *l, mo_tensor *const *in);
    void (*tell)(lesson *l);
} topic;

/* The set that a value moves in when it is differentiated. */
typedef enum space { SPACE_ALL = 0, SPACE_SYMMETRIC, SPACE_LOWER } space;

typedef struct matrix {
    char name[NAME_BYTES];
    int rows, columns;
    double values[MOST_VALUES];
} matrix;

typedef enum block_kind {
    BLOCK_TITLE,    /* text: the formula; source */
    BLOCK_SECTION,  /* text: its heading */
    BLOCK_PROSE,    /* text, with formulas in backquotes */
    BLOCK_FORMULA,  /* text: a formula on a line of its own */
    BLOCK_MATRICES, /* n matrices side by side */
    BLOCK_LINE,     /* a line of the adjoint: text is its formula; its value, and the same by differences */
    BLOCK_AGREE,    /* an equation: text; both sides */
    BLOCK_END       /* text */
} block_kind;

typedef struct block {
    block_kind kind;
    const char *text, *source;
    const matrix *matrices;
    int n;
    int number;        /* of a line */
    double difference; /* the largest, of a line or an equation */
} block;

typedef struct named_value {
    char name[NAME_BYTES];
    mo_tensor *value, *gradient; /* gradient NULL: the loss does not depend on it on the tape */
    bool told;                   /* a line has given the gradient */
} named_value;

struct lesson {
    mo_context *ctx;
    mo_tape *t;
    const topic *topic;
    mo_tensor *in[MOST_INPUTS];
    int n, m; /* sizes */
    named_value named[MOST_NAMED];
    int n_named;
    const char *moving; /* the value that differences move; NULL: forward runs for its own sake */
    mo_tensor *moved;
    double held;            /* a number that forward sets once and differences do not move, such as a step size */
    int64_t factorizations; /* of backward */
    int lines;
    double largest,
        from_mo_grad; /* differences of lines so far: from central differences and equations; from mo_grad */
    bool ask;         /* --step */
    json_t *json;     /* --json: the blocks so far; NULL: the terminal */
};

/* ---- lesson.c: for topics ---- */

/* Gives a value of forward its name. Returns the tensor to go on with: the value, or the moved one. */
mo_tensor *lesson_at(lesson *l, const char *name, mo_tensor *value);
/* The value of that name, held fixed. */
mo_tensor *lesson_value(lesson *l, const char *name);
/* <A, B>: the sum of all products. */
mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B);
/* (M + M^T) / 2; the transpose as a matrix of its own; I. */
mo_tensor *symmetric_part(mo_tape *t, mo_tensor *M);
mo_tensor *transposed(mo_tape *t, mo_tensor *M);
/* The lower triangle without its diagonal; with half of it, Phi(M); and mirrored, copyltu(M). */
mo_tensor *strict_lower_part(mo_tape *t, mo_tensor *M);
mo_tensor *half_lower_part(mo_tape *t, mo_tensor *M);
mo_tensor *mirrored_lower_part(mo_tape *t, mo_tensor *M);

void lesson_section(lesson *l, const char *heading);
void lesson_say(lesson *l, const char *prose, ...) __attribute__((format(printf, 2, 3)));
void lesson_formula(lesson *l, const char *formula);
/* Named values side by side: names separated by blanks. */
void lesson_show(lesson *l, const char *names);
/* A matrix under any heading. */
void lesson_show_as(lesson *l, const char *heading, mo_tensor *T);
/* Shows "M = L^-T Phi(L^T L_bar) L^-1", computed as it is written (expression.c); formulas behind it know M. Without a
 * name, "A^-1", it is shown alone. */
void lesson_let(lesson *l, const char *equation);
/* Gives a value that formulas behind it use a name; it is shown under the heading unless that is NULL. */
void lesson_know(lesson *l, const char *name, const char *heading, mo_tensor *value);
/* A line of the adjoint: dl/d(name) by the right side of an equation such as "A_bar = -B_bar X^T", computed as it is
 * written, beside central differences of the loss in that value. */
void lesson_line(lesson *l, const char *name, space moves, const char *equation);
/* An equation, both sides computed as they are written. */
void lesson_agree(lesson *l, const char *equation);
/* The same of formulas that expression.c does not read, with their values. */
void lesson_line_of(lesson *l, const char *name, space moves, const char *equation, mo_tensor *bar);
void lesson_agree_of(lesson *l, const char *equation, mo_tensor *left, mo_tensor *right);

/* ---- lesson_run.c ---- */

/* Runs forward, takes the gradients, tells the lesson. Returns the exit code. */
int lesson_run(lesson *l);
/* Central differences of the loss in the named value, into slope. Returns false on failure. */
bool lesson_differences(lesson *l, const char *name, space moves, matrix *slope);
/* Reads at most MOST_VALUES elements. Returns false on failure. */
bool read_matrix(lesson *l, const char *name, mo_tensor *T, matrix *m);

/* ---- lesson_inputs.c ---- */

typedef struct lesson_choice {
    const char *matrix; /* a file; NULL: none */
    int64_t n, seed;    /* -1: not given */
} lesson_choice;

/* Makes the inputs: the topic's own numbers, or drawn ones. Raises an error that names the file and what it should
 * hold. */
void lesson_open_inputs(lesson *l, const lesson_choice *choice);

/* ---- lesson_text.c, lesson_step.c, lesson_json.c: what a block looks like ---- */

void put_on_terminal(lesson *l, const block *b);
/* Asks for the matrix on the terminal, reads the answer from standard input and judges it. */
void ask_for_matrix(lesson *l, const char *formula, const matrix *m);
/* Waits for Enter. */
void wait_for_reader(void);
/* Adds the block to l->json. */
void put_in_json(lesson *l, const block *b);

/* ---- expression.c, latex.c: formulas ---- */

/* A formula computed on the lesson's values; `n` characters of it. Raises what it cannot read. */
mo_tensor *lesson_compute(lesson *l, const char *formula, size_t n);
/* Computes a formula on the lesson's values into m. asked: the name of what is wanted. Returns false with one line in
 * why. */
bool lesson_evaluate(lesson *l, const char *formula, const char *asked, matrix *m, char *why, size_t bytes);
/* Writes a formula such as "A_bar = -B_bar X^T" in LaTeX. Returns false, with an empty text, where brackets do not
 * match or the text does not fit. */
enum { LATEX_BYTES = 2048 };
bool lesson_latex(const char *formula, char *text, size_t bytes);

/* ---- topics ---- */

/* P, L and U with P A = L U by elimination with partial pivoting, as ops; P is fixed. */
mo_tensor *lu_permutation(mo_tape *t, mo_tensor *A);
void lu_factors(mo_tape *t, mo_tensor *PA, mo_tensor **L, mo_tensor **U);

extern const topic topic_solve, topic_triangular, topic_cholesky, topic_lu, topic_qr, topic_eigh, topic_logdet,
    topic_least_squares, topic_matmul, topic_softmax_cross_entropy, topic_logistic, topic_ridge, topic_leave_one_out,
    topic_svm, topic_implicit, topic_unrolled, topic_neumann, topic_second_order;

#endif
