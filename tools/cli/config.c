/*
 * See config.h.
 */
#include "tools/cli/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "tools/cli/say.h"

#define FILE_MAX (64 << 10)
#define WORD_MAX 64

static const char *const modes[] = { "pinned", "eager", "off", NULL };
static const char *const policies[] = { "statetape", "control", NULL };
static const char *const mounts[] = { "auto", "private", "visible", "none",
				      NULL };
static const char *const truths[] = { "true", "false", NULL };

const struct config_row config_rows[CONFIGS] = {
	[CONFIG_MODE] = { "run", "mode", "STATETAPE_MODE", modes, false,
			  "How stale records are handled: pinned (a note "
			  "at once, rewriting when it is cheap), eager (in "
			  "place, at once) or off (observe and report)" },
	[CONFIG_POLICY] = { "run", "policy", "STATETAPE_POLICY", policies,
			    false,
			    "Which policy decides: statetape, or control, "
			    "which leaves every request as it is" },
	[CONFIG_MOUNT] = { "run", "mount", "STATETAPE_MOUNT", mounts, false,
			   "How the repository is mounted: private, visible, "
			   "none, or auto, the first of these that works" },
	[CONFIG_PROMPTS] = { "run", "prompts", "STATETAPE_PROMPTS", truths,
			     true,
			     "Whether the tape keeps the first words of "
			     "prompts, for 'statetape log --turns': true "
			     "or false" },
	[CONFIG_ANTHROPIC] = { "upstream", "anthropic",
			       "STATETAPE_ANTHROPIC_UPSTREAM", NULL, true,
			       "Where Anthropic requests go" },
	[CONFIG_OPENAI] = { "upstream", "openai", "STATETAPE_OPENAI_UPSTREAM",
			    NULL, true, "Where OpenAI requests go" },
	[CONFIG_CHATGPT] = { "upstream", "chatgpt",
			     "STATETAPE_CHATGPT_UPSTREAM", NULL, true,
			     "Where requests of a ChatGPT login go" },
};

const char config_description[] =
	"Defaults for run can be set for all repositories in "
	"$XDG_CONFIG_HOME/statetape/config.toml "
	"(~/.config/statetape/config.toml if the variable is not set), for one "
	"repository in " CONFIG_REPO_FILE
	" at its top, and in environment variables. The repository's file "
	"overrides the user's, variables override both, and options on the "
	"command line override all.\n"
	"\n"
	"The files are TOML with the tables [run] and [upstream], whose keys "
	"have strings as values, or true and false. An unknown key or a value "
	"that is not allowed "
	"is reported with its file and line, and nothing is started. The "
	"repository's file is not trusted: it may not set the address that "
	"requests, and the keys in them, are sent to, nor what is kept of "
	"prompts.";

void config_release(struct config *c)
{
	for (int i = 0; i < CONFIGS; i++) {
		free(c->values[i]);
		c->values[i] = NULL;
	}
}

/*
 * An address that the manager can use: a known scheme, a host, an optional
 * path.
 */
static bool is_address(const char *value)
{
	size_t scheme = strncasecmp(value, "https://", 8) == 0 ? 8 : 7;

	if (scheme == 7 && strncasecmp(value, "http://", 7) != 0)
		return false;
	return !strchr("/?#", value[scheme]) && !strpbrk(value, " #?\r\n\t");
}

bool config_allows(enum config_key key, const char *value)
{
	const char *const *v;

	assert(key < CONFIGS);
	v = config_rows[key].values;
	if (!v)
		return is_address(value);
	while (*v && strcmp(*v, value) != 0)
		v++;
	return *v != NULL;
}

/* The allowed values as "pinned, eager, off" (free it). */
static char *values_text(const char *const *v)
{
	char *text = must_have(strdup(""));

	for (; *v; v++) {
		char *longer =
			format_text("%s%s%s", text, *text ? ", " : "", *v);

		free(text);
		text = longer;
	}
	return text;
}

char *config_complaint(enum config_key key, const char *value)
{
	const struct config_row *row = &config_rows[key];
	CLEANUP(free_p) char *allowed = NULL;

	assert(!config_allows(key, value));
	if (!row->values)
		return format_text("'%s' is not an address to send requests "
				   "to: it must begin with https:// or http:// "
				   "and have only a host and a path",
				   value);
	allowed = values_text(row->values);
	return format_text("'%s' is not a %s; allowed: %s", value, row->key,
			   allowed);
}

