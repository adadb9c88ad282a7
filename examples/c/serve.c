/* serve.c - a paid HTTP API in C on libmicrohttpd that tells agents how to rate it.
**
**   cc serve.c payment.c $(pkg-config --cflags --libs forge_x402 libmicrohttpd) -o serve
**   FORGE_API_KEY=ffk_... ./serve 8402 127.0.0.1:4020 [collector URL] [workers]
**
** GET and POST /weather cost 0.001 USDC: the x402 v2 challenge, verification before the work, settlement after it (payment.c).
** With workers > 1 the engine is opened first and the process forks: each child delivers its own events. SIGTERM or SIGINT
** ends it cleanly.
**
** The merchant's part knows nothing of ratings; the part with forge-x402 would be the same for any merchant.
*/
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>
#include "forge_x402.h"
#include "payment.h"

enum { LINES = 64, BODY_LIMIT = 1 << 20, WORKERS = 64 };

typedef struct text { char *at; size_t len; } text; /* owned, with a NUL behind it */

typedef struct response {
  unsigned status;
  size_t count;
  text names[LINES], values[LINES], body;
} response;

/* One request, from the first callback to the last. */
typedef struct exchange {
  text target, body; /* the target as on the wire; what was uploaded */
  int begun;
  size_t body_limit; /* > 0: the engine wants to see the body, up to so many bytes */
  fx402_header lines[LINES];
  fx402_request_in in;
  fx402_exchange *ex; /* NULL: nothing to do unless the answer is a 402 */
  uint32_t status;
  uint64_t sent;
} exchange;

static fx402_engine *engine;

/* ---- bytes ---- */

static text copy(const void *at, size_t len) {
  text t = {malloc(len + 1), len};
  if (!t.at) abort();
  if (len) memcpy(t.at, at, len);
  t.at[len] = 0;
  return t;
}

static text copy_text(const char *t) { return copy(t, strlen(t)); }
static text owned(char *t) { return (text){t, strlen(t)}; }
static fx402_span span(const char *t) { return (fx402_span){(const uint8_t *)t, t ? strlen(t) : 0}; }
static fx402_span span_of(text t) { return (fx402_span){(const uint8_t *)t.at, t.len}; }

/* ---- the merchant: knows nothing of ratings ---- */

static void add(response *r, const char *name, text value) {
  if (r->count == LINES) { free(value.at); return; }
  r->names[r->count] = copy_text(name);
  r->values[r->count++] = value;
}

static void require_payment(response *r, const char *why) {
  r->status = 402;
  add(r, "Content-Type", copy_text("application/json"));
  add(r, "PAYMENT-REQUIRED", owned(payment_required(why)));
  r->body = copy_text("{}");
}

static void merchant(struct MHD_Connection *c, const char *path, response *r) {
  const char *signature = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "PAYMENT-SIGNATURE");
  char *receipt;
  if (strcmp(path, "/weather")) {
    r->status = 404, r->body = copy_text("");
  } else if (!signature) {
    require_payment(r, "PAYMENT-SIGNATURE header is required");
  } else if (!payment_verify(signature)) {
    require_payment(r, "the payment is not valid");
  } else {
    if (payment_settle(signature, &receipt)) {
      r->status = 200;
      add(r, "Content-Type", copy_text("application/json"));
      r->body = copy_text("{\"temperature\": 21.50, \"sky\": \"clear\"}");
    } else {
      require_payment(r, "the payment was not settled");
    }
    add(r, "PAYMENT-RESPONSE", owned(receipt));
  }
}

/* ---- forge-x402: the same for any merchant ---- */

static void apply(response *r, const fx402_verdict *v) {
  for (size_t e = 0; e < v->edits_len; e++) {
    const fx402_edit *edit = &v->edits[e];
    size_t kept = 0;
    int placed = edit->op != FX402_EDIT_SET;
    for (size_t i = 0; i < r->count; i++) {
      int named = r->names[i].len == edit->name.len && !strncasecmp(r->names[i].at, (const char *)edit->name.ptr, edit->name.len);
      int keep = !named || edit->op == FX402_EDIT_ADD || !placed;
      if (named && !placed) {
        free(r->values[i].at);
        r->values[i] = copy(edit->value.ptr, edit->value.len);
        placed = 1;
      }
      if (keep) r->names[kept] = r->names[i], r->values[kept++] = r->values[i];
      else free(r->names[i].at), free(r->values[i].at);
    }
    r->count = kept;
    if ((edit->op == FX402_EDIT_ADD || !placed) && r->count < LINES) {
      r->names[r->count] = copy(edit->name.ptr, edit->name.len);
      r->values[r->count++] = copy(edit->value.ptr, edit->value.len);
    }
  }
  if (v->flags & FX402_BODY_REPLACED) {
    free(r->body.at);
    r->body = copy(v->body.ptr, v->body.len);
  }
}

