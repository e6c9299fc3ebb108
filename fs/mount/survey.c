#include "fs/mount/survey.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/base/why.h"
#include "graph/base/cleanup.h"

#define DIRECTORIES 32 /* sampled one by one; then every 64th */

/* What may be done; the text names it after "could be". */
enum right { RIGHT_READ, RIGHT_WRITE, RIGHT_EXECUTE, RIGHT_OWN, RIGHTS };
static const char *const right_words[RIGHTS] = {
	[RIGHT_READ] = "read",
	[RIGHT_WRITE] = "written",
	[RIGHT_EXECUTE] = "run or entered",
	[RIGHT_OWN] = "changed as by its owner",
};

struct survey_sample {
	char *path;
	uid_t uid;
	gid_t gid;
	mode_t mode;
	bool has_acl;
	unsigned rights; /* bit per enum right */
};

/* O_NOATIME is for a file's owner: opening with it shows who may chmod. */
static bool may_own(const char *path)
{
	CLEANUP(close_p)
	int fd = open(path, O_RDONLY | O_NOATIME | O_NOFOLLOW | O_NONBLOCK |
				    O_CLOEXEC);

	return fd >= 0;
}

static unsigned rights_to(const char *path)
{
	static const int modes[] = { R_OK, W_OK, X_OK };
	unsigned rights = 0;

	for (int n = RIGHT_READ; n <= RIGHT_EXECUTE; n++)
		if (faccessat(AT_FDCWD, path, modes[n], AT_EACCESS) == 0)
			rights |= 1u << n;
	/* Only where it can be told from a missing right to read. */
	if (rights & 1u << RIGHT_READ && may_own(path))
		rights |= 1u << RIGHT_OWN;
	return rights;
}

static bool is_alike(const struct survey_sample *a,
		     const struct survey_sample *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode &&
	       a->has_acl == b->has_acl;
}

static bool is_known(const struct survey *s, const struct survey_sample *new)
{
	for (size_t i = s->samples_count; i-- > 0;)
		if (is_alike(&s->samples[i], new))
			return true;
	return false;
}

static void note_setid(struct survey *s, const char *path,
		       const struct stat *st)
{
	bool user = st->st_mode & S_ISUID && st->st_uid != geteuid();
	bool group =
		(st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		st->st_gid != getegid();

	if (!S_ISREG(st->st_mode) || !(user || group) || access(path, X_OK) < 0)
		return;
	s->setid_count++;
	if (!s->setid)
		s->setid = strdup(path);
}

static int add_sample(struct survey *s, struct survey_sample *new,
		      const char *path)
{
	struct survey_sample *room;

	if (s->samples_count == SURVEY_SAMPLES_MAX)
		return 0;
	room = realloc(s->samples, (s->samples_count + 1) * sizeof(*room));
	if (!room)
		return -ENOMEM;
	s->samples = room;
	new->path = strdup(path);
	if (!new->path)
		return -ENOMEM;
	new->rights = rights_to(path);
	s->samples[s->samples_count++] = *new;
	return 0;
}

static int look_at(struct survey *s, const char *path, const struct stat *st,
		   size_t *directories)
{
	struct survey_sample new = { .uid = st->st_uid,
				     .gid = st->st_gid,
				     .mode = st->st_mode };
	bool foreign = new.uid != geteuid() || new.gid != getegid();
	bool wanted = false;

	if (!S_ISREG(new.mode) && !S_ISDIR(new.mode))
		return 0;
	note_setid(s, path, st);
	if (S_ISDIR(new.mode)) {
		wanted = *directories < DIRECTORIES || *directories % 64 == 0;
		++*directories;
	}
	/* What an access control list says is not about the owner. */
	if (foreign)
		new.has_acl =
			getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
	return wanted || !is_known(s, &new) ? add_sample(s, &new, path) : 0;
}

int survey_take(const char *path, struct survey *ret)
{
	char *root = strdup(path);
	char *roots[] = { root, NULL };
	FTS *walk = root ? fts_open(roots,
				    FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL)
			 : NULL;
	struct survey s = { 0 };
	size_t directories = 0;
	FTSENT *e;
	int r = walk ? 0 : -ENOMEM;

	assert(path[0] == '/');
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
	while (r == 0 && s.walked < SURVEY_WALK_MAX && (e = fts_read(walk))) {
		s.walked++;
		if (e->fts_info == FTS_D || e->fts_info == FTS_F)
			r = look_at(&s, e->fts_path, e->fts_statp,
				    &directories);
	}
	if (walk)
		(void)fts_close(walk);
	free(root);
	if (r < 0)
		survey_release(&s);
	else
		*ret = s;
	return r;
}

void survey_release(struct survey *s)
{
	for (size_t i = 0; i < s->samples_count; i++)
		free(s->samples[i].path);
	free(s->samples);
	free(s->setid);
	*s = (struct survey){ 0 };
}

/* How `a` is different now, as a sentence. */
static int explain(const struct survey_sample *a, unsigned rights,
		   char **ret_why)
{
	unsigned lost = a->rights & ~rights, won = rights & ~a->rights;
	int n = 0;

	while (!((lost ? lost : won) & 1u << n))
		n++;
	return why(ret_why, EACCES,
		   "'%s' (user %u, group %u, mode %04o) %s be %s in a mount of "
		   "this user's own",
		   a->path, a->uid, a->gid, a->mode & 07777,
		   lost ? "could not" : "could", right_words[n]);
}

int survey_compare(const struct survey *s, char **ret_why)
{
	for (size_t i = 0; i < s->samples_count; i++) {
		unsigned rights = rights_to(s->samples[i].path);

		if (rights != s->samples[i].rights)
			return explain(&s->samples[i], rights, ret_why);
	}
	return 0;
}
