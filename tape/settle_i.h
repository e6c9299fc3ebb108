/*
 * Shared by the files of settle: nodes (settle_nodes.c), versions
 * (settle_version.c), what lines do to them (settle.c), and which are handed
 * over (settle_take.c).
 *
 * A node is a version of a path: the changes of one process, or of several if
 * it is merged. The newest version of each path is in the table; earlier ones
 * are cut: they are complete, have no place in the table, and wait only to be
 * handed over. All are in two rings, by their last and by their first lines.
 */
#ifndef STATETAPE_TAPE_SETTLE_I_H
#define STATETAPE_TAPE_SETTLE_I_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/array.h"
#include "graph/base/paths.h"
#include "tape/content.h"
#include "tape/journal/journal.h"
#include "tape/settle.h"

#define WRITERS_MAX 8

/* A place in one of the rings. */
struct settle_link {
	struct settle_link *next, *prev;
};

/* A process that may write on. */
struct settle_writer {
	const struct journal_author *author; /* NULL: unknown */
	uint32_t pid;
	uint32_t opened; /* handles, as far as lines tell */
};

struct settle_authors {
	const struct journal_author **at;
	uint32_t count, size;
};

struct settle_node {
	struct paths_node at;	 /* first */
	struct settle_link late; /* in the ring by last lines */
	struct settle_link age;	 /* in the ring by first lines */
	/*
	 * Of a file that moved: the name it is known by, which went away for
	 * it; and of such a name: the file. NULL: it is known by its own name,
	 * or not at all.
	 */
	struct settle_node *partner;
	char *from; /* the same, of a cut one, once another file is there */
	char *like; /* a new name of this file; NULL: it is not */

	const struct journal_author *author; /* the last */
	uint32_t pid;			     /* its */
	struct settle_authors authors;	     /* all, in order */
	bool merged;			     /* a version in it was lost */
	bool wrote;   /* they wrote text, and did not only rename */
	bool emptied; /* so far it was only made or emptied by an open */
	bool by_name; /* its last change needed no handle: it is finished */
	bool outside; /* made outside the mount, by what a KEEP line says */
	/*
	 * The content that is there now, as far as lines tell; NULL: as known,
	 * or nothing. It is this version's if `wrote`, else that of the cut
	 * version before.
	 */
	struct content *content;

	uint64_t first, last;
	int64_t wall_ns;
	uint64_t first_mono, last_mono;
	bool born;   /* did not exist before the first line */
	bool gone;   /* does not exist after the last */
	bool urgent; /* complete: its author has no handle open */
	bool chosen; /* to be handed over */

	bool cut;		   /* not in the table */
	struct settle_node *newer; /* of a cut one: what became of it */
	struct settle_node *older; /* the cut one before; NULL: none dirty */
	bool held;		   /* cut, and handed over with the newer */

	struct settle_writer writers[WRITERS_MAX];
	uint32_t writers_count;
	uint64_t inode; /* of a new name, see `like` */
};

/* A directory with dirty paths below it, or a name of cut nodes. */
struct settle_tally {
	struct paths_node at; /* first */
	size_t count;
};

struct settle {
	struct settle_known known;
	settle_ready *ready; /* NULL: all are */
	struct content_pool *pool;
	uint64_t heard_ns; /* see settle_heard() */
	uint64_t again;	   /* lines up to this one are read again */
	struct table nodes;
	struct settle_link late; /* all nodes, the oldest last line first */
	struct settle_link age;	 /* all nodes, the oldest first line first */
	struct table dirs;	 /* struct settle_tally */
	struct table origins;	 /* the same, by the `from` of cut nodes */
	struct table cuts;	 /* the same, by the paths of cut nodes */
	size_t likes;		 /* nodes with `like` set */
	size_t pending;		 /* nodes */
	ARRAY(void *) taken;	 /* struct settle_node */
	ARRAY(struct settled) settled;
	ARRAY(struct settle_want) wants;
	ARRAY(char *) moved; /* files that a line moves */
};

