/* rules.c - the rules R1 to R10 at the top of forge_x402.h, a test for each, against the library that ships. */
#include "check.h"
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void r1_status(void) {
  static const fx402_status all[] = {FX402_OK, FX402_E_ARG, FX402_E_ABI, FX402_E_CONFIG, FX402_E_TIMEOUT,
                                     FX402_E_CLOSED, FX402_E_LIMIT, FX402_E_INPUT, FX402_E_BUDGET, FX402_E_INTERNAL};
  static const int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 100};
  fx402_engine *e = plain_engine();
  fx402_exchange *ex = (fx402_exchange *)0x10;
  fx402_verdict v = new_verdict();
  fx402_error err = new_error();
  fx402_request_in request = new_request("GET", "/", NULL, 3);
  size_t i, j;
  for (i = 0; i < COUNT(all); i++) {
    CHECK(all[i] == numbers[i]);
    for (j = 0; j < i; j++) CHECK(strcmp(fx402_status_text(all[i]), fx402_status_text(all[j])) != 0);
  }
  CHECK(strcmp(fx402_status_text(9), "unknown status") == 0);
  CHECK(strcmp(fx402_status_text(-2147483647 - 1), "unknown status") == 0);
  /* A failure says: change nothing. */
  CHECK(fx402_on_request(e, &request, &ex, &v, &err) == FX402_E_ARG);
  CHECK(ex == NULL && v.action == FX402_PASS && v.flags == 0 && v.edits == NULL && v.edits_len == 0);
  CHECK(v.target.ptr == NULL && v.body.ptr == NULL && v.feedback_id.ptr == NULL && v.body_limit == 0);
  CHECK(v.struct_size == sizeof v);
  CHECK(err.status == FX402_E_ARG && strstr(err.message, "items is NULL") != NULL);
  fx402_engine_free(e);
}

/* Input that is scribbled over right after each call gives the same answer. */
static void r2_in(void) {
  static const char options[] = OPTIONS_FAKE("");
  char *config = strdup(options), *payment = base64_text(PAYMENT_TEXT), *method = strdup("GET");
  char *target = strdup("/weather"), *body = strdup("{\"a\":1}"), *type = strdup("application/json");
  fx402_engine *e = NULL;
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_error *err = (fx402_error *)malloc(sizeof *err);
  fx402_header *asked = (fx402_header *)malloc(sizeof *asked), *answered = (fx402_header *)malloc(sizeof *answered);
  fx402_request_in *request = (fx402_request_in *)malloc(sizeof *request);
  fx402_response_in *response = (fx402_response_in *)malloc(sizeof *response);
  *err = new_error();
  CHECK_OK(fx402_engine_open(FX402_ABI, span(config), &e, err));
  memset(config, 'x', sizeof options - 1);
  free(config);
  asked[0] = header("PAYMENT-SIGNATURE", payment);
  *request = new_request(method, target, asked, 1);
  CHECK_OK(fx402_on_request(e, request, &ex, &v, err));
  CHECK(ex != NULL);
  memset(payment, 'x', strlen(payment));
  memset(method, 'x', 3);
  memset(target, 'x', 8);
  memset(asked, 0xFF, sizeof *asked);
  memset(request, 0xFF, sizeof *request);
  free(payment), free(method), free(target), free(asked), free(request);
  answered[0] = header("Content-Type", type);
  *response = new_response(200, answered, 1, body);
  CHECK_OK(fx402_on_response(ex, response, &v, err));
  memset(type, 'x', strlen(type));
  memset(body, 'x', strlen(body));
  memset(answered, 0xFF, sizeof *answered);
  memset(response, 0xFF, sizeof *response);
  free(type), free(body), free(answered), free(response), free(err);
  CHECK(v.flags == FX402_BODY_REPLACED && contains(v.body, "{\"a\":1,\"feedback_id\":\""));
  CHECK(v.feedback_id.len == FX402_ID_LEN);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  fx402_engine_free(e);
}

