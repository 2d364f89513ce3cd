/*
 * The status page, status_page.html: a part of the program, which asks no other
 * host for anything and shows what /status.json says, each second.
 */
#ifndef DIGESTD_ADMIN_STATUS_PAGE_H
#define DIGESTD_ADMIN_STATUS_PAGE_H

enum { STATUS_PAGE_NONCE_BYTES = 33 }; /* 32 hexadecimal digits and the end */

/* Draws a nonce. Returns 0 or -EIO. */
int status_page_draw_nonce(char nonce[STATUS_PAGE_NONCE_BYTES]);

/* The page with this nonce, to be released with free(); null: no memory. */
char *status_page_text(const char *nonce);

/* The value of Content-Security-Policy with it: nothing but the page's own
 * style and script, and requests to where it is from. */
enum { STATUS_PAGE_POLICY_BYTES = 320 };
void status_page_policy(const char *nonce, char to[STATUS_PAGE_POLICY_BYTES]);

#endif
