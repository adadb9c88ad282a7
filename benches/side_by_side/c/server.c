/* server.c - the servers of the side-by-side bench, on libmicrohttpd with four threads that share the connections.
**
**   server peer                                answers every request as facilitator and collector
**   server bare|ours FACILITATOR COLLECTOR     a merchant: /free, /paid (asks the facilitator), /stub (asks nobody)
**
** Prints its port and ends on SIGTERM. "bare" and "ours" differ in what the functions of the last part do, and in nothing else.
*/
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "forge_x402.h"
#include "../../../examples/c/payment.h"

enum { LINES = 32, THREADS = 4 };

typedef struct line { const char *name, *value; } line;

typedef struct response {
  unsigned status, count;
  line lines[LINES];
  char *texts[2]; /* owned: the merchant's value, and all that we add */
  char *body; /* owned */
  size_t body_len;
} response;

typedef struct exchange {
  char *target;
  fx402_header lines[LINES];
  fx402_request_in in;
  fx402_exchange *ex;
  uint32_t status;
  uint64_t sent;
  int called;
} exchange;

static const char WEATHER[] = "{\"temperature\": 21.50, \"sky\": \"clear\"}";
static const char AGREED[] = "{\"isValid\":true,\"success\":true,\"recorded\":true,\"transaction\":\"0x01\",\"network\":\"eip155:84532\","
                             "\"payer\":\"0x2222222222222222222222222222222222222222\"}";
static fx402_engine *engine; /* NULL: the merchant without us */
static char *stub_receipt;

static void begin(exchange *x, struct MHD_Connection *c, const char *method);
static void judge(exchange *x, response *r);

static void add(response *r, const char *name, const char *value) { r->lines[r->count++] = (line){name, value}; }

static void set(response *r, unsigned status, const char *body) {
  r->status = status, r->body = strdup(body), r->body_len = strlen(body);
  add(r, "Content-Type", "application/json");
}

static void require_payment(response *r, const char *why) {
  set(r, 402, "{}");
  add(r, "PAYMENT-REQUIRED", r->texts[0] = payment_required(why));
}

static void merchant(struct MHD_Connection *c, const char *path, response *r) {
  const char *signature = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "PAYMENT-SIGNATURE");
  int asks = !strcmp(path, "/paid");
  char *receipt = NULL;
  if (!asks && strcmp(path, "/stub")) {
    set(r, 200, WEATHER);
  } else if (!signature) {
    require_payment(r, "PAYMENT-SIGNATURE header is required");
  } else if (asks && (!payment_verify(signature) || !payment_settle(signature, &receipt))) {
    free(receipt);
    require_payment(r, "the payment is not valid");
  } else {
    set(r, 200, WEATHER);
    add(r, "PAYMENT-RESPONSE", asks ? (r->texts[0] = receipt) : stub_receipt);
  }
}

static enum MHD_Result on_request(void *unused, struct MHD_Connection *c, const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state) {
  exchange *x = *state;
  response r = {0};
  (void)unused, (void)version, (void)upload, (void)upload_size;
  if (!x->called) return x->called = 1, MHD_YES; /* a response from the first call would close the connection */
  if (engine) begin(x, c, method);
  merchant(c, path, &r);
  if (engine) judge(x, &r);
  struct MHD_Response *out = MHD_create_response_from_buffer(r.body_len, r.body, MHD_RESPMEM_MUST_FREE);
  for (unsigned i = 0; i < r.count; i++) {
    if (strcasecmp(r.lines[i].name, "Content-Length")) MHD_add_response_header(out, r.lines[i].name, r.lines[i].value);
  }
  free(r.texts[0]), free(r.texts[1]);
  x->status = r.status, x->sent = r.body_len;
  enum MHD_Result queued = MHD_queue_response(c, r.status, out);
  MHD_destroy_response(out);
  return queued;
}

static enum MHD_Result on_peer_request(void *unused, struct MHD_Connection *c, const char *path, const char *method, const char *version,
                                       const char *upload, size_t *upload_size, void **state) {
  (void)unused, (void)path, (void)method, (void)version, (void)upload;
  if (!*state) return *state = c, MHD_YES;
  if (*upload_size) return *upload_size = 0, MHD_YES;
  struct MHD_Response *out = MHD_create_response_from_buffer(sizeof AGREED - 1, (void *)AGREED, MHD_RESPMEM_PERSISTENT);
  enum MHD_Result queued = MHD_queue_response(c, 200, out);
  MHD_destroy_response(out);
  return queued;
}

static void *on_target(void *unused, const char *target, struct MHD_Connection *c) {
  exchange *x = calloc(1, sizeof *x);
  (void)unused, (void)c;
  if (!x) abort();
  x->target = strdup(target);
  return x;
}

static void on_completed(void *unused, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how) {
  exchange *x = *state;
  (void)unused, (void)c;
  if (!x) return;
  if (x->ex) {
    fx402_outcome outcome = {.struct_size = sizeof outcome, .http_status = x->status, .body_bytes = x->sent,
                             .kind = how == MHD_REQUEST_TERMINATED_COMPLETED_OK ? FX402_DELIVERED : FX402_ABORTED};
    (void)fx402_exchange_end(x->ex, &outcome);
  }
  free(x->target), free(x);
}

