/* tools/data/default_data.h - which of the embedded graphs (train/data/) are trained on, and which are held out. */
#ifndef DEFAULT_DATA_H
#define DEFAULT_DATA_H

#define DEFAULT_POOL "citeseer,photo,gnutella06,astroph,enzymes,imdb-binary"
#define DEFAULT_HELD_OUT "cora,mutag,proteins"

#endif
