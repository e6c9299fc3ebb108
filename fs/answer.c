#include "fs/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/base/limits.h"
#include "fs/node/keep.h"
#include "fs/node/watch.h"
#include "fs/tune/awake.h"
#include "fs/tune/ring.h"
#include "graph/base/cleanup.h"
#include "graph/base/clock.h"
#include "graph/base/escape.h"
#include "graph/base/json.h"
#include "tape/journal/text.h"
#include "tape/wire/state.h"

/* A double holds counts exactly up to 2^53. */
static void put(cJSON *object, const char *name, uint64_t value)
{
	(void)cJSON_AddNumberToObject(object, name, (double)value);
}

static void put_path(cJSON *object, const char *name, const char *path)
{
	char text[ESCAPE_SIZE(PATH_MAX)];

	(void)escape_text(path, text, sizeof(text));
	(void)cJSON_AddStringToObject(object, name, text);
}

static void put_journal(struct fs *fs, cJSON *ret)
{
	cJSON *o = cJSON_AddObjectToObject(ret, "journal");
	struct journal_stats st = { 0 };

	(void)cJSON_AddBoolToObject(o, "enabled", fs->journal != NULL);
	if (!fs->journal)
		return;
	journal_stat(fs->journal, &st);
	put(o, "head", st.head);
	put(o, "oldest", st.oldest);
	put(o, "lost", st.lost);
	put(o, "segments", st.segments);
	put(o, "bytes", st.bytes);
	if (st.error)
		(void)cJSON_AddStringToObject(o, "error",
					      strerrordesc_np(st.error));
}

static void put_watch(struct fs *fs, cJSON *ret)
{
	cJSON *o = cJSON_AddObjectToObject(ret, "watch");
	struct watch_stats st;

	watch_stat(fs->watch, &st);
	(void)cJSON_AddBoolToObject(o, "enabled", st.enabled);
	put(o, "dirs", st.dirs);
	put(o, "refused", st.refused);
	(void)cJSON_AddBoolToObject(o, "limit_reached", st.refused > 0);
	put(o, "overflows", st.overflows);
	put(o, "invalidations", st.invalidations);
}

static void put_reads(struct fs *fs, cJSON *ret)
{
	cJSON *o = cJSON_AddObjectToObject(ret, "reads");
	struct reads_stats st;

	reads_stat(fs->reads, &st);
	put(o, "processes", st.processes);
	put(o, "entries", st.entries);
	put(o, "forgotten", st.forgotten);
}

static void put_versions(struct fs *fs, cJSON *ret)
{
	cJSON *o = cJSON_AddObjectToObject(ret, "versions");
	struct keep_stats st;

	keep_stat(fs, &st);
	put(o, "kept", st.kept);
	put(o, "waiting", st.waiting.files);
	put(o, "waiting_bytes", st.waiting.bytes);
	put(o, "merged", st.merged);
	put(o, "refused", st.refused);
}

static void put_ops(struct fs *fs, cJSON *ret)
{
	cJSON *o = cJSON_AddObjectToObject(ret, "ops");

	for (int op = 0; op < JOURNAL_OPS; op++) {
		uint64_t n = atomic_load(&fs->ops[op]);

		if (n)
			put(o, journal_op_name((enum journal_op)op), n);
	}
}

static void put_descriptors(struct fs *fs, cJSON *ret)
{
	cJSON *o = cJSON_AddObjectToObject(ret, "descriptors");
	struct hold_stats st;

	hold_stat(fs->inodes, &st);
	put(o, "limit", (uint64_t)fs_descriptors());
	put(o, "held", st.held);
	put(o, "closed", st.closed);
	put(o, "reopened", st.reopened);
	put(o, "stale", st.stale);
	put(o, "refused", atomic_load(&fs->opens_refused));
}

