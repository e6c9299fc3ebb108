/* The tables and views of the database, documented in statetape-tape(5). */
#ifndef STATETAPE_TAPE_STORE_SCHEMA_H
#define STATETAPE_TAPE_STORE_SCHEMA_H

#define STORE_APPLICATION 0x53744170 /* S t A p */
#define STORE_VERSION	  2
/* The oldest format that is read, and upgraded when it is written to. */
#define STORE_VERSION_OLDEST 1

extern const char store_schema[];
/* The tables about turns; stores that were made before them get them. */
extern const char store_schema_turns[];

/*
 * From version 1 to 2: `store_upgrade` changes the database;
 * `store_show_upgraded` makes temporary views, by which a reader sees the old
 * tables as if they were upgraded.
 */
extern const char store_upgrade[];
extern const char store_show_upgraded[];

#endif
