/*
 * Fetching over libcurl's multi interface: curl says which descriptors to
 * watch and when to be called, the loop calls it, and what has ended is
 * collected after each call.
 *
 * Curl must not be called from its own callbacks, so resuming and cancelling
 * are put off to the end of the loop's turn. A cancelled fetch is deaf at once.
 *
 * Curl repeats a request by itself when a kept connection ends without an
 * answer. What must not be sent twice (RFC 9110, 9.2.2) has a new connection.
 */
#include <curl/curl.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/http/fields.h"
#include "digestd/http/response.h"
#include "digestd/fetch/fetch_lines.h"
#include "digestd/fetch/fetch_tls.h"
#include "digestd/fetch/fetch_way.h"
#include "digestd/os/address.h"
#include "digestd/os/loop.h"

enum {
	KEPT_CONNECTIONS = 512,    /* idle ones, of one fetcher */
	RECEIVE_BUFFER = 8192,     /* of each fetch, and most of them wait */
	CANCELLED = -1,            /* beside enum fetch_result */
	NOT_FAILED = -2,
};

/* A descriptor that curl wants watched. */
struct fetch_socket {
	struct loop_watch watch;
	struct fetch_means *means;
};

struct fetch_means {
	struct loop *loop;
	CURLM *multi;
	struct loop_timer timer;
	struct fetch *fetches;
	bool public_only;
	bool calling; /* a callback of a fetch runs */
};

struct transfer {
	struct fetch fetch; /* first: what fetch.h hands out */
	struct fetch_means *means;
	CURL *easy;
	struct curl_slist *lines;
	struct fetch_tls tls;
	const struct fetch_callbacks *callbacks;
	void *arg;
	size_t header_left; /* bytes of header still allowed */
	unsigned low_rate, low_rate_s; /* of the body: see fetch_limits */
	struct fields fields;
	unsigned status;
	bool has_body;      /* the response may have one */
	bool headers_done;
	bool ended_by_close;
	bool launched;      /* curl has it */
	bool refused;       /* an address was not public */
	int error;          /* errno where there was no socket */
	bool paused;
	int failure;        /* enum fetch_result, or as above */
	struct loop_timer first_byte;
	unsigned first_byte_ms;
	struct loop_call later; /* resume, reap or fail */
};

static struct transfer *fetch_curl_transfer_of(struct fetch *f)
{
	return (struct transfer *)f;
}

int fetch_curl_global_init(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) ? -ENOMEM : 0;
}

static void fetch_curl_transfer_free(struct transfer *f)
{
	struct fetch_means *means = f->means;

	fetch_unlist(&f->fetch);
	if (f->launched)
		curl_multi_remove_handle(means->multi, f->easy);
	loop_timer_clear(means->loop, &f->first_byte);
	loop_undefer(means->loop, &f->later);
	curl_easy_cleanup(f->easy);
	curl_slist_free_all(f->lines);
	fetch_tls_free(&f->tls);
	fields_free(&f->fields);
	free(f);
}

/* The end of a fetch */

static unsigned fetch_curl_info_ms(CURL *easy, CURLINFO what)
{
	curl_off_t us = 0;

	curl_easy_getinfo(easy, what, &us);
	return (unsigned)((us + 999) / 1000);
}

static enum fetch_result fetch_curl_result_of(const struct transfer *f,
					      CURLcode code)
{
	if (f->failure >= 0)
		return (enum fetch_result)f->failure;
	if (f->tls.trouble)
		return FETCH_UNTRUSTED;
	switch (code) {
	case CURLE_OK:
		return f->headers_done ? FETCH_COMPLETE : FETCH_BAD;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		return f->refused ? FETCH_REFUSED : FETCH_NOCONNECT;
	case CURLE_SSL_CONNECT_ERROR:
		return FETCH_NOTLS;
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_PEER_FAILED_VERIFICATION:
		return FETCH_UNTRUSTED;
	case CURLE_OPERATION_TIMEDOUT:
		return FETCH_TIMEOUT;
	case CURLE_OUT_OF_MEMORY:
		return FETCH_NOMEM;
	default:
		return f->headers_done ? FETCH_TRUNCATED : FETCH_BAD;
	}
}

