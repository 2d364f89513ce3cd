/*
 * A slot is one request under way: a curl handle that is used again and again.
 * The node's address is the URL that curl connects to; the Host field and the
 * request target are the trace's, so connections are kept for all hosts.
 */
#include "config.h"

#include "cachesim/live/replayer.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cachesim/live/body.h"
#include "cachesim/live/object_url.h"
#include "codec/mix.h"

enum { WAIT_MS = 100 }; /* the longest sleep: progress is shown meanwhile */

struct slot {
	CURL *easy;
	struct curl_slist *headers;
	struct run *run;
	struct tally *tally;
	char *target; /* in the request line */
	int64_t start_us;
	uint64_t hash, received;
	bool head, right; /* all body bytes so far are the origin's */
	char etag[BODY_ETAG_MAX];
	enum served_by served_by;
	struct slot *next_free;
};

struct run {
	struct trace_reader *trace;
	const struct replay_options *opt;
	struct tally *tally;
	struct progress *progress;
	CURLM *multi;
	struct slot *slots, *free;
	struct object_url target; /* of the request that is sent next */
	struct trace_request req;
	bool pending; /* req and target wait to be sent */
	int ended;    /* 1: no more requests; < 0: an error */
	int64_t start_us, first_ms;
	uint64_t sent, done, errors, skipped;
	unsigned turn; /* of round robin */
};

static int64_t replayer_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The value of a header line if it has that name; null otherwise. */
static const char *replayer_value_of(const char *line, size_t len,
				     const char *name, size_t *out_len)
{
	size_t n = strlen(name);

	if (len <= n || line[n] != ':' || strncasecmp(line, name, n))
		return NULL;
	for (n++; n < len && line[n] == ' '; n++)
		;
	while (len > n && (line[len - 1] == '\r' || line[len - 1] == '\n' ||
			   line[len - 1] == ' '))
		len--;
	*out_len = len - n;
	return line + n;
}

static size_t replayer_on_header(char *line, size_t one, size_t len, void *arg)
{
	struct slot *s = arg;
	const char *value;
	size_t n;

	(void)one;
	value = replayer_value_of(line, len, "etag", &n);
	if (value && n < sizeof(s->etag)) {
		memcpy(s->etag, value, n);
		s->etag[n] = '\0';
	}
	value = replayer_value_of(line, len, "cache-status", &n);
	if (value)
		s->served_by = served_by_parse(value, n);
	return len;
}

static size_t replayer_on_body(char *data, size_t one, size_t len, void *arg)
{
	struct slot *s = arg;

	(void)one;
	if (s->right && s->run->opt->verify != REPLAY_VERIFY_NONE)
		s->right = body_check(s->hash, s->received,
				      (const uint8_t *)data, len);
	s->received += len;
	return len;
}

static enum tally_error replayer_error_of(CURLcode code)
{
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
		return TALLY_CONNECT;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return TALLY_TIMEOUT;
	if (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR ||
	    code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR)
		return TALLY_CUT;
	return TALLY_OTHER;
}

/* Whether a whole answer is the origin's, as far as that is asked. */
static void replayer_judge(struct slot *s, long status)
{
	unsigned verify = s->run->opt->verify;
	uint64_t hash, size;
	bool ours = body_etag_parse(s->etag, strlen(s->etag), &hash, &size);

	if (status >= 500 && !ours) {
		s->tally->error[TALLY_GATEWAY]++;
		return;
	}
	if (verify == REPLAY_VERIFY_NONE || s->head)
		return;
	if (!ours) {
		if (verify == REPLAY_VERIFY_ALL && status == 200)
			s->tally->error[TALLY_MISMATCH]++;
		return;
	}
	if (s->right && hash == s->hash && size == s->received)
		s->tally->verified++;
	else
		s->tally->error[TALLY_MISMATCH]++;
}

