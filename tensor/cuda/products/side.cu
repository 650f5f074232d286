/* tensor/cuda/products/side.cu - which products of a group run beside the others, in the second stream.
 *
 * A product of few tiles leaves most processors idle, and lasts as long as one tile of it: the time of its k terms. Two
 * such products beside each other last as long as the longer one. A fork and its join cost the wait of a stream for
 * another twice. So the group is divided only where all its tiles find a processor at once, and where the shorter share
 * has enough terms to be worth the waits.
 *
 * The shares are as equal in terms as products in their order make them. Results that overlap stay in one stream, in
 * their order. */
#include "tensor/cuda/products/side.h"

/* About 5 us of a tile in tf32 (2.2 us of products at the full rate of an H100, the rest its start and end), where two
 * waits are about 3 us: estimates. */
constexpr int64_t least_terms = 256;

struct bytes_of_view {
    const char *first, *end;
};

/* The bytes from the lowest to the highest value of a view. */
static bytes_of_view bytes_of(const mo_view *v) {
    int64_t low = 0, high = 0, size = v->dtype == MO_F64 ? 8 : 4;
    const char *data = static_cast<const char *>(v->data);
    for (int i = 0; i < v->ndim; i++) {
        int64_t reach = (v->shape[i] - 1) * v->stride[i];
        low += least(reach, 0), high += most(reach, 0);
    }
    if (leading(v, v->ndim) == 0)
        return {data, data};
    return {data + low * size, data + (high + 1) * size};
}

static bool overlap(const mo_view *x, const mo_view *y) {
    bytes_of_view a = bytes_of(x), b = bytes_of(y);
    return a.first < b.end && b.first < a.end;
}

/* Says whether share i may stand in a stream: nothing that it overlaps stands in the other, of those placed before. */
static bool may_stand(const share *of, int i, bool beside) {
    if (beside && !of[i].whole)
        return false;
    for (int j = 0; j < i; j++)
        if (of[j].beside != beside && overlap(of[i].C, of[j].C))
            return false;
    return true;
}

bool divide(mo_context *ctx, share *of, int n) {
    overrule use = state_of(ctx)->side;
    int64_t tiles = 0, terms[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        tiles += of[i].tiles;
        terms[0] += of[i].whole ? 0 : of[i].terms;
    }
    if (n < 2 || use == NEVER || (use == BY_RULE && tiles > state_of(ctx)->processors))
        return false;
    for (int i = 0; i < n; i++) {
        bool wanted = of[i].whole && terms[1] < terms[0];
        of[i].beside = may_stand(of, i, wanted) ? wanted : !wanted;
        if (!may_stand(of, i, of[i].beside))
            return false;
        terms[of[i].beside] += of[i].whole ? of[i].terms : 0;
    }
    return least(terms[0], terms[1]) >= (use == ALWAYS ? 1 : least_terms);
}
