#include "tools/verb/undo/act.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/verb/undo/plan.h"

#define NOTE	 "undo.json"
#define NOTE_MAX (64u << 20)

/* What happens to one file, in the order in which it is done. */
enum act_step { STEP_REMOVE, STEP_ASIDE, STEP_MOVE, STEP_PUT, STEP_MODE };

/* Steps that were done are taken back from the last on. */
struct act_done {
	enum act_step step;
	uint32_t file;
};

struct acting {
	const struct act *a;
	const struct undo_plan *p;
	ARRAY(struct act_done) done;
	uint32_t failed; /* index of the file whose step failed */
};

/* -- Each file's steps. */

typedef bool act_wanted(const struct undo_plan *p, const struct plan_file *f);

static bool is_put(const struct undo_plan *p, const struct plan_file *f)
{
	(void)p;
	return f->fate == PLAN_CHANGED && f->then.path &&
	       (!f->now.path || strcmp(f->now.hash, f->then.hash) != 0 ||
		S_ISLNK(f->now.mode) != S_ISLNK(f->then.mode));
}

static bool is_removed(const struct undo_plan *p, const struct plan_file *f)
{
	(void)p;
	return f->fate == PLAN_CHANGED && f->now.path && !f->then.path;
}

static bool is_moved(const struct undo_plan *p, const struct plan_file *f)
{
	(void)p;
	return f->fate == PLAN_CHANGED && f->now.path && f->then.path &&
	       strcmp(f->now.path, f->then.path) != 0;
}

static bool is_chmod(const struct undo_plan *p, const struct plan_file *f)
{
	return f->fate == PLAN_CHANGED && f->now.path && f->then.path &&
	       !is_put(p, f) && f->now.mode != f->then.mode;
}

/* It moves, and another file gets its name: files may exchange names. */
static bool is_aside(const struct undo_plan *p, const struct plan_file *f)
{
	if (!is_moved(p, f))
		return false;
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *o = &p->files.at[i];

		if (is_moved(p, o) && strcmp(o->then.path, f->now.path) == 0)
			return true;
	}
	return false;
}

/* -- Temporary names. */

/* The temporary name that stands beside `path` (free it). */
static char *temp_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return format_text(".%.200s.statetape-%ld", slash ? slash + 1 : path,
			   (long)getpid());
}

static char *temp_path(const char *path)
{
	CLEANUP(free_p) char *name = temp_name(path);

	return files_beside(path, name);
}

/* Where a file waits that must leave its name to another (free it). */
static char *aside(const struct plan_file *f)
{
	CLEANUP(free_p) char *name = temp_name(f->now.path);
	CLEANUP(free_p) char *other = format_text("%s-aside", name);

	return files_beside(f->now.path, other);
}

/* -- The note. */