static int set(struct config *c, enum config_key key, const char *value,
	       const char *where, char **ret_why)
{
	CLEANUP(free_p) char *what = NULL;

	if (!config_allows(key, value)) {
		what = config_complaint(key, value);
		*ret_why = format_text("%s: %s", where, what);
		return -EINVAL;
	}
	free(c->values[key]);
	c->values[key] = must_have(strdup(value));
	return 0;
}

/* Parsing one file. */
struct config_reading {
	const char *at, *end;
	unsigned line;
	const char *name;
	bool theirs;
	char table[WORD_MAX]; /* the present table; "": none yet */
	char in[WORD_MAX];    /* the table and key that the line sets */
	char key[WORD_MAX];
	char value[FILE_MAX];
	unsigned seen[CONFIGS]; /* the line that set it; 0: not set yet */
	char **ret_why;
};

static int wrong(struct config_reading *r, const char *what)
{
	*r->ret_why = format_text("%s:%u: %s", r->name, r->line, what);
	return -EINVAL;
}

static void skip_blanks(struct config_reading *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

/* A bare key: letters, digits, dashes and underscores. */
static int read_word(struct config_reading *r, char ret[static WORD_MAX])
{
	size_t n = 0;

	while (r->at < r->end && n < WORD_MAX - 1 &&
	       (isalnum((unsigned char)*r->at) || *r->at == '_' ||
		*r->at == '-'))
		ret[n++] = *r->at++;
	ret[n] = '\0';
	return n ? 0
		 : wrong(r, "expected a name of letters, digits, dashes and "
			    "underscores");
}

/* The character that a backslash and `c` stand for; 0: not supported. */
static char unescaped(char c)
{
	static const char from[] = "\"\\ntr", to[] = "\"\\\n\t\r";
	const char *p = c ? strchr(from, c) : NULL;

	if (!p)
		return '\0';
	return to[p - from];
}

static int read_string(struct config_reading *r)
{
	char quote = *r->at++;
	size_t n = 0;

	while (r->at < r->end && *r->at != quote && *r->at != '\n') {
		char c = *r->at++;

		if (c == '\\' && quote == '"') {
			if (r->at == r->end || !(c = unescaped(*r->at++)))
				return wrong(r, "unknown escape in a string");
		}
		r->value[n++] = c;
	}
	if (r->at == r->end || *r->at != quote)
		return wrong(r, "a string is not closed");
	r->at++;
	/* config_read() refuses a text of FILE_MAX bytes. */
	assert(n < sizeof(r->value));
	r->value[n] = '\0';
	return 0;
}

static int read_value(struct config_reading *r)
{
	size_t n = 0;

	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		return read_string(r);
	while (r->at < r->end && !strchr(" \t\r\n#", *r->at) &&
	       n < sizeof(r->value) - 1)
		r->value[n++] = *r->at++;
	r->value[n] = '\0';
	if (n == 0)
		return wrong(r, "a value is missing");
	if (strcmp(r->value, "true") == 0 || strcmp(r->value, "false") == 0 ||
	    strspn(r->value, "0123456789_+-") == n)
		return 0;
	return wrong(r, "a value must be a string in quotes");
}

static int no_such_key(struct config_reading *r)
{
	CLEANUP(free_p) char *what = NULL;

	if (*r->in)
		what = format_text("there is no key '%s' in [%s]", r->key,
				   r->in);
	else
		what = format_text("'%s' is in no table; put [run] or "
				   "[upstream] before it",
				   r->key);
	return wrong(r, what);
}

/* May this key be set in this file, once? */
static int check_key(struct config_reading *r, int key)
{
	CLEANUP(free_p) char *what = NULL;

	if (r->theirs && config_rows[key].users)
		what = format_text("a repository may not set '%s.%s'; set it "
				   "in your own config.toml",
				   r->in, r->key);
	else if (r->seen[key])
		what = format_text("'%s' is already set in line %u", r->key,
				   r->seen[key]);
	return what ? wrong(r, what) : 0;
}

static int store_value(struct config_reading *r, struct config *c)
{
	CLEANUP(free_p) char *where = format_text("%s:%u", r->name, r->line);
	int i = 0, rc;

	while (i < CONFIGS && (strcmp(config_rows[i].table, r->in) != 0 ||
			       strcmp(config_rows[i].key, r->key) != 0))
		i++;
	if (i == CONFIGS)
		return no_such_key(r);
	rc = check_key(r, i);
	if (rc < 0)
		return rc;
	r->seen[i] = r->line;
	return set(c, (enum config_key)i, r->value, where, r->ret_why);
}

/* A key, or "table.key" where no table has begun. */
static int read_key(struct config_reading *r)
{
	int rc = read_word(r, r->key);

	memcpy(r->in, r->table, sizeof(r->in));
	if (rc < 0 || *r->in || r->at == r->end || *r->at != '.')
		return rc;
	r->at++;
	memcpy(r->in, r->key, sizeof(r->in));
	return read_word(r, r->key);
}

static int read_pair(struct config_reading *r, struct config *c)
{
	int rc = read_key(r);

	skip_blanks(r);
	if (rc == 0 && (r->at == r->end || *r->at != '='))
		return wrong(r, "expected = after the key");
	if (rc < 0)
		return rc;
	r->at++;
	skip_blanks(r);
	rc = read_value(r);
	return rc < 0 ? rc : store_value(r, c);
}

static bool is_table(const char *name)
{
	for (int i = 0; i < CONFIGS; i++)
		if (strcmp(config_rows[i].table, name) == 0)
			return true;
	return false;
}

static int read_table(struct config_reading *r)
{
	CLEANUP(free_p) char *what = NULL;
	int rc;

	r->at++;
	skip_blanks(r);
	rc = read_word(r, r->table);
	if (rc < 0)
		return rc;
	skip_blanks(r);
	if (r->at == r->end || *r->at != ']')
		return wrong(r, "expected ] after the table's name");
	r->at++;
	if (is_table(r->table))
		return 0;
	what = format_text("there is no table [%s]", r->table);
	return wrong(r, what);
}

static int read_line(struct config_reading *r, struct config *c)
{
	int rc = 0;

	skip_blanks(r);
	if (r->at < r->end && *r->at == '[')
		rc = read_table(r);
	else if (r->at < r->end && !strchr("#\r\n", *r->at))
		rc = read_pair(r, c);
	if (rc < 0)
		return rc;
	skip_blanks(r);
	if (r->at < r->end && *r->at == '#')
		while (r->at < r->end && *r->at != '\n')
			r->at++;
	if (r->at < r->end && *r->at == '\r')
		r->at++;
	if (r->at < r->end && *r->at != '\n')
		return wrong(r, "unexpected text at the end of the line");
	r->at++;
	return 0;
}

int config_read(struct config *c, const char *name, const char *text,
		size_t len, bool theirs, char **ret_why)
{
	CLEANUP(free_p)
	struct config_reading *r = must_have(calloc(1, sizeof(*r)));
	int rc = 0;

	*r = (struct config_reading){ .at = text,
				      .end = text + len,
				      .name = name,
				      .theirs = theirs,
				      .ret_why = ret_why };
	if (len >= FILE_MAX || memchr(text, '\0', len)) {
		*ret_why = format_text("%s: not a configuration file: it is "
				       "too large or contains a NUL byte",
				       name);
		return -EINVAL;
	}
	while (rc == 0 && r->at < r->end) {
		r->line++;
		rc = read_line(r, c);
	}
	assert(rc == 0 || *ret_why);
	return rc;
}

static int load_file(struct config *c, const char *path, bool theirs,
		     char **ret_why)
{
	CLEANUP(free_p) char *text = must_have(malloc(FILE_MAX));
	CLEANUP(close_p)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	while (fd >= 0 && len < FILE_MAX &&
	       (n = read(fd, text + len, FILE_MAX - len)) > 0)
		len += (size_t)n;
	if (fd < 0 || n < 0) {
		*ret_why = format_text("cannot read '%s': %s", path,
				       errno_text(errno));
		return -EINVAL;
	}
	return config_read(c, path, text, len, theirs, ret_why);
}

static int load_environment(struct config *c, char **ret_why)
{
	int r = 0;

	for (int i = 0; r == 0 && i < CONFIGS; i++) {
		const char *name = config_rows[i].variable;
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. */
		const char *value = getenv(name);

		if (value && *value)
			r = set(c, (enum config_key)i, value, name, ret_why);
	}
	return r;
}

/* The path of the user's own file (free it); NULL: the user has no home. */
static char *users_file(void)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): one thread. */
	const char *dir = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	/* NOLINTEND(concurrency-mt-unsafe) */

	if (dir && *dir == '/')
		return format_text("%s/statetape/config.toml", dir);
	if (home && *home == '/')
		return format_text("%s/.config/statetape/config.toml", home);
	return NULL;
}

int config_load(struct config *c, const char *repo, char **ret_why)
{
	CLEANUP(free_p) char *own = users_file();
	CLEANUP(free_p)
	char *theirs = format_text("%s/" CONFIG_REPO_FILE, repo);
	int r = own ? load_file(c, own, false, ret_why) : 0;

	if (r == 0)
		r = load_file(c, theirs, true, ret_why);
	return r < 0 ? r : load_environment(c, ret_why);
}
