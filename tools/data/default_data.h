/* tools/data/default_data.h - the embedded graphs (train/data/) for training, and the held-out ones. */
#ifndef DEFAULT_DATA_H
#define DEFAULT_DATA_H

#define DEFAULT_POOL "citeseer,photo,gnutella06,astroph,enzymes,imdb-binary"
#define DEFAULT_HELD_OUT "cora,mutag,proteins"
/* Graphs of nodes that came with a division of them. */
#define PUBLIC_DATA "cora,citeseer,pubmed"

#endif
