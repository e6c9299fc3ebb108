#include "manager/record/shell_verb.h"

#include <assert.h>
#include <string.h>

/* Each name is between two spaces (shell_is_one_of()). */
static const struct {
	enum shell_verb verb;
	const char *names;
} verbs[] = {
	{ VERB_SILENT, " export set unset source . true : sleep mkdir chmod "
		       "chown ln umask wait kill trap alias shopt exit "
		       "return read clear local declare pushd popd rmdir "
		       "false touch " },
	{ VERB_CD, " cd " },
	{ VERB_PRINT + PRINT_CAT, " cat less more " },
	{ VERB_PRINT + PRINT_HEAD, " head " },
	{ VERB_PRINT + PRINT_TAIL, " tail " },
	{ VERB_PRINT + PRINT_NL, " nl " },
	{ VERB_PRINT + PRINT_SED, " sed gsed " },
	{ VERB_PRINT + PRINT_AWK, " awk gawk mawk nawk " },
	{ VERB_PRINT + PRINT_BAT, " bat batcat " },
	{ VERB_SEARCH, " grep egrep fgrep zgrep rg ag ack ls ll dir tree "
		       "locate du " },
	{ VERB_FIND, " find fd fdfind " },
	{ VERB_RUN,
	  " pytest py.test tox nox make gmake cmake ctest ninja npm pnpm yarn "
	  "bun cargo go mvn gradle gcc g++ cc clang rustc javac java tsc jest "
	  "vitest mocha eslint ruff flake8 mypy pyright pylint black isort "
	  "coverage deno bundle rspec rake phpunit dotnet swift stack cabal "
	  "mix sbt bazel meson uvicorn flask django-admin nosetests trial "
	  "green pre-commit just invoke prettier npx bunx pyflakes bandit "
	  "hatch behave " },
	{ VERB_WRITE, " rm mv cp truncate install ed rsync " },
	{ VERB_TEE, " tee " },
	{ VERB_PATCH, " apply_patch applypatch patch " },
	{ VERB_OTHER, " echo printf date pwd whoami id which type hostname "
		      "uname printenv seq pip pip3 apt apt-get ps history "
		      "man help expr test [ yes nproc free df basename "
		      "dirname realpath conda brew " },
	{ VERB_READER, " wc sort uniq cut diff cmp comm jq yq xxd hexdump od "
		       "strings file stat tac rev md5sum sha256sum paste "
		       "column fold expand tr " },
	{ VERB_GIT, " git " },
	{ VERB_INTERPRETER, " python python3 python2 pypy pypy3 node ruby "
			    "perl php lua Rscript ts-node tsx " },
	{ VERB_SHELL, " bash sh zsh dash ksh " },
	{ VERB_XARGS, " xargs " },
	{ VERB_TIMEOUT, " timeout " },
	{ VERB_PREFIX, " sudo env time nohup command exec builtin stdbuf nice "
		       "unbuffer xvfb-run ionice setsid " },
	{ VERB_RUNNER, " uv poetry pipenv pdm rye " },
	{ VERB_KEYWORD, " if then else elif while until do { ! " },
	{ VERB_KEYWORD_ALONE,
	  " for case esac fi done } function select in [[ " },
};

bool shell_is_one_of(const char *names, const char *name, size_t len)
{
	const char *p = names;

	assert(names[0] == ' ');
	if (len == 0 || memchr(name, ' ', len))
		return false;
	while ((p = memmem(p, strlen(p), name, len)) != NULL) {
		if (p[-1] == ' ' && p[len] == ' ')
			return true;
		p++;
	}
	return false;
}

enum shell_verb shell_verb(const struct shell_word *w)
{
	const char *slash = memrchr(w->text, '/', w->len), *name = w->text;
	size_t i, len = w->len;

	if (w->dynamic)
		return VERB_UNKNOWN;
	if (slash) {
		name = slash + 1;
		len -= (size_t)(name - w->text);
	}
	/* python3.11 */
	if (len > 7 && strncmp(name, "python3.", 8) == 0)
		len = 7;
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (shell_is_one_of(verbs[i].names, name, len))
			return verbs[i].verb;
	}
	/* A program given by its path belongs to the repository. */
	return slash ? VERB_RUN : VERB_UNKNOWN;
}

/* A path under construction: `len` bytes at `out`. */
struct path {
	char *out;
	size_t len;
};

static void leave_folder(struct path *p)
{
	const char *cut = memrchr(p->out, '/', p->len);

	if (cut == p->out)
		p->len = 1;
	else
		p->len = cut ? (size_t)(cut - p->out) : 0;
}

static void add_name(struct path *p, const char *name, size_t len)
{
	bool up = len == 2 && memcmp(name, "..", 2) == 0;
	bool above = p->len >= 2 && memcmp(p->out + p->len - 2, "..", 2) == 0;

	if (len == 0 || (len == 1 && *name == '.'))
		return;
	if (up && p->len > 0 && !above) {
		leave_folder(p);
		return;
	}
	if (p->len > 0 && p->out[p->len - 1] != '/')
		p->out[p->len++] = '/';
	memcpy(p->out + p->len, name, len);
	p->len += len;
}

static void add_names(struct path *p, const char *names, size_t len)
{
	const char *end = names + len;

	if (p->len == 0 && len > 0 && *names == '/')
		p->out[p->len++] = '/';
	while (names < end) {
		const char *stop = memchr(names, '/', (size_t)(end - names));

		stop = stop ? stop : end;
		add_name(p, names, (size_t)(stop - names));
		names = stop + 1;
	}
}

const char *shell_path(const char *dir, const char *path, size_t len,
		       struct arena *a)
{
	size_t dir_len = dir && (len == 0 || path[0] != '/') ? strlen(dir) : 0;
	struct path p = { .out = arena_take(a, dir_len + len + 3) };

	if (dir_len > 0)
		add_names(&p, dir, dir_len);
	add_names(&p, path, len);
	if (p.len == 0)
		p.out[p.len++] = '.';
	assert(p.len < dir_len + len + 3);
	p.out[p.len] = '\0';
	return p.out;
}

/* The path in a line of a patch, or NULL. */
static const char *patch_path(const char *line, size_t len)
{
	static const char *const marks[] = {
		"*** Update File: ", "*** Add File: ", "*** Delete File: ",
		"*** Move to: ",     "+++ b/",
	};
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		size_t n = strlen(marks[i]);

		if (len > n && memcmp(line, marks[i], n) == 0)
			return line + n;
	}
	return NULL;
}

bool shell_patch_file(const char **at, const char *end, const char **ret,
		      size_t *ret_len)
{
	while (*at < end) {
		const char *line = *at, *stop, *path;

		stop = memchr(line, '\n', (size_t)(end - line));
		stop = stop ? stop : end;
		*at = stop < end ? stop + 1 : end;
		path = patch_path(line, (size_t)(stop - line));
		if (path) {
			*ret = path;
			*ret_len = (size_t)(stop - path);
			return true;
		}
	}
	return false;
}
