/*
 * Reason phrases, the text behind the status in the first line of a response.
 * Nobody reads them but people (RFC 9112, 4).
 */
#ifndef DIGESTD_HTTP_REASON_H
#define DIGESTD_HTTP_REASON_H

/* Never null; of a status without a name, "Unknown". */
const char *reason_phrase(unsigned status);

#endif
