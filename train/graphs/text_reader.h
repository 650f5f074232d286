/* train/graphs/text_reader.h - reads lines of integers from a plain or gzipped text file (library internal).
 *
 * Every complaint has the form "PATH:LINE: expected ..., found ...". */
#ifndef MO_TEXT_READER_H
#define MO_TEXT_READER_H

#include <zlib.h>

#include "tensor/inside.h"

#define MO_TEXT_LARGEST ((int64_t)1 << 53) /* integers beyond are not exact as doubles, and no file here needs them */

typedef struct mo_text_reader {
    mo_context *ctx;
    const char *path; /* borrowed */
    gzFile file;
    bool pipe;
    int64_t file_bytes, unfolded; /* of the file; read from it so far */
    char *buffer;
    size_t capacity, start, end; /* unread bytes are start .. end - 1 */
    bool exhausted;
    char *cursor; /* what is left of the current line, NUL-terminated, without its line end */
    int64_t line; /* its number, from 1 */
    bool begun;   /* a line of data was there */
    int64_t comments;
} mo_text_reader;

/* Where a file of a folder lies, plain or with .gz behind its name; false where neither is there. */
bool mo_text_find(const char *folder, const char *name, char *path, size_t bytes);
/* False on failure; close in any case. */
bool mo_text_open(mo_text_reader *r, mo_context *ctx, const char *path);
/* The same, of a pipe too, or of standard input, "-", which r->path calls so; they end after 64 MiB. */
bool mo_text_open_pipe(mo_text_reader *r, mo_context *ctx, const char *path);
/* What the reader has counted stays. */
void mo_text_close(mo_text_reader *r);
/* Moves to the next line. False at the end of the file and on failure: mo_ok tells which. The mark of UTF-8 at the
 * start of the first is no part of it. */
bool mo_text_line(mo_text_reader *r);
/* Whether the line of an edge list has data: it is neither blank nor a comment, from '#' or, above the first line of
 * data, from '%' or "//". Below it a name may begin so. */
bool mo_text_data(mo_text_reader *r);
/* Whether only blanks are left in the line. */
bool mo_text_blank(mo_text_reader *r);
/* Reads one integer of magnitude at most MO_TEXT_LARGEST that blanks, a comma or the line's end follow. */
bool mo_text_integer(mo_text_reader *r, const char *what, int64_t *value);
/* The same, within low..high. */
bool mo_text_integer_in(mo_text_reader *r, const char *what, int64_t low, int64_t high, int64_t *value);
/* Skips blanks and one comma; raises where there is none. */
bool mo_text_comma(mo_text_reader *r);
/* Raises unless only blanks are left in the line. */
bool mo_text_finished(mo_text_reader *r);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <what is at the cursor>". Returns false. */
bool mo_text_unexpected(mo_text_reader *r, const char *expected);

#endif
