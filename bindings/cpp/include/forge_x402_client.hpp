// forge_x402_client.hpp - the agent's half for C++17 and later, over the fx402_client_* functions of forge_x402.h, which are the
// manual. Header only; JSON goes in and out as text, for the JSON library that the program has.
//
// Pure: no engine, no network, no wallet; nothing blocks. What is no challenge, JSON or amount throws Error with
// FX402_E_INPUT: then nothing is to be paid.
#ifndef FORGE_X402_CLIENT_HPP
#define FORGE_X402_CLIENT_HPP

#include "forge_x402.hpp"

namespace forge_x402::client {

namespace detail {
/// Takes over a buffer, and gives it back also where copying it throws.
class Buffer {
 public:
  Buffer() noexcept = default;
  ~Buffer() { fx402_buf_free(&raw_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  fx402_buf *out() noexcept { return &raw_; }
  bool empty() const noexcept { return raw_.len == 0; }
  std::string text() const { return empty() ? std::string() : std::string(reinterpret_cast<const char *>(raw_.ptr), raw_.len); }

 private:
  fx402_buf raw_{nullptr, 0, 0};
};

inline fx402_error error() noexcept {
  fx402_error error{};
  error.struct_size = sizeof error;
  return error;
}

inline fx402_headers lines(const fx402_header *headers, std::size_t count) noexcept {
  fx402_headers lines{};
  lines.items = headers;
  lines.count = count;
  return lines;
}
}  // namespace detail

/// What a response asks to be paid, as JSON.
inline std::string parse_challenge(std::uint32_t status, const fx402_header *headers, std::size_t count, std::string_view body) {
  detail::Buffer json;
  fx402_error error = detail::error();
  const fx402_headers lines = detail::lines(headers, count);
  forge_x402::detail::check(
      fx402_client_parse_challenge(status, &lines, forge_x402::detail::span(body), json.out(), &error), error.message);
  return json.text();
}

/// What a response says about why payments fail, as JSON; nothing where it says nothing.
inline std::optional<std::string> parse_diagnostic(const fx402_header *headers, std::size_t count, std::string_view body) {
  detail::Buffer json;
  fx402_error error = detail::error();
  const fx402_headers lines = detail::lines(headers, count);
  forge_x402::detail::check(fx402_client_parse_diagnostic(&lines, forge_x402::detail::span(body), json.out(), &error),
                            error.message);
  if (json.empty()) return std::nullopt;
  return json.text();
}

/// What to do after a refused call, as JSON. diagnostic: as parse_diagnostic gives it; nothing for none.
inline std::string decide(const std::optional<std::string> &diagnostic, std::string_view state) {
  detail::Buffer json;
  fx402_error error = detail::error();
  const std::string_view told = diagnostic ? std::string_view(*diagnostic) : std::string_view();
  forge_x402::detail::check(
      fx402_client_decide(forge_x402::detail::span(told), forge_x402::detail::span(state), json.out(), &error), error.message);
  return json.text();
}

/// The event for the agent's operator, as JSON.
inline std::string escalation_event(std::string_view diagnostic, std::string_view call) {
  detail::Buffer json;
  fx402_error error = detail::error();
  forge_x402::detail::check(fx402_client_escalation_event(forge_x402::detail::span(diagnostic), forge_x402::detail::span(call),
                                                          json.out(), &error),
                            error.message);
  return json.text();
}

/// What an agent may spend. Moved, not copied; any threads may use it at once.
class Budget {
 public:
  /// limits: {"per_call","per_minute","per_day"}; empty for 1, 2 and 10.
  explicit Budget(std::string_view limits = {}) {
    fx402_error error = detail::error();
    forge_x402::detail::check(fx402_client_budget_new(forge_x402::detail::span(limits), &raw_, &error), error.message);
  }
  Budget(Budget &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Budget &operator=(Budget &&other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Budget() { fx402_client_budget_free(raw_); }

  /// Whether a payment would fit. decimals: -1 for a plain decimal, else those of the asset whose smallest units amount counts.
  [[nodiscard]] bool check(std::uint64_t now_ms, std::string_view amount, std::int32_t decimals = -1) const {
    fx402_error error = detail::error();
    return fits(fx402_client_budget_check(raw_, now_ms, forge_x402::detail::span(amount), decimals, &error), error);
  }
  /// Books a payment if it fits; call it before you sign, and go on only with true.
  [[nodiscard]] bool spend(std::uint64_t now_ms, std::string_view amount, std::int32_t decimals = -1) {
    fx402_error error = detail::error();
    return fits(fx402_client_budget_spend(raw_, now_ms, forge_x402::detail::span(amount), decimals, &error), error);
  }
  /// What may still be spent in the 24 hours that end at now_ms, a plain decimal.
  std::string left(std::uint64_t now_ms) const {
    detail::Buffer amount;
    forge_x402::detail::check(fx402_client_budget_left(raw_, now_ms, amount.out()));
    return amount.text();
  }

 private:
  static bool fits(fx402_status status, const fx402_error &error) {
    if (status == FX402_E_BUDGET) return false;
    forge_x402::detail::check(status, error.message);
    return true;
  }
  fx402_budget *raw_ = nullptr;
};

}  // namespace forge_x402::client

#endif
