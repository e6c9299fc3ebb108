/* An object of JSON in a memory file. */
#include "tools/cli/handover.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/base/alloc.h"
#include "graph/base/cleanup.h"
#include "graph/base/json.h"

#define BYTES_MAX 65536

void handover_release(struct handover *h)
{
	free(h->secret);
	free(h->anthropic);
	free(h->openai);
	free(h->chatgpt);
	*h = (struct handover){ 0 };
}

static void put(cJSON *to, const char *name, const char *text)
{
	if (text)
		json_put_bytes(to, name, text);
}

int handover_write(const struct handover *h, int *ret)
{
	CLEANUP(json_p) cJSON *all = json_object(NULL, NULL);
	CLEANUP(close_p) int fd = memfd_create("statetape", MFD_CLOEXEC);
	CLEANUP(free_p) char *text = NULL;
	ssize_t len;

	if (fd < 0)
		return -errno;
	put(all, "secret", h->secret);
	put(all, "anthropic", h->anthropic);
	put(all, "openai", h->openai);
	put(all, "chatgpt", h->chatgpt);
	text = must_have(cJSON_PrintUnformatted(all));
	len = (ssize_t)strlen(text);
	if (write(fd, text, (size_t)len) != len)
		return -EIO;
	*ret = take_fd(&fd);
	return 0;
}

static char *get(const cJSON *from, const char *name)
{
	const char *text =
		json_unescaped(cJSON_GetObjectItemCaseSensitive(from, name));

	return text ? must_strdup(text) : NULL;
}

int handover_read(int fd, struct handover *ret)
{
	char text[BYTES_MAX];
	ssize_t len = pread(fd, text, sizeof(text), 0);
	CLEANUP(json_p) cJSON *all = NULL;

	if (len < 0)
		return -errno;
	all = cJSON_ParseWithLength(text, (size_t)len);
	if (!cJSON_IsObject(all))
		return -EBADMSG;
	*ret = (struct handover){ .secret = get(all, "secret"),
				  .anthropic = get(all, "anthropic"),
				  .openai = get(all, "openai"),
				  .chatgpt = get(all, "chatgpt") };
	return 0;
}