/* What is known of a failure beside the result. */
static enum trouble fetch_curl_trouble_of(const struct transfer *f,
					  CURLcode code)
{
	long error = 0;

	if (f->tls.trouble)
		return f->tls.trouble;
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return TROUBLE_no_such_name;
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(f->easy, CURLINFO_OS_ERRNO, &error);
		return trouble_of_connect(f->error ? f->error : (int)error);
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return f->headers_done ? TROUBLE_none : TROUBLE_reset;
	case CURLE_OPERATION_TIMEDOUT:
		return fetch_curl_info_ms(f->easy, CURLINFO_CONNECT_TIME_T) ?
			       TROUBLE_none :
			       TROUBLE_timeout_connect;
	default:
		return TROUBLE_none;
	}
}

static void fetch_curl_finish(struct transfer *f, CURLcode code)
{
	const struct fetch_done done = {
		.result = fetch_curl_result_of(f, code),
		.cause = fetch_curl_trouble_of(f, code),
		.ended_by_close = f->ended_by_close,
		.timing =
			{
				.connect_ms = fetch_curl_info_ms(
					f->easy, CURLINFO_CONNECT_TIME_T),
				.first_byte_ms = fetch_curl_info_ms(
					f->easy, CURLINFO_STARTTRANSFER_TIME_T),
				.total_ms = fetch_curl_info_ms(
					f->easy, CURLINFO_TOTAL_TIME_T),
			},
	};

	if (f->failure == CANCELLED)
		return; /* the deferred call frees it */
	f->failure = CANCELLED; /* a cancel from the callback finds it ended */
	f->means->calling = true;
	f->callbacks->on_done(f->arg, &f->fetch, &done);
	f->means->calling = false;
	fetch_curl_transfer_free(f);
}

static void fetch_curl_collect(struct fetch_means *means)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(means->multi, &left))) {
		struct transfer *f = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &f);
		fetch_curl_finish(f, msg->data.result);
	}
}

/* Curl in the loop */

static void fetch_curl_socket_ready(void *arg, unsigned events)
{
	struct fetch_socket *s = arg;
	struct fetch_means *means = s->means;
	int mask = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
		   (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0) |
		   (events & LOOP_HANGUP ? CURL_CSELECT_IN : 0);
	int running;

	curl_multi_socket_action(means->multi, s->watch.fd, mask, &running);
	fetch_curl_collect(means);
}

static void fetch_curl_timer_fired(void *arg)
{
	struct fetch_means *means = arg;
	int running;

	curl_multi_socket_action(means->multi, CURL_SOCKET_TIMEOUT, 0,
				 &running);
	fetch_curl_collect(means);
}

static int fetch_curl_on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct fetch_means *means = arg;

	(void)multi;
	if (timeout_ms < 0)
		loop_timer_clear(means->loop, &means->timer);
	else
		loop_timer_set(means->loop, &means->timer,
			       loop_now_ms(means->loop) + timeout_ms,
			       fetch_curl_timer_fired, means);
	return 0;
}

static void fetch_curl_run_fail(void *arg)
{
	fetch_curl_finish(arg, CURLE_OUT_OF_MEMORY);
}

/*
 * The socket of a fetch cannot be watched, so that it would only end with its
 * time. An error of the callback would end all others of this handle in that
 * way, too.
 */
static void fetch_curl_fail_soon(CURL *easy)
{
	struct transfer *f = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &f);
	if (!f || f->failure != NOT_FAILED)
		return;
	f->failure = FETCH_NOMEM;
	loop_undefer(f->means->loop, &f->later);
	f->later.run = fetch_curl_run_fail;
	loop_defer(f->means->loop, &f->later);
}

static int fetch_curl_watch_socket(struct fetch_means *means, curl_socket_t fd,
				   unsigned events)
{
	struct fetch_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	s->means = means;
	if (loop_watch(means->loop, &s->watch, fd, events,
		       fetch_curl_socket_ready, s)) {
		free(s);
		return -1;
	}
	curl_multi_assign(means->multi, fd, s);
	return 0;
}

