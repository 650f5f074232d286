# Scratch memory that is not to be had is used.
s|    if (!scratch)|    if (!scratch \&\& n < 0)|
