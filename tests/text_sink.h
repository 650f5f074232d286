/* tests/text_sink.h - keeps the text that the library writes through mo_write. */
#ifndef TEXT_SINK_H
#define TEXT_SINK_H

#include "autograd/inside.h"
#include "tests/scratch.h"

typedef struct text_sink {
    char text[1 << 16];
    size_t n;
} text_sink;

static inline void sink_text(const char *text, void *state) {
    text_sink *s = state;
    size_t n = strlen(text);
    assert_true(s->n + n < sizeof s->text);
    memcpy(s->text + s->n, text, n + 1);
    s->n += n;
}

static inline void assert_sunk(const text_sink *s, const char *part) {
    if (!strstr(s->text, part))
        fail_msg("expected '%s' in:\n%s", part, s->text);
}

#endif
