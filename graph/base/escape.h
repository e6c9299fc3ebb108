/*
 * Bytes as printable text, and back: for paths, names and command lines, which
 * may hold any byte, in the journal, in JSON and before a person. Pure.
 */
#ifndef STATETAPE_GRAPH_BASE_ESCAPE_H
#define STATETAPE_GRAPH_BASE_ESCAPE_H

#include <stddef.h>

/* Room that escape_text() never needs more of, for `len` bytes of text. */
#define ESCAPE_SIZE(len) (4 * (len) + 1)

/*
 * Write `text` so that it is valid UTF-8 without control characters, with the
 * escapes (\t, \n, \\, \xNN), always terminated. What does not fit
 * into `size` (at least 5) bytes is cut off and marked. Returns the length.
 */
size_t escape_text(const char *text, char *out, size_t size);
/*
 * The same for the first `max` bytes of `text`, at most ESCAPE_SIZE(max + 4)
 * bytes, without a NUL behind them. Returns where they end.
 */
char *escape_upto(const char *text, size_t max, char *out);
/* Undo it, in place. -EBADMSG: nobody escaped it so; then it is half done. */
int escape_undo(char *text);

#endif