/* -- settle_nodes.c */
struct settle_node *settle_of_late(struct settle_link *l);
struct settle_node *settle_find(const struct settle *s, const char *path);
/* A node of `path`, which has none; the line is its first. */
struct settle_node *settle_add(struct settle *s, const char *path,
			       const struct journal_line *l);
/* A copy of `n` without its lists, in the rings before it, in no table. */
struct settle_node *settle_cut_off(struct settle *s, struct settle_node *n);
/* With the cut versions that are handed over with it. NULL is accepted. */
void settle_drop(struct settle *s, struct settle_node *n);
/* Out of all tables and rings; it lives until the next settle_take(). */
void settle_leave(struct settle *s, struct settle_node *n);
void settle_free_node(struct settle_node *n);
/* The line is its newest. */
void settle_stamp(struct settle *s, struct settle_node *n,
		  const struct journal_line *l);
/* The line is its first. */
void settle_begin(struct settle *s, struct settle_node *n,
		  const struct journal_line *l);
void settle_begin_at(struct settle *s, struct settle_node *n, uint64_t first);
/* `n` is about the lines of `other`, too. */
void settle_begin_with(struct settle *s, struct settle_node *n,
		       const struct settle_node *other);
/* The file and the name that it is known by. */
void settle_join(struct settle_node *file, struct settle_node *name);
/* From now on each is for itself. */
void settle_unjoin(struct settle_node *n);
/* `to` is what `n` was to its partner. */
void settle_pass_partner(struct settle_node *n, struct settle_node *to);
/* Take ownership of the text. */
void settle_set_from(struct settle *s, struct settle_node *n, char *from);
void settle_set_like(struct settle *s, struct settle_node *n, char *like);
/* Does the tape know a file of that name? */
bool settle_is_known(const struct settle *s, const char *path);
/* The files that move with `path`: it, or all that are below it as far as lines
   tell, in order. They are s->moved until the next call. */
void settle_list(struct settle *s, const char *path, bool directory);
/* Count one more, or one less, for the first `len` bytes of `path`. */
void settle_count(struct table *t, const char *path, size_t len, bool more);

/* -- settle_take.c */
/* Free what the last settle_take() handed over. */
void settle_forget_taken(struct settle *s);

/* -- settle_version.c */
bool settle_is_own(const struct settle_node *n, const struct journal_line *l);
/*
 * The line begins another version of the path, unless it goes on with this
 * one. What was dirty of it so far is cut off as a version of its own, or, if
 * its content is lost, becomes part of what follows.
 */
void settle_end_version(struct settle *s, struct settle_node *n,
			const struct journal_line *l, bool always);
/* The line's process gives it another name, which changes no content. */
void settle_part(struct settle *s, struct settle_node *n,
		 const struct journal_line *l);
/* The line's process wrote its text, or (`text` false) changed its name. */
void settle_name_author(struct settle_node *n, const struct journal_line *l,
			bool text);
/* The text was changed by the line. */
void settle_change(struct settle *s, struct settle_node *n,
		   const struct journal_line *l);
void settle_drop_content(struct settle_node *n);
/* What was known of its content by another name, or before, is a version of its
   own path now. */
void settle_take_content(struct settle *s, struct settle_node *n);
/* It is known by its own name, or not at all. */
void settle_lose_partner(struct settle *s, struct settle_node *n);
/* The name that went away is there again. What it went away to is a new file,
   such as a backup. */
void settle_come_back(struct settle *s, struct settle_node *n);
/* The authors of `older` wrote before those of `n`. */
void settle_put_before(struct settle_node *n, const struct settle_node *older);
void settle_on_keep(struct settle *s, const struct journal_line *l);

void settle_opened(struct settle_node *n, const struct journal_line *l);
void settle_may_write(struct settle_node *n, const struct journal_line *l);
/* `wrote`: by that handle. */
void settle_closed(struct settle_node *n, const struct journal_line *l,
		   bool wrote);
/* Have its authors no handle open? */
bool settle_is_finished(const struct settle_node *n);

#endif
