#include "tools/verb/tape.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "graph/base/alloc.h"
#include "graph/base/base64.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "graph/base/path.h"
#include "tape/query/answers.h"
#include "tape/store/aside.h"
#include "tape/store/store.h"
#include "tape/wire/client.h"
#include "tools/cli/options.h"
#include "tools/cli/say.h"
#include "tools/cli/where.h"

/* Entries in one answer of tape_each(). */
#define PAGE 500

#define PATIENCE_MS 10000

/* -EBADMSG, -EPROTONOSUPPORT: a store that the next tape will set aside. */
static int say_unread(const struct state *s, int r, const char *why)
{
	const char *text = why ? why : errno_text(r);

	if (r == -ENOENT)
		(void)say_error("'%s' has no tape yet; 'statetape tape' and "
				"'statetape run' record one",
				s->repo);
	else if (r == -EBADMSG || r == -EPROTONOSUPPORT)
		(void)say_error("%s The next tape sets it aside and begins a "
				"new one; 'statetape log --store FILE' reads "
				"what can be read of it",
				text);
	else
		(void)say_error("the tape of '%s' cannot be read: %s", s->repo,
				text);
	return r;
}

int tape_store(const struct state *s, struct store **ret)
{
	CLEANUP(free_p) char *why = NULL;
	CLEANUP(free_p) char *path = tape_store_path(s);
	int r = -ENOENT;

	if (s->dir_fd >= 0)
		r = store_open(path, STORE_READ, ret, &why);
	return r < 0 ? say_unread(s, r, why) : 0;
}

char *tape_store_path(const struct state *s)
{
	return format_text("%s/%s", s->dir ? s->dir : "", STORE_NAME);
}

