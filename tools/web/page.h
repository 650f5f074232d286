/* tools/web/page.h - the engine as a page calls it: one request of text, one answer of JSON. */
#ifndef PAGE_H
#define PAGE_H

#include "tools/explain/lesson.h"

/* Room for a request of that many bytes and its end, owned by the page until the next call; NULL without memory. */
char *page_request(int bytes);
/* Answers the request: an object, with "error" where it failed. Valid until the next call. What it may be: page.c. */
const char *page_answer(void);

/* exercises.c: an exercise as an op whose rule is the reader's formula, judged by the checker of gradients. */
json_t *page_exercises(void);
json_t *page_judge(mo_context *ctx, int number, const char *formula);

#endif
