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
#include "tape/anchor/anchor.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"

#define FILE_MAX (64 << 10)
#define WORD_MAX 64

static const char *const modes[] = { "pinned", "eager", "off", NULL };
static const char *const policies[] = { "statetape", "rules", "control", NULL };
static const char *const mounts[] = { "auto", "private", "visible", "none",
				      NULL };
static const char *const truths[] = { "true", "false", NULL };

static const char *const weak_modes[] = { "eager", "off", NULL };
static const char *const weak_policies[] = { "control", NULL };
static const char *const weak_mounts[] = { "none", NULL };

const struct config_row config_rows[CONFIGS] = {
	[CONFIG_MODE] = { "run", "mode", "STATETAPE_MODE", CONFIG_IS_CHOICE,
			  false, modes, weak_modes,
			  "How stale records are handled: pinned (a note "
			  "at once, rewriting when it is cheap), eager (in "
			  "place, at once) or off (observe and report)" },
	[CONFIG_POLICY] = { "run", "policy", "STATETAPE_POLICY",
			    CONFIG_IS_CHOICE, false, policies, weak_policies,
			    "Which policy decides: statetape, rules (on "
			    "trial: also evicts what is finished with), or "
			    "control, "
			    "which leaves every request as it is" },
	[CONFIG_MOUNT] = { "run", "mount", "STATETAPE_MOUNT", CONFIG_IS_CHOICE,
			   false, mounts, weak_mounts,
			   "How the repository is mounted: private, visible, "
			   "none, or auto, the first of these that works" },
	[CONFIG_PROMPTS] = { "run", "prompts", "STATETAPE_PROMPTS",
			     CONFIG_IS_CHOICE, true, truths, NULL,
			     "Whether the tape keeps the first words of "
			     "prompts, for 'statetape log --turns': true "
			     "or false" },
	[CONFIG_ANTHROPIC] = { "upstream", "anthropic",
			       "STATETAPE_ANTHROPIC_UPSTREAM",
			       CONFIG_IS_ADDRESS, true, NULL, NULL,
			       "Where Anthropic requests go" },
	[CONFIG_OPENAI] = { "upstream", "openai", "STATETAPE_OPENAI_UPSTREAM",
			    CONFIG_IS_ADDRESS, true, NULL, NULL,
			    "Where OpenAI requests go" },
	[CONFIG_CHATGPT] = { "upstream", "chatgpt",
			     "STATETAPE_CHATGPT_UPSTREAM", CONFIG_IS_ADDRESS,
			     true, NULL, NULL,
			     "Where requests of a ChatGPT login go" },
	[CONFIG_KEEP] = { "tape", "keep", "STATETAPE_KEEP", CONFIG_IS_KEEP,
			  true, NULL, NULL,
			  "How much of the tape is kept: days, a size, or "
			  "both, as with tape --keep" },
	[CONFIG_ANCHOR] = { "tape", "anchor", "STATETAPE_ANCHOR",
			    CONFIG_IS_ANCHORS, true, NULL, NULL,
			    "Where checkpoints of the tape go, out of the "
			    "agent's reach: syslog, file:PATH or "
			    "command:PROGRAM ARGUMENTS, or a list of these; in "
			    "the variable one per line. See EVIDENCE" },
	[CONFIG_ANCHOR_EVERY] = { "tape", "anchor_every",
				  "STATETAPE_ANCHOR_EVERY", CONFIG_IS_COUNT,
				  true, NULL, NULL,
				  "After how many entries there is a "
				  "checkpoint, besides the one at the end of "
				  "each run; 20 if not set" },
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
	"The files are TOML with the tables [run], [tape] and [upstream], "
	"whose keys have strings as values, or true and false. An unknown key "
	"or a value that is not allowed is reported with its file and line, "
	"and nothing is "
	"started.\n"
	"\n"
	"The repository's file is not trusted, for an agent may write it. It "
	"may not set the addresses that requests, and the keys in them, are "
	"sent to, what is kept of prompts, nor anything in [tape]: such a key "
	"is ignored, and the run "
	"says so and goes on. Where the file makes mode, policy or mount do "
	"less, the run says that when it starts.";

void config_release(struct config *c)
{
	for (int i = 0; i < CONFIGS; i++) {
		free(c->values[i]);
		free(c->refused[i]);
		c->values[i] = c->refused[i] = NULL;
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

static bool is_choice(const char *value, const char *const *v)
{
	while (*v && strcmp(*v, value) != 0)
		v++;
	return *v != NULL;
}

/* A number from 1 on that fits into 32 bits. */
static bool is_count(const char *value)
{
	return *value >= '1' && *value <= '9' && strlen(value) < 10 &&
	       strspn(value, "0123456789") == strlen(value);
}

bool config_allows(enum config_key key, const char *value)
{
	const struct config_row *row = &config_rows[key];
	CLEANUP(free_p) char *why = NULL;
	uint64_t days = 0, bytes = 0;

	assert(key < CONFIGS);
	switch (row->kind) {
	case CONFIG_IS_CHOICE:
		return is_choice(value, row->values);
	case CONFIG_IS_ADDRESS:
		return is_address(value);
	case CONFIG_IS_KEEP:
		return options_keep(value, &days, &bytes) == 0;
	case CONFIG_IS_ANCHORS:
		return anchors_check(value, &why);
	case CONFIG_IS_COUNT:
		return is_count(value);
	}
	return false;
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
	CLEANUP(free_p) char *why = NULL;

	assert(!config_allows(key, value));
	switch (row->kind) {
	case CONFIG_IS_CHOICE:
		break;
	case CONFIG_IS_ADDRESS:
		return format_text("'%s' is not an address to send requests "
				   "to: it must begin with https:// or http:// "
				   "and have only a host and a path",
				   value);
	case CONFIG_IS_KEEP:
		return format_text("'%s' is not what to keep: days, a size, or "
				   "both, such as 30, 2G or 30/2G",
				   value);
	case CONFIG_IS_ANCHORS:
		(void)anchors_check(value, &why);
		return TAKE(why);
	case CONFIG_IS_COUNT:
		return format_text("'%s' is not a number from 1 to 999999999",
				   value);
	}
	allowed = values_text(row->values);
	return format_text("'%s' is not a %s; allowed: %s", value, row->key,
			   allowed);
}

void config_set(struct config *c, enum config_key key, const char *value)
{
	assert(config_allows(key, value));
	free(c->values[key]);
	c->values[key] = must_have(strdup(value));
	c->theirs[key] = false;
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
	config_set(c, key, value);
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
	char value[FILE_MAX]; /* of a list the strings, one per line */
	size_t value_len;
	bool is_list;
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

	while (r->at < r->end && *r->at != quote && *r->at != '\n') {
		char c = *r->at++;

		if (c == '\\' && quote == '"') {
			if (r->at == r->end || !(c = unescaped(*r->at++)))
				return wrong(r, "unknown escape in a string");
		}
		r->value[r->value_len++] = c;
	}
	if (r->at == r->end || *r->at != quote)
		return wrong(r, "a string is not closed");
	r->at++;
	/* config_read() refuses a text of FILE_MAX bytes. */
	assert(r->value_len < sizeof(r->value));
	r->value[r->value_len] = '\0';
	return 0;
}

static void skip_comment(struct config_reading *r)
{
	if (r->at < r->end && *r->at == '#')
		while (r->at < r->end && *r->at != '\n')
			r->at++;
}

/* Blanks, ends of lines and comments, as between the strings of a list. */
static void skip_space(struct config_reading *r)
{
	for (;;) {
		skip_blanks(r);
		skip_comment(r);
		if (r->at == r->end || !strchr("\r\n", *r->at))
			return;
		r->line += *r->at++ == '\n';
	}
}

/* A list of strings, with or without a comma at its end. */
static int read_list(struct config_reading *r)
{
	int rc = 0;

	r->at++;
	r->is_list = true;
	for (skip_space(r); rc == 0 && r->at < r->end && *r->at != ']';
	     skip_space(r)) {
		if (*r->at != '"' && *r->at != '\'')
			return wrong(r, "a list must have strings in quotes");
		if (r->value_len)
			r->value[r->value_len++] = '\n';
		rc = read_string(r);
		skip_space(r);
		if (rc == 0 && r->at < r->end && *r->at == ',')
			r->at++;
		else if (rc == 0 && (r->at == r->end || *r->at != ']'))
			return wrong(r, "expected , or ] in a list");
	}
	if (rc == 0 && r->at == r->end)
		return wrong(r, "a list is not closed");
	r->at++;
	return rc;
}

static int read_value(struct config_reading *r)
{
	size_t n = 0;

	r->value[0] = '\0';
	r->value_len = 0;
	r->is_list = false;
	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		return read_string(r);
	if (r->at < r->end && *r->at == '[')
		return read_list(r);
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
		what = format_text("'%s' is in no table; put [run], [tape] or "
				   "[upstream] before it",
				   r->key);
	return wrong(r, what);
}

/* The repository may not set this key: note it, and go on. */
static void refuse_theirs(struct config_reading *r, struct config *c, int key)
{
	free(c->refused[key]);
	c->refused[key] = format_text("%s:%u: a repository may not set "
				      "'%s.%s', so this is ignored; set it in "
				      "your own config.toml",
				      r->name, r->line, r->in, r->key);
}

static int find_key(const struct config_reading *r)
{
	int i = 0;

	while (i < CONFIGS && (strcmp(config_rows[i].table, r->in) != 0 ||
			       strcmp(config_rows[i].key, r->key) != 0))
		i++;
	return i;
}

/* May this line set this key? */
static int check_key(struct config_reading *r, int key)
{
	CLEANUP(free_p) char *what = NULL;

	if (r->seen[key])
		what = format_text("'%s' is already set in line %u", r->key,
				   r->seen[key]);
	else if (r->is_list && config_rows[key].kind != CONFIG_IS_ANCHORS)
		what = format_text("'%s' wants one string, not a list", r->key);
	return what ? wrong(r, what) : 0;
}

static int store_value(struct config_reading *r, struct config *c)
{
	CLEANUP(free_p) char *where = format_text("%s:%u", r->name, r->line);
	int i = find_key(r);
	bool was_so;
	int rc;

	if (i == CONFIGS)
		return no_such_key(r);
	if (r->theirs && config_rows[i].users) {
		refuse_theirs(r, c, i);
		return 0;
	}
	rc = check_key(r, i);
	if (rc < 0)
		return rc;
	r->seen[i] = r->line;
	was_so = c->values[i] && strcmp(c->values[i], r->value) == 0;
	rc = set(c, (enum config_key)i, r->value, where, r->ret_why);
	if (rc == 0)
		c->theirs[i] = r->theirs && !was_so;
	return rc;
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
	skip_comment(r);
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
	char *theirs = repo ? format_text("%s/" CONFIG_REPO_FILE, repo) : NULL;
	int r = own ? load_file(c, own, false, ret_why) : 0;

	if (r == 0 && theirs)
		r = load_file(c, theirs, true, ret_why);
	return r < 0 ? r : load_environment(c, ret_why);
}

static bool is_weakened(const struct config *c, int key)
{
	const struct config_row *row = &config_rows[key];

	return c->theirs[key] && row->weak &&
	       is_choice(c->values[key], row->weak);
}

char *config_weakened(const struct config *c, const char *repo)
{
	char *text = NULL;

	for (int i = 0; i < CONFIGS; i++) {
		CLEANUP(free_p) char *before = NULL;

		if (!is_weakened(c, i))
			continue;
		before = TAKE(text);
		text = before ? format_text("%s, %s = %s", before,
					    config_rows[i].key, c->values[i])
			      : format_text("'%s/" CONFIG_REPO_FILE "' makes "
					    "this run do less: %s = %s",
					    repo, config_rows[i].key,
					    c->values[i]);
	}
	return text;
}
