/* tools/web/page.h - the engine as a page calls it: one request of text, one answer of JSON. */
#ifndef PAGE_H
#define PAGE_H

#include "tools/explain/lesson.h"

/* Returns room for a request of `bytes` bytes and a null byte, which the page owns until the next call; NULL without
 * memory. */
char *page_request(int bytes);
/* Answers the request (page.c lists all) by a JSON object, valid until the next call. The object has "error" if the
 * request failed. */
const char *page_answer(void);

/* exercises.c: an exercise as an op whose rule is the reader's formula, judged by the checker of gradients. */
json_t *page_exercises(void);
json_t *page_judge(mo_context *ctx, int number, const char *formula);

#endif
