/* tensor/files/foreign_text.h - text of files and names of files, made fit for a one-line message (library
 * internal). */
#ifndef MO_FOREIGN_TEXT_H
#define MO_FOREIGN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

bool mo_is_utf8(const char *text, size_t n);
/* Copies n bytes of text so that they can stand in a message: control characters become '?', and every byte beyond
 * ASCII too if the text is not UTF-8. If the text is too long for the buffer, only its end is copied, after "...".
 * Returns buffer. */
const char *mo_quote(const char *text, size_t n, char *buffer, size_t bytes);

#endif
