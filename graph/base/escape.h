/*
 * Any bytes as printable text, and back: for paths, names and command lines in
 * the journal, in JSON and on a terminal. Pure.
 */
#ifndef STATETAPE_GRAPH_BASE_ESCAPE_H
#define STATETAPE_GRAPH_BASE_ESCAPE_H

#include <stddef.h>

/* The most that escape_text() writes for `len` bytes, with the NUL. */
#define ESCAPE_SIZE(len) (4 * (len) + 1)

/*
 * Write `text` to `out` as valid UTF-8 without control characters, by the
 * escapes \t, \n, \\ and \xNN, and with a NUL. Text that does not fit into
 * `size` bytes (at least 5) is cut, and a mark shows it. Returns the length.
 */
size_t escape_text(const char *text, char *out, size_t size);
/*
 * The same for the first `max` bytes of `text`, without a NUL: writes at most
 * ESCAPE_SIZE(max + 4) bytes and returns where they end.
 */
char *escape_upto(const char *text, size_t max, char *out);
/* Undo it, in place. -EBADMSG: not an escaped text; `text` is then garbled. */
int escape_undo(char *text);

#endif
