/*
 * Tables of manager.db:
 *
 * conversation  one row per conversation: flags, counts, and its heads: their
 *               numbers as a JSON list, their items' 64-bit hashes as a blob
 * record        one row per (conversation, call id): struct held as JSON, and
 *               the replacement text as a blob
 * pin           one row per (conversation, call id): a note's text, and its
 *               mentions as JSON: [record's call id, enum notified, since,
 *               entry, end of the section in the text, base]
 * request       one row per request, for the report; the newest
 *               ARCHIVE_REQUESTS are kept
 * decision      one row per (request, number from 0): struct decided, for
 *               EXPLAIN; deleted together with its request
 * counted       number by name and run; run '': of those that are forgotten
 * agent         one row per conversation whose client gives it no id: by the
 *               hash of its words, and the process that made its last request
 *
 * user_version is SCHEMA; a database with a higher one belongs to a newer
 * program and is refused. The first manager that opens an older one adds what
 * it lacks: version 1 had no decisions, and no columns notes_sent,
 * replacements_sent and withheld; version 2 had counters of all runs together,
 * no agents, and no columns `undecided` and `run`.
 */
#include "manager/decide/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/decide/archive_i.h"

#define SCHEMA 3

static const char pragmas[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
			      "PRAGMA journal_size_limit=8388608;";

static const char from_1[] =
	"ALTER TABLE request ADD COLUMN notes_sent INT DEFAULT 0;"
	"ALTER TABLE request ADD COLUMN replacements_sent INT DEFAULT 0;"
	"ALTER TABLE request ADD COLUMN withheld TEXT;";

static const char from_2[] =
	"ALTER TABLE request ADD COLUMN run TEXT DEFAULT '';"
	"ALTER TABLE conversation ADD COLUMN undecided INT DEFAULT 0;"
	"CREATE TABLE counted(run TEXT, name TEXT, n INT,"
	" PRIMARY KEY(run, name)) WITHOUT ROWID;"
	"INSERT INTO counted SELECT '', name, n FROM counter;"
	"DROP TABLE counter;";

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS conversation(key TEXT PRIMARY KEY, client,"
	" model, subagent, subscription, refused, stopped, requests,"
	" since_epoch, last_n, used_ns, heads TEXT, hashes BLOB,"
	" since_begin, reply_ns, nominated,"
	" usage_input INT DEFAULT 0, usage_read INT DEFAULT 0,"
	" usage_written INT DEFAULT 0, undecided INT DEFAULT 0)"
	" WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS record(conversation TEXT, key TEXT,"
	" data TEXT, text BLOB, PRIMARY KEY(conversation, key)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS pin(conversation TEXT, key TEXT,"
	" about TEXT, text BLOB, PRIMARY KEY(conversation, key)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS request(id INTEGER PRIMARY KEY,"
	" conversation TEXT, at_ns, n, outcome, epoch, received, sent, held,"
	" stale, refreshed, dropped, rerun, notes, evicted, retrieved, told,"
	" placed, cost_with, cost_without, rewritten, latency_us,"
	" notes_sent INT DEFAULT 0, replacements_sent INT DEFAULT 0,"
	" withheld TEXT, run TEXT DEFAULT '');"
	"CREATE INDEX IF NOT EXISTS request_of ON request(conversation, n);"
	"CREATE TABLE IF NOT EXISTS decision(request INT, number INT,"
	" key TEXT, what TEXT, action TEXT, place INT, form TEXT, why TEXT,"
	" entry INT, before INT, after INT, text BLOB,"
	" PRIMARY KEY(request, number)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS counted(run TEXT, name TEXT, n INT,"
	" PRIMARY KEY(run, name)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS agent(words TEXT, conversation TEXT,"
	" pid INT, start INT, PRIMARY KEY(words, conversation))"
	" WITHOUT ROWID; PRAGMA user_version=3;";

int archive_code(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EBADMSG;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	default:
		return -EIO;
	}
}

static int version_of(sqlite3 *db)
{
	CLEANUP(archive_finalize_p) sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		return -1;
	return sqlite3_column_int(s, 0);
}

static int run_all(sqlite3 *db, const char *sql)
{
	return archive_code(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* In one transaction: several managers may open the database at once. */
static int make_tables(sqlite3 *db)
{
	int version, rc = run_all(db, pragmas);

	if (rc == 0)
		rc = run_all(db, "BEGIN IMMEDIATE");
	if (rc < 0)
		return rc;
	version = version_of(db);
	if (version == 1)
		rc = run_all(db, from_1);
	if (rc == 0 && (version == 1 || version == 2))
		rc = run_all(db, from_2);
	if (rc == 0)
		rc = run_all(db, schema);
	if (rc == 0)
		rc = run_all(db, "COMMIT");
	else
		(void)run_all(db, "ROLLBACK");
	return rc;
}

static int open_at(const char *path, bool write, struct archive *m)
{
	int rc, version;

	rc = sqlite3_open_v2(path, &m->db,
			     write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
				   : SQLITE_OPEN_READONLY,
			     NULL);
	if (rc != SQLITE_OK)
		return archive_code(rc);
	(void)sqlite3_busy_timeout(m->db, 2000);
	version = version_of(m->db);
	if (version < 0 || version > SCHEMA)
		return -EBADMSG;
	m->version = write ? SCHEMA : version;
	return write ? make_tables(m->db) : 0;
}

/* SQLite gives its other files the mode of the database. */
static void make_private(const char *path)
{
	CLEANUP(close_p)
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	/* Who may not change it cannot open it, either: that is reported. */
	if (fd >= 0)
		(void)fchmod(fd, 0600);
}

int archive_open(const char *dir, bool write, struct archive **ret,
		 char **ret_why)
{
	CLEANUP(free_p) char *path = NULL;
	struct archive *m = must_calloc(1, sizeof(*m));
	int rc;

	(void)pthread_mutex_init(&m->lock, NULL);
	if (dir && asprintf(&path, "%s/" ARCHIVE_NAME, dir) < 0) {
		path = NULL;
		archive_free(m);
		return -ENOMEM;
	}
	if (path && write)
		make_private(path);
	rc = open_at(path ? path : ":memory:", write, m);
	if (rc == 0) {
		*ret = m;
		return 0;
	}
	if (ret_why &&
	    asprintf(ret_why, "'%s' cannot be used: %s", path ? path : "memory",
		     m->db ? sqlite3_errmsg(m->db) : "out of memory") < 0)
		*ret_why = NULL;
	archive_free(m);
	return rc;
}

void archive_run(struct archive *m, const char *run)
{
	assert(!m->run);
	m->run = must_strdup(run);
}

void archive_free(struct archive *m)
{
	if (!m)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		(void)sqlite3_finalize(m->statements[i]);
	(void)sqlite3_close_v2(m->db);
	(void)pthread_mutex_destroy(&m->lock);
	free(m->run);
	free(m);
}

/* -- Conversations. */

static char *heads_text(const struct conversation *c)
{
	CLEANUP(json_p) cJSON *list = cJSON_CreateArray();
	char number[24];

	for (size_t i = 0; i < CONVERSATION_HEADS; i++) {
		const struct head *h = &c->heads[i];
		const uint64_t all[] = { (uint64_t)h->at_ns, h->tools_hash,
					 h->system_hash,     h->model_hash,
					 h->hashes.count,    h->cached,
					 h->received,	     h->sent };

		/* As strings: a JSON number loses bits beyond 2^53. */
		for (size_t k = 0; k < 8; k++) {
			(void)snprintf(number, sizeof(number), "%llu",
				       (unsigned long long)all[k]);
			(void)cJSON_AddItemToArray(list,
						   cJSON_CreateString(number));
		}
	}
	return cJSON_PrintUnformatted(list);
}

static void heads_read(struct conversation *c, const char *text,
		       const uint64_t *hashes, size_t count)
{
	CLEANUP(json_p) cJSON *list = cJSON_Parse(text);
	const cJSON *at = list ? list->child : NULL;

	for (size_t i = 0; i < CONVERSATION_HEADS; i++) {
		struct head *h = &c->heads[i];
		uint64_t all[8] = { 0 };

		for (size_t k = 0; k < 8 && at; k++, at = at->next)
			if (cJSON_IsString(at))
				all[k] = strtoull(at->valuestring, NULL, 10);
		if (all[4] > count)
			return;
		h->at_ns = (int64_t)all[0];
		h->tools_hash = all[1];
		h->system_hash = all[2];
		h->model_hash = all[3];
		h->cached = (uint32_t)(all[5] < all[4] ? all[5] : all[4]);
		h->received = all[6];
		h->sent = all[7];
		h->kept = -1;
		array_append(&h->hashes, hashes, all[4]);
		hashes += all[4];
		count -= all[4];
	}
}

static int save_conversation(struct archive *m, const struct conversation *c,
			     int64_t at_ns)
{
	sqlite3_stmt *s = archive_statement(
		m, STATEMENT_CONVERSATION,
		"INSERT INTO conversation(key, client, model, subagent,"
		" subscription, refused, stopped, requests, since_epoch,"
		" last_n, used_ns, heads, hashes, since_begin,"
		" reply_ns, nominated, undecided)"
		" VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT(key) DO"
		" UPDATE SET client=?2, model=?3, subagent=?4,"
		" subscription=?5, refused=?6, stopped=?7, requests=?8,"
		" since_epoch=?9, last_n=?10, used_ns=?11, heads=?12,"
		" hashes=?13, since_begin=?14, reply_ns=?15,"
		" nominated=?16, undecided=?17");
	CLEANUP(free_p) char *heads = heads_text(c);
	ARRAY(uint64_t) all = { 0 };
	int rc;

	if (!s)
		return -EIO;
	for (size_t i = 0; i < CONVERSATION_HEADS; i++)
		array_append(&all, c->heads[i].hashes.at,
			     c->heads[i].hashes.count);
	archive_bind_text(s, 1, c->key);
	archive_bind_text(s, 2, c->client);
	archive_bind_text(s, 3, c->model);
	archive_bind_count(s, 4, c->subagent);
	archive_bind_count(s, 5, c->subscription);
	archive_bind_count(s, 6, c->refused);
	archive_bind_count(s, 7, c->stopped);
	archive_bind_count(s, 8, c->requests);
	archive_bind_count(s, 9, c->since_epoch);
	archive_bind_count(s, 10, c->last_n);
	archive_bind_count(s, 11, (uint64_t)at_ns);
	archive_bind_text(s, 12, heads);
	archive_bind_blob(s, 13, all.at, all.count * sizeof(uint64_t));
	archive_bind_count(s, 14, c->since_begin);
	archive_bind_count(s, 15, (uint64_t)c->reply_ns);
	archive_bind_count(s, 16, c->nominated);
	archive_bind_count(s, 17, c->undecided);
	rc = archive_step_kept(s);
	array_release(&all);
	return rc;
}

#define CONVERSATION                                                      \
	"SELECT client, model, subagent, subscription, refused, stopped," \
	" requests, since_epoch, last_n, heads, hashes, since_begin,"     \
	" reply_ns, nominated"
#define CONVERSATION_OF " FROM conversation WHERE key=?"

static int load_conversation(struct archive *m, struct conversation *c)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s = archive_prepare(
		m, m->version < ARCHIVE_RUNS
			   ? CONVERSATION ", 0" CONVERSATION_OF
			   : CONVERSATION ", undecided" CONVERSATION_OF);

	if (!s)
		return -EIO;
	archive_bind_text(s, 1, c->key);
	if (sqlite3_step(s) != SQLITE_ROW)
		return -ENOENT;
	free(c->client);
	free(c->model);
	c->client = must_strdup(archive_column(s, 0));
	c->model = must_strdup(archive_column(s, 1));
	c->subagent = sqlite3_column_int(s, 2);
	c->subscription = sqlite3_column_int(s, 3);
	c->refused = sqlite3_column_int(s, 4);
	c->stopped = sqlite3_column_int(s, 5);
	c->requests = (uint32_t)archive_column_number(s, 6);
	c->since_epoch = (uint32_t)archive_column_number(s, 7);
	c->last_n = archive_column_number(s, 8);
	heads_read(c, archive_column(s, 9), sqlite3_column_blob(s, 10),
		   (size_t)sqlite3_column_bytes(s, 10) / sizeof(uint64_t));
	c->since_begin = (uint32_t)archive_column_number(s, 11);
	c->reply_ns = (int64_t)archive_column_number(s, 12);
	c->nominated = sqlite3_column_int(s, 13);
	c->undecided = (uint32_t)archive_column_number(s, 14);
	return 0;
}

/* -- Records. */

static void add_number(cJSON *j, const char *name, uint64_t n)
{
	if (n)
		(void)cJSON_AddNumberToObject(j, name, (double)n);
}

static void add_names(cJSON *j, const char *name, const struct conversation *c,
		      const uint32_t *at, uint32_t count)
{
	cJSON *list;

	if (!count)
		return;
	list = cJSON_AddArrayToObject(j, name);
	for (uint32_t i = 0; i < count; i++)
		(void)cJSON_AddItemToArray(
			list, cJSON_CreateString(conversation_name(c, at[i])));
}

/* [path, entry] each. */
static void add_edited(cJSON *j, const struct conversation *c,
		       const struct held *h)
{
	cJSON *list =
		h->edited.count ? cJSON_AddArrayToObject(j, "edited") : NULL;

	for (uint32_t i = 0; i < h->edited.count; i++) {
		const struct edited *x = &h->edited.at[i];
		cJSON *one = cJSON_CreateArray();

		(void)cJSON_AddItemToArray(
			one, cJSON_CreateString(conversation_name(c, x->path)));
		(void)cJSON_AddItemToArray(
			one, cJSON_CreateNumber((double)x->entry));
		(void)cJSON_AddItemToArray(list, one);
	}
}

static char *record_text(const struct conversation *c, const struct held *h)
{
	CLEANUP(json_p) cJSON *j = cJSON_CreateObject();
	cJSON *refs = cJSON_AddArrayToObject(j, "refs");
	char hash[24];

	(void)snprintf(hash, sizeof(hash), "%016llx",
		       (unsigned long long)h->hash);
	(void)cJSON_AddStringToObject(j, "hash", hash);
	for (uint32_t i = 0; i < h->referents.count; i++) {
		const struct referent *r = &h->referents.at[i];
		cJSON *ref = cJSON_CreateArray();

		(void)cJSON_AddItemToArray(
			ref, cJSON_CreateString(conversation_name(c, r->path)));
		(void)cJSON_AddItemToArray(ref, cJSON_CreateNumber(r->start));
		(void)cJSON_AddItemToArray(ref, cJSON_CreateNumber(r->end));
		(void)cJSON_AddItemToArray(refs, ref);
	}
	add_number(j, "kind", h->kind);
	add_number(j, "tracked", h->tracked);
	add_number(j, "tokens", h->tokens);
	add_number(j, "bytes", h->bytes);
	add_number(j, "request", h->born_request);
	add_number(j, "said", h->said);
	add_number(j, "gone", h->gone);
	add_number(j, "undecided", !h->decided);
	add_number(j, "born", h->born);
	add_number(j, "verified", h->verified);
	add_number(j, "left", h->left);
	add_number(j, "birth", h->birth);
	add_number(j, "observed", h->observed);
	add_names(j, "opened", c, h->opened.at, h->opened.count);
	add_names(j, "missed", c, h->missed.at, h->missed.count);
	add_names(j, "listed", c, h->listed.at, h->listed.count);
	add_number(j, "strange", h->strange);
	add_number(j, "file", h->file);
	add_number(j, "head", h->head);
	add_number(j, "tail", h->tail);
	add_number(j, "action", h->action);
	add_number(j, "entry", h->entry);
	add_number(j, "foreign", h->foreign);
	add_number(j, "learned", h->learned);
	add_edited(j, c, h);
	if (h->why)
		(void)cJSON_AddStringToObject(j, "why", h->why);
	add_number(j, "told", h->notified);
	add_number(j, "told_entry", h->notified_entry);
	add_number(j, "placed", h->replaced);
	add_number(j, "placed_entry", h->replaced_entry);
	return cJSON_PrintUnformatted(j);
}

static uint32_t name_of(struct conversation *c, const cJSON *j)
{
	const char *text = cJSON_GetStringValue(j);

	return intern_add(c->names, text ? text : "", text ? strlen(text) : 0);
}

static void read_lists(struct conversation *c, struct held *h, const cJSON *j)
{
	const cJSON *at;

	cJSON_ArrayForEach (at, cJSON_GetObjectItemCaseSensitive(j, "refs")) {
		struct referent r = { 0 };
		const cJSON *start = cJSON_GetArrayItem(at, 1);
		const cJSON *end = cJSON_GetArrayItem(at, 2);

		r.path = name_of(c, cJSON_GetArrayItem(at, 0));
		r.start = start ? (uint32_t)start->valuedouble : 0;
		r.end = end ? (uint32_t)end->valuedouble : 0;
		array_push(&h->referents, r);
	}
	cJSON_ArrayForEach (at, cJSON_GetObjectItemCaseSensitive(j, "edited")) {
		const cJSON *entry = cJSON_GetArrayItem(at, 1);

		array_push(&h->edited,
			   ((struct edited){
				   name_of(c, cJSON_GetArrayItem(at, 0)),
				   entry ? (uint64_t)entry->valuedouble : 0,
				   ITEM_NONE }));
	}
	cJSON_ArrayForEach (at, cJSON_GetObjectItemCaseSensitive(j, "opened"))
		array_push(&h->opened, name_of(c, at));
	cJSON_ArrayForEach (at, cJSON_GetObjectItemCaseSensitive(j, "missed"))
		array_push(&h->missed, name_of(c, at));
	cJSON_ArrayForEach (at, cJSON_GetObjectItemCaseSensitive(j, "listed"))
		array_push(&h->listed, name_of(c, at));
}

/* A value of an enum of `count` members; 0 where it is out of range. */
static unsigned get_one(const cJSON *j, const char *name, unsigned count)
{
	uint64_t n = json_number(j, name, 0);

	return n < count ? (unsigned)n : 0;
}

static void read_record(struct conversation *c, struct held *h,
			const char *text)
{
	CLEANUP(json_p) cJSON *j = cJSON_Parse(text);
	const char *hash = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(j, "hash"));
	const char *why = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(j, "why"));

	h->seen = h->lines_drifted = true;
	h->decided = !json_number(j, "undecided", 0);
	h->hash = hash ? strtoull(hash, NULL, 16) : 0;
	h->kind = (enum record_kind)get_one(j, "kind", RECORD_OTHER + 1);
	h->tracked = json_number(j, "tracked", 0);
	h->tokens = (uint32_t)json_number(j, "tokens", 0);
	h->bytes = json_number(j, "bytes", 0);
	h->born_request = (uint32_t)json_number(j, "request", 0);
	h->said = (uint32_t)json_number(j, "said", 0);
	h->gone = json_number(j, "gone", 0);
	h->born = json_number(j, "born", 0);
	h->verified = json_number(j, "verified", 0);
	h->left = json_number(j, "left", 0);
	h->birth = json_number(j, "birth", 0);
	h->observed = json_number(j, "observed", 0);
	h->strange = json_number(j, "strange", 0);
	h->file = json_number(j, "file", 0);
	h->head = (uint32_t)json_number(j, "head", 0);
	h->tail = (uint32_t)json_number(j, "tail", 0);
	h->action = (enum action)get_one(j, "action", ACTIONS);
	h->entry = json_number(j, "entry", 0);
	h->foreign = json_number(j, "foreign", 0);
	h->learned = json_number(j, "learned", 0);
	h->why = why ? must_strdup(why) : NULL;
	h->notified = (enum notified)get_one(j, "told", NOTIFIED);
	h->notified_entry = json_number(j, "told_entry", 0);
	h->replaced = (enum replaced)get_one(j, "placed", REPLACED);
	h->replaced_entry = json_number(j, "placed_entry", 0);
	read_lists(c, h, j);
}

