/* tools/explain/mathml.c - formulas as they are typed on a terminal ("A_bar = -B_bar X^T") as MathML.
 *
 * A letter is a variable, a word of several a function's name ("trace"), "dA" a differential, "Z1" has an index;
 * Greek letters go by their names. x_i and x^2 are index and exponent ({..} groups them), x_bar is an adjoint. "=>",
 * "->", "<=", ">=", "sum", "o" (elementwise product) and <a, b> are signs. Text in double quotes stays text.
 *
 * A formula whose brackets do not match, or that is too long for what reads it, is refused: it is shown as it was
 * typed, as a MathML error, for which a test looks in every page. */
#include "tools/explain/lesson.h"

#include <ctype.h>
#include <string.h>

enum { PIECE = 2048 };

typedef struct piece {
    char text[PIECE];
    size_t used;
    bool refused;
} piece;

static void append(piece *p, const char *text) {
    size_t n = strlen(text);
    p->refused |= p->used + n >= PIECE;
    if (p->refused)
        return;
    memcpy(p->text + p->used, text, n + 1);
    p->used += n;
}

static void append_piece(piece *p, const piece *part) {
    append(p, part->text);
    p->refused |= part->refused;
}

static void append_element(piece *p, const char *element, const char *text) {
    append(p, "<");
    append(p, element);
    append(p, ">");
    append(p, text);
    append(p, "</");
    append(p, element);
    append(p, ">");
}

typedef struct sign {
    const char *from, *element, *to;
} sign;

static const sign words[] = {
    {"alpha", "mi", "&#945;"},
    {"beta", "mi", "&#946;"},
    {"epsilon", "mi", "&#949;"},
    {"eta", "mi", "&#951;"},
    {"theta", "mi", "&#952;"},
    {"kappa", "mi", "&#954;"},
    {"lambda", "mi", "&#955;"},
    {"mu", "mi", "&#956;"},
    {"pi", "mi", "&#960;"},
    {"rho", "mi", "&#961;"},
    {"phi", "mi", "&#966;"},
    {"Phi", "mi", "&#934;"},
    {"Pi", "mi", "&#928;"},
    {"sum", "mo", "&#8721;"},
    {"o", "mo", "&#8728;"},
    {"inf", "mo", "&#8734;"},
};

/* Longest first. */
static const sign signs[] = {
    {"=>", "mo", "&#8658;"},
    {"->", "mo", "&#8594;"},
    {"<=", "mo", "&#8804;"},
    {">=", "mo", "&#8805;"},
    {"..", "mo", "&#8230;"},
    {"-", "mo", "&#8722;"},
    {"|", "mi", "|"}, /* of a norm: as an operator it would be stretched and lowered before its exponent */
    {"&", "mo", "&amp;"},
    {"<", "mo", "&lt;"},
    {">", "mo", "&gt;"},
};

static void row_until(const char **at, const char *ends, piece *out);

static void put_word(const char *word, size_t n, piece *out) {
    char text[32];
    out->refused |= n >= sizeof text;
    snprintf(text, sizeof text, "%.*s", (int)n, word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i].from)) {
            append_element(out, words[i].element, words[i].to);
            return;
        }
    if (n == 2 && text[0] == 'd') {
        append(out, "<mrow><mi>d</mi>");
        append_element(out, "mi", text + 1);
        append(out, "</mrow>");
    } else {
        append_element(out, "mi", text);
        if (n > 1 && word[n] == ' ') /* a function before its argument: log w */
            append(out, "<mspace width=\".17em\"/>");
    }
}

/* Letters, with digits behind them as an index. */
static void take_word(const char **at, piece *out) {
    size_t letters = 0, digits = 0;
    while (isalpha((unsigned char)(*at)[letters]))
        letters++;
    while (isdigit((unsigned char)(*at)[letters + digits]))
        digits++;
    if (digits)
        append(out, "<msub>");
    put_word(*at, letters, out);
    if (digits) {
        char index[16];
        out->refused |= digits >= sizeof index;
        snprintf(index, sizeof index, "%.*s", (int)digits, *at + letters);
        append_element(out, "mn", index);
        append(out, "</msub>");
    }
    *at += letters + digits;
}

static void take_number(const char **at, piece *out) {
    size_t n = 0;
    char text[32];
    while (isdigit((unsigned char)(*at)[n]) || ((*at)[n] == '.' && isdigit((unsigned char)(*at)[n + 1])))
        n++;
    out->refused |= n >= sizeof text;
    snprintf(text, sizeof text, "%.*s", (int)n, *at);
    append_element(out, "mn", text);
    *at += n;
}

