/*
 * statetape manager: runs the brain (manager/decide), the HTTP proxy in front
 * of it (manager/http) and the socket that answers questions about both, until
 * a signal ends it.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/cleanup.h"
#include "graph/base/proc_stat.h"
#include "manager/decide/brain.h"
#include "manager/http/proxy.h"
#include "manager/http/secret.h"
#include "manager/policy/policy.h"
#include "tape/wire/state.h"
#include "tape/wire/wire.h"
#include "tools/cli/handover.h"
#include "tools/cli/options.h"
#include "tools/cli/repo.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"

#define PORT_MAX 65535
#define OWN_NAME "statetape" /* what users call policy_defaults */
/* Of the archive, unless the user says otherwise. */
#define KEEP_DAYS  30
#define KEEP_BYTES (256ull << 20)

struct service {
	struct state state;
	struct handover given; /* by `run` */
	struct brain *brain;
	struct proxy *proxy;
	struct wire_server *wire;
	unsigned slot; /* our number among the repository's managers */
};

/* Close the proxy first: requests in progress still need the brain. */
static void service_release(struct service *s)
{
	CLEANUP(free_p)
	char *where =
		s->wire ? manager_path(&s->state, s->slot, ".json") : NULL;

	if (where)
		(void)unlink(where);
	wire_server_free(s->wire);
	proxy_free(s->proxy);
	brain_free(s->brain);
	handover_release(&s->given);
	state_release(&s->state);
}

static const char *env(const char *name)
{
	const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value && *value ? value : NULL;
}

static const char *first(const char *a, const char *b, const char *c,
			 const char *d)
{
	if (a)
		return a;
	if (b)
		return b;
	return c ? c : d;
}

static const char *upstream(const struct invocation *in, enum option_id option)
{
	const char *said = in->options[option].text;

	return said ? said : in->options[OPTION_UPSTREAM].text;
}

static void find_bases(const struct invocation *in,
		       const struct handover *given, struct proxy_config *c)
{
	c->bases[API_ANTHROPIC] =
		first(given->anthropic, upstream(in, OPTION_ANTHROPIC_UPSTREAM),
		      env("ANTHROPIC_BASE_URL"), "https://api.anthropic.com");
	c->bases[API_OPENAI] =
		first(given->openai, upstream(in, OPTION_OPENAI_UPSTREAM),
		      env("OPENAI_BASE_URL"), "https://api.openai.com");
	c->bases[API_CHATGPT] =
		first(given->chatgpt, upstream(in, OPTION_CHATGPT_UPSTREAM),
		      NULL, "https://chatgpt.com/backend-api/codex");
}

/* Every user can read a command line, and so a password on it. */
static int check_options(const struct invocation *in)
{
	static const enum option_id urls[] = {
		OPTION_UPSTREAM,
		OPTION_ANTHROPIC_UPSTREAM,
		OPTION_OPENAI_UPSTREAM,
		OPTION_CHATGPT_UPSTREAM,
	};

	if (in->options[OPTION_PORT].number > PORT_MAX)
		return say_usage_error("there is no port above %d", PORT_MAX);
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		const char *url = in->options[urls[i]].text;

		if (url && strchr(url, '@'))
			return say_usage_error(
				"an address with a user or password must not "
				"be on a command line, which every user can "
				"read: set ANTHROPIC_BASE_URL or "
				"OPENAI_BASE_URL to it instead");
	}
	return EXIT_SUCCESS;
}

static int read_handover(const struct invocation *in, struct service *s)
{
	const struct option_value *o = &in->options[OPTION_HANDOVER_FD];
	int rc = o->given ? handover_read((int)o->number, &s->given) : 0;

	if (o->given)
		(void)close((int)o->number);
	if (rc < 0)
		return say_error("nothing was handed over: %s", errno_text(rc));
	return EXIT_SUCCESS;
}

static int find_mode(const char *name, enum mode *ret)
{
	*ret = MODE_PINNED;
	if (!name)
		return EXIT_SUCCESS;
	for (int i = 0; i < MODES; i++)
		if (strcmp(name, mode_names[i]) == 0) {
			*ret = (enum mode)i;
			return EXIT_SUCCESS;
		}
	return say_usage_error("--mode is pinned, eager or off, not '%s'",
			       name);
}

