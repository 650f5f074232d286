/* tensor/files/foreign_text.c - text of files and names of files, made fit for a one-line message. */
#include "tensor/files/foreign_text.h"

#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 sequence at s; 0 if there is none (overlong forms and surrogates do not count). */
static size_t utf8_length(const unsigned char *s, size_t n) {
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if (length > 2) {
        unsigned second = s[1];
        if ((s[0] == 0xE0 && second < 0xA0) || (s[0] == 0xED && second > 0x9F) || (s[0] == 0xF0 && second < 0x90) ||
            (s[0] == 0xF4 && second > 0x8F))
            return 0;
    }
    return length;
}

bool mo_is_utf8(const char *text, size_t n) {
    for (size_t i = 0, length; i < n; i += length) {
        uint64_t eight = ~UINT64_C(0);
        memcpy(&eight, text + i, n - i >= 8 ? 8 : 0);
        length = eight & UINT64_C(0x8080808080808080) ? utf8_length((const unsigned char *)text + i, n - i) : 8;
        if (!length)
            return false;
    }
    return true;
}

const char *mo_quote(const char *text, size_t n, char *buffer, size_t bytes) {
    const unsigned char *s = (const unsigned char *)text;
    bool utf8 = mo_is_utf8(text, n);
    size_t from = 0, used = 0;
    if (n >= bytes) {
        from = n - (bytes - 4);
        while (utf8 && from < n && (s[from] & 0xC0) == 0x80)
            from++;
        memcpy(buffer, "...", 3);
        used = 3;
    }
    for (size_t i = from; i < n; i++)
        buffer[used++] = s[i] < 0x20 || s[i] == 0x7F || (s[i] >= 0x80 && !utf8) ? '?' : text[i];
    buffer[used] = 0;
    return buffer;
}