/* Words between quotes, with a space at both ends: MathML sets none. */
static void take_text(const char **at, piece *out) {
    const char *end = strchr(++*at, '"');
    size_t n = end ? (size_t)(end - *at) : strlen(*at);
    char text[128];
    out->refused |= !end || n + 13 > sizeof text;
    snprintf(text, sizeof text, "&#160;%.*s&#160;", (int)n, *at);
    append_element(out, "mtext", text);
    *at += n + (end != NULL);
}

/* A group in brackets; those of {..} are not shown, those of <..> are angles. */
static void take_group(const char **at, piece *out) {
    const char open = **at, *close = open == '(' ? ")" : open == '[' ? "]" : open == '{' ? "}" : ">";
    piece inside = {.used = 0};
    ++*at;
    row_until(at, close, &inside);
    out->refused |= **at == '\0';
    *at += **at != '\0';
    append(out, "<mrow>");
    if (open != '{')
        append_element(out, "mo", open == '<' ? "&#10216;" : open == '(' ? "(" : "[");
    append_piece(out, &inside);
    if (open != '{')
        append_element(out, "mo", open == '<' ? "&#10217;" : close);
    append(out, "</mrow>");
}

static void take_sign(const char **at, piece *out) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(*at, signs[i].from, strlen(signs[i].from))) {
            append_element(out, signs[i].element, signs[i].to);
            *at += strlen(signs[i].from);
            return;
        }
    out->refused |= **at == ')' || **at == ']' || **at == '}'; /* no group has opened that it closes */
    append_element(out, "mo", (const char[]){**at, '\0'});
    ++*at;
}

/* Whether a '<' has its '>' before a bracket closes that is open round it: one of "->", "=>" and ">=" is none. */
static bool opens_angle(const char *at) {
    for (int depth = 0; *++at;) {
        depth += strchr("([{", *at) != NULL;
        depth -= strchr(")]}", *at) != NULL;
        if (depth < 0)
            return false;
        if (*at == '>' && depth == 0 && !strchr("-=", at[-1]) && at[1] != '=')
            return true;
    }
    return false;
}

/* <a, b> is a group; "<" before a blank, or without its ">", a sign of its own. */
static bool opens_group(const char *at) {
    return *at == '(' || *at == '[' || *at == '{' || (*at == '<' && !strchr(" =", at[1]) && opens_angle(at));
}

static void take_base(const char **at, piece *out) {
    if (isalpha((unsigned char)**at))
        take_word(at, out);
    else if (isdigit((unsigned char)**at))
        take_number(at, out);
    else if (**at == '"')
        take_text(at, out);
    else if (opens_group(*at))
        take_group(at, out);
    else
        take_sign(at, out);
}

/* What follows _ or ^: a group, a word or a number, with a sign before it. */
static void take_script(const char **at, piece *out) {
    append(out, "<mrow>");
    if (**at == '-' || **at == '+' || **at == '*')
        take_sign(at, out);
    if (isalnum((unsigned char)**at) || opens_group(*at))
        take_base(at, out);
    append(out, "</mrow>");
}

static bool takes_bar(const char **at) {
    if (strncmp(*at, "_bar", 4) != 0 || isalnum((unsigned char)(*at)[4]))
        return false;
    *at += 4;
    return true;
}

/* A base with its bar, index and exponent. */
static void take_atom(const char **at, piece *out) {
    piece base = {.used = 0}, below = {.used = 0}, above = {.used = 0};
    take_base(at, &base);
    bool bar = takes_bar(at);
    if (!bar && **at == '_') {
        ++*at;
        take_script(at, &below);
        bar = takes_bar(at);
    }
    if (**at == '^') {
        ++*at;
        take_script(at, &above);
    }
    const char *element = below.used && above.used ? "msubsup" : below.used ? "msub" : above.used ? "msup" : "mrow";
    append(out, "<");
    append(out, element);
    /* as an accent, Chromium draws the bar onto its letter, and through it where no font has a MATH table */
    append(out, bar ? "><mover accent=\"false\">" : ">");
    append_piece(out, &base);
    append(out, bar ? "<mo>&#175;</mo></mover>" : "");
    append_piece(out, &below);
    append_piece(out, &above);
    append(out, "</");
    append(out, element);
    append(out, ">");
}

static void row_until(const char **at, const char *ends, piece *out) {
    while (**at && !strchr(ends, **at)) {
        if (**at == ' ')
            ++*at;
        else
            take_atom(at, out);
    }
}

void put_math(FILE *page, const char *formula, bool display) {
    piece out = {.used = 0};
    const char *at = formula;
    row_until(&at, "", &out);
    fputs(display ? "<math display=\"block\">" : "<math>", page);
    if (out.refused) {
        fputs("<merror><mtext>", page);
        put_escaped(page, formula, strlen(formula));
        fputs("</mtext></merror>", page);
    } else {
        fputs(out.text, page);
    }
    fputs("</math>", page);
}
