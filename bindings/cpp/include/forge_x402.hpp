// forge_x402.hpp - forge-x402 for C++17 and later, over forge_x402.h, which is the manual. Header only.
//
// Adds ownership, views and errors to the C interface and nothing else. An Engine and an Exchange are moved, not copied, and
// free themselves. What a Verdict shows belongs to its Exchange: it is valid until the next call on that exchange or its end.
// Only opening an engine, flush and the ids throw; calls on the request path never do: where they fail, the verdict says
// pass, as the C interface has it.
#ifndef FORGE_X402_HPP
#define FORGE_X402_HPP

#include "forge_x402.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#if defined(__has_include)
#  if __has_include(<span>) && __cplusplus >= 202002L
#    include <span>
#    define FORGE_X402_HAS_SPAN 1
#  endif
#endif

namespace forge_x402 {

/// What a function that may throw throws; status() is one of FX402_E_*.
class Error : public std::runtime_error {
 public:
  Error(fx402_status status, const char *message)
      : std::runtime_error(message && *message ? message : fx402_status_text(status)), status_(status) {}
  fx402_status status() const noexcept { return status_; }

 private:
  fx402_status status_;
};

namespace detail {
inline fx402_span span(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}
inline std::string_view view(fx402_span span) noexcept {
  return span.len ? std::string_view(reinterpret_cast<const char *>(span.ptr), span.len) : std::string_view();
}
inline void check(fx402_status status, const char *message = nullptr) {
  if (status != FX402_OK) throw Error(status, message);
}
inline std::uint32_t milliseconds(std::chrono::milliseconds limit) noexcept {
  return limit.count() < 0 ? 0 : limit.count() > 0x7fffffff ? 0x7fffffff : static_cast<std::uint32_t>(limit.count());
}
}  // namespace detail

/// One header line, for arrays that live as long as the call.
inline fx402_header header(std::string_view name, std::string_view value) noexcept {
  return {detail::span(name), detail::span(value)};
}

/// A request as it came. Empty means unknown.
struct Request {
  std::string_view method, target, scheme, authority, route, client_ip;
  const fx402_header *headers = nullptr;
  std::size_t header_count = 0;
  /// All of the body; without one it has not been read.
  std::optional<std::string_view> body;
  /// There is none.
  bool bodiless = false;

#ifdef FORGE_X402_HAS_SPAN
  void set_headers(std::span<const fx402_header> lines) noexcept { headers = lines.data(), header_count = lines.size(); }
#endif
  fx402_request_in raw() const noexcept {
    fx402_request_in in{};
    in.struct_size = sizeof in;
    in.flags = body ? FX402_IN_BODY_WHOLE : bodiless ? FX402_IN_BODY_NONE : 0;
    in.method = detail::span(method), in.target = detail::span(target), in.scheme = detail::span(scheme);
    in.authority = detail::span(authority), in.route = detail::span(route), in.client_ip = detail::span(client_ip);
    in.headers.items = headers, in.headers.count = header_count;
    if (body) in.body = detail::span(*body);
    return in;
  }
};

/// A response about to be sent.
struct Response {
  std::uint32_t status = 200;
  std::string_view route;
  const fx402_header *headers = nullptr;
  std::size_t header_count = 0;
  std::optional<std::string_view> body;
  bool bodiless = false;
  /// The head leaves before the body is known.
  bool head_first = false;

#ifdef FORGE_X402_HAS_SPAN
  void set_headers(std::span<const fx402_header> lines) noexcept { headers = lines.data(), header_count = lines.size(); }
#endif
  fx402_response_in raw() const noexcept {
    fx402_response_in in{};
    in.struct_size = sizeof in;
    in.flags = (body ? FX402_IN_BODY_WHOLE : bodiless ? FX402_IN_BODY_NONE : 0) | (head_first ? FX402_IN_HEAD_FIRST : 0);
    in.http_status = status;
    in.route = detail::span(route);
    in.headers.items = headers, in.headers.count = header_count;
    if (body) in.body = detail::span(*body);
    return in;
  }
};

/// What to do now.
class Verdict {
 public:
  enum class Action : std::uint32_t { pass = FX402_PASS, reply = FX402_REPLY, want_body = FX402_WANT_BODY, wait = FX402_WAIT };

