/* payment.h - a merchant's x402 v2 payments: the challenge, and what a facilitator says of a payment.
**
** What a payment package does elsewhere; it knows nothing of ratings. A text that is given back is the caller's to free.
*/
#ifndef PAYMENT_H
#define PAYMENT_H

/* The facilitator as "ADDRESS:PORT" (plain HTTP), the URL of what is sold. 1, or 0 where that is no address. Once, at start. */
int payment_open(const char *facilitator, const char *resource);

/* The value of PAYMENT-REQUIRED: the terms, and why they are shown. */
char *payment_required(const char *why);

/* Whether the facilitator calls this PAYMENT-SIGNATURE valid. BLOCKS for its answer, 10 s at most. */
int payment_verify(const char *signature);

/* Whether the payment was settled; *receipt becomes the value of PAYMENT-RESPONSE. BLOCKS as payment_verify does. */
int payment_settle(const char *signature, char **receipt);

#endif