static void replayer_finish(struct slot *s, CURLcode code)
{
	struct run *run = s->run;
	uint64_t before = tally_errors(s->tally);
	long status = 0;

	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	s->tally->requests++;
	s->tally->bytes += s->received;
	s->tally->status[status >= 100 && status < 600 ? status / 100 : 0]++;
	latency_add(&s->tally->latency,
		    (uint64_t)(replayer_now_us() - s->start_us));
	if (code) {
		s->tally->error[replayer_error_of(code)]++;
	} else {
		s->tally->served_by[s->served_by]++;
		replayer_judge(s, status);
	}
	run->errors += tally_errors(s->tally) - before;
	run->done++;
	curl_multi_remove_handle(run->multi, s->easy);
	s->next_free = run->free;
	run->free = s;
}

static unsigned replayer_node_of(struct run *run)
{
	const struct replay_options *opt = run->opt;

	if (opt->partition == REPLAY_BY_CLIENT && run->req.client)
		return (unsigned)(scd__mix64(run->req.client) % opt->nnodes);
	return run->turn++ % opt->nnodes;
}

static int replayer_set_texts(struct slot *s, const struct object_url *t,
			      bool proxy)
{
	char *host;

	free(s->target);
	curl_slist_free_all(s->headers);
	s->headers = NULL;
	s->target = strdup(proxy ? t->text : object_url_path(t));
	if (asprintf(&host, "Host: %.*s", (int)t->host_len, t->text + 7) < 0)
		return TRACE_ENOMEM;
	s->headers = curl_slist_append(NULL, host);
	free(host);
	return s->target && s->headers ? 0 : TRACE_ENOMEM;
}

/* Sends the pending request with a free slot. 0 or TRACE_ENOMEM. */
static int replayer_send_pending(struct run *run)
{
	struct slot *s = run->free;
	unsigned node = replayer_node_of(run);

	if (replayer_set_texts(s, &run->target, run->opt->proxy))
		return TRACE_ENOMEM;
	s->tally = &run->tally[node];
	s->hash = run->target.hash;
	s->received = 0;
	s->right = true;
	s->etag[0] = '\0';
	s->served_by = SERVED_UNKNOWN;
	s->head = run->req.method.len == 4;
	s->start_us = replayer_now_us();
	curl_easy_setopt(s->easy, CURLOPT_URL, run->opt->nodes[node]);
	curl_easy_setopt(s->easy, CURLOPT_REQUEST_TARGET, s->target);
	curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
	curl_easy_setopt(s->easy, CURLOPT_NOBODY, s->head ? 1L : 0L);
	if (!s->head)
		curl_easy_setopt(s->easy, CURLOPT_HTTPGET, 1L);
	if (curl_multi_add_handle(run->multi, s->easy))
		return TRACE_ENOMEM;
	run->free = s->next_free;
	run->pending = false;
	run->sent++;
	return 0;
}

static bool replayer_is_method(struct trace_text t, const char *name)
{
	return t.len == strlen(name) && !memcmp(t.at, name, t.len);
}

/* Reads on until a request can be sent, or the trace ends. */
static void replayer_read_pending(struct run *run)
{
	while (!run->pending && !run->ended) {
		int err = 0;

		if (!run->opt->limit || run->sent < run->opt->limit)
			err = trace_next(run->trace, &run->req);
		if (err <= 0) {
			run->ended = err ? err : 1;
			return;
		}
		if ((replayer_is_method(run->req.method, "GET") ||
		     replayer_is_method(run->req.method, "HEAD")) &&
		    !object_url_make(&run->target, run->req.url))
			run->pending = true;
		else
			run->skipped++;
	}
}

/* How long the pending request has to wait [ms]; 0: it is due. */
static int replayer_wait_ms(struct run *run)
{
	int64_t due, left;

	if (run->opt->speed <= 0)
		return 0;
	if (run->sent == 0)
		run->first_ms = run->req.time_ms;
	due = run->start_us + (int64_t)((double)(run->req.time_ms -
						 run->first_ms) *
					1000 / run->opt->speed);
	left = (due - replayer_now_us()) / 1000;
	return left <= 0 ? 0 : left < WAIT_MS ? (int)left : WAIT_MS;
}