static int load_records(struct archive *m, struct conversation *c)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s =
		archive_prepare(m, "SELECT key, data, text FROM record"
				   " WHERE conversation=?");

	if (!s)
		return -EIO;
	archive_bind_text(s, 1, c->key);
	while (sqlite3_step(s) == SQLITE_ROW) {
		struct held *h = conversation_hold(c, archive_column(s, 0));
		const void *text = sqlite3_column_blob(s, 2);

		read_record(c, h, archive_column(s, 1));
		h->len = (size_t)sqlite3_column_bytes(s, 2);
		if (text && h->len) {
			h->text = must_memdup(text, h->len);
		}
	}
	return 0;
}

static int save_record(struct archive *m, const struct conversation *c,
		       const struct held *h)
{
	sqlite3_stmt *s = archive_statement(m, STATEMENT_RECORD,
					    "INSERT OR REPLACE INTO record"
					    " VALUES(?,?,?,?)");
	CLEANUP(free_p) char *data = record_text(c, h);

	if (!s)
		return -EIO;
	archive_bind_text(s, 1, c->key);
	archive_bind_text(s, 2, h->key);
	archive_bind_text(s, 3, data);
	archive_bind_blob(s, 4, h->text, h->len);
	return archive_step_kept(s);
}

/* -- Pins. */

