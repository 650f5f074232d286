# Uses scratch memory although it could not be allocated.
s|    if (!scratch)|    if (!scratch \&\& n < 0)|