static int fetch_curl_on_socket(CURL *easy, curl_socket_t fd, int what,
				void *arg, void *socket_arg)
{
	struct fetch_means *means = arg;
	struct fetch_socket *s = socket_arg;
	unsigned events = (what & CURL_POLL_IN ? LOOP_READ : 0u) |
			  (what & CURL_POLL_OUT ? LOOP_WRITE : 0u);

	if (what == CURL_POLL_REMOVE) {
		if (s)
			loop_unwatch(means->loop, &s->watch);
		free(s);
		return 0;
	}
	if (s ? loop_rewatch(means->loop, &s->watch, events) :
		fetch_curl_watch_socket(means, fd, events))
		fetch_curl_fail_soon(easy);
	return 0;
}

/* Curl and the loop know each other; null without memory. */
static CURLM *fetch_curl_new_multi(struct fetch_means *means,
				   unsigned max_per_host)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		return NULL;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, fetch_curl_on_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, means);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, fetch_curl_on_timer);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, means);
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
			  (long)max_per_host);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
	return multi;
}

static int fetch_curl_open_means(struct loop *loop, unsigned max_per_host,
				 struct fetch_means **out)
{
	struct fetch_means *means = calloc(1, sizeof(*means));

	if (!means)
		return -ENOMEM;
	means->loop = loop;
	means->multi = fetch_curl_new_multi(means, max_per_host);
	if (!means->multi) {
		free(means);
		return -ENOMEM;
	}
	*out = means;
	return 0;
}

static void fetch_curl_public_only(struct fetch_means *means)
{
	means->public_only = true;
}

static void fetch_curl_close_means(struct fetch_means *means)
{
	if (!means)
		return;
	assert(!means->calling);
	while (means->fetches)
		fetch_curl_transfer_free(
			fetch_curl_transfer_of(means->fetches));
	curl_multi_cleanup(means->multi);
	loop_timer_clear(means->loop, &means->timer);
	free(means);
}

/* The response's header */

static size_t fetch_curl_fail(struct transfer *f, enum fetch_result result)
{
	if (f->failure == NOT_FAILED)
		f->failure = (int)result;
	return 0; /* which ends the transfer */
}

/* The length of a line without its end, with which curl hands it on. */
static size_t fetch_curl_line_len(const char *line, size_t len)
{
	assert(len);
	len -= line[len - 1] == '\n';
	return len && line[len - 1] == '\r' ? len - 1 : len;
}

/* Takes a "Name: value" line; refuses folded and malformed ones. */
static int fetch_curl_take_field(struct transfer *f, const char *line,
				 size_t len)
{
	struct field_part name, value;

	if (response_field(line, len, &name, &value))
		return -EINVAL;
	return fields_add_n(&f->fields, name.at, name.len, value.at, value.len);
}

/* Not before the body: curl would count the wait for the header, too. */
static void fetch_curl_transfer_watch_pace(struct transfer *f)
{
	curl_easy_setopt(f->easy, CURLOPT_LOW_SPEED_LIMIT, (long)f->low_rate);
	curl_easy_setopt(f->easy, CURLOPT_LOW_SPEED_TIME, (long)f->low_rate_s);
}

static size_t fetch_curl_end_header(struct transfer *f, size_t len)
{
	struct response_framing framing;

	if (f->status == 101)
		return fetch_curl_fail(f, FETCH_BAD);
	if (f->status < 200) { /* the real one follows */
		fields_clear(&f->fields);
		return len;
	}
	if (response_frame(&f->fields, f->status, !f->has_body, &framing))
		return fetch_curl_fail(f, FETCH_BAD);
	f->ended_by_close = framing.by_close;
	f->headers_done = true;
	loop_timer_clear(f->means->loop, &f->first_byte);
	fetch_curl_transfer_watch_pace(f);
	f->means->calling = true;
	if (f->callbacks->on_headers)
		f->callbacks->on_headers(f->arg, &f->fetch, f->status,
					 &f->fields, framing.body_len);
	f->means->calling = false;
	return f->failure == NOT_FAILED ? len : 0;
}