  Verdict() noexcept { raw_.struct_size = sizeof raw_; }
  Action action() const noexcept { return static_cast<Action>(raw_.action); }
  /// With Action::reply.
  std::uint32_t status() const noexcept { return raw_.http_status; }
  std::optional<std::string_view> target() const noexcept { return given(FX402_TARGET_REPLACED, raw_.target); }
  std::optional<std::string_view> body() const noexcept { return given(FX402_BODY_REPLACED, raw_.body); }
  /// The id that this answer carries; empty if none.
  std::string_view feedback_id() const noexcept { return detail::view(raw_.feedback_id); }
  /// With Action::want_body: larger bodies are not worth holding.
  std::size_t body_limit() const noexcept { return raw_.body_limit; }

#ifdef FORGE_X402_HAS_SPAN
  std::span<const fx402_edit> edits() const noexcept { return {raw_.edits, raw_.edits_len}; }
#endif
  /// Calls apply(op, name, value) for each header change, in order; op is one of FX402_EDIT_*.
  template <typename Apply>
  void each_edit(Apply &&apply) const {
    for (std::size_t i = 0; i < raw_.edits_len; i++)
      apply(raw_.edits[i].op, detail::view(raw_.edits[i].name), detail::view(raw_.edits[i].value));
  }
  fx402_verdict *raw() noexcept { return &raw_; }

