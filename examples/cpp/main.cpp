// What a C++ server does for each request, shown on one challenge and one paid answer that it prints.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=/usr/local && cmake --build build && build/exchange
#include <forge_x402.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <strings.h>
#include <utility>
#include <vector>

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Message {
  int status;
  Headers headers;
  std::string body;
};

static std::vector<fx402_header> views(const Headers &headers) {
  std::vector<fx402_header> out;
  for (const auto &[name, value] : headers) out.push_back(forge_x402::header(name, value));
  return out;
}

static void apply(Message &message, const forge_x402::Verdict &verdict) {
  verdict.each_edit([&](std::uint32_t op, std::string_view name, std::string_view value) {
    bool placed = op != FX402_EDIT_SET;
    for (auto at = message.headers.begin(); op != FX402_EDIT_ADD && at != message.headers.end();) {
      const bool named = at->first.size() == name.size() && !strncasecmp(at->first.data(), name.data(), name.size());
      if (named && !placed) {
        placed = true;
        at->second = value;
      } else if (named) {
        at = message.headers.erase(at);
        continue;
      }
      ++at;
    }
    if (op == FX402_EDIT_ADD || !placed) message.headers.emplace_back(name, value);
  });
  if (const auto body = verdict.body()) message.body = *body;
}

static Message serve(const forge_x402::Engine &engine, const Headers &asked, Message answer) {
  const auto lines = views(asked), answered = views(answer.headers);
  forge_x402::Request request;
  request.method = "GET", request.target = "/weather", request.bodiless = true;
  request.headers = lines.data(), request.header_count = lines.size();
  forge_x402::Response response;
  response.status = static_cast<std::uint32_t>(answer.status), response.body = answer.body;
  response.headers = answered.data(), response.header_count = answered.size();

  auto [exchange, verdict] = engine.on_request(request);
  if (exchange) {
    apply(answer, exchange.on_response(response));
  } else if (answer.status == 402) {
    auto late = engine.on_response_late(request, response);
    apply(answer, late.verdict);
    exchange = std::move(late.exchange);
  }
  exchange.end_delivered(static_cast<std::uint32_t>(answer.status), answer.body.size());
  return answer;
}

int main() {
  const forge_x402::Engine engine(R"({"api_key": "ffk_test_0123456789abcdef", "public_url": "https://api.example.com", "strict": true})");
  const Message challenge{402, {{"Content-Type", "application/json"}}, R"({"x402Version":1,"error":"pay","accepts":[{"description":"Weather."}]})"};
  const Message weather{200, {{"Content-Type", "application/json"}}, R"({"temperature": 21.50})"};
  // {"x402Version":2,"payload":{},"accepted":{}}
  const Headers payment{{"PAYMENT-SIGNATURE", "eyJ4NDAyVmVyc2lvbiI6MiwicGF5bG9hZCI6e30sImFjY2VwdGVkIjp7fX0="}};
  for (const auto &answer : {serve(engine, {}, challenge), serve(engine, payment, weather)}) {
    std::cout << answer.status << '\n';
    for (const auto &[name, value] : answer.headers) std::cout << name << ": " << value << '\n';
    std::cout << answer.body << "\n\n";
  }
  return engine.shutdown(std::chrono::milliseconds(500)) ? 0 : 1;
}