static size_t fetch_curl_on_header(char *line, size_t size, size_t count,
				   void *arg)
{
	struct transfer *f = arg;
	size_t len = size * count, line_len = fetch_curl_line_len(line, len);
	unsigned minor;
	int err;

	if (f->failure != NOT_FAILED)
		return 0;
	if (f->headers_done)
		return len; /* trailers are of no use here */
	if (len > f->header_left)
		return fetch_curl_fail(f, FETCH_BAD);
	f->header_left -= len;
	if (!line_len)
		return fetch_curl_end_header(f, len);
	err = line_len >= 5 && !memcmp(line, "HTTP/", 5) ?
		      response_status_line(line, line_len, &minor, &f->status) :
		      fetch_curl_take_field(f, line, line_len);
	return err ? fetch_curl_fail(f, FETCH_BAD) : len;
}

static size_t fetch_curl_on_write(char *data, size_t size, size_t count,
				  void *arg)
{
	struct transfer *f = arg;
	size_t len = size * count;
	bool taken;

	if (f->failure != NOT_FAILED)
		return 0;
	if (!f->headers_done)
		return fetch_curl_fail(f, FETCH_BAD);
	if (f->paused)
		return CURL_WRITEFUNC_PAUSE;
	f->paused = true; /* before the call, which may resume it already */
	f->means->calling = true;
	taken = !f->callbacks->on_body ||
		f->callbacks->on_body(f->arg, &f->fetch, data, len);
	f->means->calling = false;
	if (f->failure != NOT_FAILED)
		return 0;
	if (!taken)
		return CURL_WRITEFUNC_PAUSE;
	f->paused = false;
	return len;
}

static void fetch_curl_first_byte_late(void *arg)
{
	struct transfer *f = arg;

	fetch_curl_fail(f, FETCH_TIMEOUT);
	fetch_curl_finish(f, CURLE_OPERATION_TIMEDOUT);
}

static curl_socket_t fetch_curl_on_open(void *arg, curlsocktype purpose,
					struct curl_sockaddr *addr)
{
	struct transfer *f = arg;
	int fd;

	if (purpose != CURLSOCKTYPE_IPCXN)
		return CURL_SOCKET_BAD;
	if (f->means->public_only && !address_is_public(&addr->addr)) {
		f->refused = true;
		return CURL_SOCKET_BAD;
	}
	fd = socket(addr->family, addr->socktype | SOCK_CLOEXEC,
		    addr->protocol);
	f->error = fd < 0 ? errno : 0;
	return fd;
}

/* Called between the connection, or its handshake, and each request. */
static int fetch_curl_before_request(void *arg, char *remote, char *local,
				     int remote_port, int local_port)
{
	struct transfer *f = arg;

	(void)remote;
	(void)local;
	(void)remote_port;
	(void)local_port;
	return fetch_tls_trusts(&f->tls) ? CURL_PREREQFUNC_OK :
					   CURL_PREREQFUNC_ABORT;
}

/* The request */

static void fetch_curl_set_limits(CURL *easy, const struct fetch_limits *limits)
{
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)limits->connect_ms);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)limits->total_ms);
}

static void fetch_curl_set_callbacks(struct transfer *f)
{
	CURL *easy = f->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, f);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, fetch_curl_on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, f);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, fetch_curl_on_write);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, f);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, fetch_curl_on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, f);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION,
			 fetch_curl_before_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, f);
}

/* What is the same for every fetch: no help that was not asked for. */
static void fetch_curl_set_manners(CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
}

static void fetch_curl_set_method(struct transfer *f,
				  const struct fetch_request *r)
{
	CURL *easy = f->easy;

	f->has_body = strcmp(r->method, "HEAD") != 0;
	curl_easy_setopt(easy, CURLOPT_NOBODY, f->has_body ? 0L : 1L);
	if (f->has_body)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
	if (!fetch_is_safe(r->method))
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
}

static int fetch_curl_set_up(struct transfer *f, const struct fetch_request *r)
{
	int err = fetch_lines_make(r, &f->lines);

	if (err)
		return err;
	fetch_curl_set_manners(f->easy);
	fetch_curl_set_callbacks(f);
	fetch_curl_set_limits(f->easy, r->limits);
	fetch_curl_set_method(f, r);
	err = fetch_tls_set(&f->tls, f->easy, r->url, r->tls);
	if (err)
		return err;
	curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->lines);
	if (r->target && curl_easy_setopt(f->easy, CURLOPT_REQUEST_TARGET,
					  r->target))
		return -ENOMEM;
	return curl_easy_setopt(f->easy, CURLOPT_URL, r->url) ? -ENOMEM : 0;
}

