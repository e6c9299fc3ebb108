/*
 * The database's tables and views, as SQLite keeps them and as
 * statetape-tape(5) shows them.
 */
#ifndef STATETAPE_TAPE_STORE_SCHEMA_H
#define STATETAPE_TAPE_STORE_SCHEMA_H

#define STORE_APPLICATION 0x53744170 /* S t A p */
#define STORE_VERSION	  1

extern const char store_schema[];

#endif
