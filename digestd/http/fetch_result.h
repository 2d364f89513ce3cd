/*
 * How a fetch has ended: found out by the client (fetch/fetch.h), and judged by
 * who has asked.
 */
#ifndef DIGESTD_HTTP_FETCH_RESULT_H
#define DIGESTD_HTTP_FETCH_RESULT_H

enum fetch_result {
	FETCH_COMPLETE,   /* header and body are whole */
	FETCH_TRUNCATED,  /* broke off after the header */
	FETCH_TIMEOUT,    /* a time limit passed, or it was too slow */
	FETCH_NOCONNECT,  /* no such host, refused, unreachable; or it hung up
			     in the handshake of TLS */
	FETCH_NOTLS,      /* it speaks no TLS, or none that is spoken here; by
			     libcurl also: it hung up in the handshake */
	FETCH_UNTRUSTED,  /* its certificate is of whom nobody knows, of
			     another, or out of date */
	FETCH_REFUSED,    /* no public address, see fetcher_public_only() */
	FETCH_BAD,        /* not HTTP, or against its rules, or no answer */
	FETCH_NOMEM,      /* out of memory */
};

enum { FETCH_RESULTS = FETCH_NOMEM + 1 };

#endif
