/* tensor/files/fields.h - the members of a struct of options, as one table (library internal).
 *
 * A row gives a member's name, place, kind, range and meaning. From the table the library checks options, writes them
 * to run.json and to the metadata of weights files, reads them from there, and names the member in its messages; the
 * programs take options, ranges and --help from it, and Python its keyword arguments. */
#ifndef MO_FIELDS_H
#define MO_FIELDS_H

#include "tensor/tensor.h"

#include <stddef.h>

typedef struct json_t json_t; /* of jansson.h */

/* The type of a member, and its value as JSON. A number may also be given as text. */
typedef enum mo_field_kind {
    MO_FIELDS_END,     /* ends the table */
    MO_FIELD_STRUCT,   /* a struct within the struct, with a table of its own: an object */
    MO_FIELD_EITHER,   /* bool: the first or second word of `choices` */
    MO_FIELD_CHOICE,   /* enum or int, `low` + the index of a word in `choices`: the word */
    MO_FIELD_INT,      /* int */
    MO_FIELD_INT64,    /* int64_t */
    MO_FIELD_SEED,     /* uint64_t */
    MO_FIELD_REAL,     /* double */
    MO_FIELD_POSITIVE, /* double above 0 */
    MO_FIELD_RANGE,    /* int64_t[2], 1 <= A <= B: [A, B] or A; as text "A:B" */
    MO_FIELD_FACTORS,  /* int[`high`]: a list */
} mo_field_kind;

typedef struct mo_field {
    mo_field_kind kind;
    const char *key;              /* "weight_decay"; the option is --weight-decay */
    const char *value;            /* stands for the value in --help: "D" */
    size_t at;                    /* offset in the struct */
    const char *help;             /* the option's meaning; NULL: no program offers it */
    double low, high;             /* bounds of a number; high 0: none */
    const char *choices;          /* words separated by | */
    const struct mo_field *table; /* of a STRUCT */
    bool optional;                /* files may lack it: the options then keep the value they had before reading */
} mo_field;

/* The row of that key; NULL if the table and the tables within it have none. *outer (may be NULL) receives the offset
 * of the struct that holds the member. */
MO_API const mo_field *mo_field_find(const mo_field *table, const char *key, size_t *outer);
/* The values that a member takes, in words: "an integer from 1 to 64". Returns text. */
MO_API const char *mo_field_expected(const mo_field *f, char *text, size_t bytes);
/* A member's value as text, as mo_field_read reads it; not of a STRUCT or FACTORS. Returns text. */
MO_API const char *mo_field_text(const mo_field *f, const void *options, char *text, size_t bytes);
/* The value of an INT, INT64, REAL or POSITIVE member; NaN for another kind. */
MO_API double mo_field_number(const mo_field *f, const void *options);
/* Sets a member. Returns false if the value is none that the member takes; the member is then unchanged. */
MO_API bool mo_field_read(const mo_field *f, const json_t *value, void *options);
/* Adds each member to an object, as JSON values or, for the metadata of a file, as texts. Returns false if memory runs
 * out. */
MO_API bool mo_fields_write(const mo_field *table, const void *options, json_t *object, bool as_text);
/* Sets the members from an object; others in it are ignored. Raises MO_FORMAT "<label>: expected hops as an integer
 * from 0 to 12, found "x"" for the first that is missing or wrong. Returns the status. */
MO_API mo_code mo_fields_read(
    mo_context *ctx, const char *label, const mo_field *table, const json_t *object, void *options);
/* Raises MO_INVALID "<label>: hops is 13, expected an integer from 0 to 12" for the first value out of its range.
 * Returns whether all are within. */
MO_API bool mo_fields_check(mo_context *ctx, const char *label, const mo_field *table, const void *options);

#endif
