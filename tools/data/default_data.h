/* tools/data/default_data.h - names of the embedded graphs (train/data/) for training and for evaluation. */
#ifndef DEFAULT_DATA_H
#define DEFAULT_DATA_H

#define DEFAULT_POOL "citeseer,photo,gnutella06,astroph,enzymes,imdb-binary"
#define DEFAULT_HELD_OUT "cora,mutag,proteins"
/* Node-labelled graphs that come with a public split of their nodes. */
#define PUBLIC_DATA "cora,citeseer,pubmed"

#endif
