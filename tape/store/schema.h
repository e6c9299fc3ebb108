/* The tables and views of the database, documented in statetape-tape(5). */
#ifndef STATETAPE_TAPE_STORE_SCHEMA_H
#define STATETAPE_TAPE_STORE_SCHEMA_H

#define STORE_APPLICATION 0x53744170 /* S t A p */
#define STORE_VERSION	  1

extern const char store_schema[];
/* What stores of this version that were begun earlier may lack. */
extern const char store_schema_later[];

#endif
