/* ops/rules/maps.h - forwards of ops that compute one function entry by entry; the op's state names the function
 * (library internal). */
#ifndef MO_MAPS_H
#define MO_MAPS_H

#include "autograd/inside.h"

/* Y = f(X), f the mo_map1 in the op's state. f's parameters a and b are the op's options, or 0 if the op has none. */
void mo_map1_forward(mo_call *c);
/* Y = f(A, B) with broadcasting, f the mo_map2 in the op's state. mo_map2_shape requires two reals that broadcast. */
void mo_map2_forward(mo_call *c);
bool mo_map2_shape(mo_call *c);

#endif
