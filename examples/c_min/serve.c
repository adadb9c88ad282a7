/* serve.c - a paid HTTP server in C, as small as one can be, that tells agents how to rate it.
**
**   cc serve.c $(pkg-config --cflags --libs forge_x402) -o serve && ./serve 8402
**   curl -i http://127.0.0.1:8402/weather                                   402, with the ask in the challenge
**   curl -i -H "PAYMENT-SIGNATURE: $PAYMENT" http://127.0.0.1:8402/weather   200, with an id and where to rate
**
** One connection at a time, keep-alive and pipelining, no request bodies. Left out on purpose: the payment itself. Where
** this says "paid", a real server asks its facilitator.
*/
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "forge_x402.h"

enum { LINES = 64, HEAD_BYTES = 64 * 1024 };

typedef struct message { /* a request's head, or a response */
  fx402_span method, target;
  uint32_t status;
  fx402_header lines[LINES];
  size_t count;
  fx402_span body;
} message;

static fx402_span bytes(const void *at, size_t len) {
  fx402_span s;
  s.ptr = (const uint8_t *)at;
  s.len = len;
  return s;
}

static fx402_span text(const char *t) { return bytes(t, strlen(t)); }

static int named(const fx402_header *line, fx402_span name) {
  return line->name.len == name.len && strncasecmp((const char *)line->name.ptr, (const char *)name.ptr, name.len) == 0;
}

static void add(message *m, fx402_span name, fx402_span value) {
  if (m->count == LINES) return;
  m->lines[m->count].name = name;
  m->lines[m->count++].value = value;
}

/* ---- the merchant: knows nothing of ratings ---- */

#define CHALLENGE /* {"x402Version":2,"resource":{"url":…,"description":"Weather."},"accepts":[…]} */             \
  "eyJ4NDAyVmVyc2lvbiI6MiwiZXJyb3IiOiJQQVlNRU5ULVNJR05BVFVSRSBoZWFkZXIgaXMgcmVxdWlyZWQiLCJyZXNvdXJjZSI6eyJ1cmwi" \
  "OiJodHRwczovL2FwaS5leGFtcGxlLmNvbS93ZWF0aGVyIiwiZGVzY3JpcHRpb24iOiJXZWF0aGVyLiJ9LCJhY2NlcHRzIjpbe31dfQ=="
#define RECEIPT /* {"success":true,"transaction":"0xfake","network":"eip155:84532"} */                            \
  "eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4ZmFrZSIsIm5ldHdvcmsiOiJlaXAxNTU6ODQ1MzIifQ=="

static void merchant(const message *request, message *response) {
  static char length[16];
  size_t i;
  int paid = 0;
  for (i = 0; i < request->count; i++) paid |= named(&request->lines[i], text("PAYMENT-SIGNATURE"));
  response->status = paid ? 200 : 402;
  response->body = text(paid ? "{\"sky\":\"clear\"}" : "{}");
  add(response, text("Content-Type"), text("application/json"));
  snprintf(length, sizeof length, "%zu", response->body.len);
  add(response, text("Content-Length"), text(length));
  if (paid) add(response, text("PAYMENT-RESPONSE"), text(RECEIPT));
  else add(response, text("PAYMENT-REQUIRED"), text(CHALLENGE));
}

/* ---- the integration ---- */

static void apply(message *m, const fx402_verdict *v) {
  size_t e, i, kept;
  for (e = 0; e < v->edits_len; e++) {
    const fx402_edit *edit = &v->edits[e];
    int found = edit->op == FX402_EDIT_ADD;
    if (found) add(m, edit->name, edit->value);
    for (i = kept = 0; edit->op != FX402_EDIT_ADD && i < m->count; i++) {
      if (!named(&m->lines[i], edit->name)) m->lines[kept++] = m->lines[i];
      else if (edit->op == FX402_EDIT_SET && !found) found = 1, m->lines[kept] = m->lines[i], m->lines[kept++].value = edit->value;
    }
    if (edit->op != FX402_EDIT_ADD) m->count = kept;
    if (edit->op == FX402_EDIT_SET && !found) add(m, edit->name, edit->value);
  }
  if (v->flags & FX402_BODY_REPLACED) m->body = v->body;
}

static int send_response(int connection, const message *m);

/* The library answers itself: the rating routes. */
static int reply(fx402_exchange *ex, int connection, const fx402_verdict *v) {
  char length[24];
  message response = {0};
  int sent;
  response.status = v->http_status;
  snprintf(length, sizeof length, "%zu", v->body.len);
  add(&response, text("Content-Length"), text(length));
  apply(&response, v);
  sent = send_response(connection, &response);
  fx402_exchange_end(ex, NULL);
  return sent;
}