/* What a verdict shows stays while other exchanges come and go, and its engine too. */
static void r3_out(void) {
  fx402_engine *e = plain_engine();
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  char id[FX402_ID_LEN + 1], *body;
  size_t len, i;
  CHECK_OK(paid_exchange(e, "{\"a\":1}", &ex, &v));
  CHECK(v.feedback_id.len == FX402_ID_LEN && v.flags == FX402_BODY_REPLACED);
  memcpy(id, v.feedback_id.ptr, FX402_ID_LEN);
  id[FX402_ID_LEN] = 0;
  len = v.body.len;
  body = (char *)malloc(len);
  memcpy(body, v.body.ptr, len);
  for (i = 0; i < 50; i++) {
    fx402_exchange *other = NULL;
    fx402_verdict theirs = new_verdict();
    CHECK_OK(paid_exchange(e, "{\"b\":2}", &other, &theirs));
    CHECK(!equals(theirs.feedback_id, id));
    CHECK_OK(fx402_exchange_end(other, NULL));
  }
  fx402_engine_free(e);
  CHECK(equals(v.feedback_id, id) && v.body.len == len && memcmp(v.body.ptr, body, len) == 0);
  CHECK(edit_of(&v, FX402_EDIT_SET, "Forge-Feedback-Id") && equals(edit_of(&v, FX402_EDIT_SET, "Forge-Feedback-Id")->value, id));
  CHECK_OK(fx402_exchange_end(ex, NULL));
  free(body);
}

static void r4_free(void) {
  fx402_engine *e = plain_engine();
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_buf buf, empty;
  fx402_span absurd;
  uint32_t changed, reason;
  char id[FX402_ID_LEN + 1];
  memset(&empty, 0, sizeof empty);
  /* NULL is fine everywhere. */
  fx402_engine_free(NULL);
  fx402_buf_free(NULL);
  fx402_buf_free(&empty);
  CHECK_OK(fx402_exchange_end(NULL, NULL));
  /* A buffer goes back once, and twice does nothing; a body can be taken and outlives exchange and engine. */
  CHECK_OK(paid_exchange(e, "{\"a\":1}", &ex, &v));
  CHECK_OK(fx402_exchange_take_body(ex, &buf));
  CHECK(buf.ptr == v.body.ptr && buf.len == v.body.len && buf.cap >= buf.len);
  {
    fx402_buf second;
    memset(&second, 0xA5, sizeof second);
    CHECK(fx402_exchange_take_body(ex, &second) == FX402_E_ARG && second.ptr == NULL && second.len == 0 && second.cap == 0);
  }
  fx402_engine_free(e);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  CHECK(memcmp(buf.ptr, "{\"a\":1,\"feedback_id\":\"", 22) == 0);
  fx402_buf_free(&buf);
  CHECK(buf.ptr == NULL && buf.len == 0 && buf.cap == 0);
  fx402_buf_free(&buf);
  /* On failure every out pointer is NULL, every number 0. */
  absurd = bytes(NULL, 5);
  e = (fx402_engine *)0x10;
  CHECK(fx402_engine_open(FX402_ABI, absurd, &e, NULL) == FX402_E_ARG && e == NULL);
  e = (fx402_engine *)0x10;
  CHECK(fx402_engine_open(2u << 16, span("{}"), &e, NULL) == FX402_E_ABI && e == NULL);
  e = (fx402_engine *)0x10;
  CHECK(fx402_engine_open(FX402_ABI, span("{\"strict\":true}"), &e, NULL) == FX402_E_CONFIG && e == NULL);
  CHECK(fx402_engine_open(FX402_ABI, span("{}"), NULL, NULL) == FX402_E_ARG);
  memset(&buf, 0xA5, sizeof buf), changed = 7;
  CHECK(fx402_transform_challenge(NULL, FX402_FORM_BODY, span("{}"), &changed, &buf, NULL) == FX402_E_ARG);
  CHECK(changed == 0 && memcmp(&buf, &empty, sizeof buf) == 0);
  e = plain_engine();
  memset(&buf, 0xA5, sizeof buf), changed = 7;
  CHECK(fx402_transform_challenge(e, 3, span("{}"), &changed, &buf, NULL) == FX402_E_ARG);
  CHECK(changed == 0 && memcmp(&buf, &empty, sizeof buf) == 0);
  memset(&buf, 0xA5, sizeof buf), changed = 7;
  CHECK(fx402_enrich_receipt(e, absurd, absurd, &changed, &buf, NULL) == FX402_E_ARG);
  CHECK(changed == 0 && memcmp(&buf, &empty, sizeof buf) == 0);
  memset(&buf, 0xA5, sizeof buf), changed = 7;
  CHECK(fx402_enrich_body(e, absurd, absurd, &changed, &buf, NULL) == FX402_E_ARG);
  CHECK(changed == 0 && memcmp(&buf, &empty, sizeof buf) == 0);
  CHECK(fx402_enrich_body(e, span("{}"), span("x"), NULL, &buf, NULL) == FX402_E_ARG);
  CHECK(fx402_enrich_body(e, span("{}"), span("x"), &changed, NULL, NULL) == FX402_E_ARG);
  memset(id, 'x', sizeof id);
  CHECK(fx402_mint_id(NULL, id) == FX402_E_ARG && id[0] == 0);
  CHECK(fx402_mint_id(e, NULL) == FX402_E_ARG);
  reason = FX402_ID_VALID;
  CHECK(fx402_verify_id(NULL, span("x"), 0, &reason) == FX402_E_ARG && reason == FX402_ID_MALFORMED);
  CHECK(fx402_verify_id(e, span("x"), 0, NULL) == FX402_E_ARG);
  /* An exchange with an outcome that makes no sense is freed all the same (the leak checkers watch). */
  {
    fx402_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    ex = NULL;
    CHECK_OK(paid_exchange(e, "{}", &ex, &v));
    CHECK(fx402_exchange_end(ex, &outcome) == FX402_E_ABI);
    outcome.struct_size = sizeof outcome;
    ex = NULL;
    CHECK_OK(paid_exchange(e, "{}", &ex, &v));
    CHECK(fx402_exchange_end(ex, &outcome) == FX402_E_ARG);
    outcome.kind = FX402_DELIVERED;
    outcome.http_status = 200;
    ex = NULL;
    CHECK_OK(paid_exchange(e, "{}", &ex, &v));
    CHECK_OK(fx402_exchange_end(ex, &outcome));
  }
  fx402_engine_free(e);
}

