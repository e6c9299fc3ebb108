/*
 * Fills the tape of a repository without mounting it or running a daemon, for
 * tests of the verbs that read one: tape_fill REPO < SCRIPT, a command per
 * line, words separated by TABs, \n in a text a line's end:
 *
 *	base PATH TEXT		it was there before the tape began
 *	write PATH TEXT		by pid 812, "sed -i s/1/2/ x", below sh and init
 *	remove PATH
 *	rename FROM TO
 *
 * Writes are a second apart, from 2026-01-02T03:04:05Z on.
 */
#include "tape/wire/state.h"
#include "tests/support/tape_world.h"

static struct journal_author init = { .pid = 1,
				      .comm = "init",
				      .cmdline = "/sbin/init" };
static struct journal_author shell = {
	.pid = 700, .comm = "sh", .cmdline = "sh -c 'make fix'", .parent = &init
};
static struct journal_author sed = { .pid = 812,
				     .uid = 1000,
				     .comm = "sed",
				     .cmdline = "sed -i s/1/2/ x",
				     .exe = "/usr/bin/sed",
				     .parent = &shell };

/* \n and \e in place. */
static char *unescaped(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (at[0] == '\\' && (at[1] == 'n' || at[1] == 'e'))
			*to++ = *++at == 'n' ? '\n' : '\033';
		else
			*to++ = *at;
	}
	*to = '\0';
	return text;
}

static char *word(char **line)
{
	char *w = strsep(line, "\t");

	static char none[1];

	return w ? unescaped(w) : none;
}

static void obey(struct tape_world *w, char *line)
{
	const char *verb = word(&line);
	const char *path = word(&line);
	const char *text = line ? word(&line) : "";

	if (strcmp(verb, "base") == 0)
		tape_base(w, path, text);
	else if (strcmp(verb, "write") == 0)
		(void)tape_write(w, path, text, &sed);
	else if (strcmp(verb, "remove") == 0)
		(void)tape_write(w, path, NULL, &sed);
	else if (strcmp(verb, "rename") == 0)
		(void)tape_rename(w, path, text, &sed);
}

int main(int argc, char **argv)
{
	struct tape_world w = { .root_fd = -1 };
	struct state s;
	char *line = NULL, *db = NULL, *why = NULL;
	size_t size = 0;
	ssize_t n;

	if (argc != 2 || state_init(argv[1], 1, &s, &why) < 0) {
		(void)fprintf(stderr, "tape_fill: %s\n",
			      why ? why : "which repository?");
		return 1;
	}
	/* Marks the repository as one that was mounted before. */
	(void)mkdirat(s.dir_fd, STATE_JOURNAL, 0700);
	tape_must(asprintf(&db, "%s/" STORE_NAME, s.dir) > 0, "memory");
	tape_world_open(&w, s.repo, db);
	while ((n = getline(&line, &size, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		obey(&w, line);
	}
	tape_world_release(&w);
	state_release(&s);
	free(line);
	free(db);
	return 0;
}
