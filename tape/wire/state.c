/*
 * The id is made from the repository's canonical path, which is the same
 * whether its mount is absent, alive or dead (path.c).
 *
 * Another user can predict the name of a socket directory below a shared
 * temporary directory, and make it first. So it is made and opened without
 * following links, and refused unless it is ours and closed to others, by
 * clients too: its owner could answer in our place.
 */
#include "tape/wire/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph/base/cleanup.h"
#include "graph/base/path.h"

#define STATE_NAME	     "statetape"
#define STATE_IN_HOME	     ".local/state"
#define STATE_LOCK	     "lock"
#define STATE_REPO	     "repo" /* holds the repository's path, as it is */
#define STATE_FS_SOCKET	     "fs.sock"
#define STATE_TAPE_SOCKET    "tape.sock"
#define STATE_PUB_SOCKET     "tape.pub"
#define STATE_BELL_SOCKET    "bell.sock"
#define STATE_MANAGER_SOCKET "manager.sock"
#define STATE_LONGEST	     "manager-63.sock" /* the longest in `run` */
#define LOG_MAX		     (1 << 20)	       /* a longer log begins anew */

#define ID_NAME_MAX 40

static const struct state state_empty = { .dir_fd = -1, .lock_fd = -1 };

/* Set *ret_why, unless it is NULL, and return `rc`. */
__attribute__((format(printf, 3, 4))) static int fail(int rc, char **ret_why,
						      const char *format, ...)
{
	va_list args;
	char *why;

	if (!ret_why)
		return rc;
	va_start(args, format);
	*ret_why = vasprintf(&why, format, args) < 0 ? NULL : why;
	va_end(args);
	return rc;
}

static const char *reason(int rc)
{
	const char *text = strerrordesc_np(-rc);

	return text ? text : "unknown error";
}

static int find_repo(const char *repo, char **ret, char **ret_why)
{
	CLEANUP(free_p) char *path = NULL;
	int rc = path_canonical(repo, false, &path);

	if (rc != 0)
		return fail(rc, ret_why, "'%s' cannot be found: %s.", repo,
			    reason(rc));
	if (!path_is_dir(path))
		return fail(-ENOTDIR, ret_why, "'%s' is not a directory.",
			    path);
	*ret = TAKE(path);
	return 0;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

static int make_id(const char *repo, char **ret)
{
	const char *name = strrchr(repo, '/') + 1;
	uint64_t hash = XXH3_64bits(repo, strlen(repo));
	char plain[ID_NAME_MAX + 1];
	size_t len = 0;
	char *id;

	if (!*name)
		name = "root";
	for (; name[len] && len < ID_NAME_MAX; len++)
		plain[len] = (char)(is_plain(name[len]) ? name[len] : '_');
	plain[len] = '\0';
	/* The state of a hidden repository must not be hidden. */
	if (plain[0] == '.')
		plain[0] = '_';
	if (asprintf(&id, "%s-%016llx", plain, (unsigned long long)hash) < 0)
		return -ENOMEM;
	*ret = id;
	return 0;
}

/* An absolute path from the environment; the XDG rules ignore others. */
static const char *env_path(const char *name)
{
	const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value && value[0] == '/' ? value : NULL;
}

/* `name` below the home directory of the password file. */
static int in_passwd_home(const char *name, char **ret)
{
	char text[1 << 14];
	struct passwd entry, *found;

	if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) != 0 ||
	    !found || entry.pw_dir[0] != '/')
		return -ENOENT;
	return path_join(entry.pw_dir, name, ret);
}

/* The directory for the user's state, canonical; it may not exist. */
static int find_state_home(char **ret)
{
	const char *xdg = env_path("XDG_STATE_HOME");
	const char *home = env_path("HOME");
	CLEANUP(free_p) char *path = NULL;
	int rc;

	if (xdg)
		return path_canonical(xdg, true, ret);
	rc = home ? path_join(home, STATE_IN_HOME, &path)
		  : in_passwd_home(STATE_IN_HOME, &path);
	return rc != 0 ? rc : path_canonical(path, true, ret);
}

/*
 * Our user id outside of any user namespace. Inside one we may be 0 without
 * being root, and root's directories are not for us.
 */
static unsigned outer_uid(void)
{
	CLEANUP(fclose_p) FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned long uid = geteuid();
	unsigned long range[3]; /* first inside, first outside, how many */
	char line[128], *at;

	while (map && fgets(line, sizeof(line), map)) {
		at = line;
		for (int n = 0; n < 3; n++)
			range[n] = strtoul(at, &at, 10);
		if (uid >= range[0] && uid - range[0] < range[2])
			return (unsigned)(range[1] + (uid - range[0]));
	}
	return (unsigned)uid;
}

