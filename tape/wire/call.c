#include "tape/wire/call.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/cleanup.h"
#include "tape/wire/wire_i.h"

struct wire_call {
	struct sp_conn conn;
};

int wire_call_new(const char *path, const char *ask, const cJSON *question,
		  struct wire_call **ret)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(sp_conn_release) struct sp_conn conn = SP_CONN_NONE;
	struct wire_call *c;
	int rc = wire_question_text(ask, question, &text);

	if (rc == 0)
		rc = sp_connect(path, 0, SP_REQ, SP_REP,
				WIRE_NUMBER + WIRE_ANSWER_MAX, &conn);
	if (rc == 0)
		rc = sp_conn_send(&conn, wire_ask_number, WIRE_NUMBER, text,
				  strlen(text));
	if (rc < 0)
		return rc == -EAGAIN ? -ETIMEDOUT : rc;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->conn = conn;
	conn = SP_CONN_NONE;
	*ret = c;
	return 0;
}

void wire_call_free(struct wire_call *c)
{
	if (c)
		sp_conn_release(&c->conn);
	free(c);
}

struct pollfd wire_call_poll(const struct wire_call *c)
{
	return (struct pollfd){ .fd = c->conn.fd,
				.events = sp_conn_events(&c->conn) };
}

int wire_call_step(struct wire_call *c, cJSON **ret)
{
	struct sp_conn *conn = &c->conn;
	int rc = conn->out ? sp_conn_flush(conn) : sp_conn_receive(conn);

	if (rc < 0)
		return rc;
	if (rc == 0 || conn->kept < WIRE_NUMBER ||
	    memcmp(conn->in, wire_ask_number, WIRE_NUMBER) != 0)
		return -EAGAIN;
	return wire_answer_read(conn, ret);
}
