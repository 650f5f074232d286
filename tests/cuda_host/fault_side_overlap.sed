# Two products that add to one C are queued in two streams.
s|if (of\[j\].beside != beside \&\& overlap(of\[i\].C, of\[j\].C))|if (of[j].beside != beside \&\& overlap(of[i].C, of[j].C) \&\& j > i)|
