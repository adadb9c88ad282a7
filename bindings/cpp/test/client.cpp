// client.cpp - the agent's half through forge_x402_client.hpp: results as the C interface gives them, errors as exceptions.
#include "forge_x402_client.hpp"

#include <cstdio>
#include <functional>
#include <vector>

namespace client = forge_x402::client;

static int failures;
#define CHECK(condition) \
  do { \
    if (!(condition)) failures++, std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
  } while (0)

static fx402_status thrown(const std::function<void()> &call) {
  try {
    call();
  } catch (const forge_x402::Error &error) {
    return error.status();
  }
  return FX402_OK;
}

static void a_challenge_a_diagnostic_and_a_decision() {
  const fx402_header lines[] = {
      forge_x402::header("WWW-Authenticate", "x402 chain=\"solana\" token=\"USDC\" amount=\"0.05\" address=\"Addr\"")};
  CHECK(client::parse_challenge(402, lines, 1, "") ==
        "{\"protocol\":\"open402\",\"offers\":[{\"scheme\":\"open402\",\"network\":\"solana\",\"asset\":\"USDC\",\"amount\":\"0.05\","
        "\"unit\":\"token\",\"payTo\":\"Addr\"}]}");
  CHECK(thrown([] { client::parse_challenge(200, nullptr, 0, "{}"); }) == FX402_E_INPUT);
  const auto told = client::parse_diagnostic(nullptr, 0, "{\"diagnostic\":{\"code\":\"OPERATOR_ALERT\"}}");
  CHECK(told && *told == "{\"code\":\"OPERATOR_ALERT\",\"escalate\":false}");
  CHECK(!client::parse_diagnostic(nullptr, 0, "{}"));
  CHECK(client::decide(told, "{\"within_budget\":true}").find("\"action\":\"escalate\"") == 1);
  CHECK(client::decide(std::nullopt, "{\"within_budget\":true}").find("\"action\":\"pay\"") == 1);
  CHECK(thrown([] { client::decide(std::nullopt, "{\"payment_sent\":1}"); }) == FX402_E_INPUT);
  CHECK(client::escalation_event(*told, "{\"endpoint\":\"x\",\"now_ms\":0}").find("{\"type\":\"x402_escalation\"") == 0);
}

static void a_budget_that_moves_and_holds() {
  client::Budget first("{\"per_call\":\"0.2\",\"per_day\":\"0.3\"}");
  client::Budget budget(std::move(first));
  CHECK(budget.check(1, "0.2") && budget.spend(1, "200000", 6));
  CHECK(!budget.spend(1, "0.2") && !budget.check(1, "0.21"));
  CHECK(budget.left(1) == "0.1");
  CHECK(thrown([&] { (void)budget.spend(1, "ten"); }) == FX402_E_INPUT);
  CHECK(thrown([&] { (void)first.check(1, "0.1"); }) == FX402_E_ARG);
  CHECK(thrown([] { client::Budget("{\"per_day\":1001}"); }) == FX402_E_INPUT);
}

int main() {
  int failed = 0;
  const std::vector<std::pair<const char *, void (*)()>> tests = {
      {"a challenge, a diagnostic and a decision", a_challenge_a_diagnostic_and_a_decision},
      {"a budget that moves and holds", a_budget_that_moves_and_holds}};
  for (const auto &[name, run] : tests) {
    failures = 0;
    run();
    std::printf("%s %s\n", failures ? "FAILED" : "ok    ", name);
    failed += failures != 0;
  }
  std::printf("%d passed, %d failed\n", static_cast<int>(tests.size()) - failed, failed);
  return failed != 0;
}
