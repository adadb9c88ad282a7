/* client.c - the agent's half: challenges and diagnostics in, decisions and events out, and a budget that holds. */
#include "check.h"
#include <pthread.h>

#define V1 "{\"x402Version\":1,\"error\":\"insufficient_funds\",\"accepts\":[{\"scheme\":\"exact\",\"network\":\"base\"," \
  "\"maxAmountRequired\":\"1000\",\"asset\":\"0xA\",\"payTo\":\"0xB\"}]," \
  "\"diagnostic\":{\"code\":\"WALLET_INSUFFICIENT_FUNDS\",\"escalate\":true,\"correlation_id\":\"00c0ffee01234567\"}}"
#define OFFER_V1 "\"offers\":[{\"scheme\":\"exact\",\"network\":\"base\",\"asset\":\"0xA\",\"amount\":\"1000\",\"unit\":\"atomic\",\"payTo\":\"0xB\"}]"
#define DIAGNOSTIC "{\"code\":\"WALLET_INSUFFICIENT_FUNDS\",\"escalate\":true,\"correlation_id\":\"00c0ffee01234567\"}"

static fx402_headers lines(const fx402_header *items, size_t count) {
  fx402_headers h;
  memset(&h, 0, sizeof h);
  h.items = items;
  h.count = count;
  return h;
}

/* Whether the buffer holds this text; gives it back. */
static int is(fx402_buf *b, const char *text) {
  int same = equals(bytes(b->ptr, b->len), text);
  if (!same) fprintf(stderr, "  got %.*s\n", (int)b->len, (const char *)b->ptr);
  fx402_buf_free(b);
  return same;
}

static void a_challenge_of_each_dialect_has_one_shape(void) {
  fx402_buf json;
  fx402_error err = new_error();
  char *v2 = base64_text("{\"x402Version\":2,\"resource\":{\"url\":\"https://a.example/w\"},\"accepts\":[{\"scheme\":\"exact\","
                         "\"network\":\"eip155:84532\",\"amount\":\"7\",\"asset\":\"0xA\",\"payTo\":\"0xB\",\"maxTimeoutSeconds\":60}]}");
  fx402_header line = header("Payment-Required", v2);
  fx402_headers h = lines(&line, 1);
  CHECK_OK(fx402_client_parse_challenge(402, &h, span("{}"), &json, &err));
  CHECK(is(&json, "{\"protocol\":\"x402/2\",\"resource\":\"https://a.example/w\",\"offers\":[{\"scheme\":\"exact\",\"network\":"
                  "\"eip155:84532\",\"asset\":\"0xA\",\"amount\":\"7\",\"unit\":\"atomic\",\"payTo\":\"0xB\",\"maxTimeoutSeconds\":60}]}"));
  CHECK_OK(fx402_client_parse_challenge(402, NULL, span(V1), &json, &err));
  CHECK(is(&json, "{\"protocol\":\"x402/1\",\"error\":\"insufficient_funds\"," OFFER_V1 "}"));
  line = header("WWW-Authenticate", "x402 chain=\"solana\" token=\"USDC\" amount=\"0.05\" address=\"Addr\"");
  CHECK_OK(fx402_client_parse_challenge(402, &h, span(""), &json, NULL));
  CHECK(is(&json, "{\"protocol\":\"open402\",\"offers\":[{\"scheme\":\"open402\",\"network\":\"solana\",\"asset\":\"USDC\","
                  "\"amount\":\"0.05\",\"unit\":\"token\",\"payTo\":\"Addr\"}]}"));
  free(v2);
}