 private:
  std::optional<std::string_view> given(std::uint32_t flag, fx402_span span) const noexcept {
    return raw_.flags & flag ? std::optional<std::string_view>(detail::view(span)) : std::nullopt;
  }
  fx402_verdict raw_{};
};

/// One HTTP exchange. Without end() it counts as aborted when it is destroyed.
class Exchange {
 public:
  Exchange() noexcept = default;
  explicit Exchange(fx402_exchange *raw) noexcept : raw_(raw) {}
  Exchange(Exchange &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Exchange &operator=(Exchange &&other) noexcept {
    if (this != &other) end(nullptr), raw_ = std::exchange(other.raw_, nullptr);
    return *this;
  }
  ~Exchange() { end(nullptr); }

  /// False: there is nothing to do before the response.
  explicit operator bool() const noexcept { return raw_ != nullptr; }
  fx402_exchange *raw() const noexcept { return raw_; }

  Verdict on_request_body(std::string_view whole) noexcept {
    Verdict verdict;
    if (raw_) ignore(fx402_on_request_body(raw_, detail::span(whole), verdict.raw(), nullptr));
    return verdict;
  }
  Verdict on_response(const Response &response) noexcept {
    Verdict verdict;
    const fx402_response_in in = response.raw();
    if (raw_) ignore(fx402_on_response(raw_, &in, verdict.raw(), nullptr));
    return verdict;
  }
  /// BLOCKS for the limit at most.
  Verdict wait(std::chrono::milliseconds limit) noexcept {
    Verdict verdict;
    if (raw_) ignore(fx402_exchange_wait(raw_, detail::milliseconds(limit), verdict.raw(), nullptr));
    return verdict;
  }
  void end_delivered(std::uint32_t status, std::uint64_t body_bytes) noexcept { end(FX402_DELIVERED, status, body_bytes); }
  void end_aborted(std::uint32_t status, std::uint64_t body_bytes) noexcept { end(FX402_ABORTED, status, body_bytes); }
  void end_failed(std::uint32_t status, std::uint64_t body_bytes) noexcept { end(FX402_FAILED, status, body_bytes); }

 private:
  static void ignore(fx402_status) noexcept {}
  void end(std::uint32_t kind, std::uint32_t status, std::uint64_t body_bytes) noexcept {
    fx402_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.kind = kind, outcome.http_status = status, outcome.body_bytes = body_bytes;
    end(&outcome);
  }
  void end(const fx402_outcome *outcome) noexcept { ignore(fx402_exchange_end(std::exchange(raw_, nullptr), outcome)); }

  fx402_exchange *raw_ = nullptr;
};

/// An exchange, if there is one, and the verdict on what was shown.
struct Begun {
  Exchange exchange;
  Verdict verdict;
};

/// The shared half: open one per program; any thread may use it.
class Engine {
 public:
  /// config_json: the options, one UTF-8 JSON object. Throws Error for bad options with "strict": true.
  explicit Engine(std::string_view config_json) {
    fx402_error error{};
    error.struct_size = sizeof error;
    detail::check(fx402_engine_open(FX402_ABI, detail::span(config_json), &raw_, &error), error.message);
  }
  Engine(Engine &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Engine &operator=(Engine &&other) noexcept {
    if (this != &other) fx402_engine_free(raw_), raw_ = std::exchange(other.raw_, nullptr);
    return *this;
  }
  ~Engine() { fx402_engine_free(raw_); }
  fx402_engine *raw() const noexcept { return raw_; }

  Begun on_request(const Request &request) const noexcept {
    Begun begun;
    fx402_exchange *exchange = nullptr;
    const fx402_request_in in = request.raw();
    if (fx402_on_request(raw_, &in, &exchange, begun.verdict.raw(), nullptr) == FX402_OK) begun.exchange = Exchange(exchange);
    return begun;
  }
  /// For a request that got no exchange and is answered 402.
  Begun on_response_late(const Request &request, const Response &response) const noexcept {
    Begun begun;
    fx402_exchange *exchange = nullptr;
    const fx402_request_in req = request.raw();
    const fx402_response_in res = response.raw();
    if (fx402_on_response_late(raw_, &req, &res, &exchange, begun.verdict.raw(), nullptr) == FX402_OK)
      begun.exchange = Exchange(exchange);
    return begun;
  }

  fx402_stats stats() const noexcept {
    fx402_stats out{};
    out.struct_size = sizeof out;
    fx402_engine_stats(raw_, &out);
    return out;
  }
  /// Warnings since the last call, a JSON array of texts.
  std::string diagnostics() const {
    fx402_buf buf{};
    detail::check(fx402_engine_diagnostics(raw_, &buf));
    std::string text(reinterpret_cast<const char *>(buf.ptr), buf.len);
    fx402_buf_free(&buf);
    return text;
  }
  /// BLOCKS for the limit at most; false: some events are still queued.
  bool flush(std::chrono::milliseconds limit) const {
    const fx402_status status = fx402_engine_flush(raw_, detail::milliseconds(limit));
    if (status != FX402_E_TIMEOUT) detail::check(status);
    return status == FX402_OK;
  }
  /// BLOCKS for the limit at most; false: events were lost.
  bool shutdown(std::chrono::milliseconds limit) const noexcept {
    return fx402_engine_shutdown(raw_, detail::milliseconds(limit)) == FX402_OK;
  }
  std::string mint_id() const {
    char id[FX402_ID_LEN + 1];
    detail::check(fx402_mint_id(raw_, id));
    return id;
  }
  /// One of FX402_ID_*. now_ms: milliseconds since 1970, 0 is the clock.
  std::uint32_t verify_id(std::string_view id, std::uint64_t now_ms = 0) const {
    std::uint32_t reason = FX402_ID_MALFORMED;
    detail::check(fx402_verify_id(raw_, detail::span(id), now_ms, &reason));
    return reason;
  }

 private:
  fx402_engine *raw_ = nullptr;
};

}  // namespace forge_x402

#endif
