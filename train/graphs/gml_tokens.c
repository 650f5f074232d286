/* train/graphs/gml_tokens.c - the tokens of GML; texts end on the line they start on, comments run from '#' to the
 * line's end. */
#include "train/graphs/gml_tokens.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 32 };

static bool read_gml_text(mo_text_reader *r, mo_gml_token *token) {
    const char *end = strchr(r->cursor + 1, '"');
    if (!end) {
        mo_text_unexpected(r, "a text that ends on its line");
        return false;
    }
    size_t n = (size_t)(end - r->cursor) - 1;
    token->kind = MO_GML_TEXT;
    token->cut = n >= sizeof token->word;
    snprintf(token->word, sizeof token->word, "%.*s", (int)(token->cut ? sizeof token->word - 1 : n), r->cursor + 1);
    r->cursor += n + 2;
    return true;
}

static bool read_word(mo_text_reader *r, mo_gml_token *token) {
    size_t n = strcspn(r->cursor, " \t[]\"");
    char first = *r->cursor;
    bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
    if (n >= sizeof token->word || (!letter && !strchr("+-.0123456789", first))) {
        mo_text_unexpected(r, "a key, a number, a text or a bracket");
        return false;
    }
    token->kind = letter ? MO_GML_KEY : MO_GML_NUMBER;
    memcpy(token->word, r->cursor, n);
    token->word[n] = '\0';
    r->cursor += n;
    return true;
}

bool mo_gml_next(mo_text_reader *r, mo_gml_token *token) {
    token->cut = false;
    while (!r->cursor || mo_text_blank(r) || *r->cursor == '#') {
        if (!mo_text_line(r)) {
            token->kind = MO_GML_END;
            token->word[0] = '\0';
            return mo_ok(r->ctx);
        }
    }
    if (*r->cursor == '[' || *r->cursor == ']') {
        token->kind = *r->cursor == '[' ? MO_GML_OPEN : MO_GML_CLOSE;
        snprintf(token->word, sizeof token->word, "%c", *r->cursor++);
        return true;
    }
    return *r->cursor == '"' ? read_gml_text(r, token) : read_word(r, token);
}

bool mo_gml_unexpected(mo_text_reader *r, const char *expected, const mo_gml_token *token) {
    char shown[32];
    snprintf(shown, sizeof shown, "\"%.24s\"", token->word);
    for (char *p = shown; *p; p++)
        if (*p < 32 || *p > 126)
            *p = '?';
    mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected %s, found %s", r->path, (long long)r->line, expected,
        token->kind == MO_GML_END ? "the end of the file" : shown);
    return false;
}

bool mo_gml_skip(mo_text_reader *r, const mo_gml_token *value) {
    if (value->kind != MO_GML_OPEN)
        return value->kind == MO_GML_NUMBER || value->kind == MO_GML_TEXT || mo_gml_unexpected(r, "a value", value);
    mo_gml_token token;
    for (int depth = 1; depth > 0;) {
        if (!mo_gml_next(r, &token))
            return false;
        depth += (token.kind == MO_GML_OPEN) - (token.kind == MO_GML_CLOSE);
        if (token.kind == MO_GML_END || depth > DEEPEST)
            return mo_gml_unexpected(r, depth > DEEPEST ? "lists at most 32 deep" : "the end of a list", &token);
    }
    return true;
}
