/*
 * The bell says only that the head of a numbered log moved; the listener then
 * reads the log. A missed ring therefore costs nothing but time, and rings are
 * merged: at most one is on its way at any moment. nng's PUB/SUB protocol over
 * a Unix socket, mode 0600; a message is the head's number in decimal.
 */
#ifndef STATETAPE_TAPE_WIRE_BELL_H
#define STATETAPE_TAPE_WIRE_BELL_H

#include <stdint.h>

struct bell;

/*
 * Listen at `path`, replacing a dead process's socket. Starts a thread.
 * -EADDRINUSE: a living process listens there.
 */
int bell_open(const char *path, struct bell **ret);
void bell_free(struct bell *b);

/*
 * The head is now `n`. Any thread; never blocks, never fails, and costs a few
 * instructions while no client listens.
 */
void bell_ring(struct bell *b, uint64_t n);

struct bell_ear;

/*
 * Listen to the bell at `path`, which may appear later, or again. An ear is for
 * one thread, and connects only inside bell_ear_wait().
 */
int bell_ear_open(const char *path, struct bell_ear **ret);
void bell_ear_free(struct bell_ear *e);

/*
 * 0: the head is at least *ret_head. -ETIMEDOUT: no ring in time (a negative
 * timeout is none). An ear receives the head when it connects, unless the bell
 * has never been rung.
 */
int bell_ear_wait(struct bell_ear *e, int timeout_ms, uint64_t *ret_head);
/* For poll(2): call bell_ear_wait(e, 0, ...) when it is readable. -1: not
   connected; that call tries to connect. */
int bell_ear_fd(const struct bell_ear *e);

#endif
