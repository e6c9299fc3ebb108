/* statetape cat: an earlier version of a file. */
#include "tools/verb/cat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "tools/cli/say.h"
#include "tools/cli/verbs.h"
#include "tools/verb/tape.h"

bool cat_split(const char *verb, const char *argument, uint64_t *ret_n,
	       const char **ret_path)
{
	char *end;

	errno = 0;
	*ret_n = strtoull(argument, &end, 10);
	if (*argument >= '0' && *argument <= '9' && *end == ':' && end[1] &&
	    !errno) {
		*ret_path = end + 1;
		return true;
	}
	(void)say_usage_error("%s wants N:PATH, an entry's number and a path "
			      "from the repository's root, not '%s'",
			      verb, argument);
	return false;
}

char *cat_fetch(struct tape_reader *t, uint64_t n, const char *path,
		size_t *ret_len)
{
	CLEANUP(json_p) cJSON *q = json_object(NULL, NULL);
	CLEANUP(json_p) cJSON *answer = NULL;
	char *text;

	json_put_bytes(q, "path", path);
	json_put_number(q, "n", n);
	json_put_bool(q, "follow", false);
	if (tape_ask(t, "SOURCE", q, &answer) < 0)
		return NULL;
	text = tape_text(answer, ret_len);
	if (!text)
		(void)say_error("the tape's answer has no content");
	return text;
}

int verb_cat(const struct invocation *in)
{
	CLEANUP(tape_release) struct tape_reader t = TAPE_NONE;
	CLEANUP(free_p) char *text = NULL;
	const char *path;
	size_t len = 0;
	uint64_t n;

	if (!cat_split("cat", in->arguments[0], &n, &path))
		return EXIT_USAGE;
	if (tape_open_for(in, in->arguments[1], false, &t) < 0)
		return EXIT_FAILURE;
	text = cat_fetch(&t, n, path, &len);
	if (!text)
		return EXIT_FAILURE;
	(void)fwrite(text, 1, len, stdout);
	return EXIT_SUCCESS;
}
