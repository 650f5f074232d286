/* ops/rules/maps.h - forwards of ops that are one function entry by entry, which the op's state names (library
 * internal). */
#ifndef MO_MAPS_H
#define MO_MAPS_H

#include "autograd/inside.h"

/* Y = f(X), state a mo_map1; its two parameters are the op's options, 0 if it has none. */
void mo_map1_forward(mo_call *c);
/* Y = f(A, B) with broadcasting, for the mo_map2 in the op's state; and its shape rule: two reals that broadcast. */
void mo_map2_forward(mo_call *c);
bool mo_map2_shape(mo_call *c);

#endif
