#include "tape/wire/pubsub.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "graph/base/alloc.h"

/* How long nng_close() may take. It needs microseconds when it returns. */
#define CLOSE_S 2

int pubsub_errno(int code)
{
	static const struct {
		int code;
		int error;
	} known[] = {
		{ NNG_ENOMEM, ENOMEM },
		{ NNG_ENOFILES, EMFILE },
		{ NNG_EADDRINUSE, EADDRINUSE },
		{ NNG_EADDRINVAL, EINVAL },
		{ NNG_EPERM, EACCES },
		{ NNG_ECONNREFUSED, ECONNREFUSED },
		{ NNG_ECLOSED, EBADF },
		{ NNG_ENOSPC, ENOSPC },
		{ NNG_ENOENT, ENOENT },
	};

	if (code == 0)
		return 0;
	if (code & NNG_ESYSERR)
		return -(code & ~NNG_ESYSERR);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].code == code)
			return -known[i].error;
	return -EIO;
}

int pubsub_url(const char *path, char **ret)
{
	size_t scheme = strlen(PUBSUB_SCHEME), len = strlen(path);
	char *url;

	if (len >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return -ENAMETOOLONG;
	url = must_alloc(scheme + len + 1);
	memcpy(mempcpy(url, PUBSUB_SCHEME, scheme), path, len + 1);
	*ret = url;
	return 0;
}

static void *close_main(void *arg)
{
	nng_socket *s = arg;

	(void)nng_close(*s);
	free(s);
	return NULL;
}

bool pubsub_close(nng_socket s)
{
	nng_socket *arg = must_alloc(sizeof(*arg));
	struct timespec end;
	pthread_t thread;

	*arg = s;
	if (pthread_create(&thread, NULL, close_main, arg) != 0) {
		free(arg);
		return false;
	}
	(void)clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += CLOSE_S;
	if (pthread_timedjoin_np(thread, NULL, &end) == 0)
		return true;
	(void)pthread_detach(thread);
	return false;
}