/* Shows the engine the answer, whole: here it is in hand. */
static void judge(exchange *x, response *r) {
  fx402_header lines[LINES];
  fx402_response_in in = {.struct_size = sizeof in, .http_status = r->status, .flags = FX402_IN_BODY_WHOLE};
  fx402_verdict v = {.struct_size = sizeof v};
  if (!x->ex && r->status != 402) return;
  for (size_t i = 0; i < r->count; i++) lines[i] = (fx402_header){span_of(r->names[i]), span_of(r->values[i])};
  in.headers.items = lines, in.headers.count = r->count, in.body = span_of(r->body);
  fx402_status status = x->ex ? fx402_on_response(x->ex, &in, &v, NULL) : fx402_on_response_late(engine, &x->in, &in, &x->ex, &v, NULL);
  if (status == FX402_OK) apply(r, &v);
}

static enum MHD_Result reply(struct MHD_Connection *c, exchange *x, response *r) {
  struct MHD_Response *out = MHD_create_response_from_buffer(r->body.len, r->body.at, MHD_RESPMEM_MUST_FREE);
  for (size_t i = 0; i < r->count; i++) {
    if (strcasecmp(r->names[i].at, "Content-Length")) MHD_add_response_header(out, r->names[i].at, r->values[i].at);
    free(r->names[i].at), free(r->values[i].at);
  }
  x->status = r->status, x->sent = r->body.len;
  enum MHD_Result queued = MHD_queue_response(c, r->status, out);
  MHD_destroy_response(out);
  return queued;
}

static enum MHD_Result collect_line(void *to, enum MHD_ValueKind kind, const char *name, size_t name_len, const char *value, size_t value_len) {
  exchange *x = to;
  (void)kind;
  if (x->in.headers.count == LINES) return MHD_NO;
  x->lines[x->in.headers.count++] = (fx402_header){{(const uint8_t *)name, name_len}, {(const uint8_t *)value, value_len}};
  return MHD_YES;
}

/* Acts on what the engine says of a request. 1: it has been answered. */
static int act(struct MHD_Connection *c, exchange *x, fx402_verdict *v, enum MHD_Result *result) {
  response r = {0};
  if (v->action == FX402_WAIT && fx402_exchange_wait(x->ex, 3000, v, NULL) != FX402_OK) return 0;
  if (v->action != FX402_REPLY) return 0;
  r.status = v->http_status;
  r.body = copy("", 0);
  apply(&r, v);
  *result = reply(c, x, &r);
  return 1;
}

