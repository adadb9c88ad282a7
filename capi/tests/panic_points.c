/* panic_points.c - P32: a panic forced in every exported function, before its work and inside the engine, becomes
** FX402_E_INTERNAL; never an abort, never an unwind, no output, nothing half done.
**
** Needs a library built with the feature panic_points, the one thing that a library that ships has not.
*/
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C"
#endif
void fx402_test_panic_next(uint32_t place);

#define OPEN_OFFER "{\"x402Version\":1,\"accepts\":[{\"scheme\":\"exact\",\"network\":\"base\",\"maxAmountRequired\":\"1\"," \
  "\"asset\":\"a\",\"payTo\":\"b\"}]}"

static fx402_engine *engine;
static fx402_buf empty, buf;
static uint32_t number;
static fx402_error err;

static fx402_status on_request(void) {
  char *payment = base64_text(PAYMENT_TEXT);
  fx402_header line = header("PAYMENT-SIGNATURE", payment);
  fx402_request_in in = new_request("GET", "/", &line, 1);
  fx402_exchange *ex = (fx402_exchange *)0x10;
  fx402_verdict v = new_verdict();
  fx402_status status;
  err = new_error();
  status = fx402_on_request(engine, &in, &ex, &v, &err);
  CHECK(v.action == FX402_PASS && v.edits == NULL);
  CHECK(status == FX402_OK || ex == NULL || number == 2);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  free(payment);
  return status;
}

static fx402_exchange *make_exchange(void) {
  char *payment = base64_text(PAYMENT_TEXT);
  fx402_header line = header("PAYMENT-SIGNATURE", payment);
  fx402_request_in in = new_request("GET", "/", &line, 1);
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  CHECK_OK(fx402_on_request(engine, &in, &ex, &v, NULL));
  CHECK(ex != NULL);
  free(payment);
  return ex;
}

static fx402_exchange *given;

static fx402_status on_response(void) {
  fx402_header line = header("Content-Type", "application/json");
  fx402_response_in in = new_response(200, &line, 1, "{\"a\":1}");
  fx402_verdict v = new_verdict();
  return fx402_on_response(given, &in, &v, NULL);
}

static fx402_status on_response_late(void) {
  fx402_header line = header("Content-Type", "application/json");
  fx402_request_in req = new_request("GET", "/", NULL, 0);
  fx402_response_in in = new_response(402, &line, 1, CHALLENGE_V1);
  fx402_exchange *ex = (fx402_exchange *)0x10;
  fx402_verdict v = new_verdict();
  fx402_status status = fx402_on_response_late(engine, &req, &in, &ex, &v, NULL);
  CHECK_OK(fx402_exchange_end(ex, NULL));
  return status;
}

