/* tools/web/wasi/Random123/philox.h - Random123 refuses processors that it does not know by name; its plain C
 * serves. */
#define __arm__ 1
#include_next <Random123/philox.h>
#undef __arm__
