/* train/graphs/text_reader.h - reads lines of integers from a plain or gzipped text file (library internal).
 *
 * Every error message has the form "PATH:LINE: expected ..., found ...". */
#ifndef MO_TEXT_READER_H
#define MO_TEXT_READER_H

#include <zlib.h>

#include "tensor/inside.h"

#define MO_TEXT_LARGEST ((int64_t)1 << 53) /* larger integers are not exact as doubles, and no file needs them */

typedef struct mo_text_reader {
    mo_context *ctx;
    const char *path; /* borrowed */
    gzFile file;
    bool pipe;
    int64_t file_bytes, unfolded; /* size of the file; unpacked bytes read so far */
    char *buffer;
    size_t capacity, start, end; /* unread bytes are start .. end - 1 */
    bool exhausted;
    char *cursor; /* the unread rest of the current line, NUL-terminated, without its line end */
    int64_t line; /* the line's number, from 1 */
    bool begun;   /* a line of data has been read */
    int64_t comments;
} mo_text_reader;

/* Finds a file of a folder, plain or with .gz behind its name; false if there is neither. */
bool mo_text_find(const char *folder, const char *name, char *path, size_t bytes);
/* Opens a file. False on failure; close it even then. */
bool mo_text_open(mo_text_reader *r, mo_context *ctx, const char *path);
/* Opens a file, a pipe or "-", standard input (r->path then says so). Reading raises after 64 MiB of a pipe or of
 * standard input. */
bool mo_text_open_pipe(mo_text_reader *r, mo_context *ctx, const char *path);
/* Closes the file; the counts stay readable. */
void mo_text_close(mo_text_reader *r);
/* Moves to the next line; skips a UTF-8 byte order mark on the first. False at the end of the file and on failure:
 * mo_ok tells which. */
bool mo_text_line(mo_text_reader *r);
/* Moves to the next line of an edge list that has data: it is neither blank nor a comment. A comment starts with '#'
 * or, above the first line of data, with '%' or "//"; below, a name may start with these. Returns as mo_text_line. */
bool mo_text_data_line(mo_text_reader *r);
/* Skips blanks. Returns whether only blanks were left in the line. */
bool mo_text_blank(mo_text_reader *r);
/* Cuts the next word off the line and ends it by a zero byte; NULL: none is left. */
char *mo_text_word(mo_text_reader *r);
/* Reads one integer of magnitude at most MO_TEXT_LARGEST, which a blank, a comma or the line's end must follow. */
bool mo_text_integer(mo_text_reader *r, const char *what, int64_t *value);
/* mo_text_integer, within low..high; high may be up to INT64_MAX. */
bool mo_text_integer_in(mo_text_reader *r, const char *what, int64_t low, int64_t high, int64_t *value);
/* Skips blanks and one comma; raises if there is none. */
bool mo_text_comma(mo_text_reader *r);
/* Raises unless only blanks are left in the line. */
bool mo_text_finished(mo_text_reader *r);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <what is at the cursor>". Returns false. */
bool mo_text_unexpected(mo_text_reader *r, const char *expected);

#endif
