/* check.h - what the test programs share: a table of named tests, CHECK, and short ways to call the library.
**
** Valid C99 and C++11, because every program is built as both. One line a test on stdout, "N passed, N failed" last.
*/
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "forge_x402.h"

/* Programs use what they need. */
#if defined(__GNUC__)
#  define MAY_BE_UNUSED __attribute__((unused))
#else
#  define MAY_BE_UNUSED
#endif
#define HELPER static MAY_BE_UNUSED

typedef struct test { const char *name; void (*run)(void); } test;

static MAY_BE_UNUSED int check_failures;

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      check_failures++;                                                             \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);     \
    }                                                                               \
  } while (0)

#define CHECK_OK(call)                                                              \
  do {                                                                              \
    fx402_status status_ = (call);                                                  \
    if (status_ != FX402_OK) {                                                      \
      check_failures++;                                                             \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, fx402_status_text(status_)); \
    }                                                                               \
  } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAIN(tests) int main(void) { return check_run((tests), COUNT(tests)); }

HELPER int check_run(const test *tests, size_t count) {
  int passed = 0, failed = 0;
  size_t i;
  for (i = 0; i < count; i++) {
    check_failures = 0;
    tests[i].run();
    printf("%s %s\n", check_failures ? "FAILED" : "ok    ", tests[i].name);
    fflush(stdout);
    if (check_failures) failed++; else passed++;
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

/* Whether valgrind or a sanitizer watches: what they cannot bear is skipped, and said. */
HELPER int watched(const char *what) {
  const char *by = getenv("CHECK_WATCHED_BY");
  if (by) printf("       (not under %s: %s)\n", by, what);
  return by != NULL;
}

/* Ends a forked child. It leaks what it inherited on purpose (a lock in there may have been held at the fork), so a leak
** checker is not to look: another program takes its place. */
HELPER void leave(int failures) {
  const char *program = failures ? "/bin/false" : "/bin/true";
  if (getenv("CHECK_WATCHED_BY")) execl(program, program, (char *)NULL);
  _exit(failures ? 1 : 0);
}

HELPER fx402_span bytes(const void *at, size_t len) {
  fx402_span s;
  s.ptr = (const uint8_t *)at;
  s.len = len;
  return s;
}

HELPER fx402_span span(const char *text) { return bytes(text, strlen(text)); }

HELPER int equals(fx402_span s, const char *text) {
  return s.len == strlen(text) && (s.len == 0 || memcmp(s.ptr, text, s.len) == 0);
}

HELPER int contains(fx402_span s, const char *text) {
  return s.len != 0 && memmem(s.ptr, s.len, text, strlen(text)) != NULL;
}

HELPER fx402_header header(const char *name, const char *value) {
  fx402_header h;
  h.name = span(name);
  h.value = span(value);
  return h;
}

HELPER fx402_error new_error(void) {
  fx402_error e;
  memset(&e, 0, sizeof e);
  e.struct_size = sizeof e;
  return e;
}

HELPER fx402_verdict new_verdict(void) {
  fx402_verdict v;
  memset(&v, 0xA5, sizeof v); /* a call that leaves something unwritten shows */
  v.struct_size = sizeof v;
  return v;
}

HELPER fx402_request_in new_request(const char *method, const char *target, const fx402_header *items, size_t count) {
  fx402_request_in r;
  memset(&r, 0, sizeof r);
  r.struct_size = sizeof r;
  r.flags = FX402_IN_BODY_NONE;
  r.method = span(method);
  r.target = span(target);
  r.headers.items = items;
  r.headers.count = count;
  return r;
}

HELPER fx402_response_in new_response(uint32_t status, const fx402_header *items, size_t count, const char *body) {
  fx402_response_in r;
  memset(&r, 0, sizeof r);
  r.struct_size = sizeof r;
  r.http_status = status;
  r.headers.items = items;
  r.headers.count = count;
  if (body) {
    r.flags = FX402_IN_BODY_WHOLE;
    r.body = span(body);
  }
  return r;
}

HELPER fx402_stats stats_of(const fx402_engine *e) {
  fx402_stats s;
  memset(&s, 0, sizeof s);
  s.struct_size = sizeof s;
  fx402_engine_stats(e, &s);
  return s;
}

/* An engine, or the end of the program: no test has sense without. */
HELPER fx402_engine *open_engine(const char *options) {
  fx402_engine *e = NULL;
  fx402_error err = new_error();
  if (fx402_engine_open(FX402_ABI, span(options), &e, &err) != FX402_OK) {
    fprintf(stderr, "open %s: %s\n", options, err.message);
    exit(2);
  }
  return e;
}

#define OPTIONS_FAKE(more)                                                          \
  "{\"api_key\":\"ffk_fake\",\"public_url\":\"https://api.example.com\",\"telemetry\":false,\"strict\":true" more "}"

HELPER fx402_engine *plain_engine(void) { return open_engine(OPTIONS_FAKE("")); }

/* Base64 of a text, in memory of the program's that is never freed before the end. */
HELPER char *base64(const void *data, size_t len) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const uint8_t *in = (const uint8_t *)data;
  char *out = (char *)malloc(4 * ((len + 2) / 3) + 1), *at = out;
  size_t i;
  for (i = 0; i < len; i += 3) {
    uint32_t three = (uint32_t)in[i] << 16;
    if (i + 1 < len) three |= (uint32_t)in[i + 1] << 8;
    if (i + 2 < len) three |= in[i + 2];
    *at++ = letters[three >> 18 & 63];
    *at++ = letters[three >> 12 & 63];
    *at++ = i + 1 < len ? letters[three >> 6 & 63] : '=';
    *at++ = i + 2 < len ? letters[three & 63] : '=';
  }
  *at = 0;
  return out;
}

HELPER char *base64_text(const char *text) { return base64(text, strlen(text)); }

#define PAYMENT_TEXT "{\"x402Version\":2,\"payload\":{},\"accepted\":{}}"
#define RECEIPT_TEXT "{\"success\":true,\"transaction\":\"0xfake\",\"network\":\"eip155:84532\"}"
#define CHALLENGE_V1 "{\"x402Version\":1,\"error\":\"pay\",\"accepts\":[{\"description\":\"Weather.\"}]}"

/* One paid exchange: request with a payment, 200 with a JSON body shown at once. *ex is the caller's to end. */
HELPER fx402_status paid_exchange(const fx402_engine *e, const char *body, fx402_exchange **ex, fx402_verdict *out) {
  char *payment = base64_text(PAYMENT_TEXT), *receipt = base64_text(RECEIPT_TEXT);
  fx402_header asked[1], answered[2];
  fx402_request_in request;
  fx402_response_in response;
  fx402_status status;
  asked[0] = header("PAYMENT-SIGNATURE", payment);
  answered[0] = header("Content-Type", "application/json");
  answered[1] = header("PAYMENT-RESPONSE", receipt);
  request = new_request("GET", "/weather?city=Oslo", asked, 1);
  response = new_response(200, answered, 2, body);
  status = fx402_on_request(e, &request, ex, out, NULL);
  if (status == FX402_OK && *ex) status = fx402_on_response(*ex, &response, out, NULL);
  free(payment);
  free(receipt);
  return status;
}

HELPER const fx402_edit *edit_of(const fx402_verdict *v, uint32_t op, const char *name) {
  size_t i;
  for (i = 0; i < v->edits_len; i++)
    if (v->edits[i].op == op && equals(v->edits[i].name, name)) return &v->edits[i];
  return NULL;
}

#endif
