/* tools/web/empty.c - what meson.build asks the compiler to link, to learn whether it can. */
int answers(void);
int answers(void) {
    return 0;
}