static void read_mention(struct pin *p, const cJSON *at)
{
	cJSON *key = cJSON_GetArrayItem(at, 0);
	double how = cJSON_GetNumberValue(cJSON_GetArrayItem(at, 1));
	double since = cJSON_GetNumberValue(cJSON_GetArrayItem(at, 2));
	double entry = cJSON_GetNumberValue(cJSON_GetArrayItem(at, 3));
	double end = cJSON_GetNumberValue(cJSON_GetArrayItem(at, 4));
	const cJSON *base = cJSON_GetArrayItem(at, 5);
	struct mention a = { .key = cJSON_GetStringValue(key) };

	/* Sections lie one behind the other. */
	if (p->mentions.count && end < (double)array_last(&p->mentions)->end)
		return;
	if (!a.key || !(how >= 0) || how >= NOTIFIED || !(since >= 0) ||
	    !(entry >= 0) || !(end >= 0) || end > (double)p->len)
		return;
	a.how = (enum notified)how;
	a.since = (uint64_t)since;
	a.entry = (uint64_t)entry;
	a.end = (size_t)end;
	/* None: written when calls of the model's own covered nothing. */
	a.base = base && base->valuedouble > since ? (uint64_t)base->valuedouble
						   : a.since;
	pin_mention(p, &a);
}

