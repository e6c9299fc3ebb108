/*
 * What a run gives its manager in confidence: the secret in the path of the
 * manager's address, and the upstream addresses, which may hold a password.
 * Both reach the manager through a descriptor, so they are on no command line
 * and in no environment.
 */
#ifndef STATETAPE_TOOLS_CLI_HANDOVER_H
#define STATETAPE_TOOLS_CLI_HANDOVER_H

struct handover {
	char *secret;			    /* NULL: none was given */
	char *anthropic, *openai, *chatgpt; /* NULL: not said */
};
void handover_release(struct handover *h);

/* *ret: a descriptor from which any number of processes may read it. */
int handover_write(const struct handover *h, int *ret);
/* -EBADMSG: not what handover_write() wrote. */
int handover_read(int fd, struct handover *ret);

#endif