/* Create the state directory if missing: the archive is kept there. */
static int find_state(const char *argument, struct state *ret)
{
	CLEANUP(state_release) struct state found = REPO_STATE_EMPTY;
	CLEANUP(free_p) char *why = NULL;
	int r = repo_find(argument, &found);

	if (r < 0)
		return r;
	r = state_init(found.repo, 1, ret, &why);
	if (r < 0)
		(void)say_error("%s", why ? why : errno_text(r));
	return r;
}

static void say(void *arg, const char *text)
{
	(void)arg;
	(void)say_error("%s", text);
}

static bool is_same(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/*
 * Another path of the repository (free it): the shell's path over a symbolic
 * link, or the mountpoint. NULL: none.
 */
static char *other_path(const struct state *s, const char *cwd)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };
	size_t len = strlen(s->repo), pwd_len, inside;
	const char *pwd = env("PWD");

	if (cwd && strncmp(cwd, s->repo, len) == 0 && pwd && *pwd == '/' &&
	    strcmp(pwd, cwd) != 0 && is_same(pwd, cwd)) {
		pwd_len = strlen(pwd);
		inside = strlen(cwd + len);
		if (pwd_len > inside &&
		    strcmp(pwd + pwd_len - inside, cwd + len) == 0)
			return format_text("%.*s", (int)(pwd_len - inside),
					   pwd);
	}
	if (mount_find(NULL, s->id, &e) == 0 && e.mountpoint &&
	    strcmp(e.mountpoint, s->repo) != 0)
		return format_text("%s", e.mountpoint);
	return NULL;
}

static int find_keep(const struct invocation *in, struct brain_options *o)
{
	const struct option_value *given = &in->options[OPTION_KEEP];
	const char *text = given->given ? given->text : env("STATETAPE_KEEP");

	o->keep_days = KEEP_DAYS;
	o->keep_bytes = KEEP_BYTES;
	if (text && options_keep(text, &o->keep_days, &o->keep_bytes) < 0)
		return say_usage_error("--keep wants days, a size, or both, "
				       "such as 30, 2G or 30/2G, not '%s'",
				       text);
	return EXIT_SUCCESS;
}

/* The run that started us, also if it did so again. */
static char *parent_name(void)
{
	struct proc_stat st = { 0 };

	(void)proc_stat_read(getppid(), &st);
	return format_text("%d.%llu", getppid(), (unsigned long long)st.start);
}

static int open_brain(const struct invocation *in, struct service *s)
{
	const char *policy = in->options[OPTION_POLICY].text;
	/* The agent's working directory: as 'run' says, else our own. */
	const char *said = env(MANAGER_CWD);
	CLEANUP(free_p) char *cwd = said ? strdup(said) : getcwd(NULL, 0);
	CLEANUP(free_p) char *other = other_path(&s->state, cwd);
	CLEANUP(free_p) char *run = parent_name();
	struct brain_options o = {
		.repo = s->state.repo,
		.other = other,
		.cwd = cwd,
		.tape_socket = s->state.tape_socket,
		.pub_socket = s->state.pub_socket,
		.dir = s->state.dir,
		.policy = policy_find(policy ? policy : OWN_NAME),
		.no_prompts = in->options[OPTION_NO_PROMPTS].given,
		.run = said ? run : NULL,
		.say = say,
	};
	CLEANUP(free_p) char *why = NULL;
	int code = find_mode(in->options[OPTION_MODE].text, &o.mode);
	int r;

	if (code == EXIT_SUCCESS)
		code = find_keep(in, &o);
	if (code != EXIT_SUCCESS)
		return code;
	if (!o.policy)
		return say_error("there is no policy '%s'; %s", policy,
				 policy_list());
	r = brain_new(&o, &s->brain, &why);
	if (r < 0)
		return say_error("%s", why ? why : errno_text(r));
	return EXIT_SUCCESS;
}

/* The first socket without a living manager. */
static int open_socket(struct service *s)
{
	int r = -EADDRINUSE;

	for (s->slot = 0; r == -EADDRINUSE && s->slot < MANAGERS_MAX;) {
		CLEANUP(free_p)
		char *path = manager_path(&s->state, s->slot, ".sock");

		r = wire_server_open(path, proxy_answer, s->proxy, &s->wire);
		if (r == -EADDRINUSE)
			s->slot++;
	}
	if (r < 0)
		return say_error(
			"cannot open the manager's socket for '%s': %s",
			s->state.repo, errno_text(r));
	assert(s->wire && s->slot < MANAGERS_MAX);
	return EXIT_SUCCESS;
}

