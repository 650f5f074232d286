/* tools/explain/latex.c - converts formulas as typed on a terminal ("A_bar = -B_bar X^T") to LaTeX.
 *
 * A letter is a variable, a word of several letters a function's name ("trace"), "dA" a differential, "Z1" a variable
 * with an index; Greek letters go by their names. x_i and x^2 are index and exponent ({..} groups them), x_bar is an
 * adjoint. "=>", "->",
 * "<=", ">=", "sum", "o" (elementwise product) and <a, b> are signs; two blanks separate equations. Text in double
 * quotes stays text. */
#include "tools/explain/lesson.h"

#include <ctype.h>
#include <string.h>

typedef struct writer {
    char *text;
    size_t used, bytes;
} writer;

static void put(writer *w, const char *text, size_t n) {
    if (w->used + n < w->bytes)
        memcpy(w->text + w->used, text, n);
    w->used += n;
}

static void puts_to(writer *w, const char *text) {
    put(w, text, strlen(text));
}

static const struct sign {
    const char *from, *to;
} words[] = {{"alpha", "\\alpha "}, {"beta", "\\beta "}, {"epsilon", "\\epsilon "}, {"eta", "\\eta "},
    {"theta", "\\theta "}, {"kappa", "\\kappa "}, {"lambda", "\\lambda "}, {"mu", "\\mu "}, {"pi", "\\pi "},
    {"rho", "\\rho "}, {"phi", "\\phi "}, {"Phi", "\\Phi "}, {"Pi", "\\Pi "}, {"sum", "\\sum\\nolimits"},
    {"o", "\\circ "}, {"inf", "\\infty "}},
  signs[] = {{"=>", "\\;\\Rightarrow\\; "}, {"->", "\\to "}, {"<=", "\\le "}, {">=", "\\ge "}, {"..", "\\dots "},
      {"  ", "\\quad "}};
enum { WORDS = sizeof words / sizeof *words, SIGNS = sizeof signs / sizeof *signs };

static int find_word(const char *at, size_t letters) {
    int known = 0;
    while (known < WORDS && (strlen(words[known].from) != letters || strncmp(words[known].from, at, letters) != 0))
        known++;
    return known;
}

/* Writes letters and the digits behind them, as an index. Returns the number of characters read. */
static size_t put_word(writer *w, const char *at) {
    size_t letters = 0, digits = 0;
    while (isalpha((unsigned char)at[letters]))
        letters++;
    while (isdigit((unsigned char)at[letters + digits]))
        digits++;
    int known = find_word(at, letters);
    if (known == WORDS && letters > 2 && at[0] == 'd' && find_word(at + 1, letters - 1) < WORDS) {
        puts_to(w, "\\mathrm{d}"); /* dlambda */
        return 1 + put_word(w, at + 1);
    }
    if (known < WORDS) {
        puts_to(w, words[known].to);
    } else if (letters == 1 || (letters == 2 && at[0] == 'd')) {
        puts_to(w, letters == 2 ? "\\mathrm{d}" : "");
        put(w, at + letters - 1, 1);
    } else {
        puts_to(w, "\\operatorname{");
        put(w, at, letters);
        puts_to(w, at[letters] == ' ' && isalnum((unsigned char)at[letters + 1]) ? "}\\," : "}"); /* log w */
    }
    if (digits) {
        puts_to(w, "_{");
        put(w, at + letters, digits);
        puts_to(w, "}");
    }
    return letters + digits;
}

/* Returns the end of the bracket that opens at `at`; NULL if it does not close. */
static const char *find_close(const char *at) {
    const char open = *at, close = open == '(' ? ')' : open == '{' ? '}' : '>';
    for (int depth = 0; *at; at++) {
        depth += *at == open;
        depth -= *at == close && !(close == '>' && strchr("-=", at[-1])) && !(close == '>' && at[1] == '=');
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* Returns whether a '<' opens <a, b>: a word follows, and the bracket closes after a comma. */
static bool opens_angle(const char *at) {
    const char *close = *at == '<' && !strchr(" =", at[1]) ? find_close(at) : NULL;
    return close && memchr(at, ',', (size_t)(close - at));
}

static void put_row(writer *w, const char *at, const char *stop);

/* Parses the argument of _ or ^: a group, a word or a signed number. Returns the text after it. */
static const char *put_script(writer *w, const char *at) {
    size_t n = 0;
    put(w, at++, 1);
    puts_to(w, "{");
    if (strchr("-+*", *at))
        put(w, at++, 1);
    const char *close = *at == '{' || *at == '(' ? find_close(at) : NULL;
    if (close) {
        put(w, at, 1);
        put_row(w, at + 1, close);
        put(w, close, 1);
        n = (size_t)(close - at) + 1;
    } else if (isdigit((unsigned char)*at)) {
        n = strspn(at, "0123456789");
        put(w, at, n);
    } else { /* indices side by side: L_ij */
        while (isalpha((unsigned char)at[n]))
            n++;
        if (find_word(at, n) < WORDS)
            puts_to(w, words[find_word(at, n)].to);
        else
            put(w, at, n);
    }
    puts_to(w, "}");
    return at + n;
}

/* Returns the number of characters at `at` that stand under a bar, a name with its index; 0 if there is no "_bar". */
static size_t bar_behind(const char *at) {
    const char *from = at;
    while (isalnum((unsigned char)*at))
        at++;
    if (*at == '_' && strncmp(at, "_bar", 4) != 0) {
        const char *close = at[1] == '{' ? find_close(at + 1) : NULL;
        at = close ? close + 1 : at + 1;
        while (!close && isalnum((unsigned char)*at))
            at++;
    }
    return strncmp(at, "_bar", 4) != 0 || isalnum((unsigned char)at[4]) ? 0 : (size_t)(at - from);
}

static void put_row(writer *w, const char *at, const char *stop) {
    for (int angles = 0; at < stop;) {
        size_t barred = isalpha((unsigned char)*at) ? bar_behind(at) : 0;
        int sign = 0;
        while (sign < SIGNS && strncmp(at, signs[sign].from, strlen(signs[sign].from)) != 0)
            sign++;
        if (barred && at + barred < stop) {
            puts_to(w, "\\bar{");
            put_row(w, at, at + barred);
            puts_to(w, "}");
            at += barred + strlen("_bar");
        } else if (isalpha((unsigned char)*at)) {
            at += put_word(w, at);
        } else if (*at == '_' || *at == '^') {
            at = put_script(w, at);
        } else if (*at == '"') {
            puts_to(w, "\\text{ ");
            for (at++; *at != '"'; at++) {
                puts_to(w, *at == '_' ? "\\" : "");
                put(w, at, 1);
            }
            puts_to(w, " }");
            at++;
        } else if (sign < SIGNS) {
            puts_to(w, signs[sign].to);
            at += strlen(signs[sign].from);
        } else if (opens_angle(at) || (*at == '>' && angles)) {
            angles += *at == '<' ? 1 : -1;
            puts_to(w, *at++ == '<' ? "\\langle " : "\\rangle ");
        } else {
            put(w, at++, 1);
        }
    }
}

bool lesson_latex(const char *formula, char *text, size_t bytes) {
    writer w = {.text = text, .bytes = bytes};
    put_row(&w, formula, formula + strlen(formula));
    text[w.used < bytes ? w.used : 0] = '\0';
    return w.used < bytes;
}
