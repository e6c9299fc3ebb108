#include "tape/store/turns.h"

#include <errno.h>

#include "graph/base/cleanup.h"
#include "tape/store/store_i.h"

static void bind_agent(sqlite3_stmt *q, struct turn_agent agent, int64_t ns)
{
	(void)sqlite3_bind_int64(q, 1, agent.pid);
	(void)sqlite3_bind_int64(q, 2, (int64_t)agent.start);
	(void)sqlite3_bind_int64(q, 3, ns);
}

/* -- Writing. */

/* 1: *ret is the row's first column. 0: no row. */
static int find(struct store *s, sqlite3_stmt *q, int64_t *ret)
{
	int rc = store_step(s, q);

	if (rc > 0)
		*ret = sqlite3_column_int64(q, 0);
	return rc;
}

static int put_conversation(struct store *s, const struct turn_step *t,
			    int64_t *ret)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s,
			       "INSERT INTO conversation (key, client, turns)"
			       " VALUES (?1, ?2, 0) ON CONFLICT (key)"
			       " DO UPDATE SET client = CASE WHEN"
			       " excluded.client = '' THEN client"
			       " ELSE excluded.client END RETURNING id",
			       &q);

	if (rc < 0)
		return rc;
	store_bind_text(q, 1, t->conversation);
	store_bind_text(q, 2, t->client);
	rc = find(s, q, ret);
	return rc < 0 ? rc : 0;
}

/* What the new turn interrupts was under way until now. */
static int end_all(struct store *s, int64_t conversation, int64_t at_ns)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s,
			       "UPDATE call SET end = ?2 WHERE end = 0 AND turn"
			       " IN (SELECT id FROM turn"
			       " WHERE conversation = ?1)",
			       &q);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, conversation);
	(void)sqlite3_bind_int64(q, 2, at_ns);
	return store_run(s, q);
}

static int add_turn(struct store *s, const struct turn_step *t,
		    int64_t conversation, int64_t *ret)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *count = NULL;
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int64_t ordinal = 0;
	int rc = store_prepare(s,
			       "UPDATE conversation SET turns = turns + 1"
			       " WHERE id = ?1 RETURNING turns",
			       &count);

	if (rc == 0) {
		(void)sqlite3_bind_int64(count, 1, conversation);
		rc = find(s, count, &ordinal);
	}
	if (rc >= 0)
		rc = store_prepare(s,
				   "INSERT INTO turn (conversation, ordinal,"
				   " name, model, prompt, at)"
				   " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
				   &q);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, conversation);
	(void)sqlite3_bind_int64(q, 2, ordinal);
	store_bind_text(q, 3, t->name);
	store_bind_text(q, 4, t->model);
	store_bind_text(q, 5, t->prompt);
	(void)sqlite3_bind_int64(q, 6, t->at_ns);
	rc = store_run(s, q);
	*ret = sqlite3_last_insert_rowid(s->db);
	return rc < 0 ? rc : end_all(s, conversation, t->at_ns);
}

static int put_turn(struct store *s, const struct turn_step *t, int64_t *ret)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int64_t conversation = 0;
	int rc = put_conversation(s, t, &conversation);

	if (rc == 0)
		rc = store_prepare(s,
				   "SELECT id FROM turn WHERE conversation = ?1"
				   " AND name = ?2",
				   &q);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(q, 1, conversation);
	store_bind_text(q, 2, t->name);
	rc = find(s, q, ret);
	if (rc == 0)
		return add_turn(s, t, conversation, ret);
	return rc < 0 ? rc : 0;
}

/* Nothing is written if the process worked on this turn already. */
static int put_agent(struct store *s, const struct turn_step *t, int64_t turn)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc;

	if (!t->agent.pid)
		return 0;
	rc = store_prepare(s,
			   "INSERT OR IGNORE INTO agent (pid, start, at, turn)"
			   " SELECT ?1, ?2, ?3, ?4 WHERE ?4 IS NOT"
			   " (SELECT turn FROM agent WHERE pid = ?1 AND"
			   " start = ?2 AND at <= ?3 ORDER BY at DESC LIMIT 1)",
			   &q);
	if (rc < 0)
		return rc;
	bind_agent(q, t->agent, t->at_ns);
	(void)sqlite3_bind_int64(q, 4, turn);
	return store_run(s, q);
}

static int end_calls(struct store *s, const struct turn_step *t, int64_t turn)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(s,
			       "UPDATE call SET end = ?3 WHERE end = 0"
			       " AND name = ?2 AND turn IN (SELECT b.id FROM"
			       " turn a JOIN turn b USING (conversation)"
			       " WHERE a.id = ?1)",
			       &q);

	for (size_t i = 0; rc == 0 && i < t->results_count; i++) {
		(void)sqlite3_bind_int64(q, 1, turn);
		store_bind_text(q, 2, t->results[i]);
		(void)sqlite3_bind_int64(q, 3, t->at_ns);
		rc = store_run(s, q);
	}
	return rc;
}

