# The flag of a block begins as what shared memory holds.
s|            found = 0;|            found += 0;|
