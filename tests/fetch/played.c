/*
 * The client, and what the server does.
 */
#include "tests/fetch/played.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/loopback.h"

char pattern[BIG], got[GOT_MAX + 1];

struct played at;

int played_set_up(void **state)
{
	static const int room = 65536;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	memset(&at, 0, sizeof(at));
	for (size_t i = 0; i < BIG; i++)
		pattern[i] = (char)('a' + i * 7 % 23 + i / 1000 % 3);
	at.fd = -1;
	at.listen_fd = loopback_listen(&at.port);
	setsockopt(at.listen_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	fcntl(at.listen_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(loop_new(&at.loop), 0);
	return fetcher_new(at.loop, FETCHER_DATA, 0, &at.fetcher);
}

int played_tear_down(void **state)
{
	(void)state;
	fetcher_free(&at.fetcher);
	loop_free(&at.loop);
	if (at.fd >= 0)
		close(at.fd);
	close(at.listen_fd);
	return 0;
}

/* The client */

static void cancel(void)
{
	fetch_cancel(&at.fetch);
	at.over = true;
}

static ssize_t read_upload(void *arg, void *buf, size_t cap)
{
	size_t n = at.ready - at.read;

	(void)arg;
	assert_false(at.over);
	if (at.gives_up)
		return FETCH_GIVE_UP;
	if (at.cancels_at_read)
		cancel();
	if (at.read == at.len)
		return FETCH_EOF;
	if (!n)
		return FETCH_MORE;
	n = n < cap ? n : cap;
	n = n < at.piece ? n : at.piece;
	memcpy(buf, pattern + at.read, n);
	at.read += n;
	return (ssize_t)n;
}

static void on_interim(void *arg, struct fetch *f, unsigned status,
		       const struct fields *fields)
{
	(void)arg;
	(void)f;
	(void)fields;
	at.interim = status;
}

static void on_headers(void *arg, struct fetch *f, unsigned status,
		       const struct fields *fields, int64_t body_len)
{
	(void)arg;
	(void)f;
	(void)fields;
	(void)body_len;
	at.status = status;
}

static bool on_body(void *arg, struct fetch *f, const void *data, size_t len)
{
	(void)arg;
	(void)f;
	if (at.pauses)
		return false;
	assert_true(at.nbody + len < sizeof(at.body));
	memcpy(at.body + at.nbody, data, len);
	at.nbody += len;
	at.body[at.nbody] = '\0';
	return true;
}

static void on_done(void *arg, struct fetch *f, const struct fetch_done *done)
{
	(void)arg;
	(void)f;
	at.done = *done;
	at.over = true;
	at.fetch = NULL;
}

static void on_half_close(void *arg, struct fetch *f)
{
	(void)arg;
	assert_ptr_equal(f, at.fetch);
	at.half_closed++;
	if (at.cancels_at_half)
		cancel();
}

static void on_trailers(void *arg, struct fetch *f,
			const struct fields *fields)
{
	(void)arg;
	(void)f;
	assert_false(at.over);
	at.trailers++;
	assert_int_equal(fields_count(fields), 1);
	assert_string_equal(fields_get(fields, "X-Sum"), "5");
}

static const struct fields *upload_trailers(void *arg)
{
	(void)arg;
	assert_int_equal(at.read, at.len);
	return at.behind;
}

static const struct fetch_callbacks callbacks = {
	.on_trailers = on_trailers,
	.on_half_close = on_half_close,
	.on_interim = on_interim,
	.on_headers = on_headers,
	.on_body = on_body,
	.on_done = on_done,
};

unsigned first_byte_ms = 20000, tunnel_idle_ms = 20000;

void begin(struct fetch_request request, int64_t announced, size_t len,
	   size_t ready)
{
	const struct fetch_limits limits = {
		.connect_ms = 20000, .first_byte_ms = first_byte_ms,
		.max_header_bytes = 1000,
		.tunnel_idle_ms = tunnel_idle_ms,
	};
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", at.port);
	request.url = url;
	request.limits = &limits;
	at.upload = (struct fetch_upload){ announced, read_upload,
					   upload_trailers };
	request.upload = &at.upload;
	at.len = len;
	at.ready = ready;
	at.read = at.ngot = at.nbody = 0;
	at.body[0] = '\0';
	at.status = at.interim = 0;
	at.piece = at.piece ? at.piece : SIZE_MAX;
	at.over = false;
	assert_int_equal(fetch_start(at.fetcher, &request, &callbacks, NULL,
				     &at.fetch), 0);
}

void post(int64_t announced, size_t len, size_t ready)
{
	begin((struct fetch_request){ .method = "POST" }, announced, len,
	      ready);
}

void upload_more(size_t ready)
{
	at.ready = ready;
	fetch_resume_upload(at.fetch);
}

/* The server */

void serve_close(bool reset)
{
	const struct linger now = { .l_onoff = 1 };

	if (reset)
		setsockopt(at.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(at.fd);
	at.fd = -1;
}

bool serve_turn(void)
{
	ssize_t n = -1;

	loop_turn(at.loop, 1);
	if (at.fd < 0) {
		at.fd = accept(at.listen_fd, NULL, NULL);
		at.connections += at.fd >= 0;
	}
	if (at.fd >= 0)
		n = recv(at.fd, got + at.ngot, GOT_MAX - at.ngot,
			 MSG_DONTWAIT);
	at.ngot += n > 0 ? (size_t)n : 0;
	got[at.ngot] = '\0';
	return n > 0;
}

void serve_read(void)
{
	for (int i = 0, quiet = 0; i < TURNS_MAX && quiet < 20; i++)
		quiet = serve_turn() ? 0 : quiet + 1;
}

void serve_say(const char *text)
{
	assert_int_equal(send(at.fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

void finish(enum fetch_result result)
{
	for (int i = 0; i < TURNS_MAX && !at.over; i++)
		serve_turn();
	assert_true(at.over);
	assert_int_equal(at.done.result, result);
}

const char *body_got(void)
{
	const char *end = strstr(got, "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}

size_t unchunk(char *at_chunk, bool *ended)
{
	char *to = at_chunk, *from = at_chunk;
	size_t n;

	*ended = false;
	while (*from && !*ended) {
		n = strtoul(from, &from, 16);
		assert_memory_equal(from, "\r\n", 2);
		memmove(to, from + 2, n);
		from += 2 + n;
		to += n;
		assert_memory_equal(from, "\r\n", 2);
		from += 2;
		*ended = !n;
	}
	return (size_t)(to - at_chunk);
}