enum { THREADS = 4, ROUNDS = 300 };
static char ids[THREADS][ROUNDS][FX402_ID_LEN];
static fx402_exchange *handed_on[THREADS];
static fx402_engine *shared_engine;

static void *many_exchanges(void *arg) {
  size_t me = (size_t)arg, i;
  for (i = 0; i < ROUNDS; i++) {
    fx402_exchange *ex = NULL;
    fx402_verdict v = new_verdict();
    if (paid_exchange(shared_engine, "{\"a\":1}", &ex, &v) != FX402_OK || v.feedback_id.len != FX402_ID_LEN) return NULL;
    memcpy(ids[me][i], v.feedback_id.ptr, FX402_ID_LEN);
    if (i + 1 < ROUNDS) {
      if (fx402_exchange_end(ex, NULL) != FX402_OK) return NULL;
    } else {
      handed_on[me] = ex; /* ended by another thread */
    }
  }
  return arg;
}

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, FX402_ID_LEN); }

static void r5_thread(void) {
  pthread_t threads[THREADS];
  size_t i;
  shared_engine = plain_engine();
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, many_exchanges, (void *)i) == 0);
  for (i = 0; i < THREADS; i++) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    CHECK((size_t)result == i);
  }
  for (i = 0; i < THREADS; i++) CHECK_OK(fx402_exchange_end(handed_on[i], NULL));
  CHECK(stats_of(shared_engine).minted == THREADS * ROUNDS);
  CHECK(stats_of(shared_engine).internal_errors == 0);
  qsort(ids, THREADS * ROUNDS, FX402_ID_LEN, by_bytes);
  for (i = 1; i < THREADS * ROUNDS; i++) CHECK(memcmp(ids[0][0] + (i - 1) * FX402_ID_LEN, ids[0][0] + i * FX402_ID_LEN, FX402_ID_LEN) != 0);
  fx402_engine_free(shared_engine);
}

/* Forbids this process every system call that could wait for anything, and every other one that exchanges do not need.
** futex may wake others, never wait. */
static int forbid_waiting(void) {
  static const int allowed[] = {SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise, SYS_mprotect, SYS_brk, SYS_getrandom,
                                SYS_clock_gettime, SYS_getpid, SYS_write, SYS_exit_group};
  enum { N = COUNT(allowed), FIRST = 5 };
  struct sock_filter filter[FIRST + N + 2] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])), /* little endian: the lower half */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAKE_PRIVATE, N + 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAKE, N + 1, N),
  };
  struct sock_fprog program;
  size_t i;
  for (i = 0; i < N; i++) {
    struct sock_filter is = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], (uint8_t)(N - i), 0);
    filter[FIRST + i] = is;
  }
  {
    struct sock_filter no = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), yes = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[FIRST + N] = no;
    filter[FIRST + N + 1] = yes;
  }
  program.len = FIRST + N + 2;
  program.filter = filter;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Every call that is not BLOCKING works where a system call that could wait kills the process. */
