/* one_step.c - a whole episode of MOCHI in one file of plain C: a tape, matrix products, a solve by Cholesky with its
 * adjoint, softmax cross-entropy, a ridge readout fitted on a few labelled points, and one step of AdamW on the encoder
 * under it. Nothing but the standard library: every number can be followed by hand.
 * Build: cc one_step.c -lm
 *
 * An episode is a small classification problem: n_s labelled points, the support, and n_q points to be classified, the
 * queries. With rows x_i and one-hot labels Y:
 *
 *     Z     = tanh(X W)                            the encoder; W is what training changes
 *     K     = Zs Zs^T + 1                          inner products of the support; the 1 is the intercept
 *     alpha = (K + lambda I)^-1 Ys                 the readout: ridge regression in its dual form
 *     L     = exp(t) (Zq Zs^T + 1) alpha           logits of the queries; t is a learned log temperature
 *     loss  = mean_i( log sum_c exp L_ic - L_i,label(i) )
 *
 * The readout is fitted anew in every episode, in closed form. The loss of the queries says how good the embedding Z
 * was for that fit, so its gradient must go back through the solve. That is the whole idea. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. A tape ----
 *
 * A matrix knows its values, the gradient of the loss by them, and how it was made: the one or two matrices it was
 * made from, and the function that passes its gradient on to them. The tape is the list of all matrices in the order
 * in which they were made. As a matrix is made after those it depends on, walking the list backwards meets every
 * matrix when its own gradient is complete: that is reverse mode, and all of it. */

typedef struct matrix matrix;
struct matrix {
    int rows, columns;
    double *x, *g;             /* values and gradient, row by row */
    matrix *a, *b;             /* made from these; NULL: given */
    void (*pass_on)(matrix *); /* adds to the gradients of a and b what follows from that of the matrix */
    double *kept;              /* what pass_on needs beside them: a Cholesky factor, probabilities */
    const int *label;
};

enum { MOST = 32 };
static matrix tape[MOST];
static int length;

static double *numbers(int n) {
    double *x = calloc((size_t)n, sizeof *x);
    if (!x) {
        fprintf(stderr, "one_step: out of memory\n");
        exit(1);
    }
    return x;
}

static matrix *make(int rows, int columns, matrix *a, matrix *b, void (*pass_on)(matrix *)) {
    matrix *m = &tape[length++];
    *m = (matrix){rows, columns, numbers(rows * columns), numbers(rows * columns), a, b, pass_on, NULL, NULL};
    return m;
}

static matrix *given(int rows, int columns, const double *x) {
    matrix *m = make(rows, columns, NULL, NULL, NULL);
    memcpy(m->x, x, (size_t)(rows * columns) * sizeof *x);
    return m;
}

static void backward(matrix *loss) {
    loss->g[0] = 1;
    for (int i = length - 1; i >= 0; i--)
        if (tape[i].pass_on)
            tape[i].pass_on(&tape[i]);
}

static void clear_tape(void) {
    while (length > 0) {
        matrix *m = &tape[--length];
        free(m->x);
        free(m->g);
        free(m->kept);
    }
}

/* ---- 2. Products ----
 *
 * C = A B. A change dA changes the loss by <gC, dA B> = <gC B^T, dA>, so gA = gC B^T, and likewise gB = A^T gC. The
 * same reading gives the adjoint of every line below. */

static void multiply_pass_on(matrix *c) {
    const matrix *a = c->a, *b = c->b;
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->columns; j++)
            for (int k = 0; k < a->columns; k++) {
                a->g[i * a->columns + k] += c->g[i * c->columns + j] * b->x[k * b->columns + j];
                b->g[k * b->columns + j] += a->x[i * a->columns + k] * c->g[i * c->columns + j];
            }
}

static matrix *multiply(matrix *a, matrix *b) {
    matrix *c = make(a->rows, b->columns, a, b, multiply_pass_on);
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->columns; j++)
            for (int k = 0; k < a->columns; k++)
                c->x[i * c->columns + j] += a->x[i * a->columns + k] * b->x[k * b->columns + j];
    return c;
}

