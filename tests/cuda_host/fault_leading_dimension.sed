# Gives products a leading dimension of A that is one too large.
s|c->lda = p.B.ld,|c->lda = p.B.ld + 1,|
