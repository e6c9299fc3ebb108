/*
 * undo.json is a digit, which is the phase, and a JSON object. undo.saved is
 * the contents one after the other; it is complete before undo.json is written.
 */
#include "tools/verb/undo/intent.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/base/proc_stat.h"
#include "tools/cli/say.h"
#include "tools/verb/undo/plan.h"

#define INTENT	   "undo.json"
#define SAVED	   "undo.saved"
#define INTENT_MAX (64 << 20)

/* -- From a plan. */

static bool is_put(const struct plan_file *f)
{
	return f->then.path &&
	       (!f->now.path || strcmp(f->now.hash, f->then.hash) != 0 ||
		S_ISLNK(f->now.mode) != S_ISLNK(f->then.mode));
}

static bool is_moved(const struct plan_file *f)
{
	return f->fate == PLAN_CHANGED && f->now.path && f->then.path &&
	       strcmp(f->now.path, f->then.path) != 0;
}

/* It moves, and another file gets its name: files may exchange names. */
static bool is_aside(const struct undo_plan *p, const struct plan_file *f)
{
	if (!is_moved(f))
		return false;
	for (uint32_t i = 0; i < p->files.count; i++) {
		const struct plan_file *o = &p->files.at[i];

		if (is_moved(o) && strcmp(o->then.path, f->now.path) == 0)
			return true;
	}
	return false;
}

/* The temporary name beside `path` (free it). */
static char *beside(const char *path, const char *end)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_p)
	char *name = format_text(".%.200s.statetape-%ld%s",
				 slash ? slash + 1 : path, (long)getpid(), end);

	return files_beside(path, name);
}

static char *copy_of(const char *text)
{
	return text ? must_strdup(text) : NULL;
}

static void add_file(struct intent *x, const struct undo_plan *p, uint32_t i)
{
	const struct plan_file *f = &p->files.at[i];
	struct intent_file n = { .from = copy_of(f->now.path),
				 .to = copy_of(f->then.path),
				 .from_mode = f->now.mode,
				 .to_mode = f->then.mode,
				 .index = i };

	memcpy(n.from_hash, f->now.hash, sizeof(n.from_hash));
	memcpy(n.to_hash, f->then.hash, sizeof(n.to_hash));
	if (n.from && is_aside(p, f))
		n.via = beside(n.from, "-aside");
	if (n.to && is_put(f))
		n.temp = beside(n.to, "");
	if (n.from && (n.temp || !n.to)) {
		n.text = f->now.text;
		n.len = f->now.len;
	}
	array_push(&x->files, n);
}

void intent_of_plan(struct intent *x, const struct undo_plan *p,
		    const char *command, bool redo)
{
	struct proc_stat st = { .start = 0 };

	(void)proc_stat_read(getpid(), &st);
	*x = (struct intent){ .command = command,
			      .redo = redo,
			      .pid = getpid(),
			      .start = st.start };
	for (uint32_t i = 0; i < p->files.count; i++)
		if (p->files.at[i].fate == PLAN_CHANGED)
			add_file(x, p, i);
}

void intent_release(struct intent *x)
{
	for (uint32_t i = 0; i < x->files.count; i++) {
		free(x->files.at[i].from);
		free(x->files.at[i].to);
		free(x->files.at[i].via);
		free(x->files.at[i].temp);
	}
	array_release(&x->files);
	free(x->words);
	free(x->saved);
}

/* -- Writing. */