/* Two levels below an existing directory: base/name/id. */
struct state_place {
	char *base; /* canonical */
	char name[sizeof(STATE_NAME "-4294967295")];
	char *path; /* all of it */
};

static void place_release(struct state_place *p)
{
	free(p->base);
	free(p->path);
	*p = (struct state_place){ 0 };
}

/* `p->base` is set. In a shared base the name says whose it is. */
static int place_name(struct state_place *p, bool shared, const char *id)
{
	CLEANUP(free_p) char *dir = NULL;
	int rc;

	if (shared)
		(void)snprintf(p->name, sizeof(p->name), STATE_NAME "-%u",
			       outer_uid());
	else
		(void)snprintf(p->name, sizeof(p->name), STATE_NAME);
	rc = path_join(p->base, p->name, &dir);
	if (rc == 0)
		rc = path_join(dir, id, &p->path);
	return rc;
}

static int find_dir(const char *id, struct state_place *ret, char **ret_why)
{
	int rc = find_state_home(&ret->base);

	if (rc == 0)
		return place_name(ret, false, id);
	(void)fail(rc, ret_why,
		   "There is no place for state: %s. Set HOME or "
		   "XDG_STATE_HOME.",
		   reason(rc));
	return rc;
}

static bool sockets_fit(const char *run)
{
	return strlen(run) + sizeof("/" STATE_LONGEST) <=
	       sizeof(((struct sockaddr_un *)0)->sun_path);
}

/* Can no other user have put anything there? */
static bool is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* -ENOENT: not a place for sockets. */
static int try_run(const char *base, bool shared, const char *id,
		   struct state_place *ret)
{
	CLEANUP(place_release) struct state_place p = { 0 };
	struct stat st;
	int rc;

	if (!base || stat(base, &st) < 0 || !S_ISDIR(st.st_mode))
		return -ENOENT;
	if (!shared && !is_private(&st))
		return -ENOENT;
	rc = path_canonical(base, false, &p.base);
	if (rc == 0)
		rc = place_name(&p, shared, id);
	if (rc != 0)
		return rc;
	if (!sockets_fit(p.path))
		return -ENOENT;
	*ret = p;
	p = (struct state_place){ 0 };
	return 0;
}

/*
 * The first place that exists, is ours, and leaves room for the sockets' names.
 * All processes with the same environment find the same one.
 */
static int find_run(const char *id, struct state_place *ret, char **ret_why)
{
	char user[sizeof("/run/user/4294967295")];
	int rc;

	(void)snprintf(user, sizeof(user), "/run/user/%u", outer_uid());
	rc = try_run(env_path("XDG_RUNTIME_DIR"), false, id, ret);
	if (rc == -ENOENT)
		rc = try_run(user, false, id, ret);
	if (rc == -ENOENT)
		rc = try_run(env_path("TMPDIR"), true, id, ret);
	if (rc == -ENOENT)
		rc = try_run(P_tmpdir, true, id, ret);
	if (rc == -ENOENT)
		(void)fail(rc, ret_why,
			   "There is no place for sockets: neither "
			   "XDG_RUNTIME_DIR nor '%s' is a directory of ours "
			   "with a path short enough for a socket's.",
			   P_tmpdir);
	return rc;
}

static int keep_out(const char *path, const char *repo, const char *variable,
		    char **ret_why)
{
	if (!path_lies_in(path, repo))
		return 0;
	return fail(-EINVAL, ret_why,
		    "'%s' would lie inside the repository '%s', which is "
		    "never written to. Set %s to a directory outside it.",
		    path, repo, variable);
}

