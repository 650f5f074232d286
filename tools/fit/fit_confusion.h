/* tools/fit/fit_confusion.h - what one head takes for what. */
#ifndef FIT_CONFUSION_H
#define FIT_CONFUSION_H

#include "tools/command.h"

/* The matrix (of at most 20 classes), the figures of each class and the ten worst pairs. row: inside its visit. */
void fit_print_confusion(const mo_embeddings *E, const mo_fit_row *row, const mo_confusion *confusion);
/* The same as JSON lines, with the whole matrix; returns false if a line could not be written. */
bool fit_print_confusion_objects(const mo_embeddings *E, const mo_fit_row *row, const mo_confusion *confusion);

#endif