static void what_is_no_challenge_is_an_error_with_a_reason(void) {
  fx402_buf json;
  fx402_error err = new_error();
  fx402_header line = header("WWW-Authenticate", "x402 chain=\"s\" token=\"U\" amount=\"0.05\" address=\"A\" max-amount=\"4.99\"");
  fx402_headers h = lines(&line, 1), broken = lines(NULL, 1);
  memset(&json, 0xA5, sizeof json);
  CHECK(fx402_client_parse_challenge(402, &h, span(""), &json, &err) == FX402_E_INPUT);
  CHECK(json.ptr == NULL && json.len == 0 && json.cap == 0);
  CHECK(err.status == FX402_E_INPUT && strstr(err.message, "amount") != NULL);
  CHECK(fx402_client_parse_challenge(200, NULL, span(V1), &json, &err) == FX402_E_INPUT);
  CHECK(strstr(err.message, "status 200 is no challenge") != NULL);
  CHECK(fx402_client_parse_challenge(65938, NULL, span(V1), &json, &err) == FX402_E_INPUT); /* 402 after a cut to 16 bits */
  CHECK(fx402_client_parse_challenge(402, NULL, span("{}"), &json, &err) == FX402_E_INPUT);
  CHECK(fx402_client_parse_challenge(402, &broken, span("{}"), &json, &err) == FX402_E_ARG);
  CHECK(fx402_client_parse_challenge(402, NULL, bytes(NULL, 3), &json, &err) == FX402_E_ARG);
  CHECK(fx402_client_parse_challenge(402, NULL, span(V1), NULL, &err) == FX402_E_ARG);
}

static void a_diagnostic_is_read_and_none_is_empty(void) {
  fx402_buf json;
  CHECK_OK(fx402_client_parse_diagnostic(NULL, span(V1), &json, NULL));
  CHECK(is(&json, DIAGNOSTIC));
  memset(&json, 0xA5, sizeof json);
  CHECK_OK(fx402_client_parse_diagnostic(NULL, span("{\"diagnostic\":7}"), &json, NULL));
  CHECK(json.ptr == NULL && json.len == 0);
  CHECK(fx402_client_parse_diagnostic(NULL, span(V1), NULL, NULL) == FX402_E_ARG);
}

static void decide_can_only_make_a_client_stop(void) {
  fx402_buf json;
  fx402_error err = new_error();
  CHECK_OK(fx402_client_decide(span(""), span("{\"within_budget\":true}"), &json, &err));
  CHECK(is(&json, "{\"action\":\"pay\",\"wait_s\":0,\"send\":\"new_payment\",\"block_endpoint\":false,\"tell_operator\":false}"));
  CHECK_OK(fx402_client_decide(span(DIAGNOSTIC), span("{\"within_budget\":true}"), &json, &err));
  CHECK(is(&json, "{\"action\":\"escalate\",\"wait_s\":0,\"send\":\"nothing\",\"block_endpoint\":true,\"tell_operator\":true}"));
  CHECK_OK(fx402_client_decide(bytes(NULL, 0), span("{}"), &json, &err));
  CHECK(is(&json, "{\"action\":\"stop\",\"wait_s\":0,\"send\":\"nothing\",\"block_endpoint\":false,\"tell_operator\":false}"));
  CHECK(fx402_client_decide(span(""), span("{\"payment_sent\":1}"), &json, &err) == FX402_E_INPUT);
  CHECK(strstr(err.message, "payment_sent") != NULL && json.ptr == NULL);
  CHECK(fx402_client_decide(span("{\"code\":"), span("{}"), &json, &err) == FX402_E_INPUT);
}

static void the_operator_is_told_in_one_json(void) {
  fx402_buf json;
  fx402_error err = new_error();
  CHECK_OK(fx402_client_escalation_event(span(DIAGNOSTIC),
    span("{\"endpoint\":\"https://a.example/w\",\"now_ms\":1773100800000,\"amount\":\"0.001\",\"currency\":\"USDC\",\"balance\":\"0\"}"), &json, &err));
  CHECK(is(&json, "{\"type\":\"x402_escalation\",\"endpoint\":\"https://a.example/w\",\"amount\":0.001,\"currency\":\"USDC\",\"balance\":0,"
                  "\"correlation_id\":\"00c0ffee01234567\",\"diagnostic\":" DIAGNOSTIC ",\"timestamp\":\"2026-03-10T00:00:00Z\"}"));
  CHECK(fx402_client_escalation_event(span(""), span("{}"), &json, &err) == FX402_E_INPUT);
  CHECK(fx402_client_escalation_event(span(DIAGNOSTIC), span("{\"now_ms\":1}"), &json, &err) == FX402_E_INPUT);
}