/* C = A B^T + 1: inner products of all rows of A with all rows of B, and the intercept's 1. */
static void kernel_pass_on(matrix *c) {
    const matrix *a = c->a, *b = c->b;
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->columns; j++)
            for (int k = 0; k < a->columns; k++) {
                a->g[i * a->columns + k] += c->g[i * c->columns + j] * b->x[j * b->columns + k];
                b->g[j * b->columns + k] += c->g[i * c->columns + j] * a->x[i * a->columns + k];
            }
}

static matrix *kernel(matrix *a, matrix *b) {
    matrix *c = make(a->rows, b->rows, a, b, kernel_pass_on);
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->columns; j++) {
            c->x[i * c->columns + j] = 1;
            for (int k = 0; k < a->columns; k++)
                c->x[i * c->columns + j] += a->x[i * a->columns + k] * b->x[j * b->columns + k];
        }
    return c;
}

/* ---- 3. Element by element: tanh' = 1 - tanh^2, and a factor exp(t) that is learned ---- */

static void tanh_pass_on(matrix *c) {
    for (int i = 0; i < c->rows * c->columns; i++)
        c->a->g[i] += c->g[i] * (1 - c->x[i] * c->x[i]);
}

static matrix *tanh_of(matrix *a) {
    matrix *c = make(a->rows, a->columns, a, NULL, tanh_pass_on);
    for (int i = 0; i < c->rows * c->columns; i++)
        c->x[i] = tanh(a->x[i]);
    return c;
}

/* C = exp(t) A; dC/dt = C. */
static void heat_pass_on(matrix *c) {
    for (int i = 0; i < c->rows * c->columns; i++) {
        c->a->g[i] += c->g[i] * exp(c->b->x[0]);
        c->b->g[0] += c->g[i] * c->x[i];
    }
}

static matrix *heat(matrix *a, matrix *t) {
    matrix *c = make(a->rows, a->columns, a, t, heat_pass_on);
    for (int i = 0; i < c->rows * c->columns; i++)
        c->x[i] = exp(t->x[0]) * a->x[i];
    return c;
}

/* ---- 4. The solve ----
 *
 * X = S^-1 B with S = K + lambda I, symmetric and positive definite, by S = L L^T (Cholesky) and two triangular solves.
 *
 * Its adjoint needs no derivative of the factorization. From S X = B follows dX = S^-1 (dB - dS X), and with
 * <gX, S^-1 (..)> = <S^-1 gX, ..>:
 *
 *     gB = S^-1 gX          one more solve, with the factor that is there already
 *     gS = -gB X^T          and gK = gS, as lambda is a constant
 *
 * No step of an algorithm is unrolled: the equation that the result fulfils is differentiated, not the way to it. */

/* Overwrites the lower triangle of S [n, n] by L. */
static void factor(double *S, int n) {
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = S[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= S[i * n + k] * S[j * n + k];
            S[i * n + j] = i == j ? sqrt(sum) : sum / S[j * n + j];
        }
}

/* Overwrites B [n, m] by (L L^T)^-1 B: L first, then L^T. */
static void solve_factored(const double *L, double *B, int n, int m) {
    for (int c = 0; c < m; c++) {
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < i; k++)
                B[i * m + c] -= L[i * n + k] * B[k * m + c];
            B[i * m + c] /= L[i * n + i];
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int k = i + 1; k < n; k++)
                B[i * m + c] -= L[k * n + i] * B[k * m + c];
            B[i * m + c] /= L[i * n + i];
        }
    }
}

static void solve_pass_on(matrix *c) {
    int n = c->rows, m = c->columns;
    double *gB = numbers(n * m);
    memcpy(gB, c->g, (size_t)(n * m) * sizeof *gB);
    solve_factored(c->kept, gB, n, m);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            c->b->g[i * m + j] += gB[i * m + j];
            for (int k = 0; k < n; k++)
                c->a->g[i * n + k] -= gB[i * m + j] * c->x[k * m + j];
        }
    free(gB);
}

static matrix *ridge_solve(matrix *K, matrix *B, double lambda) {
    int n = K->rows, m = B->columns;
    matrix *c = make(n, m, K, B, solve_pass_on);
    c->kept = numbers(n * n);
    memcpy(c->kept, K->x, (size_t)(n * n) * sizeof *c->kept);
    for (int i = 0; i < n; i++)
        c->kept[i * n + i] += lambda;
    factor(c->kept, n);
    memcpy(c->x, B->x, (size_t)(n * m) * sizeof *c->x);
    solve_factored(c->kept, c->x, n, m);
    return c;
}