static void put_counts(struct fs *fs, cJSON *ret)
{
	struct inodes_counts counts;
	cJSON *cache;

	inodes_count(fs->inodes, &counts);
	put(ret, "inodes", counts.inodes);
	put(ret, "lookups", counts.lookups);
	put(ret, "handles", handles_count(fs));
	put(ret, "actors", actors_count(fs->actors));
	cache = cJSON_AddObjectToObject(ret, "cache");
	put(cache, "kept", atomic_load(&fs->opens_kept));
	put(cache, "dropped", atomic_load(&fs->opens_dropped));
	put(cache, "passed", atomic_load(&fs->opens_passed));
}

static void put_awake(cJSON *ret)
{
	cJSON *awake = cJSON_AddObjectToObject(ret, "awake");
	struct awake_stats stats;

	awake_stat(&stats);
	(void)cJSON_AddBoolToObject(awake, "able", stats.able);
	put(awake, "times", stats.times);
}

static void answer_status(const struct answerer *a, cJSON *ret)
{
	put(ret, "pid", (uint64_t)getpid());
	put_path(ret, "repo", a->config->repo);
	put_path(ret, "mountpoint", a->config->mountpoint);
	/* /proc/PID/fd/N leads to the directory below the mount. */
	put(ret, "root_fd", (uint64_t)inodes_root_fd(a->fs->inodes));
	put(ret, "uptime_s",
	    (uint64_t)((clock_mono_ns() - a->started_ns) / NS_PER_S));
	(void)cJSON_AddStringToObject(ret, "libfuse", fuse_pkgversion());
	(void)cJSON_AddStringToObject(ret, "transport",
				      ring_used() ? "io_uring" : "device");
	put_journal(a->fs, ret);
	put_watch(a->fs, ret);
	put_awake(ret);
	put_versions(a->fs, ret);
	put_reads(a->fs, ret);
	put_counts(a->fs, ret);
	put_descriptors(a->fs, ret);
	put_ops(a->fs, ret);
}

/* -1: out of range. */
static int64_t time_of(const cJSON *question, const char *name)
{
	double ns = json_double(question, name, 0);

	return ns >= 0 && ns < 9e18 ? (int64_t)ns : -1;
}

static int answer_reads(const struct answerer *a, const cJSON *question,
			cJSON *ret)
{
	double pid = json_double(question, "pid", 0);
	struct reads_question q = {
		.pid = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0,
		.tree = cJSON_IsTrue(
			cJSON_GetObjectItemCaseSensitive(question, "tree")),
		.from_ns = time_of(question, "from_ns"),
		.to_ns = time_of(question, "to_ns"),
	};

	if (pid < 0 || pid > INT32_MAX || q.from_ns < 0 || q.to_ns < 0) {
		(void)cJSON_AddStringToObject(ret, "error",
					      "pid or time is out of range");
		return -EINVAL;
	}
	return reads_answer(a->fs->reads, &q, ret);
}

/* Is the directory removed, and only held by those who have it open? */
static bool is_removed(int dir_fd)
{
	struct stat st;

	return dir_fd >= 0 && fstat(dir_fd, &st) == 0 && st.st_nlink == 0;
}

/*
 * If the state directory was removed and made anew (by the tape, when it was
 * started again), go on in the new one, and lock it.
 */
static void follow_state(struct answerer *a)
{
	CLEANUP(state_release)
	struct state s = { .dir_fd = -1, .lock_fd = -1 };

	if (!a->fs->journal || !is_removed(a->config->state_fd) ||
	    state_init(a->config->repo, 0, &s, NULL) < 0 || s.dir_fd < 0 ||
	    state_lock(&s, NULL) < 0)
		return;
	(void)dup3(s.dir_fd, a->config->state_fd, O_CLOEXEC);
	(void)journal_move(a->fs->journal, s.dir_fd);
	close_p(&a->lock_fd);
	a->lock_fd = take_fd(&s.lock_fd);
}

int answer(void *ctx, const char *ask, const cJSON *question, cJSON *ret)
{
	struct answerer *a = ctx;

	follow_state(a);
	if (strcmp(ask, "STATUS") == 0) {
		answer_status(a, ret);
		return 0;
	}
	if (strcmp(ask, "READS") == 0)
		return answer_reads(a, question, ret);
	return -ENOSYS;
}