static cJSON *mention_json(const struct mention *a)
{
	const double numbers[] = { a->how, (double)a->since, (double)a->entry,
				   (double)a->end, (double)a->base };
	cJSON *j = cJSON_CreateArray();

	(void)cJSON_AddItemToArray(j, cJSON_CreateString(a->key));
	for (size_t i = 0; i < 5; i++)
		(void)cJSON_AddItemToArray(j, cJSON_CreateNumber(numbers[i]));
	return j;
}

static int load_pins(struct archive *m, struct conversation *c)
{
	CLEANUP(archive_finalize_p)
	sqlite3_stmt *s = archive_prepare(m, "SELECT key, about, text FROM pin"
					     " WHERE conversation=?");

	if (!s)
		return -EIO;
	archive_bind_text(s, 1, c->key);
	while (sqlite3_step(s) == SQLITE_ROW) {
		CLEANUP(json_p)
		cJSON *about = cJSON_Parse(archive_column(s, 1));
		struct pin *p = conversation_pin(c, archive_column(s, 0));
		const void *text = sqlite3_column_blob(s, 2);
		const cJSON *at;

		p->len = (size_t)sqlite3_column_bytes(s, 2);
		p->text = must_memdup(text, p->len);
		cJSON_ArrayForEach (at, about)
			read_mention(p, at);
		p->changed = false;
	}
	return 0;
}

