/* tensor/files/npy_text.c - the texts of an .npy array of dtype U (four bytes a character) or S (one), as UTF-8. */
#include "tensor/files/npy.h"

#include "tensor/files/file.h"
#include "tensor/storage.h"

#include <inttypes.h>

/* Writes one character as UTF-8; returns its bytes, 0 where there is no such character. */
static int npy_put_character(uint32_t c, char *text) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return 0;
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    text[0] = (char)(first[more] | c >> 6 * more);
    for (int i = 1; i <= more; i++)
        text[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3F));
    return more + 1;
}

static uint32_t npy_character(const unsigned char *p, bool big) {
    uint32_t c = 0;
    for (int k = 0; k < 4; k++)
        c |= (uint32_t)p[big ? 3 - k : k] << (8 * k);
    return c;
}

/* The text of one element, without the zeroes that fill it up. Returns false where it is no text. */
static bool npy_element_text(const mo_npy_header *h, const unsigned char *p, char *text) {
    int64_t step = h->kind == 'U' ? 4 : 1, n = h->item / step, used = 0;
    while (n > 0 && (h->kind == 'U' ? npy_character(p + (n - 1) * 4, h->big) : p[n - 1]) == 0)
        n--;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = h->kind == 'U' ? npy_character(p + i * 4, h->big) : p[i];
        int bytes = 1;
        if (h->kind == 'U')
            bytes = npy_put_character(c, text + used);
        else
            text[used] = (char)c;
        if (c == 0 || bytes == 0)
            return false;
        used += bytes;
    }
    text[used] = '\0';
    return mo_is_utf8(text, (size_t)used);
}

bool mo_npy_texts(mo_context *ctx, const char *label, const mo_npy_header *h, const unsigned char *data,
    bool (*take)(void *state, const char *text), void *state) {
    size_t room = h->numel > 0 ? (size_t)h->item + 1 : 1; /* UTF-8 takes four bytes a character at most, as U does */
    char *text = mo_host_alloc(ctx, room);
    bool fine = text;
    for (int64_t i = 0; fine && i < h->numel; i++) {
        fine = npy_element_text(h, data + i * h->item, text);
        if (!fine)
            mo_fail(ctx, MO_FORMAT, "%s: element %" PRId64 ": expected text in %s without zeroes inside it", label, i,
                h->kind == 'U' ? "Unicode" : "UTF-8");
        fine = fine && take(state, text);
    }
    mo_host_free(ctx, text, room);
    return fine;
}