/* -EPERM: it exists, but is not ours alone and cannot be made so. */
static int open_private(int parent_fd, const char *name, bool create,
			int *ret_fd)
{
	CLEANUP(close_p) int fd = -1;
	struct stat st;

	if (create && mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent_fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -EPERM : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & ALLPERMS) != 0700 &&
	    (fchmod(fd, 0700) < 0 || fstat(fd, &st) < 0 ||
	     (st.st_mode & ALLPERMS) != 0700))
		return -EPERM;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int open_levels(const struct state_place *p, bool create, int *ret_fd)
{
	CLEANUP(close_p) int base_fd = -1;
	CLEANUP(close_p) int top_fd = -1;
	int rc;

	if (create && (rc = path_make(p->base)) < 0)
		return rc;
	base_fd = open(p->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -errno;
	rc = open_private(base_fd, p->name, create, &top_fd);
	if (rc == 0)
		rc = open_private(top_fd, strrchr(p->path, '/') + 1, create,
				  ret_fd);
	return rc;
}

/* A missing place is an error only with `create`. */
static int open_place(const struct state_place *p, bool create, int *ret_fd,
		      char **ret_why)
{
	int rc = open_levels(p, create, ret_fd);

	if (rc == 0 || (rc == -ENOENT && !create))
		return 0;
	if (rc == -EPERM)
		return fail(rc, ret_why,
			    "'%s' and the directory it is in must be "
			    "directories that belong to you and are closed to "
			    "others.",
			    p->path);
	return fail(rc, ret_why, "'%s' cannot be %s: %s.", p->path,
		    create ? "made" : "opened", reason(rc));
}

static int find_places(struct state *s, struct state_place *dir,
		       struct state_place *run, char **ret_why)
{
	int rc;

	rc = find_dir(s->id, dir, ret_why);
	if (rc == 0)
		rc = find_run(s->id, run, ret_why);
	/* A lookup by id creates nothing that could lie in the repository. */
	if (rc == 0 && s->repo)
		rc = keep_out(dir->path, s->repo, "XDG_STATE_HOME", ret_why);
	if (rc == 0 && s->repo)
		rc = keep_out(run->path, s->repo, "XDG_RUNTIME_DIR", ret_why);
	return rc;
}

static int find_all(struct state *s, bool create, char **ret_why)
{
	CLEANUP(place_release) struct state_place dir = { 0 };
	CLEANUP(place_release) struct state_place run = { 0 };
	CLEANUP(close_p) int run_fd = -1;
	int rc;

	rc = find_places(s, &dir, &run, ret_why);
	if (rc == 0)
		rc = open_place(&dir, create, &s->dir_fd, ret_why);
	if (rc == 0)
		rc = open_place(&run, create, &run_fd, ret_why);
	if (rc == 0)
		rc = path_join(run.path, STATE_FS_SOCKET, &s->fs_socket);
	if (rc == 0)
		rc = path_join(run.path, STATE_BELL_SOCKET, &s->bell_socket);
	if (rc == 0)
		rc = path_join(run.path, STATE_TAPE_SOCKET, &s->tape_socket);
	if (rc == 0)
		rc = path_join(run.path, STATE_PUB_SOCKET, &s->pub_socket);
	if (rc == 0)
		rc = path_join(run.path, STATE_MANAGER_SOCKET,
			       &s->manager_socket);
	if (rc != 0)
		return rc;
	s->dir = TAKE(dir.path);
	s->run = TAKE(run.path);
	return 0;
}

/* An id holds a hash of the path; this file holds the path itself. */
static void write_repo(const struct state *s)
{
	CLEANUP(close_p)
	int fd = openat(s->dir_fd, STATE_REPO,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);

	/* If the disk is full, read_repo() notices by the id. */
	if (fd >= 0)
		(void)!write(fd, s->repo, strlen(s->repo));
}

static int read_repo(int dir_fd, const char *id, char **ret)
{
	CLEANUP(close_p)
	int fd = openat(dir_fd, STATE_REPO, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(free_p) char *made = NULL;
	char path[PATH_MAX];
	ssize_t n;
	int rc;

	if (fd < 0)
		return -errno;
	n = read(fd, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return -ENOENT;
	path[n] = '\0';
	rc = make_id(path, &made);
	if (rc < 0)
		return rc;
	if (strcmp(made, id) != 0)
		return -ENOENT;
	return path_copy(path, ret);
}

int state_init(const char *repo, int create, struct state *ret, char **ret_why)
{
	CLEANUP(state_release) struct state s = state_empty;
	int rc;

	rc = find_repo(repo, &s.repo, ret_why);
	if (rc == 0)
		rc = make_id(s.repo, &s.id);
	if (rc == 0)
		rc = find_all(&s, create, ret_why);
	if (rc != 0)
		return rc;
	if (create)
		write_repo(&s);
	*ret = s;
	s = state_empty;
	return 0;
}

int state_init_id(const char *id, struct state *ret, char **ret_why)
{
	CLEANUP(state_release) struct state s = state_empty;
	int rc;

	if (!*id || *id == '.' || strchr(id, '/'))
		return fail(-ENOENT, ret_why, "'%s' is no id.", id);
	rc = path_copy(id, &s.id);
	if (rc == 0)
		rc = find_all(&s, false, ret_why);
	if (rc != 0)
		return rc;
	rc = s.dir_fd < 0 ? -ENOENT : read_repo(s.dir_fd, id, &s.repo);
	if (rc < 0)
		return fail(rc, ret_why, "Nothing is known of '%s': %s.", id,
			    reason(rc));
	*ret = s;
	s = state_empty;
	return 0;
}

/* The id that a repository has or had at `path`. */
static int id_of_path(const char *path, char **ret)
{
	CLEANUP(free_p) char *whole = NULL;

	/* Where its parents are gone, too, it is taken as it is. */
	if (path_canonical(path, true, &whole) == 0)
		return make_id(whole, ret);
	return *path == '/' ? make_id(path, ret) : -ENOENT;
}

int state_find(const char *name, struct state *ret, char **ret_why)
{
	CLEANUP(state_release) struct state s = state_empty;
	int rc = id_of_path(name, &s.id);

	if (rc == 0)
		rc = find_all(&s, false, ret_why);
	if (rc == 0 && s.dir_fd < 0 && !strchr(name, '/') && *name != '.') {
		state_release(&s);
		rc = path_copy(name, &s.id);
		if (rc == 0)
			rc = find_all(&s, false, ret_why);
	}
	if (rc == 0 && s.dir_fd < 0)
		rc = -ENOENT;
	if (rc < 0)
		return fail(rc, ret_why, "There is no state of '%s'.", name);
	if (read_repo(s.dir_fd, s.id, &s.repo) < 0)
		rc = path_copy(name, &s.repo);
	if (rc < 0)
		return rc;
	*ret = s;
	s = state_empty;
	return 0;
}

static int is_id(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int state_list(char ***ret_ids, size_t *ret_n)
{
	CLEANUP(free_p) char *base = NULL;
	CLEANUP(free_p) char *dir = NULL;
	struct dirent **entries = NULL;
	char **ids;
	int n;
	int rc = find_state_home(&base);

	if (rc == 0)
		rc = path_join(base, STATE_NAME, &dir);
	if (rc != 0)
		return rc;
	n = scandir(dir, &entries, is_id, alphasort);
	if (n < 0 && errno != ENOENT)
		return -errno;
	ids = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(*ids));
	rc = ids ? 0 : -ENOMEM;
	for (int i = 0; i < n; i++) {
		if (rc == 0 && !(ids[i] = strdup(entries[i]->d_name)))
			rc = -ENOMEM;
		free(entries[i]);
	}
	free(entries);
	if (rc < 0) {
		state_list_free(ids, (size_t)(n > 0 ? n : 0));
		return rc;
	}
	*ret_ids = ids;
	*ret_n = (size_t)(n > 0 ? n : 0);
	return 0;
}

void state_list_free(char **ids, size_t n)
{
	for (size_t i = 0; ids && i < n; i++)
		free(ids[i]);
	free(ids);
}

void state_release(struct state *s)
{
	if (!s)
		return;
	free(s->repo);
	free(s->id);
	free(s->dir);
	free(s->run);
	free(s->fs_socket);
	free(s->bell_socket);
	free(s->tape_socket);
	free(s->pub_socket);
	free(s->manager_socket);
	close_p(&s->dir_fd);
	close_p(&s->lock_fd);
	*s = state_empty;
}

/*
 * The holder's pid, from the lock's file. Until a new holder has written its
 * own, the file has the pid of the last one, which has ended.
 */
static pid_t lock_holder(int fd)
{
	char text[16];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *end;
	long pid;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	errno = 0;
	pid = strtol(text, &end, 10);
	if (*end != '\n' || errno != 0 || pid <= 0 || pid > INT_MAX)
		return 0;
	if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return 0;
	return (pid_t)pid;
}

static void lock_sign(int fd)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	/* If the disk is full, the holder stays unnamed. */
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, text, (size_t)len, 0);
}

int state_lock(struct state *s, pid_t *ret_pid)
{
	CLEANUP(close_p) int fd = -1;

	if (s->dir_fd < 0)
		return -ENOENT;
	if (s->lock_fd >= 0) {
		lock_sign(s->lock_fd);
		return 0;
	}
	fd = openat(s->dir_fd, STATE_LOCK,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (ret_pid)
			*ret_pid = lock_holder(fd);
		return -EBUSY;
	}
	lock_sign(fd);
	s->lock_fd = take_fd(&fd);
	return 0;
}

int state_open_log(const struct state *s, const char *name, int *ret_fd,
		   off_t *ret_end)
{
	CLEANUP(close_p)
	int fd = openat(s->dir_fd, name,
			O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > LOG_MAX && ftruncate(fd, 0) == 0)
		st.st_size = 0;
	*ret_end = st.st_size;
	*ret_fd = take_fd(&fd);
	return 0;
}

void state_copy_log(int fd, off_t at, FILE *out)
{
	char text[1024];
	ssize_t n;

	while ((n = pread(fd, text, sizeof(text), at)) > 0) {
		(void)fwrite(text, 1, (size_t)n, out);
		at += n;
	}
}
