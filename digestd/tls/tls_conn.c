/*
 * Bytes of a TLS connection, by GnuTLS.
 */
#include "digestd/tls/tls_conn.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/os/memory.h"

enum {
	AHEAD_BYTES = 8192,    /* a small message comes in one piece */
	ODD_RECORDS_MAX = 64,  /* tickets, alerts, in a row without data */
	RECORD_BYTES = 16384,  /* of data in one, at most (RFC 8446, 5.1) */
};

/* Rests */

static void tls_conn_drop(struct tls_rest *rest)
{
	free(rest->data);
	*rest = (struct tls_rest){ 0 };
}

/* Adds bytes at the end. Returns 0 or -1. */
static int tls_conn_keep(struct tls_rest *rest, const char *data, size_t n)
{
	char *grown = realloc(rest->data, rest->at + rest->len + n);

	if (!grown)
		return -1;
	memcpy(grown + rest->at + rest->len, data, n);
	rest->data = grown;
	rest->len += n;
	return 0;
}

static void tls_conn_advance(struct tls_rest *rest, size_t n)
{
	assert(n <= rest->len);
	rest->at += n;
	rest->len -= n;
	if (!rest->len)
		tls_conn_drop(rest);
}

/* Has the ledger know what is held by now. */
static void tls_conn_count(struct tls_conn *c)
{
	enum ledger_use use = c->serves ? LEDGER_connections : LEDGER_requests;
	size_t bytes = c->held.at + c->held.len;

	if (bytes == c->counted) /* mostly: 0 */
		return;
	ledger_add(&memory_ledger, use, bytes);
	ledger_return(&memory_ledger, use, c->counted);
	c->counted = bytes;
}

/* The transport */

static ssize_t tls_conn_fail(struct tls_conn *c, int err)
{
	gnutls_transport_set_errno(c->session, err);
	return -1;
}

static ssize_t tls_conn_take_ahead(struct tls_conn *c, void *out, size_t room)
{
	size_t n = c->ahead.len < room ? c->ahead.len : room;

	memcpy(out, c->ahead.data + c->ahead.at, n);
	tls_conn_advance(&c->ahead, n);
	return (ssize_t)n;
}

static ssize_t tls_conn_pull(gnutls_transport_ptr_t arg, void *out, size_t room)
{
	struct tls_conn *c = arg;
	char ahead[AHEAD_BYTES];
	struct iovec parts[] = { { out, room }, { ahead, sizeof(ahead) } };
	ssize_t n = -1;

	if (c->ahead.len)
		return tls_conn_take_ahead(c, out, room);
	errno = EAGAIN;
	if (!c->drained)
		n = readv(c->fd, parts, 2);
	if (n < 0) {
		c->dry = errno == EAGAIN;
		return tls_conn_fail(c, errno);
	}
	c->drained = n && (size_t)n < room + sizeof(ahead);
	if ((size_t)n <= room)
		return n;
	if (tls_conn_keep(&c->ahead, ahead, (size_t)n - room))
		return tls_conn_fail(c, ENOMEM);
	return (ssize_t)room;
}

/* GnuTLS asks before it waits, which it never does here. */
static int tls_conn_pull_timeout(gnutls_transport_ptr_t arg, unsigned ms)
{
	(void)arg;
	(void)ms;
	return 0;
}

/* Returns the bytes that the socket takes, or -1. */
static ssize_t tls_conn_write(struct tls_conn *c, const struct iovec *parts,
			      size_t n)
{
	const struct msghdr message = {
		/* which is only read */
		.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = n,
	};
	ssize_t sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);

	return sent < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : sent;
}

/* Holds all behind the first `sent` bytes. Returns 0 or -1. */
static int tls_conn_hold(struct tls_conn *c, const struct iovec *parts, int n,
			 size_t sent)
{
	for (int i = 0; i < n; i++) {
		size_t skip = sent < parts[i].iov_len ? sent :
							parts[i].iov_len;

		sent -= skip;
		if (skip < parts[i].iov_len &&
		    tls_conn_keep(&c->held,
				  (const char *)parts[i].iov_base + skip,
				  parts[i].iov_len - skip))
			return -1;
	}
	return 0;
}