/* One exchange. A call that fails leaves a verdict that changes nothing, so no status needs a branch of its own. */
static int exchange(const fx402_engine *engine, int connection, message *request) {
  fx402_exchange *ex = NULL;
  fx402_verdict verdict = {0};
  fx402_request_in asked = {0};
  fx402_response_in answered = {0};
  fx402_outcome outcome = {0};
  fx402_status status;
  message response = {0};
  int sent;

  verdict.struct_size = sizeof verdict;
  asked.struct_size = sizeof asked;
  asked.flags = FX402_IN_BODY_NONE;
  asked.method = request->method;
  asked.target = request->target;
  asked.headers.items = request->lines;
  asked.headers.count = request->count;
  status = fx402_on_request(engine, &asked, &ex, &verdict, NULL);
  if (verdict.action == FX402_WAIT) status = fx402_exchange_wait(ex, 2000, &verdict, NULL);
  if (verdict.action == FX402_REPLY) return reply(ex, connection, &verdict);
  if (verdict.flags & FX402_TARGET_REPLACED) request->target = verdict.target; /* copy it if it must live longer */

  merchant(request, &response);

  answered.struct_size = sizeof answered;
  answered.flags = FX402_IN_BODY_WHOLE;
  answered.http_status = response.status;
  answered.headers.items = response.lines;
  answered.headers.count = response.count;
  answered.body = response.body;
  if (ex) status = fx402_on_response(ex, &answered, &verdict, NULL);
  else if (response.status == 402) status = fx402_on_response_late(engine, &asked, &answered, &ex, &verdict, NULL);
  if (ex && status == FX402_OK) apply(&response, &verdict);

  sent = send_response(connection, &response); /* what the verdict shows lives until the end */
  outcome.struct_size = sizeof outcome;
  outcome.kind = sent ? FX402_DELIVERED : FX402_ABORTED;
  outcome.http_status = response.status;
  outcome.body_bytes = response.body.len;
  fx402_exchange_end(ex, &outcome);
  return sent;
}

/* ---- HTTP, the least of it ---- */

static int send_all(int connection, const void *from, size_t len) {
  const char *at = (const char *)from;
  while (len) {
    ssize_t n = send(connection, at, len, MSG_NOSIGNAL);
    if (n <= 0) return 0;
    at += n, len -= (size_t)n;
  }
  return 1;
}

static int send_response(int connection, const message *m) {
  char first[32];
  size_t i;
  int sent;
  snprintf(first, sizeof first, "HTTP/1.1 %u \r\n", (unsigned)m->status);
  sent = send_all(connection, first, strlen(first));
  for (i = 0; i < m->count; i++)
    sent = sent && send_all(connection, m->lines[i].name.ptr, m->lines[i].name.len) && send_all(connection, ": ", 2) &&
           send_all(connection, m->lines[i].value.ptr, m->lines[i].value.len) && send_all(connection, "\r\n", 2);
  return sent && send_all(connection, "\r\n", 2) && send_all(connection, m->body.ptr, m->body.len);
}

/* Cuts a head into its parts; 0: not a request that this server understands. */
static int parse(char *head, char *end, message *m) {
  char *line_end = (char *)memmem(head, (size_t)(end - head), "\r\n", 2), *space, *colon;
  char *target = (char *)memchr(head, ' ', (size_t)(line_end - head));
  if (!target || !(space = (char *)memchr(target + 1, ' ', (size_t)(line_end - target - 1)))) return 0;
  m->method = bytes(head, (size_t)(target - head));
  m->target = bytes(target + 1, (size_t)(space - target - 1));
  for (head = line_end + 2; head < end; head = line_end + 2) {
    line_end = (char *)memmem(head, (size_t)(end - head), "\r\n", 2);
    colon = (char *)memchr(head, ':', (size_t)(line_end - head));
    if (!colon || m->count == LINES) return 0;
    space = colon + 1;
    while (space < line_end && (*space == ' ' || *space == '\t')) space++;
    add(m, bytes(head, (size_t)(colon - head)), bytes(space, (size_t)(line_end - space)));
    if (named(&m->lines[m->count - 1], text("Content-Length")) || named(&m->lines[m->count - 1], text("Transfer-Encoding"))) return 0;
  }
  return 1;
}

static void serve(const fx402_engine *engine, int connection) {
  static char in[HEAD_BYTES];
  size_t have = 0;
  for (;;) {
    message request = {0};
    char *end = (char *)memmem(in, have, "\r\n\r\n", 4);
    ssize_t n;
    if (end) {
      size_t used = (size_t)(end + 4 - in);
      if (!parse(in, end + 2, &request) || !exchange(engine, connection, &request)) return;
      memmove(in, in + used, have - used);
      have -= used;
      continue;
    }
    n = have < sizeof in ? recv(connection, in + have, sizeof in - have, 0) : 0;
    if (n <= 0) return;
    have += (size_t)n;
  }
}

int main(int argc, char **argv) {
  static const char options[] = "{\"api_key\":\"ffk_example\",\"public_url\":\"https://api.example.com\",\"strict\":true}";
  struct sockaddr_in address = {0};
  socklen_t size = sizeof address;
  fx402_engine *engine = NULL;
  fx402_error error = {0};
  int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  error.struct_size = sizeof error;
  if (fx402_engine_open(FX402_ABI, text(options), &engine, &error) != FX402_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16) ||
      getsockname(listener, (struct sockaddr *)&address, &size)) {
    perror("listen");
    return 1;
  }
  printf("http://127.0.0.1:%d/weather\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    int connection = accept(listener, NULL, NULL);
    if (connection < 0) continue;
    serve(engine, connection);
    close(connection);
  }
}