/* Sends all that is due and fits. The time to wait for the next [ms]. */
static int replayer_send_due(struct run *run)
{
	while (run->free) {
		int wait, err;

		replayer_read_pending(run);
		if (!run->pending)
			break;
		wait = replayer_wait_ms(run);
		if (wait)
			return wait;
		err = replayer_send_pending(run);
		if (err) {
			run->pending = false;
			run->ended = err;
		}
	}
	return WAIT_MS;
}

static void replayer_collect(struct run *run)
{
	struct CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(run->multi, &left))) {
		struct slot *s;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &s);
		replayer_finish(s, m->data.result);
	}
}

static int replayer_set_slot(struct run *run, struct slot *s)
{
	s->run = run;
	s->next_free = run->free;
	s->easy = curl_easy_init();
	if (!s->easy)
		return TRACE_ENOMEM;
	run->free = s;
	curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
	curl_easy_setopt(s->easy, CURLOPT_HEADERFUNCTION, replayer_on_header);
	curl_easy_setopt(s->easy, CURLOPT_HEADERDATA, s);
	curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, replayer_on_body);
	curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(s->easy, CURLOPT_PROXY, ""); /* no environment */
	curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS,
			 (long)run->opt->timeout_ms);
	return 0;
}

static int replayer_set_up(struct run *run)
{
	unsigned n = (unsigned)run->opt->concurrency;
	int err = 0;

	run->multi = curl_multi_init();
	run->slots = calloc(n, sizeof(*run->slots));
	if (!run->multi || !run->slots)
		return TRACE_ENOMEM;
	curl_multi_setopt(run->multi, CURLMOPT_MAXCONNECTS,
			  (long)(n * run->opt->nnodes));
	for (unsigned i = 0; i < n && !err; i++)
		err = replayer_set_slot(run, &run->slots[i]);
	return err;
}

static void replayer_tear_down(struct run *run)
{
	for (unsigned i = 0; run->slots && i < run->opt->concurrency; i++) {
		struct slot *s = &run->slots[i];

		if (s->easy)
			curl_multi_remove_handle(run->multi, s->easy);
		curl_easy_cleanup(s->easy);
		curl_slist_free_all(s->headers);
		free(s->target);
	}
	free(run->slots);
	curl_multi_cleanup(run->multi);
}

static void replayer_show_progress(struct run *run)
{
	uint64_t n = run->done + run->skipped;

	run->progress->errors = run->errors;
	progress_tell(run->progress, n, n);
}

static int replayer_run_loop(struct run *run)
{
	int running = 0;

	for (;;) {
		int wait = replayer_send_due(run);

		if (curl_multi_perform(run->multi, &running))
			return TRACE_ENOMEM;
		replayer_collect(run);
		replayer_show_progress(run);
		if (run->ended && run->done == run->sent)
			return run->ended < 0 ? run->ended : 0;
		/* a finished request makes room: send before waiting */
		if (run->free && !run->ended && !run->pending)
			continue;
		if (curl_multi_poll(run->multi, NULL, 0, wait, NULL))
			return TRACE_ENOMEM;
	}
}

int replay_run(struct trace_reader *trace, const struct replay_options *opt,
	       struct tally *tally, struct progress *progress,
	       uint64_t *skipped)
{
	struct run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return TRACE_ENOMEM;
	run->trace = trace;
	run->opt = opt;
	run->tally = tally;
	run->progress = progress;
	run->start_us = replayer_now_us();
	err = replayer_set_up(run);
	if (!err)
		err = replayer_run_loop(run);
	*skipped = run->skipped;
	replayer_tear_down(run);
	free(run);
	return err;
}