static void fetch_curl_run_launch(void *arg)
{
	struct transfer *f = arg;

	f->launched = true;
	if (curl_multi_add_handle(f->means->multi, f->easy))
		fetch_curl_finish(f, CURLE_OUT_OF_MEMORY);
}

/* The launch is put off too: a callback of curl's may have brought us here. */
static void fetch_curl_prepare_launch(struct transfer *f)
{
	struct fetch_means *means = f->means;

	fetch_list(&means->fetches, &f->fetch);
	loop_timer_set(means->loop, &f->first_byte,
		       loop_now_ms(means->loop) + f->first_byte_ms,
		       fetch_curl_first_byte_late, f);
	f->later.run = fetch_curl_run_launch;
	loop_defer(means->loop, &f->later);
}

static int fetch_curl_start(struct fetch_means *means,
			    const struct fetch_request *request,
			    const struct fetch_callbacks *callbacks, void *arg,
			    struct fetch **out)
{
	struct transfer *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->fetch.way = &fetch_way_curl;
	f->means = means;
	f->callbacks = callbacks;
	f->arg = arg;
	f->failure = NOT_FAILED;
	f->header_left = request->limits->max_header_bytes;
	f->first_byte_ms = request->limits->first_byte_ms;
	f->low_rate = request->limits->low_rate;
	f->low_rate_s = request->limits->low_rate_s;
	fields_init(&f->fields);
	f->later.arg = f;
	f->easy = curl_easy_init();
	err = f->easy ? fetch_curl_set_up(f, request) : -ENOMEM;
	if (err) {
		fetch_curl_transfer_free(f);
		return err;
	}
	fetch_curl_prepare_launch(f);
	*out = &f->fetch;
	return 0;
}

static void fetch_curl_run_resume(void *arg)
{
	struct transfer *f = arg;
	struct fetch_means *means = f->means;
	CURLcode code = curl_easy_pause(f->easy, CURLPAUSE_CONT);

	if (code) /* curl gives it to nobody else */
		fetch_curl_finish(f, code);
	fetch_curl_collect(means);
}

static void fetch_curl_resume(struct fetch *fetch)
{
	struct transfer *f = fetch_curl_transfer_of(fetch);

	if (f->failure != NOT_FAILED || !f->paused)
		return;
	f->paused = false;
	f->later.run = fetch_curl_run_resume;
	loop_defer(f->means->loop, &f->later);
}

static void fetch_curl_lift_total(struct fetch *fetch)
{
	curl_easy_setopt(fetch_curl_transfer_of(fetch)->easy,
			 CURLOPT_TIMEOUT_MS, 0L);
}

/* The name was looked up before; a handshake of TLS comes later. */
static unsigned fetch_curl_trip_ms(struct fetch *fetch)
{
	CURL *easy = fetch_curl_transfer_of(fetch)->easy;
	curl_off_t named_us = 0, connected_us = 0;
	long connections = 0;

	curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
	curl_easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &named_us);
	curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected_us);
	if (!connections || connected_us < named_us)
		return 0;
	return (unsigned)((connected_us - named_us) / 1000) + 1;
}

static void fetch_curl_run_reap(void *arg)
{
	fetch_curl_transfer_free(arg);
}

static void fetch_curl_cancel(struct fetch *fetch)
{
	struct transfer *f = fetch_curl_transfer_of(fetch);

	if (f->failure == CANCELLED)
		return;
	f->failure = CANCELLED;
	loop_timer_clear(f->means->loop, &f->first_byte);
	loop_undefer(f->means->loop, &f->later);
	f->later.run = fetch_curl_run_reap;
	loop_defer(f->means->loop, &f->later);
}

const struct fetch_way fetch_way_curl = {
	.open = fetch_curl_open_means,
	.close = fetch_curl_close_means,
	.public_only = fetch_curl_public_only,
	.start = fetch_curl_start,
	.lift_total = fetch_curl_lift_total,
	.resume = fetch_curl_resume,
	.trip_ms = fetch_curl_trip_ms,
	.cancel = fetch_curl_cancel,
};