static int add_calls(struct store *s, const struct turn_step *t, int64_t turn)
{
	CLEANUP(store_finalize_p) sqlite3_stmt *q = NULL;
	int rc = store_prepare(
		s,
		"INSERT INTO call (turn, name, tool, command, paths, pid,"
		" start, begin, end) SELECT ?4, ?5, ?6, ?7, ?8, ?1, ?2, ?3, 0"
		" WHERE NOT EXISTS (SELECT 1 FROM call WHERE turn = ?4 AND"
		" name = ?5 AND end = 0)",
		&q);

	for (size_t i = 0; rc == 0 && i < t->calls_count; i++) {
		const struct turn_call *c = &t->calls[i];

		bind_agent(q, t->agent, t->calls_ns);
		(void)sqlite3_bind_int64(q, 4, turn);
		store_bind_text(q, 5, c->name);
		store_bind_text(q, 6, c->tool);
		store_bind_text(q, 7, c->command);
		store_bind_text(q, 8, c->paths);
		rc = store_run(s, q);
	}
	return rc;
}

static int put_step(struct store *s, const struct turn_step *t,
		    uint64_t *ret_ordinal)
{
	CLEANUP(arena_release) struct arena scratch = { 0 };
	struct turn_seen seen = { 0 };
	int64_t turn = 0;
	int rc = put_turn(s, t, &turn);

	if (rc == 0)
		rc = put_agent(s, t, turn);
	if (rc == 0)
		rc = end_calls(s, t, turn);
	if (rc == 0)
		rc = add_calls(s, t, turn);
	if (rc == 0)
		rc = store_turn(s, turn, &scratch, &seen);
	if (rc == 0)
		*ret_ordinal = seen.ordinal;
	return rc;
}

int store_put_step(struct store *s, const struct turn_step *step,
		   uint64_t *ret_ordinal)
{
	bool is_alone = !s->is_open;
	int rc = is_alone ? store_begin(s) : store_may_write(s);

	if (rc < 0)
		return rc;
	rc = store_note(s, put_step(s, step, ret_ordinal));
	if (is_alone && rc < 0)
		store_abort(s);
	else if (is_alone)
		rc = store_commit(s);
	return rc;
}

/* -- Reading. */

int store_turn(struct store *s, int64_t id, struct arena *a,
	       struct turn_seen *ret)
{
	int rc = -ENOENT;
	sqlite3_stmt *q = s->has_turns ? store_sql(s, SQL_TURN_GET, &rc) : NULL;

	if (!q)
		return rc;
	(void)sqlite3_bind_int64(q, 1, id);
	rc = store_step(s, q);
	if (rc > 0)
		*ret = (struct turn_seen){
			.id = id,
			.conversation = store_column_text(q, 0, a),
			.client = store_column_text(q, 1, a),
			.model = store_column_text(q, 2, a),
			.prompt = store_column_text(q, 3, a),
			.ordinal = (uint64_t)sqlite3_column_int64(q, 4),
		};
	(void)sqlite3_reset(q);
	if (rc == 0)
		return -ENOENT;
	return rc < 0 ? rc : 0;
}

int store_turn_at(struct store *s, struct turn_agent agent, int64_t at_ns,
		  int64_t *ret)
{
	int rc = 0;
	sqlite3_stmt *q = s->has_turns ? store_sql(s, SQL_TURN_AT, &rc) : NULL;

	if (!q)
		return rc;
	bind_agent(q, agent, at_ns);
	rc = find(s, q, ret);
	(void)sqlite3_reset(q);
	return rc;
}

static const char *text_at(sqlite3_stmt *q, int column)
{
	const unsigned char *text = sqlite3_column_text(q, column);

	return text ? (const char *)text : "";
}

int store_calls_at(struct store *s, struct turn_agent agent, int64_t at_ns,
		   size_t limit, store_call_visit *visit, void *arg)
{
	int rc = 0;
	sqlite3_stmt *q = s->has_turns ? store_sql(s, SQL_CALLS_AT, &rc) : NULL;

	if (!q)
		return rc;
	bind_agent(q, agent, at_ns);
	(void)sqlite3_bind_int64(q, 4, (int64_t)limit);
	while ((rc = store_step(s, q)) > 0) {
		const struct turn_made made = {
			.call = { text_at(q, 0), text_at(q, 1), text_at(q, 2),
				  text_at(q, 3) },
			.turn = sqlite3_column_int64(q, 4),
			.open = sqlite3_column_int(q, 5) != 0,
		};

		visit(&made, arg);
	}
	(void)sqlite3_reset(q);
	return rc;
}
