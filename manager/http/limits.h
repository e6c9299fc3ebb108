/*
 * Every maximum of the manager's edge, in one place, with what meeting it
 * costs. A request that meets one is passed on unchanged where that can be.
 */
#ifndef STATETAPE_MANAGER_HTTP_LIMITS_H
#define STATETAPE_MANAGER_HTTP_LIMITS_H

/*
 * Connections at a time, each with a thread. An agent has a handful; more
 * wait in the kernel's queue until one closes.
 */
#define PROXY_CONNECTIONS_MAX 512

/* Connections that wait to be taken. */
#define PROXY_BACKLOG 128

/*
 * What a connection may take for its request line and headers (and, after
 * them, for reading the body in pieces). More is answered with 431.
 */
#define PROXY_CONNECTION_MEMORY (256u << 10)

/* The stack of a connection's thread; brain_think() runs on it. */
#define PROXY_STACK (1u << 20)

/* Headers of one request, and of one reply. More: 431, 502. */
#define PROXY_HEADERS_MAX      512
#define PROXY_REPLY_HEADER_MAX (256u << 10)

/* Seconds a connection may be silent between requests, or inside one. */
#define PROXY_IDLE_SECONDS 300

/* The longest body that is read, coded or decoded; longer ones pass unread. */
#define PROXY_BODY_MAX (64u << 20)

/*
 * Bodies held at a time by all connections together. Beyond it bodies pass
 * unread, in pieces.
 */
#define PROXY_BODIES_MAX (512u << 20)

/*
 * Blocks from this size on go back to the kernel when they are freed; of the
 * rest each of a few arenas keeps so much at its end. A request of 1 MB takes
 * less than that while it is thought about; to have it from the kernel anew
 * each time, page by page, would be a good part of the time it takes.
 */
#define PROXY_MALLOC_KEEPS  (768 << 10)
#define PROXY_MALLOC_ARENAS 2
#define PROXY_MALLOC_TOP    (3 << 20)

/*
 * Bodies that nobody reads are held up to this all the same: what is held can
 * be sent again when a connection that was kept turns out to be closed.
 */
#define PROXY_SMALL_BODY (1u << 20)

/* What of a reply waits for a slow client; then upstream has to wait too. */
#define PROXY_REPLY_HELD (64u << 10)

/* The most that is given to a client at once. */
#define PROXY_REPLY_BLOCK (32u << 10)

/* The brain's time for one request; later answers are thrown away. */
#define PROXY_DEADLINE_MS 50

/* A decoded reply beyond this is no longer shown to the brain. */
#define PROXY_DECODED_MAX (256u << 20)

/* At the end, the time that replies under way have to end by themselves. */
#define PROXY_GRACE_MS 10000

/* The most that is given to upstream at once. */
#define UPSTREAM_SEND_BLOCK (256u << 10)

/* Connections to upstream kept for the next request. */
#define UPSTREAM_IDLE_MAX 32

/* Seconds for reaching upstream (TLS included); replies have no limit. */
#define UPSTREAM_CONNECT_SECONDS 30

#endif
