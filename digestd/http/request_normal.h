/*
 * Requests that differ in nothing that counts are made one and the same, so
 * that Vary tells fewer of them apart.
 */
#ifndef DIGESTD_HTTP_REQUEST_NORMAL_H
#define DIGESTD_HTTP_REQUEST_NORMAL_H

struct fields;

/*
 * Makes Accept-Encoding "br, gzip", "br" or "gzip", by which of them it accepts
 * (q=0 does not), or removes it. Returns 0 or -ENOMEM.
 */
int request_normal_encodings(struct fields *request);

/*
 * Leaves only those cookies whose names are in these lines, one that ends in *
 * standing for all that begin so, in one Cookie field, in their order; without
 * any, no field. Returns 0 or -ENOMEM.
 */
int request_normal_cookies(struct fields *request, const char *names);

#endif
