#include "manager/bench/labels.h"

#include <errno.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"
#include "manager/bench/trace.h"

int labels_open(const char *dir, struct labels *ret)
{
	CLEANUP(free_p) char *path = format_text("%s/labels.json", dir);
	CLEANUP(free_p) char *text = NULL;
	size_t len;
	int rc = trace_read_file(path, &text, &len);

	if (rc < 0)
		return rc;
	ret->json = cJSON_ParseWithLength(text, len);
	if (cJSON_IsArray(json_member(ret->json, "dps")))
		return 0;
	labels_release(ret);
	return -EBADMSG;
}

void labels_release(struct labels *l)
{
	cJSON_Delete(l->json);
	l->json = NULL;
}

const cJSON *labels_of(const struct labels *l, uint32_t dp)
{
	const cJSON *at;

	cJSON_ArrayForEach (at, json_member(l->json, "dps"))
		if (json_number(at, "dp", UINT32_MAX) == dp)
			return at;
	return NULL;
}
