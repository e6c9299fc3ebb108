/*
 * statetape tape: finds the directory below the mount and runs the daemon.
 *
 * If the repository is mounted over itself, its path leads through the mount.
 * The file system process has the directory below open and names the
 * descriptor; any process of the same user can open it again through /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tape/daemon.h"
#include "tools/cli/config.h"
#include "tools/cli/options.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

static const char *announced; /* the repository's path */

static void announce(size_t files, size_t symbols)
{
	(void)printf("statetape: tape of %s is ready: %zu files, %zu symbols\n",
		     announced, files, symbols);
	(void)fflush(stdout);
}

static bool is_mounted_over(const struct state *s)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };

	return mount_find(s->repo, NULL, &e) == 0 && strcmp(e.id, s->id) == 0;
}

/* Ask the file system process which directory it serves. */
static int open_below(const struct state *s)
{
	CLEANUP(json_p) cJSON *answer = NULL;
	const cJSON *pid, *fd;
	char path[64];
	int r = repo_ask(s, "STATUS", NULL, &answer);

	if (r < 0)
		return r;
	pid = cJSON_GetObjectItemCaseSensitive(answer, "pid");
	fd = cJSON_GetObjectItemCaseSensitive(answer, "root_fd");
	if (!cJSON_IsNumber(pid) || !cJSON_IsNumber(fd))
		return -EPROTO;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid->valueint,
		       fd->valueint);
	r = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int open_root(const struct state *s)
{
	int fd;

	if (is_mounted_over(s))
		return open_below(s);
	fd = open(s->repo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Find the state, creating its directories. */
static int make_state(struct state *s)
{
	CLEANUP(state_release) struct state made = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *why = NULL;
	struct state found;
	int r = state_init(s->repo, 1, &made, &why);

	if (r < 0) {
		(void)say_error("%s", why ? why : errno_text(r));
		return r;
	}
	found = *s;
	*s = made;
	made = found;
	return 0;
}

/* What the user set for all tapes; an option overrides its key. */
static int find_settings(const struct invocation *in, struct config *config,
			 struct tape_config *c)
{
	const struct option_value *o = &in->options[OPTION_KEEP];
	CLEANUP(free_p) char *why = NULL;
	const char *every;

	if (config_load(config, NULL, &why) < 0)
		return say_error("%s", why);
	if (o->given && !config_allows(CONFIG_KEEP, o->text)) {
		why = config_complaint(CONFIG_KEEP, o->text);
		return say_usage_error("--keep: %s", why);
	}
	if (o->given)
		config_set(config, CONFIG_KEEP, o->text);
	if (config->values[CONFIG_KEEP])
		(void)options_keep(config->values[CONFIG_KEEP], &c->keep_days,
				   &c->keep_bytes);
	c->anchors = config->values[CONFIG_ANCHOR];
	every = config->values[CONFIG_ANCHOR_EVERY];
	c->anchor_every = every ? strtoull(every, NULL, 10) : 0;
	return 0;
}

int verb_tape(const struct invocation *in)
{
	CLEANUP(state_release) struct state s = REPO_STATE_EMPTY;
	CLEANUP(config_release) struct config config = { 0 };
	CLEANUP(close_p) int root_fd = -1;
	struct tape_config c = { .state = &s,
				 .journal = !in->options[OPTION_NO_MOUNT].given,
				 .ready = announce };
	int wrong = find_settings(in, &config, &c);

	if (wrong)
		return wrong;
	if (repo_find(in->arguments[0], &s) < 0 || make_state(&s) < 0)
		return EXIT_FAILURE;
	if (in->options[OPTION_ROOT_FD].given)
		root_fd = (int)in->options[OPTION_ROOT_FD].number;
	else
		root_fd = open_root(&s);
	if (root_fd < 0)
		return say_error("the directory of '%s' cannot be opened: %s",
				 s.repo, errno_text(root_fd));
	c.root_fd = root_fd;
	announced = s.repo;
	return tape_run(&c) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