static int write_at(int fd, const char *text, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, text, len, at);

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int open_in(int state_fd, const char *name, int flags)
{
	int fd = openat(state_fd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

static int save_texts(const struct intent *x, int state_fd)
{
	CLEANUP(close_p)
	int fd = open_in(state_fd, SAVED, O_WRONLY | O_CREAT | O_TRUNC);
	off_t at = 0;

	for (uint32_t i = 0; fd >= 0 && i < x->files.count; i++) {
		const struct intent_file *f = &x->files.at[i];
		int r = f->text ? write_at(fd, f->text, f->len, at) : 0;

		if (r < 0)
			return r;
		at += f->text ? (off_t)f->len : 0;
	}
	return fd < 0 ? fd : fdatasync(fd) < 0 ? -errno : 0;
}

static void put_name(cJSON *to, const char *name, const char *path)
{
	if (path)
		json_put_bytes(to, name, path);
}

static void put_file(cJSON *list, const struct intent_file *f)
{
	cJSON *to = json_push_object(list);

	put_name(to, "from", f->from);
	put_name(to, "to", f->to);
	put_name(to, "via", f->via);
	put_name(to, "temp", f->temp);
	json_put_text(to, "from_hash", f->from_hash);
	json_put_text(to, "to_hash", f->to_hash);
	json_put_number(to, "from_mode", f->from_mode);
	json_put_number(to, "to_mode", f->to_mode);
	if (f->text)
		json_put_number(to, "len", f->len);
}

int intent_open(int state_fd)
{
	CLEANUP(close_p) int fd = open_in(state_fd, INTENT, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : take_fd(&fd);
}

int intent_write(const struct intent *x, int fd, int state_fd)
{
	CLEANUP(json_p) cJSON *j = json_object(NULL, NULL);
	CLEANUP(free_p) char *text = NULL;
	cJSON *files = json_array(j, "files");
	int r = save_texts(x, state_fd);

	json_put_bytes(j, "command", x->command);
	json_put_bool(j, "redo", x->redo);
	json_put_number(j, "pid", (uint64_t)x->pid);
	json_put_number(j, "start", x->start);
	for (uint32_t i = 0; i < x->files.count; i++)
		put_file(files, &x->files.at[i]);
	text = must_have(cJSON_PrintUnformatted(j));
	if (r == 0)
		r = write_at(fd, text, strlen(text), 1);
	if (r == 0)
		r = write_at(fd, "0", 1, 0);
	return r == 0 && fdatasync(fd) < 0 ? -errno : r;
}

int intent_begin(struct intent *x, int fd, enum intent_phase phase)
{
	const char digit = (char)('0' + phase);

	x->phase = phase;
	return write_at(fd, &digit, 1, 0);
}

void intent_clear(int fd, int state_fd)
{
	int saved;

	/* From here on it is done. */
	(void)ftruncate(fd, 0);
	saved = open_in(state_fd, SAVED, O_WRONLY | O_TRUNC);
	close_p(&saved);
}

/* -- Reading. */

/* The text of a file (free it), NULL: it is empty or cannot be read. */
static char *read_text(int fd, size_t most, size_t *ret_len)
{
	CLEANUP(free_p) char *text = NULL;
	struct stat st;
	size_t have = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    (size_t)st.st_size > most)
		return NULL;
	text = must_calloc(1, (size_t)st.st_size + 1);
	while (have < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + have, (size_t)st.st_size - have,
				  (off_t)have);

		if (n <= 0)
			return NULL;
		have += (size_t)n;
	}
	*ret_len = have;
	return TAKE(text);
}

/* NULL: nothing was left, or it is not whole. */
static cJSON *read_json(int fd, enum intent_phase *ret_phase)
{
	size_t len = 0;
	CLEANUP(free_p) char *text = read_text(fd, INTENT_MAX, &len);

	if (!text || *text < '0' || *text >= '0' + PHASES)
		return NULL;
	*ret_phase = (enum intent_phase)(*text - '0');
	return cJSON_Parse(text + 1);
}

static const char *name_in(cJSON *of, const char *name)
{
	return json_unescaped(cJSON_GetObjectItemCaseSensitive(of, name));
}

static char *take_name(cJSON *of, const char *name)
{
	return copy_of(name_in(of, name));
}

static void take_hash(const cJSON *of, const char *name, char ret[static 33])
{
	const char *hash = json_string_or(of, name, "");

	if (strlen(hash) == 32)
		memcpy(ret, hash, 33);
}

static void take_file(struct intent *x, cJSON *j, size_t *at, size_t size)
{
	struct intent_file f = {
		.from = take_name(j, "from"),
		.to = take_name(j, "to"),
		.via = take_name(j, "via"),
		.temp = take_name(j, "temp"),
		.from_mode = (uint32_t)json_number(j, "from_mode", 0),
		.to_mode = (uint32_t)json_number(j, "to_mode", 0),
		.len = json_number(j, "len", 0),
	};

	take_hash(j, "from_hash", f.from_hash);
	take_hash(j, "to_hash", f.to_hash);
	if (json_member(j, "len") && f.len <= size - *at) {
		f.text = x->saved + *at;
		*at += f.len;
	}
	array_push(&x->files, f);
}

bool intent_read(struct intent *x, int fd, int state_fd)
{
	CLEANUP(close_p) int saved = open_in(state_fd, SAVED, O_RDONLY);
	enum intent_phase phase = PHASE_STAGE;
	CLEANUP(json_p) cJSON *j = read_json(fd, &phase);
	size_t size = 0, at = 0;
	cJSON *file;

	if (!j)
		return false;
	*x = (struct intent){ .phase = phase,
			      .redo = cJSON_IsTrue(json_member(j, "redo")),
			      .pid = (pid_t)json_number(j, "pid", 0),
			      .start = json_number(j, "start", 0) };
	x->words = take_name(j, "command");
	x->command = x->words ? x->words : "statetape undo";
	x->saved = read_text(saved, SIZE_MAX - 1, &size);
	if (!x->saved)
		x->saved = must_strdup("");
	cJSON_ArrayForEach (file, json_member(j, "files"))
		take_file(x, file, &at, size);
	return true;
}

char *intent_left(int state_fd)
{
	CLEANUP(close_p) int fd = open_in(state_fd, INTENT, O_RDONLY);
	enum intent_phase phase;
	CLEANUP(json_p) cJSON *j = NULL;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return NULL;
	j = read_json(fd, &phase);
	return j ? take_name(j, "command") : NULL;
}