static int save_pin(struct archive *m, const struct conversation *c,
		    const struct pin *p)
{
	sqlite3_stmt *s = archive_statement(
		m, p->gone ? STATEMENT_PIN_GONE : STATEMENT_PIN,
		p->gone ? "DELETE FROM pin WHERE conversation=? AND key=?"
			: "INSERT OR REPLACE INTO pin VALUES(?,?,?,?)");
	CLEANUP(json_p) cJSON *about = cJSON_CreateArray();
	CLEANUP(free_p) char *text = NULL;

	if (!s)
		return -EIO;
	for (uint32_t i = 0; i < p->mentions.count; i++)
		(void)cJSON_AddItemToArray(about,
					   mention_json(&p->mentions.at[i]));
	text = cJSON_PrintUnformatted(about);
	archive_bind_text(s, 1, c->key);
	archive_bind_text(s, 2, p->key);
	if (!p->gone) {
		archive_bind_text(s, 3, text);
		archive_bind_blob(s, 4, p->text, p->len);
	}
	return archive_step_kept(s);
}

/* -- A whole conversation. */

int archive_load(struct archive *m, struct conversation *c)
{
	int rc;

	(void)pthread_mutex_lock(&m->lock);
	rc = load_conversation(m, c);
	if (rc == 0)
		rc = load_records(m, c);
	if (rc == 0)
		rc = load_pins(m, c);
	(void)pthread_mutex_unlock(&m->lock);
	return rc;
}