/* ---- 5. The loss ----
 *
 * With p_i = softmax(L_i), the gradient of -log p_i,label by L_i is p_i - onehot(label). */

static void loss_pass_on(matrix *c) {
    matrix *L = c->a;
    for (int i = 0; i < L->rows; i++)
        for (int j = 0; j < L->columns; j++)
            L->g[i * L->columns + j] += c->g[0] * (c->kept[i * L->columns + j] - (j == c->label[i])) / L->rows;
}

static matrix *cross_entropy(matrix *L, const int *label) {
    matrix *c = make(1, 1, L, NULL, loss_pass_on);
    double *p = c->kept = numbers(L->rows * L->columns);
    c->label = label;
    for (int i = 0; i < L->rows; i++, p += L->columns) {
        const double *row = L->x + i * L->columns;
        double most = row[0], sum = 0;
        for (int j = 1; j < L->columns; j++)
            most = fmax(most, row[j]); /* no exp overflows */
        for (int j = 0; j < L->columns; j++)
            sum += p[j] = exp(row[j] - most);
        for (int j = 0; j < L->columns; j++)
            p[j] /= sum;
        c->x[0] -= log(p[label[i]]) / L->rows;
    }
    return c;
}

/* ---- 6. One step of AdamW: the mean gradient over its spread, and a decay of the weights beside it ---- */

static void adamw(double *p, const double *g, double *m, double *v, int n, int step, double lr) {
    const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 1e-2;
    for (int i = 0; i < n; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        double mean = m[i] / (1 - pow(beta1, step)), spread = sqrt(v[i] / (1 - pow(beta2, step)));
        p[i] -= lr * (mean / (spread + epsilon) + decay * p[i]);
    }
}

/* ---- 7. An episode: two classes of plane points, told apart by a ring, which no line does ---- */

enum { SUPPORT = 6, QUERIES = 4, IN = 3, WIDTH = 3, CLASSES = 2, PARAMETERS = IN * WIDTH + 1 };
static const double support[SUPPORT * IN] = {/* the third column is a 1, so that W has a shift */
    0.2, 0.1, 1, -0.3, 0.2, 1, 0.1, -0.4, 1, 1.5, 0.3, 1, -1.2, 0.8, 1, 0.4, -1.6, 1};
static const double labels[SUPPORT * CLASSES] = {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1};
static const double queries[QUERIES * IN] = {-0.1, 0.3, 1, 0.4, 0, 1, -1.4, -0.6, 1, 0.9, 1.1, 1};
static const int answer[QUERIES] = {0, 0, 1, 1};
static const double lambda = 0.5;

/* Returns the loss at the parameters, W and then t, and writes its gradient by them. */
static double episode(const double *parameters, double *gradient) {
    matrix *W = given(IN, WIDTH, parameters), *t = given(1, 1, parameters + IN * WIDTH);
    matrix *Zs = tanh_of(multiply(given(SUPPORT, IN, support), W));
    matrix *Zq = tanh_of(multiply(given(QUERIES, IN, queries), W));
    matrix *alpha = ridge_solve(kernel(Zs, Zs), given(SUPPORT, CLASSES, labels), lambda);
    matrix *loss = cross_entropy(heat(multiply(kernel(Zq, Zs), alpha), t), answer);
    backward(loss);
    memcpy(gradient, W->g, IN * WIDTH * sizeof *gradient);
    gradient[IN * WIDTH] = t->g[0];
    double value = loss->x[0];
    clear_tape();
    return value;
}

int main(void) {
    double p[PARAMETERS] = {0.9, -0.4, 0.3, 0.2, 0.7, -0.8, 0.5, 0.6, -0.7, 0}; /* W row by row, then t */
    double g[PARAMETERS], m[PARAMETERS] = {0}, v[PARAMETERS] = {0};
    for (int step = 0; step <= 30; step++) {
        double loss = episode(p, g);
        if (step % 10 == 0)
            printf("step %2d  loss %.15f\n", step, loss);
        for (int i = 0; step == 0 && i < PARAMETERS; i++)
            printf("  parameter %d  %+.1f  gradient %+.15f\n", i, p[i], g[i]);
        adamw(p, g, m, v, PARAMETERS, step + 1, 0.05);
    }
    return 0;
}