static enum MHD_Result on_request(void *unused, struct MHD_Connection *c, const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state) {
  exchange *x = *state;
  fx402_verdict v = {.struct_size = sizeof v};
  response r = {0};
  enum MHD_Result result;
  (void)unused, (void)version;
  if (!x->begun) {
    char address[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *peer = (const struct sockaddr_in *)MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    x->begun = 1;
    if (peer->sin_family == AF_INET) inet_ntop(AF_INET, &peer->sin_addr, address, sizeof address);
    x->in.method = span(method), x->in.target = span_of(x->target), x->in.scheme = span("http");
    x->in.client_ip = span(address);
    x->in.headers.items = x->lines;
    MHD_get_connection_values_n(c, MHD_HEADER_KIND, collect_line, x);
    if (fx402_on_request(engine, &x->in, &x->ex, &v, NULL) == FX402_OK) {
      x->body_limit = v.action == FX402_WANT_BODY ? v.body_limit : 0;
      if (act(c, x, &v, &result)) return result;
    }
    x->in.client_ip = span(NULL); /* it stood on this stack */
    return MHD_YES;
  }
  if (*upload_size) {
    size_t room = BODY_LIMIT + 1 - x->body.len, n = *upload_size < room ? *upload_size : room;
    x->body.at = realloc(x->body.at, x->body.len + n + 1);
    if (!x->body.at) abort();
    memcpy(x->body.at + x->body.len, upload, n);
    x->body.len += n;
    *upload_size = 0;
    return MHD_YES;
  }
  if (x->body_limit) {
    size_t limit = x->body_limit;
    fx402_span body = span_of(x->body);
    if (body.len > limit) body.len = limit + 1;
    x->body_limit = 0;
    /* A replaced body would go to the merchant; the one above reads none. */
    if (fx402_on_request_body(x->ex, body, &v, NULL) == FX402_OK && act(c, x, &v, &result)) return result;
  }
  merchant(c, path, &r);
  judge(x, &r);
  return reply(c, x, &r);
}

static void *on_target(void *unused, const char *target, struct MHD_Connection *c) {
  exchange *x = calloc(1, sizeof *x);
  (void)unused, (void)c;
  if (!x) abort();
  x->in.struct_size = sizeof x->in;
  x->target = copy_text(target);
  return x;
}

static void on_completed(void *unused, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how) {
  exchange *x = *state;
  fx402_outcome outcome = {.struct_size = sizeof outcome, .kind = how == MHD_REQUEST_TERMINATED_COMPLETED_OK ? FX402_DELIVERED : FX402_ABORTED};
  (void)unused, (void)c;
  if (!x) return;
  outcome.http_status = x->status, outcome.body_bytes = x->sent;
  (void)fx402_exchange_end(x->ex, &outcome);
  free(x->target.at), free(x->body.at), free(x);
  *state = NULL;
}

/* ---- the process ---- */

static int listen_on(const char *number) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(number)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 128)) { perror("listen"); exit(1); }
  return fd;
}

static int work(int fd, const sigset_t *ends) {
  int got;
  struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, on_request, NULL,
    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
  if (!d) return 1;
  sigwait(ends, &got);
  MHD_stop_daemon(d);
  fx402_stats stats = {.struct_size = sizeof stats};
  if (fx402_engine_shutdown(engine, 2000) != FX402_OK) fprintf(stderr, "some events were not delivered\n");
  fx402_engine_stats(engine, &stats);
  printf("ended: %llu ids, %llu events sent, %llu lost\n", (unsigned long long)stats.minted, (unsigned long long)stats.sent, (unsigned long long)stats.dropped);
  fx402_engine_free(engine);
  return 0;
}

int main(int argc, char **argv) {
  char *config = NULL, *resource = NULL, *key = getenv("FORGE_API_KEY");
  fx402_error error = {.struct_size = sizeof error};
  sigset_t ends;
  pid_t children[WORKERS];
  int workers = argc > 4 ? atoi(argv[4]) : 1, got, fd;
  if (workers > WORKERS) workers = WORKERS;
  if (argc < 3) return fprintf(stderr, "serve PORT FACILITATOR_ADDRESS:PORT [COLLECTOR_URL [WORKERS]]\n"), 2;
  if (asprintf(&resource, "http://127.0.0.1:%s/weather", argv[1]) < 0) abort();
  if (!payment_open(argv[2], resource)) return fprintf(stderr, "%s is no ADDRESS:PORT\n", argv[2]), 2;
  free(resource);
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&ends), sigaddset(&ends, SIGTERM), sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);

  int backend = argc > 3 && *argv[3];
  if (asprintf(&config, "{\"api_key\":\"%s\",\"public_url\":\"https://api.example.com\",\"strict\":true%s%s%s}", key ? key : "",
               backend ? ",\"backend_url\":\"" : "", backend ? argv[3] : "", backend ? "\"" : "") < 0) abort();
  if (fx402_engine_open(FX402_ABI, span(config), &engine, &error) != FX402_OK) return fprintf(stderr, "%s\n", error.message), 1;
  free(config);
  fd = listen_on(argv[1]);
  if (workers <= 1) return work(fd, &ends);
  for (int i = 0; i < workers; i++) {
    children[i] = fork();
    if (children[i] == 0) return work(fd, &ends);
  }
  sigwait(&ends, &got);
  for (int i = 0; i < workers; i++) if (children[i] > 0) kill(children[i], SIGTERM);
  while (wait(NULL) > 0 || errno == EINTR) {}
  fx402_engine_free(engine);
  return 0;
}
