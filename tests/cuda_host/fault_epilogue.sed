# A layer assumes, without asking, that the library has its epilogue.
s|bool rides = seam_epilogue(seam_of(ctx), &p->call);|bool rides = true;|
