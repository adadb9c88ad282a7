/* worker.c - telemetry and the BLOCKING functions, against collectors on loopback that answer, hang or refuse: limits are
** kept, every event is sent or counted, and the threads take no signals.
*/
#include "check.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a collector ---- */

typedef struct collector { int listener, port; int events, ratings; } collector;

static int count(const int *what) { return __atomic_load_n(what, __ATOMIC_SEQ_CST); }

static int bound(int *port) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  int s = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(s, (struct sockaddr *)&address, sizeof address) != 0 || getsockname(s, (struct sockaddr *)&address, &size) != 0) exit(2);
  *port = ntohs(address.sin_port);
  return s;
}

static void answer_one(collector *c, int connection) {
  static const char accepted[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{\"status\":\"ok\"}";
  static char in[1 << 20];
  size_t have = 0, whole = 0;
  char *at;
  struct timeval limit = {5, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  while (!whole || have < whole) {
    ssize_t n = recv(connection, in + have, sizeof in - 1 - have, 0);
    char *end;
    if (n <= 0) return;
    have += (size_t)n, in[have] = 0;
    end = strstr(in, "\r\n\r\n");
    if (end && !whole) {
      char *length = strcasestr(in, "\r\ncontent-length: ");
      whole = (size_t)(end + 4 - in) + (length ? strtoul(length + 18, NULL, 10) : 0);
    }
  }
  if (strncmp(in, "POST /v1/events ", 16) == 0)
    for (at = in; (at = strstr(at, "\"marked\"")) != NULL; at++) __atomic_fetch_add(&c->events, 1, __ATOMIC_SEQ_CST);
  if (strncmp(in, "POST /v1/feedback ", 18) == 0) __atomic_fetch_add(&c->ratings, 1, __ATOMIC_SEQ_CST);
  if (send(connection, accepted, sizeof accepted - 1, MSG_NOSIGNAL) < 0) perror("send");
}

static void *collect(void *arg) {
  collector *c = (collector *)arg;
  for (;;) {
    int connection = accept(c->listener, NULL, NULL);
    if (connection < 0) return NULL; /* shut down */
    answer_one(c, connection);
    close(connection);
  }
}

static pthread_t start(collector *c) {
  pthread_t thread;
  memset(c, 0, sizeof *c);
  c->listener = bound(&c->port);
  if (listen(c->listener, 64) != 0 || pthread_create(&thread, NULL, collect, c) != 0) exit(2);
  return thread;
}

static void stop(collector *c, pthread_t thread) {
  shutdown(c->listener, SHUT_RDWR);
  pthread_join(thread, NULL);
  close(c->listener);
}

static fx402_engine *engine_to(int port) {
  char options[256];
  sprintf(options, "{\"api_key\":\"ffk_fake\",\"public_url\":\"https://api.example.com\",\"strict\":true,\"flush_interval_ms\":100,\"backend_url\":\"http://127.0.0.1:%d\"}", port);
  return open_engine(options);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define EVENT "{\"type\":\"marked\"}"

static void events_arrive(void) {
  collector c;
  pthread_t thread = start(&c);
  fx402_engine *e = engine_to(c.port);
  fx402_error err = new_error();
  fx402_stats stats = stats_of(e);
  char id[FX402_ID_LEN + 1], large[20000];
  int i;
  CHECK(stats.worker_running == 0 && stats.queued == 0);
  CHECK_OK(fx402_engine_flush(e, 100)); /* nothing queued */
  for (i = 0; i < 250; i++) CHECK_OK(fx402_enqueue_event(e, span(EVENT), &err));
  CHECK_OK(fx402_engine_flush(e, 20000));
  stats = stats_of(e);
  CHECK(stats.worker_running == 1 && stats.queued == 0 && stats.sent == 250 && stats.dropped == 0 && stats.failed_posts == 0);
  CHECK(count(&c.events) == 250);
  /* What is no event. */
  CHECK(fx402_enqueue_event(e, span("[]"), &err) == FX402_E_ARG && strstr(err.message, "object") != NULL);
  CHECK(fx402_enqueue_event(e, span("{\"type\":"), &err) == FX402_E_ARG);
  CHECK(fx402_enqueue_event(e, span("{}"), &err) == FX402_E_ARG && strstr(err.message, "type") != NULL);
  CHECK(fx402_enqueue_event(e, bytes(NULL, 9), &err) == FX402_E_ARG);
  CHECK(fx402_enqueue_event(NULL, span(EVENT), &err) == FX402_E_ARG);
  memset(large, ' ', sizeof large);
  memcpy(large, EVENT, sizeof EVENT - 1);
  CHECK(fx402_enqueue_event(e, bytes(large, sizeof large), &err) == FX402_E_LIMIT);
  /* After the shutdown: transforms go on, events are counted as dropped. */
  CHECK_OK(fx402_engine_shutdown(e, 10000));
  CHECK_OK(fx402_engine_shutdown(e, 10000));
  CHECK(fx402_engine_flush(e, 1000) == FX402_E_CLOSED);
  CHECK(fx402_enqueue_event(e, span(EVENT), &err) == FX402_E_CLOSED);
  CHECK(stats_of(e).dropped == 1 && stats_of(e).sent == 250);
  CHECK_OK(fx402_mint_id(e, id));
  CHECK(fx402_engine_flush(NULL, 0) == FX402_E_ARG && fx402_engine_shutdown(NULL, 0) == FX402_E_ARG);
  fx402_engine_free(e);
  stop(&c, thread);
}

static void limits_against(int port) {
  fx402_engine *e = engine_to(port);
  double begun;
  int i;
  for (i = 0; i < 3; i++) CHECK_OK(fx402_enqueue_event(e, span(EVENT), NULL));
  begun = seconds();
  CHECK(fx402_engine_flush(e, 200) == FX402_E_TIMEOUT);
  CHECK(seconds() - begun < 4);
  CHECK(stats_of(e).queued == 3 && stats_of(e).sent == 0);
  begun = seconds();
  CHECK(fx402_engine_shutdown(e, 200) == FX402_E_TIMEOUT);
  CHECK(seconds() - begun < 4);
  CHECK(stats_of(e).dropped == 3 && stats_of(e).queued == 0);
  fx402_engine_free(e);
}

static void limits_are_kept_where_the_collector_hangs(void) {
  int port, s = bound(&port); /* connections are made by the system, nobody reads */
  CHECK(listen(s, 16) == 0);
  limits_against(port);
  close(s);
}

static void limits_are_kept_where_the_collector_refuses(void) {
  int port, s = bound(&port); /* bound, not listening */
  limits_against(port);
  close(s);
}

static void freed_with_events_queued(void) {
  int port, s = bound(&port), i;
  CHECK(listen(s, 16) == 0);
  for (i = 0; i < 5; i++) {
    fx402_engine *e = engine_to(port);
    double begun = seconds();
    CHECK_OK(fx402_enqueue_event(e, span(EVENT), NULL));
    fx402_engine_free(e); /* does not wait */
    CHECK(seconds() - begun < 2);
  }
  close(s);
}

/* ---- threads and signals ---- */

static volatile sig_atomic_t caught, caught_elsewhere;
static pthread_t main_thread;

static void on_signal(int number) {
  (void)number;
  caught = caught + 1;
  if (!pthread_equal(pthread_self(), main_thread)) caught_elsewhere = caught_elsewhere + 1;
}

static void signals_stay_with_the_host(void) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGKILL, SIGSTOP, 32, 33};
  int port, s = bound(&port), ours = 0, i;
  fx402_engine *e = engine_to(port);
  struct dirent *entry;
  DIR *tasks;
  void (*before)(int);
  const char *watcher = getenv("CHECK_WATCHED_BY");
  int real_masks = !watcher || strcmp(watcher, "valgrind") != 0; /* valgrind keeps masks of its own */
  main_thread = pthread_self();
  before = signal(SIGUSR1, on_signal);
  CHECK_OK(fx402_enqueue_event(e, span(EVENT), NULL));
  (void)!fx402_engine_flush(e, 300);
  tasks = opendir("/proc/self/task");
  while (tasks && (entry = readdir(tasks)) != NULL) {
    char path[300], line[256];
    FILE *status;
    int is_ours = 0;
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) {
      unsigned long long mask;
      if (strncmp(line, "Name:", 5) == 0) is_ours = strstr(line, "fx402") != NULL || strstr(line, "forge") != NULL, ours += is_ours;
      if (is_ours && real_masks && sscanf(line, "SigBlk: %llx", &mask) == 1) {
        int signal_number;
        for (signal_number = 1; signal_number <= 64; signal_number++) {
          size_t f;
          int is_fault = 0;
          for (f = 0; f < COUNT(faults); f++) is_fault |= faults[f] == signal_number;
          if (!is_fault) CHECK(mask >> (signal_number - 1) & 1);
        }
      }
    }
    if (status) fclose(status);
  }
  if (tasks) closedir(tasks);
  CHECK(ours >= 1 && ours <= 2);
  for (i = 0; i < 20; i++) kill(getpid(), SIGUSR1);
  CHECK(caught >= 1 && caught_elsewhere == 0);
  signal(SIGUSR1, before);
  (void)!fx402_engine_shutdown(e, 100);
  fx402_engine_free(e);
  close(s);
}

/* The worker runs, an event is queued, and the process forks: the child starts empty and has a worker of its own. */
static void r7_fork_with_a_running_worker(void) {
  int port, s = bound(&port), status = 0, i;
  fx402_engine *e = engine_to(port);
  CHECK(listen(s, 64) == 0);
  CHECK_OK(fx402_enqueue_event(e, span(EVENT), NULL));
  (void)!fx402_engine_flush(e, 200);
  CHECK(stats_of(e).worker_running == 1 && stats_of(e).queued == 1);
  fflush(stdout);
  for (i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) {
      int failures = stats_of(e).queued != 0 || stats_of(e).worker_running != 0;
      double begun = seconds();
      failures += fx402_engine_flush(e, 1000) != FX402_OK; /* its queue is empty */
      failures += fx402_enqueue_event(e, span(EVENT), NULL) != FX402_OK;
      failures += stats_of(e).queued != 1;
      failures += fx402_engine_shutdown(e, 300) != FX402_E_TIMEOUT || stats_of(e).dropped != 1;
      failures += seconds() - begun > 6;
      leave(failures);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(stats_of(e).queued == 1);
  CHECK(fx402_engine_shutdown(e, 100) == FX402_E_TIMEOUT);
  fx402_engine_free(e);
  close(s);
}

/* A child of a process that has shut its engine down sends for itself. */
static void r7_fork_after_a_shutdown(void) {
  collector c;
  pthread_t thread = start(&c);
  fx402_engine *e = engine_to(c.port);
  int status = 0;
  pid_t child;
  CHECK_OK(fx402_enqueue_event(e, span(EVENT), NULL));
  CHECK_OK(fx402_engine_shutdown(e, 10000));
  fflush(stdout);
  child = fork();
  if (child == 0) {
    int failures = fx402_enqueue_event(e, span(EVENT), NULL) != FX402_OK;
    failures += fx402_engine_flush(e, 10000) != FX402_OK;
    failures += stats_of(e).sent != 1;
    leave(failures);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(count(&c.events) == 2);
  fx402_engine_free(e);
  stop(&c, thread);
}

/* ---- ratings: the request phases, and the one wait ---- */

static void ratings_are_relayed(void) {
  collector c;
  pthread_t thread = start(&c);
  fx402_engine *e = engine_to(c.port);
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_error err = new_error();
  fx402_header type = header("Content-Type", "application/json");
  fx402_request_in request;
  char id[FX402_ID_LEN + 1], target[128], rating[128];
  CHECK_OK(fx402_mint_id(e, id));
  sprintf(target, "/feedback/rate?feedback_id=%s&outcome=fully", id);
  request = new_request("GET", target, NULL, 0);
  CHECK_OK(fx402_on_request(e, &request, &ex, &v, &err));
  CHECK(ex != NULL && v.action == FX402_WAIT);
  CHECK_OK(fx402_exchange_wait(ex, 2900, &v, &err));
  CHECK(v.action == FX402_REPLY && v.http_status >= 200 && v.http_status < 300 && count(&c.ratings) == 1);
  /* Once more is out of order: nothing to wait for. */
  CHECK_OK(fx402_exchange_wait(ex, 2900, &v, &err));
  CHECK(v.action == FX402_PASS && count(&c.ratings) == 1);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  /* In a body. */
  ex = NULL;
  CHECK_OK(fx402_mint_id(e, id));
  sprintf(rating, "{\"feedback_id\":\"%s\",\"outcome\":\"no\",\"issue\":\"slow\"}", id);
  request = new_request("POST", "/feedback", &type, 1);
  request.flags = 0;
  CHECK_OK(fx402_on_request(e, &request, &ex, &v, &err));
  CHECK(ex != NULL && v.action == FX402_WANT_BODY && v.body_limit > 0);
  CHECK_OK(fx402_on_request_body(ex, span(rating), &v, &err));
  CHECK(v.action == FX402_WAIT);
  CHECK_OK(fx402_exchange_wait(ex, 2900, &v, &err));
  CHECK(v.action == FX402_REPLY && v.http_status >= 200 && v.http_status < 300 && count(&c.ratings) == 2);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  /* Junk is answered at once. */
  ex = NULL;
  CHECK_OK(fx402_on_request(e, &request, &ex, &v, &err));
  CHECK_OK(fx402_on_request_body(ex, span("junk"), &v, &err));
  CHECK(v.action == FX402_REPLY && v.http_status >= 400 && v.http_status < 500 && v.flags == FX402_BODY_REPLACED);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  CHECK(fx402_on_request_body(NULL, span("x"), &v, NULL) == FX402_E_ARG && fx402_exchange_wait(NULL, 0, &v, NULL) == FX402_E_ARG);
  CHECK_OK(fx402_engine_shutdown(e, 5000));
  fx402_engine_free(e);
  stop(&c, thread);
}

static void a_wait_keeps_its_limit(void) {
  int port, s = bound(&port);
  fx402_engine *e = engine_to(port);
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_request_in request;
  char id[FX402_ID_LEN + 1], target[128];
  double begun;
  CHECK(listen(s, 16) == 0);
  CHECK_OK(fx402_mint_id(e, id));
  sprintf(target, "/feedback/rate?feedback_id=%s&outcome=fully", id);
  request = new_request("GET", target, NULL, 0);
  CHECK_OK(fx402_on_request(e, &request, &ex, &v, NULL));
  CHECK(v.action == FX402_WAIT);
  begun = seconds();
  CHECK_OK(fx402_exchange_wait(ex, 200, &v, NULL));
  CHECK(seconds() - begun < 4);
  CHECK(v.action == FX402_REPLY && v.http_status == 503);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  (void)!fx402_engine_shutdown(e, 100);
  fx402_engine_free(e);
  close(s);
}

/* ---- what the host pulls ---- */

static void diagnostics_are_pulled(void) {
  fx402_engine *e = NULL;
  fx402_buf json;
  CHECK_OK(fx402_engine_open(FX402_ABI, span("{\"api_key\":\"ffk_fake\",\"nonsense\":1,\"tone\":7}"), &e, NULL));
  CHECK_OK(fx402_engine_diagnostics(e, &json));
  CHECK(json.len > 2 && json.ptr[0] == '[' && json.ptr[json.len - 1] == ']');
  CHECK(contains(bytes(json.ptr, json.len), "nonsense") && contains(bytes(json.ptr, json.len), "tone"));
  fx402_buf_free(&json);
  CHECK_OK(fx402_engine_diagnostics(e, &json));
  CHECK(equals(bytes(json.ptr, json.len), "[]"));
  fx402_buf_free(&json);
  memset(&json, 0xA5, sizeof json);
  CHECK(fx402_engine_diagnostics(NULL, &json) == FX402_E_ARG && json.ptr == NULL && json.len == 0);
  CHECK(fx402_engine_diagnostics(e, NULL) == FX402_E_ARG);
  fx402_engine_free(e);
}

static void openapi_is_enriched(void) {
  fx402_engine *e = plain_engine();
  fx402_buf out;
  uint32_t changed = 7;
  CHECK_OK(fx402_enrich_openapi(e, span("{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"paths\":{\"/w\":{\"get\":{\"responses\":{}}}}}"), &changed, &out, NULL));
  CHECK(changed == 1 && contains(bytes(out.ptr, out.len), "/feedback"));
  fx402_buf_free(&out);
  CHECK_OK(fx402_enrich_openapi(e, span("no document"), &changed, &out, NULL));
  CHECK(changed == 0 && out.ptr == NULL);
  CHECK(fx402_enrich_openapi(NULL, span("{}"), &changed, &out, NULL) == FX402_E_ARG);
  fx402_engine_free(e);
}

static void the_whole_selftest(void) {
  fx402_error err = new_error();
  CHECK_OK(fx402_selftest(4, &err));
  CHECK_OK(fx402_selftest(0, &err));
  CHECK(err.message[0] == 0);
}

static const test tests[] = {
  {"worker: events arrive, and are counted after a shutdown", events_arrive},
  {"R6 block: limits are kept where the collector hangs", limits_are_kept_where_the_collector_hangs},
  {"R6 block: limits are kept where the collector refuses", limits_are_kept_where_the_collector_refuses},
  {"R6 block: a wait keeps its limit", a_wait_keeps_its_limit},
  {"worker: an engine freed with events queued", freed_with_events_queued},
  {"R9 global: signals stay with the host", signals_stay_with_the_host},
  {"R7 fork: with a running worker", r7_fork_with_a_running_worker},
  {"R7 fork: after a shutdown", r7_fork_after_a_shutdown},
  {"ratings are relayed", ratings_are_relayed},
  {"diagnostics are pulled", diagnostics_are_pulled},
  {"openapi is enriched", openapi_is_enriched},
  {"the whole selftest", the_whole_selftest},
};
MAIN(tests)