static ssize_t tls_conn_push(gnutls_transport_ptr_t arg,
			     const giovec_t *parts, int n)
{
	struct tls_conn *c = arg;
	size_t all = 0;
	ssize_t sent = 0;
	int err;

	for (int i = 0; i < n; i++)
		all += parts[i].iov_len;
	if (!c->held.len)
		sent = tls_conn_write(c, parts, (size_t)n);
	if (sent < 0)
		return tls_conn_fail(c, errno);
	err = tls_conn_hold(c, parts, n, (size_t)sent);
	tls_conn_count(c);
	return err ? tls_conn_fail(c, ENOMEM) : (ssize_t)all;
}

/* Life */

int tls_conn_init(struct tls_conn *c, int fd, bool serves)
{
	assert(fd >= 0);
	*c = (struct tls_conn){ .fd = fd, .serves = serves };
	if (gnutls_init(&c->session, GNUTLS_NONBLOCK |
				     (serves ? GNUTLS_SERVER : GNUTLS_CLIENT)))
		return -ENOMEM;
	gnutls_transport_set_ptr(c->session, c);
	gnutls_transport_set_pull_function(c->session, tls_conn_pull);
	gnutls_transport_set_pull_timeout_function(c->session,
						   tls_conn_pull_timeout);
	gnutls_transport_set_vec_push_function(c->session, tls_conn_push);
	return 0;
}

void tls_conn_free(struct tls_conn *c)
{
	if (c->session)
		gnutls_deinit(c->session);
	tls_conn_drop(&c->ahead);
	tls_conn_drop(&c->held);
	tls_conn_count(c);
	c->session = NULL;
}

/* What a fatal error of the library means to the caller. */
static int tls_conn_error(ssize_t code)
{
	return code == GNUTLS_E_PREMATURE_TERMINATION ||
	       code == GNUTLS_E_PULL_ERROR || code == GNUTLS_E_PUSH_ERROR ?
		       -ECONNRESET : -EPROTO;
}

static int tls_conn_go_on(struct tls_conn *c)
{
	int code = GNUTLS_E_AGAIN;

	c->drained = c->dry = false;
	for (int i = 0; i < ODD_RECORDS_MAX && code && !c->dry; i++) {
		code = gnutls_handshake(c->session);
		if (gnutls_error_is_fatal(code))
			break;
	}
	if (code && c->dry && !gnutls_error_is_fatal(code))
		return -EAGAIN;
	if (code)
		gnutls_alert_send_appropriate(c->session, code);
	c->failed = code;
	return code ? tls_conn_error(code) : 0;
}

int tls_conn_handshake(struct tls_conn *c)
{
	int err = tls_conn_flush(c);

	if (!err && !c->shaken) {
		err = tls_conn_go_on(c);
		c->shaken = !err;
		if (!err)
			err = tls_conn_flush(c);
	}
	return err == -EPIPE ? -ECONNRESET : err;
}

void tls_conn_failure(const struct tls_conn *c, char *out, size_t room)
{
	if (c->failed == GNUTLS_E_FATAL_ALERT_RECEIVED)
		snprintf(out, room, "it sent the alert \"%s\"",
			 gnutls_alert_get_name(gnutls_alert_get(c->session)));
	else if (!c->failed || tls_conn_error(c->failed) == -ECONNRESET)
		snprintf(out, room, "it hung up");
	else if (c->failed == GNUTLS_E_DECRYPTION_FAILED)
		/* OpenSSL's alerts come so, of TLS 1.3 */
		snprintf(out, room, "it broke off, perhaps as it does not "
			 "trust the certificate");
	else
		snprintf(out, room, "%s", gnutls_strerror(c->failed));
}

/* Bytes */

bool tls_conn_holds(const struct tls_conn *c)
{
	return c->held.len;
}

int tls_conn_flush(struct tls_conn *c)
{
	const struct iovec part = { c->held.data + c->held.at, c->held.len };
	ssize_t n;

	if (!c->held.len)
		return 0;
	n = tls_conn_write(c, &part, 1);
	if (n < 0)
		return -EPIPE;
	tls_conn_advance(&c->held, (size_t)n);
	tls_conn_count(c);
	return c->held.len ? -EAGAIN : 0;
}

