/*
 * Makes calls that have a safer replacement compile errors. The build includes
 * this header at the top of every source file.
 */
#ifndef STATETAPE_GRAPH_BASE_BANNED_H
#define STATETAPE_GRAPH_BASE_BANNED_H

/* The declarations must come before the poison, or they would not compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll system popen tmpnam mktemp
/* ctime is missing: <linux/fuse.h> has a field of that name. */
#pragma GCC poison gmtime localtime asctime

#endif