void tape_tell_asides(const struct state *s)
{
	CLEANUP(free_p) char *path = tape_store_path(s);
	char **asides = NULL;
	size_t count = 0;

	if (s->dir_fd < 0 || store_asides(path, &asides, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		(void)say_error("an earlier tape is set aside as '%s'; "
				"'statetape log --store FILE' reads what can "
				"be read of it",
				asides[i]);
	store_asides_free(asides, count);
}

/* Answer questions in this process. */
static void answer_here(struct tape_reader *t)
{
	const struct answers_config c = { .store = t->store,
					  .root_fd = t->root_fd };

	t->answers = answers_new(&c);
}

static int open_store(struct tape_reader *t)
{
	CLEANUP(free_p) char *trouble = repo_trouble(&t->state);
	int r = tape_store(&t->state, &t->store);

	if (r < 0)
		return r;
	if (trouble)
		(void)say_error("%s", trouble);
	t->root_fd = open(t->state.repo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	answer_here(t);
	return 0;
}

/*
 * The repository of a store by the directory it lies in, whose name is the id.
 * A store that was copied elsewhere has none: paths are then taken as they are.
 */
static void find_state_of(const char *file, struct state *ret)
{
	CLEANUP(free_p) char *whole = NULL;
	char *slash;

	if (path_canonical(file, true, &whole) < 0)
		whole = must_have(strdup(file));
	slash = strrchr(whole, '/');
	if (slash)
		*slash = '\0';
	slash = strrchr(whole, '/');
	if (slash && state_init_id(slash + 1, ret, NULL) == 0)
		return;
	ret->repo = must_have(strdup(file));
}

int tape_open_store(const char *file, bool raw, struct tape_reader *ret)
{
	CLEANUP(free_p) char *why = NULL;
	struct tape_reader t = TAPE_NONE;
	int r = store_open(file, STORE_SALVAGE, &t.store, &why);

	if (r < 0) {
		(void)say_error("nothing can be read of '%s': %s", file,
				why ? why : errno_text(r));
		return r;
	}
	find_state_of(file, &t.state);
	t.raw = raw;
	answer_here(&t);
	*ret = t;
	return 0;
}

int tape_reopen(struct tape_reader *t)
{
	CLEANUP(free_p) char *path = tape_store_path(&t->state);
	struct store *store = NULL;
	int r = t->answers ? store_open(path, STORE_READ, &store, NULL) : 0;

	if (!store)
		return r;
	answers_free(t->answers);
	store_free(t->store);
	t->store = store;
	answer_here(t);
	return 0;
}

int tape_open_for(const struct invocation *in, const char *argument, bool raw,
		  struct tape_reader *ret)
{
	const struct option_value *file = &in->options[OPTION_STORE];
	int r;

	if (file->given)
		return tape_open_store(file->text, raw, ret);
	r = tape_open(argument, raw, ret);
	if (r == 0)
		tape_tell_asides(&ret->state);
	return r;
}

int tape_open(const char *argument, bool raw, struct tape_reader *ret)
{
	struct tape_reader t = TAPE_NONE;
	struct client_head head;
	int r = repo_find(argument, &t.state);

	if (r < 0)
		return r;
	t.client = client_new(t.state.tape_socket);
	t.client->timeout_ms = PATIENCE_MS;
	/* SYNC: every earlier change is then on the tape. */
	r = client_sync(t.client, NULL, -1, PATIENCE_MS, &head);
	t.raw = raw;
	/* A tape that is still starting has no graph to answer from. */
	if (r == -ECONNREFUSED || (r == 0 && (raw || !head.ready))) {
		client_free(t.client);
		t.client = NULL;
		r = open_store(&t);
	} else if (r < 0) {
		(void)say_error("the tape of '%s' does not answer: %s",
				t.state.repo,
				r == -EREMOTEIO ? client_error(t.client)
						: errno_text(r));
	}
	if (r < 0)
		tape_release(&t);
	else
		*ret = t;
	return r;
}

void tape_release(struct tape_reader *t)
{
	uint64_t skipped = t->store ? store_skipped(t->store) : 0;

	if (skipped)
		(void)say_error("%" PRIu64
				" entries of '%s' cannot be read and "
				"are left out",
				skipped, store_path(t->store));
	answers_free(t->answers);
	store_free(t->store);
	client_free(t->client);
	close_p(&t->root_fd);
	state_release(&t->state);
	*t = (struct tape_reader)TAPE_NONE;
}

static int ask_here(struct tape_reader *t, const char *ask,
		    const cJSON *question, cJSON **ret, char **why)
{
	CLEANUP(json_p) cJSON *none = json_object(NULL, NULL);
	cJSON *answer = json_object(NULL, NULL), *again;
	char *text;
	int r = answers_ask(t->answers, ask, question ? question : none,
			    answer);

	if (r < 0) {
		const char *said = json_string(answer, "error");

		*why = format_text("%s", said ? said : errno_text(r));
		cJSON_Delete(answer);
		return r;
	}
	if (t->raw) {
		*ret = answer;
		return 0;
	}
	/* Turn numbers that were sent as strings of digits into numbers. */
	text = must_have(cJSON_PrintUnformatted(answer));
	again = must_have(cJSON_Parse(text));
	free(text);
	cJSON_Delete(answer);
	*ret = again;
	return 0;
}

int tape_try(struct tape_reader *t, const char *ask, const cJSON *question,
	     cJSON **ret, char **why)
{
	CLEANUP(free_p) char *said = NULL;
	int r;

	assert(!t->client != !t->answers);
	if (t->client) {
		r = client_ask(t->client, ask, question, ret);
		if (r < 0)
			said = format_text(
				"%s", r == -EREMOTEIO ? client_error(t->client)
						      : errno_text(r));
	} else {
		r = ask_here(t, ask, question, ret, &said);
	}
	if (why)
		*why = TAKE(said);
	return r;
}

int tape_ask(struct tape_reader *t, const char *ask, const cJSON *question,
	     cJSON **ret)
{
	CLEANUP(free_p) char *why = NULL;
	int r = tape_try(t, ask, question, ret, &why);

	if (r < 0)
		(void)say_error("%s", why);
	return r;
}

void tape_settle(struct tape_reader *t)
{
	struct client_head head;

	if (t->client)
		(void)client_sync(t->client, NULL, -1, PATIENCE_MS, &head);
}

char *tape_text(const cJSON *answer, size_t *ret_len)
{
	const char *text = json_string(answer, "text");
	const char *coded = json_string(answer, "base64");
	char *bytes = NULL;

	if (text) {
		*ret_len = strlen(text);
		return must_have(strdup(text));
	}
	if (!coded || base64_decode(coded, &bytes, ret_len) < 0)
		return NULL;
	return bytes;
}

char *tape_content(struct tape_reader *t, const char *hash, size_t *ret_len)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;

	json_put_text(q, "hash", hash);
	if (tape_try(t, "CONTENT", q, &answer, NULL) < 0)
		return NULL;
	return tape_text(answer, ret_len);
}

int tape_each(struct tape_reader *t, uint64_t n, tape_visit *visit, void *arg)
{
	bool more = true;
	int r = 0;

	while (r == 0 && more) {
		CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
		CLEANUP(json_p) cJSON *answer = NULL;
		cJSON *e;

		json_put_number(q, "n", n);
		json_put_number(q, "limit", PAGE);
		r = tape_ask(t, "SINCE", q, &answer);
		if (r < 0)
			return r;
		cJSON_ArrayForEach (e, json_member(answer, "entries")) {
			n = json_number(e, "n", n);
			r = visit(e, arg);
			if (r)
				return r;
		}
		more = cJSON_IsTrue(json_member(answer, "more"));
	}
	return r;
}

void tape_where(const struct tape_reader *t, struct where *ret)
{
	CLEANUP(mount_entry_release) struct mount_entry e = { 0 };
	const char *at = NULL;

	if (mount_find(NULL, t->state.id, &e) == 0)
		at = e.mountpoint;
	where_init(ret, t->state.repo, at);
}

char *tape_path(const struct tape_reader *t, const char *typed)
{
	CLEANUP(where_release) struct where w = { .root = NULL };
	char *path;

	tape_where(t, &w);
	path = where_path(&w, typed);
	if (!path)
		(void)say_error("'%s' is outside of '%s'", typed,
				t->state.repo);
	return path;
}
