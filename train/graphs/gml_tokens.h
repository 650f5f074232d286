/* train/graphs/gml_tokens.h - a GML file as keys, numbers, texts and brackets (library internal). */
#ifndef MO_GML_TOKENS_H
#define MO_GML_TOKENS_H

#include "train/graphs/text_reader.h"

typedef enum mo_gml_kind { MO_GML_END, MO_GML_KEY, MO_GML_NUMBER, MO_GML_TEXT, MO_GML_OPEN, MO_GML_CLOSE } mo_gml_kind;

/* A number stands as it was written, a text without its quotes. */
typedef struct mo_gml_token {
    mo_gml_kind kind;
    bool cut; /* the text was longer; this is its beginning */
    char word[256];
} mo_gml_token;

/* Reads the next token, on the current line or a later one; returns false after raising. The end of the file is a
 * token. */
bool mo_gml_next(mo_text_reader *r, mo_gml_token *token);
/* Skips a value whose first token is given, a list to its end; returns false after raising. */
bool mo_gml_skip(mo_text_reader *r, const mo_gml_token *value);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <the token>". Returns false. */
bool mo_gml_unexpected(mo_text_reader *r, const char *expected, const mo_gml_token *token);

#endif