static void a_budget_names_the_limit_and_books_nothing_beyond_it(void) {
  fx402_budget *b = NULL;
  fx402_buf left;
  fx402_error err = new_error();
  uint64_t day = 86400000, now = 1000 * day;
  CHECK_OK(fx402_client_budget_new(span("{\"per_call\":\"0.2\",\"per_minute\":\"0.3\",\"per_day\":\"0.3\"}"), &b, &err));
  CHECK_OK(fx402_client_budget_check(b, now, span("0.2"), -1, &err));
  CHECK_OK(fx402_client_budget_spend(b, now, span("0.1"), -1, &err));
  CHECK_OK(fx402_client_budget_spend(b, now, span("200000"), 6, &err));
  CHECK(fx402_client_budget_spend(b, now, span("1"), 18, &err) == FX402_E_BUDGET && strstr(err.message, "minute") != NULL);
  CHECK(fx402_client_budget_check(b, now, span("0.21"), -1, &err) == FX402_E_BUDGET && strstr(err.message, "call") != NULL);
  CHECK(fx402_client_budget_spend(b, now + 120000, span("1"), 18, &err) == FX402_E_BUDGET && strstr(err.message, "day") != NULL);
  CHECK_OK(fx402_client_budget_left(b, now, &left));
  CHECK(is(&left, "0"));
  CHECK_OK(fx402_client_budget_left(b, now + 2 * day, &left));
  CHECK(is(&left, "0.3"));
  CHECK(fx402_client_budget_spend(b, now, span("1e3"), -1, &err) == FX402_E_INPUT);
  CHECK(fx402_client_budget_spend(b, now, span("1"), 19, &err) == FX402_E_INPUT);
  CHECK(fx402_client_budget_spend(b, now, span("1"), -2, &err) == FX402_E_INPUT);
  CHECK(fx402_client_budget_spend(NULL, now, span("1"), -1, &err) == FX402_E_ARG);
  fx402_client_budget_free(b);
  fx402_client_budget_free(NULL);
  b = (fx402_budget *)0x10;
  CHECK(fx402_client_budget_new(span("{\"per_day\":1001}"), &b, &err) == FX402_E_INPUT && b == NULL);
  CHECK(strstr(err.message, "above the ceiling") != NULL);
  CHECK_OK(fx402_client_budget_new(bytes(NULL, 0), &b, &err));
  CHECK_OK(fx402_client_budget_left(b, 0, &left));
  CHECK(is(&left, "10"));
  fx402_client_budget_free(b);
}

static void *spender(void *budget) {
  size_t booked = 0;
  int i;
  for (i = 0; i < 500; i++)
    if (fx402_client_budget_spend((fx402_budget *)budget, 1, span("0.01"), -1, NULL) == FX402_OK) booked++;
  return (void *)booked;
}

static void threads_together_never_spend_more_than_the_limit(void) {
  fx402_budget *b = NULL;
  pthread_t threads[4];
  size_t booked = 0, i;
  CHECK_OK(fx402_client_budget_new(span("{\"per_minute\":\"8\",\"per_day\":\"8\"}"), &b, NULL));
  for (i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, spender, b) == 0);
  for (i = 0; i < 4; i++) {
    void *result;
    CHECK(pthread_join(threads[i], &result) == 0);
    booked += (size_t)result;
  }
  CHECK(booked == 800);
  fx402_client_budget_free(b);
}

static const test tests[] = {
  {"a challenge of each dialect has one shape", a_challenge_of_each_dialect_has_one_shape},
  {"what is no challenge is an error with a reason", what_is_no_challenge_is_an_error_with_a_reason},
  {"a diagnostic is read, and none is empty", a_diagnostic_is_read_and_none_is_empty},
  {"decide can only make a client stop", decide_can_only_make_a_client_stop},
  {"the operator is told in one JSON", the_operator_is_told_in_one_json},
  {"a budget names the limit and books nothing beyond it", a_budget_names_the_limit_and_books_nothing_beyond_it},
  {"threads together never spend more than the limit", threads_together_never_spend_more_than_the_limit},
};
MAIN(tests)
