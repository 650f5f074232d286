# Writes each line of a text as a C string.
s/["\\]/\\&/g
s/.*/    "&",/