static int open_proxy(const struct invocation *in, struct service *s)
{
	const char *deadline = env("STATETAPE_DEADLINE_MS");
	struct proxy_config c = {
		.secret =
			s->given.secret ? s->given.secret : env(MANAGER_SECRET),
		.brain = s->brain,
		.port = (uint16_t)in->options[OPTION_PORT].number,
		.listen_fd = (int)in->options[OPTION_LISTEN_FD].number,
		.deadline_ms = deadline ? (int)strtol(deadline, NULL, 10) : 0,
	};
	int r;

	if (c.secret && !secret_allows(c.secret))
		return say_error(MANAGER_SECRET " must be %d to %d letters and "
						"digits",
				 SECRET_MIN, SECRET_MAX);
	find_bases(in, &s->given, &c);
	r = proxy_open(&c, &s->proxy);
	if (r == -EINVAL)
		return say_error("an upstream address must begin with http:// "
				 "or https:// and a host, and have no query");
	if (r == -ELOOP)
		return say_error("an upstream address is the manager's own; "
				 "requests would loop for ever");
	if (r == -ENOTSOCK || r == -EBADF)
		return say_error("descriptor %d is not a socket that listens "
				 "on 127.0.0.1",
				 c.listen_fd);
	if (r < 0)
		return say_error("cannot listen on port %u of 127.0.0.1: %s",
				 c.port, errno_text(r));
	return open_socket(s);
}

/* Write our address for other programs: a whole file, or none. */
static int write_where(const struct service *s)
{
	CLEANUP(free_p)
	char *path = manager_path(&s->state, s->slot, ".json");
	CLEANUP(free_p)
	char *fresh = manager_path(&s->state, s->slot, ".json.new");
	CLEANUP(free_p)
	char *text = format_text("{\"port\":%u,\"pid\":%d}\n",
				 proxy_port(s->proxy), getpid());
	CLEANUP(close_p)
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t len = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)len) != len ||
	    rename(fresh, path) < 0)
		return say_error("'%s' cannot be written: %s", path,
				 errno_text(errno));
	return EXIT_SUCCESS;
}

/* A secret that somebody else has chosen is not printed. */
static void print_address(const struct service *s)
{
	unsigned port = proxy_port(s->proxy);
	const char *secret = proxy_secret(s->proxy);

	if (s->given.secret || env(MANAGER_SECRET))
		(void)printf("listening on http://127.0.0.1:%u\n", port);
	else
		(void)printf("listening on http://127.0.0.1:%u/%s\n"
			     "For one of your agents, set its address to it:\n"
			     "  ANTHROPIC_BASE_URL=http://127.0.0.1:%u/%s\n"
			     "  OPENAI_BASE_URL=http://127.0.0.1:%u/%s/v1\n",
			     port, secret, port, secret, port, secret);
	(void)fflush(stdout);
}

static void wait_for_signal(void)
{
	sigset_t ends;
	int which;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigwait(&ends, &which);
}

/* Before the first thread is started: all threads inherit the mask. */
static void prepare_process(void)
{
	struct rlimit limit;
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN },
			NULL);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int verb_manager(const struct invocation *in)
{
	CLEANUP(service_release)
	struct service s = { .state = REPO_STATE_EMPTY };
	int code;

	code = check_options(in);
	if (code != EXIT_SUCCESS)
		return code;
	prepare_process();
	if (find_state(in->arguments[0], &s.state) < 0 ||
	    read_handover(in, &s) != EXIT_SUCCESS)
		return EXIT_FAILURE;
	code = in->options[OPTION_FORWARD].given ? EXIT_SUCCESS
						 : open_brain(in, &s);
	if (code == EXIT_SUCCESS)
		code = open_proxy(in, &s);
	if (code == EXIT_SUCCESS)
		code = write_where(&s);
	if (code != EXIT_SUCCESS)
		return code;
	print_address(&s);
	wait_for_signal();
	return EXIT_SUCCESS;
}