static int write_note(int fd, const char *text)
{
	size_t len = strlen(text);

	if (ftruncate(fd, 0) < 0)
		return -errno;
	for (size_t at = 0; at < len;) {
		ssize_t n = pwrite(fd, text + at, len - at, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The text of the note (free it); NULL: it is empty or cannot be read. */
static char *read_note(int fd)
{
	CLEANUP(free_p) char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > NOTE_MAX)
		return NULL;
	text = must_calloc(1, (size_t)st.st_size + 1);
	n = pread(fd, text, (size_t)st.st_size, 0);
	return n > 0 ? TAKE(text) : NULL;
}

/* Remove what a killed command left. */
static void clean_up(const struct act *a, int fd)
{
	CLEANUP(free_p) char *text = read_note(fd);
	CLEANUP(json_p) cJSON *note = text ? cJSON_Parse(text) : NULL;
	const char *command = json_unescaped(
		cJSON_GetObjectItemCaseSensitive(note, "command"));
	cJSON *temp;

	cJSON_ArrayForEach (temp, json_member(note, "temps")) {
		const char *path = json_unescaped(temp);

		if (path)
			(void)files_remove(a->root_fd, path);
	}
	cJSON_ArrayForEach (temp, json_member(note, "asides")) {
		const char *at = json_unescaped(temp->child);
		const char *name = at ? json_unescaped(temp->child->next) : at;

		if (name)
			(void)files_rename(a->root_fd, at, name, false);
	}
	(void)ftruncate(fd, 0);
	if (command)
		(void)say_error("'%s' was interrupted earlier and did only a "
				"part; run it again to finish it, or "
				"'statetape redo' to take that part back",
				command);
}

int act_begin(const struct act *a)
{
	CLEANUP(close_p)
	int fd = openat(a->state_fd, NOTE,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		clean_up(a, fd);
		return take_fd(&fd);
	}
	r = -errno;
	if (r == -EWOULDBLOCK)
		(void)say_error("another 'statetape undo' is under way");
	else
		(void)say_error("the state directory cannot be written: %s",
				errno_text(r));
	return r;
}

/* -- Before the first step. */

static int note_temps(const struct acting *x, int fd)
{
	CLEANUP(json_p) cJSON *note = json_object(NULL, NULL);
	CLEANUP(free_p) char *text = NULL;
	cJSON *temps, *asides;

	json_put_bytes(note, "command", x->a->command);
	temps = json_array(note, "temps");
	asides = json_array(note, "asides");
	for (uint32_t i = 0; i < x->p->files.count; i++) {
		const struct plan_file *f = &x->p->files.at[i];

		if (is_put(x->p, f)) {
			CLEANUP(free_p) char *temp = temp_path(f->then.path);

			(void)json_push(temps, json_bytes(temp));
		}
		if (is_aside(x->p, f)) {
			CLEANUP(free_p) char *temp = aside(f);
			cJSON *pair = json_push(asides, json_array(NULL, NULL));

			(void)json_push(pair, json_bytes(temp));
			(void)json_push(pair, json_bytes(f->now.path));
		}
	}
	text = must_have(cJSON_PrintUnformatted(note));
	return write_note(fd, text);
}

static int stage(struct acting *x)
{
	for (uint32_t i = 0; i < x->p->files.count; i++) {
		const struct plan_file *f = &x->p->files.at[i];
		CLEANUP(free_p) char *name = NULL;
		int r;

		if (!is_put(x->p, f))
			continue;
		name = temp_name(f->then.path);
		r = files_stage(x->a->root_fd, &f->then, name);
		if (r < 0) {
			x->failed = i;
			return r;
		}
	}
	return 0;
}

static void unstage(struct acting *x)
{
	for (uint32_t i = 0; i < x->p->files.count; i++) {
		const struct plan_file *f = &x->p->files.at[i];
		CLEANUP(free_p) char *temp = NULL;

		if (!is_put(x->p, f))
			continue;
		temp = temp_path(f->then.path);
		(void)files_remove(x->a->root_fd, temp);
		if (!f->now.path)
			files_tidy(x->a->root_fd, temp);
	}
}

/* Did somebody change a file since the plan was made? */
static int check(struct acting *x)
{
	for (uint32_t i = 0; i < x->p->files.count; i++) {
		const struct plan_file *f = &x->p->files.at[i];

		x->failed = i;
		if (f->fate == PLAN_CHANGED && f->now.path &&
		    !files_is_same(x->a->root_fd, &f->now))
			return -ESTALE;
	}
	return 0;
}

static char *source_of(const struct undo_plan *p, const struct plan_file *f)
{
	return is_aside(p, f) ? aside(f) : must_strdup(f->now.path);
}

static int step(const struct acting *x, enum act_step step, uint32_t i)
{
	const struct plan_file *f = &x->p->files.at[i];
	int root = x->a->root_fd;
	CLEANUP(free_p) char *temp = NULL;

	switch (step) {
	case STEP_REMOVE:
		return files_remove(root, f->now.path);
	case STEP_ASIDE:
		temp = aside(f);
		return files_rename(root, f->now.path, temp, false);
	case STEP_MOVE:
		temp = source_of(x->p, f);
		return files_rename(root, temp, f->then.path, false);
	case STEP_PUT:
		temp = temp_path(f->then.path);
		return files_rename(root, temp, f->then.path,
				    f->now.path != NULL);
	case STEP_MODE:
		break;
	}
	return files_chmod(root, f->then.path, f->then.mode);
}

/* Write the former content, directly under its name or over what is there. */
static int put_back(const struct acting *x, const struct plan_file *f,
		    const char *path)
{
	struct file_copy was = f->now;
	CLEANUP(free_p) char *copy = must_strdup(path);
	CLEANUP(free_p) char *temp = temp_path(path);
	CLEANUP(free_p) char *name = temp_name(path);
	int r;

	was.path = copy;
	r = files_stage(x->a->root_fd, &was, name);
	return r < 0 ? r : files_rename(x->a->root_fd, temp, path, true);
}

static int step_back(const struct acting *x, enum act_step step, uint32_t i)
{
	const struct plan_file *f = &x->p->files.at[i];
	int root = x->a->root_fd;
	CLEANUP(free_p) char *temp = NULL;

	switch (step) {
	case STEP_REMOVE:
		return put_back(x, f, f->now.path);
	case STEP_ASIDE:
		temp = aside(f);
		return files_rename(root, temp, f->now.path, false);
	case STEP_MOVE:
		temp = source_of(x->p, f);
		return files_rename(root, f->then.path, temp, false);
	case STEP_PUT:
		if (!f->now.path)
			return files_remove(root, f->then.path);
		return put_back(x, f, f->then.path);
	case STEP_MODE:
		break;
	}
	return files_chmod(root, f->then.path, f->now.mode);
}

/* -- All steps. */

static int run_steps(struct acting *x, enum act_step which, act_wanted *wanted)
{
	for (uint32_t i = 0; i < x->p->files.count; i++) {
		int r;

		if (!wanted(x->p, &x->p->files.at[i]))
			continue;
		r = step(x, which, i);
		if (r < 0) {
			x->failed = i;
			return r;
		}
		array_push(&x->done, ((struct act_done){ which, i }));
	}
	return 0;
}

static int run(struct acting *x)
{
	int r = run_steps(x, STEP_REMOVE, is_removed);

	if (r == 0)
		r = run_steps(x, STEP_ASIDE, is_aside);
	if (r == 0)
		r = run_steps(x, STEP_MOVE, is_moved);
	if (r == 0)
		r = run_steps(x, STEP_PUT, is_put);
	if (r == 0)
		r = run_steps(x, STEP_MODE, is_chmod);
	return r;
}

static const char *name_of(const struct plan_file *f)
{
	return f->now.path ? f->now.path : f->then.path;
}

static void run_back(struct acting *x)
{
	while (x->done.count) {
		uint32_t i = x->done.at[--x->done.count].file;
		int r = step_back(x, x->done.at[x->done.count].step, i);

		if (r < 0)
			(void)say_error("'%s' could not be put back: %s",
					name_of(&x->p->files.at[i]),
					errno_text(r));
	}
}

static void tidy(const struct acting *x)
{
	for (uint32_t i = 0; i < x->p->files.count; i++) {
		const struct plan_file *f = &x->p->files.at[i];

		if (is_removed(x->p, f) || is_moved(x->p, f))
			files_tidy(x->a->root_fd, f->now.path);
	}
}

static void say_failed(const struct acting *x, int r)
{
	const char *name = name_of(&x->p->files.at[x->failed]);

	if (r == -ESTALE)
		(void)say_error("'%s' was changed meanwhile, so nothing was "
				"done; run the command again",
				name);
	else
		(void)say_error("'%s' cannot be written: %s; nothing was done",
				name, errno_text(r));
}

int act_plan(const struct act *a, int note_fd, const struct undo_plan *p)
{
	struct acting x = { .a = a, .p = p };
	int r = note_temps(&x, note_fd);

	assert(p->changed);
	if (r < 0) {
		(void)say_error("the state directory cannot be written: %s",
				errno_text(r));
		return r;
	}
	r = stage(&x);
	if (r == 0)
		r = check(&x);
	if (r == 0)
		r = run(&x);
	if (r == 0) {
		tidy(&x);
	} else {
		run_back(&x);
		unstage(&x);
		say_failed(&x, r);
	}
	(void)ftruncate(note_fd, 0);
	array_release(&x.done);
	return r;
}