/* Where the bytes of the next record are. */
struct tls_cursor {
	const struct iovec *part, *end;
	size_t at; /* in the part */
};

/* Up to `most` bytes of the part that it is in, and moves on. */
static struct iovec tls_conn_cut(struct tls_cursor *cursor, size_t most)
{
	size_t left = cursor->part->iov_len - cursor->at;
	struct iovec piece = { (char *)cursor->part->iov_base + cursor->at,
			       left < most ? left : most };

	cursor->at += piece.iov_len;
	if (piece.iov_len == left) {
		cursor->part++;
		cursor->at = 0;
	}
	return piece;
}

/* The data of a record, put together in `scratch` unless it is in one place;
 * of no bytes: there are none. */
static struct iovec tls_conn_gather(struct tls_cursor *cursor,
				    char scratch[RECORD_BYTES])
{
	struct iovec all = { scratch, 0 };

	while (all.iov_len < RECORD_BYTES && cursor->part < cursor->end) {
		struct iovec piece =
			tls_conn_cut(cursor, RECORD_BYTES - all.iov_len);

		if (piece.iov_len == RECORD_BYTES)
			return piece;
		if (piece.iov_len)
			memcpy(scratch + all.iov_len, piece.iov_base,
			       piece.iov_len);
		all.iov_len += piece.iov_len;
	}
	return all;
}

/* More than one where the other end takes no long ones. */
static int tls_conn_send_record(struct tls_conn *c, struct iovec data)
{
	while (data.iov_len) {
		ssize_t n = gnutls_record_send(c->session, data.iov_base,
					       data.iov_len);

		if (n <= 0)
			return -EPIPE;
		data.iov_base = (char *)data.iov_base + n;
		data.iov_len -= (size_t)n;
	}
	return 0;
}

ssize_t tls_conn_send(struct tls_conn *c, const struct iovec *parts, unsigned n)
{
	struct tls_cursor cursor = { .part = parts, .end = parts + n };
	char scratch[RECORD_BYTES];
	size_t taken = 0;
	int err = tls_conn_flush(c);

	while (!err && !c->held.len) {
		struct iovec data = tls_conn_gather(&cursor, scratch);

		if (!data.iov_len)
			break;
		err = tls_conn_send_record(c, data);
		taken += data.iov_len;
	}
	return err ? err : (ssize_t)taken;
}

void tls_conn_end(struct tls_conn *c)
{
	if (!c->held.len)
		(void)gnutls_bye(c->session, GNUTLS_SHUT_WR);
}

/* Of a record that is not data: whether there is more to be had. */
static bool tls_conn_goes_on(const struct tls_conn *c, ssize_t code)
{
	if (code == GNUTLS_E_REHANDSHAKE && c->serves) {
		/* GnuTLS would go on only with another handshake */
		gnutls_alert_send(c->session, GNUTLS_AL_WARNING,
				  GNUTLS_A_NO_RENEGOTIATION);
		return false;
	}
	return !gnutls_error_is_fatal((int)code);
}

/* Of one record with data. */
static ssize_t tls_conn_receive_record(struct tls_conn *c, char *out,
				       size_t room)
{
	ssize_t n = 0;

	for (int i = 0; i < ODD_RECORDS_MAX; i++) {
		n = gnutls_record_recv(c->session, out, room);
		if (n >= 0)
			return n;
		if (c->dry)
			return -EAGAIN;
		if (!tls_conn_goes_on(c, n))
			break;
	}
	return tls_conn_error(n);
}

ssize_t tls_conn_receive(struct tls_conn *c, void *buf, size_t cap)
{
	char *out = buf;
	size_t have = 0;

	assert(cap);
	c->drained = c->dry = false;
	while (have < cap && !c->over) {
		ssize_t n = tls_conn_receive_record(c, out + have, cap - have);

		if (n == -EAGAIN)
			return have ? (ssize_t)have : n;
		c->over = n <= 0;
		c->end = n;
		if (n > 0)
			have += (size_t)n;
	}
	return have ? (ssize_t)have : c->end;
}

bool tls_conn_has_more(const struct tls_conn *c)
{
	return c->over || c->ahead.len ||
	       gnutls_record_check_pending(c->session) > 0;
}
