# Each line of a text as a string of C.
s/["\\]/\\&/g
s/.*/    "&",/
