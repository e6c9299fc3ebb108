/*
 * The rules are tried in order for each part of a path, first part first; the
 * first rule that applies decides. Files in a version control's directory are
 * out of scope, except those that decide which programs run: hooks and
 * configuration.
 */
#include "tape/journal/scope.h"

#include <stddef.h>
#include <string.h>

struct rule {
	const char *part; /* this name, or the end of one if `suffix` */
	const char *next; /* and the part after it; NULL: any, or none */
	enum scope scope;
	bool suffix; /* of the last part alone */
};

static const struct rule rules[] = {
	{ .part = ".git", .next = "hooks", .scope = SCOPE_FULL },
	{ .part = ".git", .next = "config", .scope = SCOPE_FULL },
	{ .part = ".git", .next = "info", .scope = SCOPE_FULL },
	{ .part = ".git", .scope = SCOPE_NONE },
	{ .part = ".hg", .next = "hgrc", .scope = SCOPE_FULL },
	{ .part = ".hg", .scope = SCOPE_NONE },
	{ .part = ".svn", .scope = SCOPE_NONE },
	{ .part = ".jj", .scope = SCOPE_NONE },
	{ .part = "__pycache__", .scope = SCOPE_NONE },
	{ .part = ".pyc", .suffix = true, .scope = SCOPE_NONE },
	{ .part = "node_modules", .scope = SCOPE_HASH },
};

static bool is_part(const char *name, size_t len, const char *part)
{
	return strlen(part) == len && memcmp(name, part, len) == 0;
}

/* `name` is one part of a path, of `len` bytes, with what follows it. */
static bool applies(const struct rule *r, const char *name, size_t len)
{
	const char *after = name[len] ? name + len + 1 : "";

	if (r->suffix)
		return !name[len] && len >= strlen(r->part) &&
		       strcmp(name + len - strlen(r->part), r->part) == 0;
	return is_part(name, len, r->part) &&
	       (!r->next || is_part(after, strcspn(after, "/"), r->next));
}

/* NULL: none of them. */
static const struct rule *rule_of(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (applies(&rules[i], name, len))
			return &rules[i];
	return NULL;
}

static enum scope scope_by_parts(const char *path, const char **ret_at)
{
	for (const char *name = path;;) {
		size_t len = strcspn(name, "/");
		const struct rule *r = rule_of(name, len);

		*ret_at = name;
		if (r)
			return r->scope;
		if (!name[len])
			return SCOPE_FULL;
		name += len + 1;
	}
}

enum scope scope_of(const char *path)
{
	const char *at;

	return scope_by_parts(path, &at);
}

bool scope_enters(const char *dir)
{
	const char *at;

	if (scope_by_parts(dir, &at) != SCOPE_NONE)
		return true;
	/* It may itself be where a part that counts begins. */
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].next && strcmp(at, rules[i].part) == 0)
			return true;
	return false;
}