static fx402_status take_body(void) {
  fx402_status status = fx402_exchange_take_body(given, &buf);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status open_again(void) {
  fx402_engine *e = (fx402_engine *)0x10;
  fx402_status status = fx402_engine_open(FX402_ABI, span(OPTIONS_FAKE("")), &e, NULL);
  if (status) CHECK(e == NULL || number == 2);
  fx402_engine_free(e);
  return status;
}

static fx402_status transform(void) {
  uint32_t changed = 7;
  fx402_status status = fx402_transform_challenge(engine, FX402_FORM_BODY, span(CHALLENGE_V1), &changed, &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status receipt(void) {
  uint32_t changed = 7;
  char *value = base64_text(RECEIPT_TEXT);
  fx402_status status = fx402_enrich_receipt(engine, span(value), span("awzJAAABAgMEBU0fS7Pmqw"), &changed, &buf, NULL);
  fx402_buf_free(&buf);
  free(value);
  return status;
}

static fx402_status body(void) {
  uint32_t changed = 7;
  fx402_status status = fx402_enrich_body(engine, span("{}"), span("awzJAAABAgMEBU0fS7Pmqw"), &changed, &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status mint(void) {
  char id[FX402_ID_LEN + 1];
  return fx402_mint_id(engine, id);
}

static fx402_status verify(void) {
  uint32_t reason;
  return fx402_verify_id(engine, span("awzJAAABAgMEBU0fS7Pmqw"), 0, &reason);
}

/* Its own panic test would use up the one that is armed. */
static fx402_status selftest(void) { return fx402_selftest(1, NULL); }

static fx402_status diagnostics(void) {
  fx402_status status = fx402_engine_diagnostics(engine, &buf);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status flush(void) { return fx402_engine_flush(engine, 10); }
static fx402_status stop(void) { return fx402_engine_shutdown(engine, 10); }
static fx402_status enqueue(void) { return fx402_enqueue_event(engine, span("{\"type\":\"t\"}"), NULL); }

static fx402_status request_body(void) {
  fx402_verdict v = new_verdict();
  fx402_status status = fx402_on_request_body(given, span("{}"), &v, NULL);
  CHECK(v.action == FX402_PASS);
  return status;
}

static fx402_status wait_for_it(void) {
  fx402_verdict v = new_verdict();
  fx402_status status = fx402_exchange_wait(given, 10, &v, NULL);
  CHECK(v.action == FX402_PASS);
  return status;
}

static fx402_status openapi(void) {
  uint32_t changed = 7;
  fx402_status status = fx402_enrich_openapi(engine, span("{\"openapi\":\"3.1.0\",\"paths\":{}}"), &changed, &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status parse_challenge(void) {
  fx402_status status = fx402_client_parse_challenge(402, NULL, span(OPEN_OFFER), &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status parse_diagnostic(void) {
  fx402_status status = fx402_client_parse_diagnostic(NULL, span("{\"diagnostic\":{\"code\":\"A\"}}"), &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status decide(void) {
  fx402_status status = fx402_client_decide(span(""), span("{}"), &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_status escalation_event(void) {
  fx402_status status =
    fx402_client_escalation_event(span("{\"code\":\"A\"}"), span("{\"endpoint\":\"x\",\"now_ms\":1}"), &buf, NULL);
  fx402_buf_free(&buf);
  return status;
}

static fx402_budget *budget;

static fx402_status budget_new(void) {
  fx402_budget *b = (fx402_budget *)0x10;
  fx402_status status = fx402_client_budget_new(span(""), &b, NULL);
  if (status) CHECK(b == NULL || number == 2);
  fx402_client_budget_free(b);
  return status;
}

static fx402_status budget_check(void) { return fx402_client_budget_check(budget, 1, span("0.01"), -1, NULL); }
static fx402_status budget_spend(void) { return fx402_client_budget_spend(budget, 1, span("0.01"), -1, NULL); }

static fx402_status budget_left(void) {
  fx402_status status = fx402_client_budget_left(budget, 1, &buf);
  fx402_buf_free(&buf);
  return status;
}

#define EVERY_GUARDED_FUNCTION                                                                              \
  {"fx402_engine_open", open_again}, {"fx402_on_request", on_request}, {"fx402_on_response", on_response},  \
  {"fx402_on_response_late", on_response_late}, {"fx402_exchange_take_body", take_body},                    \
  {"fx402_transform_challenge", transform}, {"fx402_enrich_receipt", receipt}, {"fx402_enrich_body", body}, \
  {"fx402_mint_id", mint}, {"fx402_verify_id", verify}, {"fx402_selftest", selftest},                       \
  {"fx402_engine_diagnostics", diagnostics}, {"fx402_on_request_body", request_body},                       \
  {"fx402_exchange_wait", wait_for_it}, {"fx402_enrich_openapi", openapi},                                  \
  {"fx402_enqueue_event", enqueue}, {"fx402_engine_flush", flush}, {"fx402_engine_shutdown", stop}, \
  {"fx402_client_parse_challenge", parse_challenge}, {"fx402_client_parse_diagnostic", parse_diagnostic},   \
  {"fx402_client_decide", decide}, {"fx402_client_escalation_event", escalation_event},                     \
  {"fx402_client_budget_new", budget_new}, {"fx402_client_budget_check", budget_check},                     \
  {"fx402_client_budget_spend", budget_spend}, {"fx402_client_budget_left", budget_left}

typedef struct function { const char *name; fx402_status (*call)(void); } function;
static const function functions[] = {EVERY_GUARDED_FUNCTION};

/* Those that have no status to give: a panic is swallowed, the process lives. Leaks what it could not free: said here. */
static void functions_without_a_status(uint32_t place) {
  fx402_stats stats;
  fx402_engine *e = plain_engine();
  memset(&stats, 0xA5, sizeof stats);
  stats.struct_size = sizeof stats;
  fx402_test_panic_next(place);
  fx402_engine_stats(engine, &stats);
  CHECK(place != 1 || stats.minted == 0);
  fx402_test_panic_next(place);
  fx402_engine_free(e); /* place 1 leaks it */
  memset(&buf, 0, sizeof buf);
  fx402_test_panic_next(place);
  fx402_buf_free(&buf);
  fx402_test_panic_next(place);
  fx402_client_budget_free(budget); /* place 1 leaks it */
}

static void p32_at(uint32_t place) {
  int pipes[2], saved = dup(2);
  char printed[64];
  size_t i;
  fx402_status first[COUNT(functions)], second[COUNT(functions)], ended;
  ssize_t n;
  number = place;
  engine = plain_engine();
  CHECK_OK(fx402_client_budget_new(span(""), &budget, NULL));
  CHECK(pipe(pipes) == 0 && saved >= 0);
  fcntl(pipes[0], F_SETFL, O_NONBLOCK);
  dup2(pipes[1], 2);
  for (i = 0; i < COUNT(functions); i++) {
    given = make_exchange();
    if (functions[i].call == take_body) on_response();
    fx402_test_panic_next(place);
    first[i] = functions[i].call();
    second[i] = functions[i].call == take_body && place == 2 ? FX402_OK : functions[i].call();
    if (fx402_exchange_end(given, NULL) != FX402_OK) second[i] = -1;
  }
  given = make_exchange();
  fx402_test_panic_next(place);
  ended = fx402_exchange_end(given, NULL); /* place 1 leaks it */
  functions_without_a_status(place);
  dup2(saved, 2);
  close(saved), close(pipes[1]);
  n = read(pipes[0], printed, sizeof printed);
  close(pipes[0]);
  CHECK(n <= 0);
  CHECK(ended == FX402_E_INTERNAL);
  for (i = 0; i < COUNT(functions); i++) {
    if (first[i] != FX402_E_INTERNAL || second[i] != FX402_OK) {
      fprintf(stderr, "%s: %d, then %d\n", functions[i].name, (int)first[i], (int)second[i]);
      CHECK(!"FX402_E_INTERNAL, then as ever");
    }
  }
  fx402_engine_free(engine);
}

static void p32_in_the_conversions(void) { p32_at(1); }
static void p32_in_the_engine(void) { p32_at(2); }

static void p32_the_message_says_it(void) {
  engine = plain_engine();
  number = 1;
  fx402_test_panic_next(1);
  CHECK(on_request() == FX402_E_INTERNAL);
  CHECK(err.status == FX402_E_INTERNAL && strstr(err.message, "defect") != NULL);
  CHECK(memcmp(&empty, &buf, sizeof buf) == 0);
  fx402_engine_free(engine);
}

static const test tests[] = {
  {"P32 a panic in the conversions of every function", p32_in_the_conversions},
  {"P32 a panic in the engine under every function", p32_in_the_engine},
  {"P32 the message says it", p32_the_message_says_it},
};
MAIN(tests)