int main(int argc, char **argv) {
  struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int peer = argc == 2 && !strcmp(argv[1], "peer"), got;
  sigset_t ends;
  struct MHD_Daemon *d;
  if (!peer && (argc != 4 || !payment_open(argv[2], "https://api.example.com/weather"))) return 2;
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&ends), sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  if (peer) {
    d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_peer_request, NULL, MHD_OPTION_SOCK_ADDR, &loopback, MHD_OPTION_END);
  } else {
    char *config = NULL;
    fx402_error error = {.struct_size = sizeof error};
    if (!payment_settle("e30=", &stub_receipt)) return fprintf(stderr, "no facilitator\n"), 1;
    if (asprintf(&config, "{\"api_key\":\"ffk_test_0123456789abcdef\",\"public_url\":\"https://api.example.com\",\"strict\":true,\"backend_url\":\"http://%s\"}", argv[3]) < 0) abort();
    if (!strcmp(argv[1], "ours") && fx402_engine_open(FX402_ABI, (fx402_span){(uint8_t *)config, strlen(config)}, &engine, &error) != FX402_OK)
      return fprintf(stderr, "%s\n", error.message), 1;
    d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR, &loopback, MHD_OPTION_THREAD_POOL_SIZE, THREADS,
      MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
  }
  if (!d) return 1;
  printf("%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
  fflush(stdout);
  sigwait(&ends, &got);
  MHD_stop_daemon(d);
  if (engine) fx402_engine_free(engine);
  return 0;
}

/* ---- with us ---- */

static fx402_span span(const char *text) { return (fx402_span){(const uint8_t *)text, strlen(text)}; }

static enum MHD_Result collect(void *to, enum MHD_ValueKind kind, const char *name, size_t name_len, const char *value, size_t value_len) {
  exchange *x = to;
  (void)kind;
  if (x->in.headers.count == LINES) return MHD_NO;
  x->lines[x->in.headers.count++] = (fx402_header){{(const uint8_t *)name, name_len}, {(const uint8_t *)value, value_len}};
  return MHD_YES;
}

static void begin(exchange *x, struct MHD_Connection *c, const char *method) {
  fx402_verdict v = {.struct_size = sizeof v};
  x->in.struct_size = sizeof x->in;
  x->in.method = span(method), x->in.target = span(x->target), x->in.scheme = span("http");
  x->in.headers.items = x->lines;
  MHD_get_connection_values_n(c, MHD_HEADER_KIND, collect, x);
  /* No scenario has a body or asks a rating route, so every verdict here is to pass. */
  if (fx402_on_request(engine, &x->in, &x->ex, &v, NULL) != FX402_OK || v.action != FX402_PASS) abort();
}

/* The text with a NUL behind it, at `*to`, which moves on. */
static const char *copied(char **to, fx402_span text) {
  char *start = memcpy(*to, text.ptr, text.len);
  start[text.len] = 0;
  *to += text.len + 1;
  return start;
}

static void judge(exchange *x, response *r) {
  fx402_header lines[LINES];
  fx402_response_in in = {.struct_size = sizeof in, .http_status = r->status, .flags = FX402_IN_BODY_WHOLE};
  fx402_verdict v = {.struct_size = sizeof v};
  if (!x->ex && r->status != 402) return;
  for (unsigned i = 0; i < r->count; i++) lines[i] = (fx402_header){span(r->lines[i].name), span(r->lines[i].value)};
  in.headers.items = lines, in.headers.count = r->count, in.body = (fx402_span){(const uint8_t *)r->body, r->body_len};
  fx402_status status = x->ex ? fx402_on_response(x->ex, &in, &v, NULL) : fx402_on_response_late(engine, &x->in, &in, &x->ex, &v, NULL);
  if (status != FX402_OK) return;
  size_t size = 0;
  for (size_t e = 0; e < v.edits_len; e++) size += v.edits[e].name.len + v.edits[e].value.len + 2;
  char *text = r->texts[1] = malloc(size);
  for (size_t e = 0; e < v.edits_len; e++) {
    const fx402_edit *edit = &v.edits[e];
    unsigned at = 0;
    while (at < r->count && (strlen(r->lines[at].name) != edit->name.len || strncasecmp(r->lines[at].name, (const char *)edit->name.ptr, edit->name.len))) at++;
    if (edit->op == FX402_EDIT_REMOVE || (edit->op == FX402_EDIT_ADD && at < r->count)) abort(); /* none of the scenarios has one */
    if (at == r->count) r->lines[r->count++].name = copied(&text, edit->name);
    r->lines[at].value = copied(&text, edit->value);
  }
  if (v.flags & FX402_BODY_REPLACED) {
    fx402_buf body;
    if (fx402_exchange_take_body(x->ex, &body) != FX402_OK) abort();
    free(r->body);
    r->body = memcpy(malloc(body.len), body.ptr, body.len), r->body_len = body.len;
    fx402_buf_free(&body);
  }
}