static void r6_block(void) {
  pid_t child;
  int status = 0;
  if (watched("system calls are the tool's own there")) return;
  child = fork();
  if (child == 0) {
    fx402_engine *e = plain_engine();
    char id[FX402_ID_LEN + 1];
    uint32_t reason = 9, changed = 0;
    int i, failures = 0;
    if (!forbid_waiting()) _exit(3);
    for (i = 0; i < 200; i++) {
      fx402_exchange *ex = NULL;
      fx402_verdict v = new_verdict();
      fx402_buf buf;
      fx402_request_in plain = new_request("GET", "/", NULL, 0);
      failures += fx402_on_request(e, &plain, &ex, &v, NULL) != FX402_OK || ex;
      failures += paid_exchange(e, "{\"a\":1}", &ex, &v) != FX402_OK;
      failures += fx402_exchange_end(ex, NULL) != FX402_OK;
      failures += fx402_transform_challenge(e, FX402_FORM_BODY, span(CHALLENGE_V1), &changed, &buf, NULL) != FX402_OK || !changed;
      fx402_buf_free(&buf);
      failures += fx402_mint_id(e, id) != FX402_OK;
      failures += fx402_verify_id(e, span(id), 0, &reason) != FX402_OK || reason != FX402_ID_VALID;
      failures += stats_of(e).minted == 0;
    }
    fx402_engine_free(e);
    _exit(failures ? 1 : 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Engine opened and used before fork(): the children work, count anew and make ids of their own. */
static void r7_fork(void) {
  enum { CHILDREN = 3, EACH = 100 };
  static char all[(CHILDREN + 1) * EACH][FX402_ID_LEN];
  fx402_engine *e = plain_engine();
  fx402_exchange *before = NULL;
  fx402_verdict v = new_verdict();
  char id[FX402_ID_LEN + 1];
  int pipes[2], i, j;
  size_t got = 0;
  CHECK_OK(paid_exchange(e, "{\"a\":1}", &before, &v));
  CHECK(pipe(pipes) == 0);
  fflush(stdout);
  for (i = 0; i < CHILDREN; i++) {
    pid_t child = fork();
    if (child == 0) {
      fx402_stats stats = stats_of(e);
      fx402_exchange *ex = NULL;
      int failures = stats.minted != 0 || stats.generation == 0;
      failures += fx402_exchange_end(before, NULL) != FX402_OK; /* inherited */
      failures += paid_exchange(e, "{\"a\":1}", &ex, &v) != FX402_OK || v.feedback_id.len != FX402_ID_LEN;
      failures += fx402_exchange_end(ex, NULL) != FX402_OK;
      for (j = 0; j < EACH; j++) {
        failures += fx402_mint_id(e, id) != FX402_OK;
        failures += write(pipes[1], id, FX402_ID_LEN) != FX402_ID_LEN;
      }
      failures += stats_of(e).minted != 1 + EACH;
      fx402_engine_free(e);
      leave(failures);
    }
  }
  for (i = 0; i < CHILDREN; i++) {
    int status = 0;
    CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  close(pipes[1]);
  while (got < sizeof all) {
    ssize_t n = read(pipes[0], all[0] + got, sizeof all - got);
    if (n <= 0) break;
    got += (size_t)n;
  }
  close(pipes[0]);
  CHECK(got == CHILDREN * EACH * FX402_ID_LEN);
  for (i = 0; i < EACH; i++) {
    CHECK_OK(fx402_mint_id(e, id));
    memcpy(all[CHILDREN * EACH + i], id, FX402_ID_LEN);
  }
  qsort(all, COUNT(all), FX402_ID_LEN, by_bytes);
  for (i = 1; i < (int)COUNT(all); i++) CHECK(memcmp(all[i - 1], all[i], FX402_ID_LEN) != 0);
  CHECK(stats_of(e).minted == 1 + EACH);
  CHECK_OK(fx402_exchange_end(before, NULL));
  fx402_engine_free(e);
}

/* A real panic in this very library stays inside, and prints nothing. */
static void r8_panic(void) {
  int pipes[2], saved = dup(2), i;
  char printed[64];
  ssize_t n;
  fx402_error err = new_error();
  fx402_status status[20];
  CHECK(pipe(pipes) == 0 && saved >= 0);
  fcntl(pipes[0], F_SETFL, O_NONBLOCK);
  dup2(pipes[1], 2);
  for (i = 0; i < 20; i++) status[i] = fx402_selftest(2, &err);
  dup2(saved, 2);
  close(saved), close(pipes[1]);
  n = read(pipes[0], printed, sizeof printed);
  close(pipes[0]);
  CHECK(n <= 0);
  for (i = 0; i < 20; i++) CHECK(status[i] == FX402_OK);
  CHECK(err.status == 0 && err.message[0] == 0);
  CHECK_OK(fx402_selftest(1, NULL));
  CHECK(fx402_selftest(8, &err) == FX402_E_ARG && strstr(err.message, "bit") != NULL);
  /* After a contained panic, calls work as before. */
  {
    fx402_engine *e = plain_engine();
    char id[FX402_ID_LEN + 1];
    CHECK_OK(fx402_mint_id(e, id));
    fx402_engine_free(e);
  }
}

static int threads_now(void) {
  int count = 0;
  struct dirent *entry;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return -1;
  while ((entry = readdir(tasks)) != NULL) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static int files_open(void) {
  int fd, count = 0;
  for (fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) != -1;
  return count;
}

static void r9_global(void) {
  struct sigaction before[65], after;
  sigset_t mask_before, mask_after;
  int signal_number, threads = threads_now(), files = files_open();
  size_t i, variables = 0, length = 0, length_after = 0;
  char **environment = environ;
  fx402_engine *e;
  memset(before, 0, sizeof before);
  memset(&after, 0, sizeof after);
  for (i = 0; environ[i]; i++) variables++, length += strlen(environ[i]);
  for (signal_number = 1; signal_number <= 64; signal_number++) sigaction(signal_number, NULL, &before[signal_number]);
  pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
  e = plain_engine();
  for (i = 0; i < 20; i++) {
    fx402_exchange *ex = NULL;
    fx402_verdict v = new_verdict();
    CHECK_OK(paid_exchange(e, "{\"a\":1}", &ex, &v));
    CHECK_OK(fx402_exchange_end(ex, NULL));
  }
  fx402_engine_free(e);
  for (signal_number = 1; signal_number <= 64; signal_number++) {
    sigaction(signal_number, NULL, &after);
    CHECK(after.sa_handler == before[signal_number].sa_handler && after.sa_flags == before[signal_number].sa_flags);
  }
  pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
  for (signal_number = 1; signal_number <= 64; signal_number++)
    CHECK(sigismember(&mask_before, signal_number) == sigismember(&mask_after, signal_number));
  CHECK(threads_now() == threads && files_open() == files); /* telemetry is off: no event, no thread, no socket */
  CHECK(environ == environment);
  for (i = 0; environ[i]; i++) length_after += strlen(environ[i]);
  CHECK(i == variables && length_after == length);
}

static void *everything_on_a_small_stack(void *arg) {
  size_t depth = 100000, i;
  char *deep = (char *)malloc(2 * depth + 64), *at = deep;
  fx402_engine *e = plain_engine();
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_buf buf;
  uint32_t changed = 0, reason = 9;
  char id[FX402_ID_LEN + 1];
  at += sprintf(at, "{\"deep\":");
  for (i = 0; i < depth; i++) *at++ = '[';
  for (i = 0; i < depth; i++) *at++ = ']';
  strcpy(at, "}");
  CHECK_OK(fx402_selftest(3, NULL));
  CHECK_OK(paid_exchange(e, deep, &ex, &v));
  CHECK(v.flags == FX402_BODY_REPLACED && v.body.len > strlen(deep));
  CHECK_OK(fx402_exchange_end(ex, NULL));
  CHECK_OK(fx402_transform_challenge(e, FX402_FORM_BODY, span(CHALLENGE_V1), &changed, &buf, NULL));
  CHECK(changed == 1);
  fx402_buf_free(&buf);
  CHECK_OK(fx402_transform_challenge(e, FX402_FORM_BODY, span(deep), &changed, &buf, NULL));
  CHECK(changed == 0 && buf.ptr == NULL);
  CHECK_OK(fx402_mint_id(e, id));
  CHECK_OK(fx402_verify_id(e, span(id), 0, &reason));
  CHECK(reason == FX402_ID_VALID);
  CHECK_OK(fx402_enrich_body(e, span("{}"), span(id), &changed, &buf, NULL));
  CHECK(changed == 1);
  fx402_buf_free(&buf);
  fx402_engine_free(e);
  free(deep);
  return arg;
}

static void r10_stack(void) {
  pthread_attr_t small;
  pthread_t thread;
  void *result = NULL;
  static int token;
  pthread_attr_init(&small);
  CHECK(pthread_attr_setstacksize(&small, 64 * 1024) == 0);
  CHECK(pthread_create(&thread, &small, everything_on_a_small_stack, &token) == 0);
  pthread_join(thread, &result);
  CHECK(result == &token);
  pthread_attr_destroy(&small);
}

static const test tests[] = {
  {"R1 status", r1_status}, {"R2 in", r2_in}, {"R3 out", r3_out}, {"R4 free", r4_free}, {"R5 thread", r5_thread},
  {"R6 block", r6_block}, {"R7 fork", r7_fork}, {"R8 panic", r8_panic}, {"R9 global", r9_global}, {"R10 stack", r10_stack},
};
MAIN(tests)
