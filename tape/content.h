/*
 * The content of one version of a file, on its way from the journal's lines to
 * an entry. The tape reads it from the file, or the file system kept a copy
 * before it was changed (JOURNAL_KEEP). References are counted. One thread.
 */
#ifndef STATETAPE_TAPE_CONTENT_H
#define STATETAPE_TAPE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/build/look.h"

struct journal_line;

/* What all contents hold together. Zeroed: nothing. */
struct content_pool {
	size_t bytes; /* of texts in memory */
	ARRAY(char *)
	done; /* copies in JOURNAL_KEPT that are not needed any
	       * more; the caller frees the names */
};

enum content_state {
	CONTENT_OPEN, /* it was not read, or has changed since */
	CONTENT_READ,
	CONTENT_KEPT,
	CONTENT_LOST,	 /* overwritten before it was read, and not kept */
	CONTENT_MISSING, /* where it should be is nothing, or another file */
};

struct content {
	struct content_pool *pool;
	unsigned refs;
	uint64_t last;	/* the newest line that changed it */
	uint64_t inode; /* of the file, 0: unknown */
	bool link;	/* of a symbolic link: its target */
	bool unwanted;	/* the caller does not want to read it */

	/* Read by the tape: */
	bool is_read;
	bool racy;	    /* its stamp may also be that of a change after */
	uint64_t read_line; /* the newest line known when it was read */
	uint64_t read_ns;   /* CLOCK_MONOTONIC, when it was complete */
	uint64_t published_ns; /* and when the file system could know; 0: not
				* yet */
	struct look look;      /* its text is `text` */
	char *text;

	/* By the KEEP line for it: */
	uint64_t kept_ns;  /* CLOCK_MONOTONIC of that line, 0: there is none */
	char *kept;	   /* name of the copy; NULL: not kept */
	uint64_t kept_len; /* its bytes */
};

struct content *content_new(struct content_pool *pool);
struct content *content_ref(struct content *c);
/* NULL is accepted. */
void content_unref(struct content *c);

/* The line changed it: what is known of it is out of date. */
void content_change(struct content *c, const struct journal_line *l);
/* The file has another name now. */
void content_move(struct content *c);
/* It was read with this result; all lines up to `line` were known. */
void content_fill(struct content *c, const struct look *l, bool racy,
		  uint64_t line, uint64_t now_ns);
/* Take over what a KEEP line says of it. */
void content_keep(struct content *c, const struct journal_line *l);

enum content_state content_state(const struct content *c);

#endif
