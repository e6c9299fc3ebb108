/*
 * Calls that have a safer neighbour are compile errors. Included by the build
 * in front of every file of ours.
 */
#ifndef STATETAPE_GRAPH_BASE_BANNED_H
#define STATETAPE_GRAPH_BASE_BANNED_H

/* The headers that declare them come first, or their prototypes would fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll system popen tmpnam mktemp
/* Not ctime: <linux/fuse.h> has a field of that name. */
#pragma GCC poison gmtime localtime asctime

#endif