static int save_all(struct archive *m, struct conversation *c,
		    struct archive_request *r)
{
	struct held *h, *next_held;
	struct pin *p, *next_pin;
	int rc;

	rc = save_conversation(m, c, r->at_ns);
	HASH_ITER (hh, c->held, h, next_held)
		if (rc == 0 && h->changed)
			rc = save_record(m, c, h);
	HASH_ITER (hh, c->pins, p, next_pin)
		if (rc == 0 && (p->changed || p->gone))
			rc = save_pin(m, c, p);
	return rc < 0 ? rc : archive_save_request_locked(m, c, r);
}

int archive_save(struct archive *m, struct conversation *c,
		 struct archive_request *r)
{
	struct held *h, *next_held;
	struct pin *p, *next_pin;
	int rc;

	(void)pthread_mutex_lock(&m->lock);
	rc = archive_code(
		sqlite3_exec(m->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
	if (rc == 0)
		rc = save_all(m, c, r);
	if (rc == 0)
		rc = archive_code(
			sqlite3_exec(m->db, "COMMIT", NULL, NULL, NULL));
	else
		(void)sqlite3_exec(m->db, "ROLLBACK", NULL, NULL, NULL);
	(void)pthread_mutex_unlock(&m->lock);
	HASH_ITER (hh, c->held, h, next_held)
		h->changed = h->changed && rc < 0;
	HASH_ITER (hh, c->pins, p, next_pin) {
		p->changed = p->changed && rc < 0;
		if (p->gone && rc == 0)
			pin_free(c, p);
	}
	return rc;
}

int archive_usage(struct archive *m, const struct conversation *c,
		  int64_t input, int64_t read, int64_t written)
{
	sqlite3_stmt *s;
	int rc;

	(void)pthread_mutex_lock(&m->lock);
	s = archive_statement(
		m, STATEMENT_USAGE,
		"UPDATE conversation SET usage_input=usage_input+?2,"
		" usage_read=usage_read+?3,"
		" usage_written=usage_written+?4, refused=?5,"
		" stopped=?6, reply_ns=?7 WHERE key=?1");
	if (s) {
		archive_bind_text(s, 1, c->key);
		archive_bind_count(s, 2, input > 0 ? (uint64_t)input : 0);
		archive_bind_count(s, 3, read > 0 ? (uint64_t)read : 0);
		archive_bind_count(s, 4, written > 0 ? (uint64_t)written : 0);
		archive_bind_count(s, 5, c->refused);
		archive_bind_count(s, 6, c->stopped);
		archive_bind_count(s, 7, (uint64_t)c->reply_ns);
	}
	rc = archive_step_kept(s);
	(void)pthread_mutex_unlock(&m->lock);
	return rc;
}
