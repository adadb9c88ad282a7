// conformance.cpp - the cases of tests/conformance through forge_x402.hpp; README.md there is the contract.
//
// Every case runs with the body shown when asked for, with the body shown at once, and its result a second time through a
// fresh engine. argv: the folder, then the files of cases in it.
#include "forge_x402.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <strings.h>
#include <vector>

using forge_x402::Engine;
using forge_x402::Exchange;
using forge_x402::Request;
using forge_x402::Response;
using forge_x402::Verdict;
using nlohmann::json;

namespace {

[[noreturn]] void broken(const std::string &what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(2);
}

void only_keys(const json &object, std::initializer_list<const char *> known) {
  if (!object.is_object()) broken("an object was expected: " + object.dump());
  for (const auto &[key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) broken("unknown key " + key);
}

// ---- values ----

json texts;

struct Fill { std::string own_id, id, rate; };

std::string base64(const std::string &in) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < in.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < in.size() ? static_cast<unsigned char>(in[i + k]) : 0);
    for (std::size_t k = 0; k < 4; k++) out += i + k > in.size() ? '=' : alphabet[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

std::string filled(std::string text, const Fill &f) {
  const std::pair<const char *, const std::string *> all[] = {{"{{own_id}}", &f.own_id}, {"{{id}}", &f.id}, {"{{rate}}", &f.rate}};
  for (const auto &[name, value] : all)
    for (std::size_t at; !value->empty() && (at = text.find(name)) != std::string::npos;) text.replace(at, std::string(name).size(), *value);
  return text;
}

std::string bytes(const json &value, const Fill &f) {
  if (value.is_null()) return {};
  if (value.is_string()) return filled(value.get<std::string>(), f);
  std::string out;
  if (value.is_array()) {
    for (const json &part : value) out += bytes(part, f);
    return out;
  }
  if (value.contains("repeat")) {
    only_keys(value, {"repeat"});
    const std::string unit = bytes(value["repeat"].at(0), f);
    for (int n = value["repeat"].at(1); n > 0; n--) out += unit;
  } else if (value.contains("base64_of")) {
    only_keys(value, {"base64_of"});
    out = base64(bytes(value["base64_of"], f));
  } else if (value.contains("hex")) {
    only_keys(value, {"hex"});
    const std::string digits = value["hex"];
    for (std::size_t i = 0; i < digits.size(); i += 2) out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  } else {
    only_keys(value, {"text", "rate"});
    Fill with = f;
    if (value.contains("rate")) with.rate = value["rate"];
    out = bytes(texts.at(value.at("text").get<std::string>()), with);
  }
  return out;
}

// ---- heads ----

struct Line {
  std::string name, value;
  bool operator<(const Line &o) const { return std::tie(name, value) < std::tie(o.name, o.value); }
  bool operator==(const Line &o) const { return name == o.name && value == o.value; }
};

// The order of appended lines is no part of the contract.
struct Head {
  std::vector<Line> kept;
  std::multiset<Line> appended;
  bool operator==(const Head &o) const { return kept == o.kept && appended == o.appended; }
  std::vector<Line> flat() const {
    std::vector<Line> all = kept;
    all.insert(all.end(), appended.begin(), appended.end());
    return all;
  }
  void edit(std::uint32_t op, std::string_view name, std::string_view value) {
    const auto named = [&](const Line &line) { return line.name.size() == name.size() && !strncasecmp(line.name.data(), name.data(), name.size()); };
    const Line made{std::string(name), std::string(value)};
    if (op == FX402_EDIT_ADD) {
      appended.insert(made);
      return;
    }
    const auto first = std::find_if(kept.begin(), kept.end(), named);
    const bool placed = op == FX402_EDIT_SET && first != kept.end();
    if (placed) first->value = made.value;
    kept.erase(std::remove_if(placed ? first + 1 : kept.begin(), kept.end(), named), kept.end());
    for (auto at = appended.begin(); at != appended.end();) at = named(*at) ? appended.erase(at) : std::next(at);
    if (op == FX402_EDIT_SET && !placed) appended.insert(made);
  }
};

std::vector<Line> lines(const json &headers, const Fill &f) {
  std::vector<Line> out;
  for (const json &line : headers) out.push_back({line.at(0).get<std::string>(), bytes(line.at(1), f)});
  return out;
}

std::vector<fx402_header> views(const std::vector<Line> &all) {
  std::vector<fx402_header> out;
  for (const Line &line : all) out.push_back(forge_x402::header(line.name, line.value));
  return out;
}

Head expected(const std::vector<Line> &before, const json &edits, const Fill &f) {
  Head head{before, {}};
  for (const json &edit : edits) {
    const std::string op = edit.at(0), name = edit.at(1);
    if (op == "remove" && edit.size() == 2) head.edit(FX402_EDIT_REMOVE, name, {});
    else if ((op == "set" || op == "add") && edit.size() == 3) head.edit(op == "set" ? FX402_EDIT_SET : FX402_EDIT_ADD, name, bytes(edit[2], f));
    else broken("not an edit: " + edit.dump());
  }
  return head;
}

// ---- running ----

struct Sent {
  Head head, first;
  std::string body, id;
  bool nothing = false, asked = false, over_limit = false;
};

void apply(Head &head, const Verdict &verdict) {
  verdict.each_edit([&](std::uint32_t op, std::string_view name, std::string_view value) { head.edit(op, name, value); });
}

Sent run(const Engine &engine, const json &request, std::uint32_t status, const std::vector<Line> &before, const std::string &body,
         const Fill &f, bool at_once) {
  only_keys(request, {"method", "target", "headers", "body"});
  const std::string method = request.at("method"), target = request.at("target");
  const std::vector<Line> asked = lines(request.at("headers"), f);
  const std::vector<fx402_header> asked_views = views(asked), views_before = views(before);
  Request req;
  req.method = method, req.target = target, req.headers = asked_views.data(), req.header_count = asked_views.size();
  Response res;
  res.status = status, res.headers = views_before.data(), res.header_count = views_before.size();
  if (at_once) res.body = body;

  Sent sent{{before, {}}, {before, {}}, body, {}, false, false, false};
  auto [exchange, verdict] = engine.on_request(req);
  if (verdict.action() == Verdict::Action::want_body) verdict = exchange.on_request_body(bytes(request.value("body", json()), f));
  sent.nothing = !exchange;
  if (!exchange && status != 402) return sent;
  if (exchange) {
    verdict = exchange.on_response(res);
  } else {
    auto late = engine.on_response_late(req, res);
    exchange = std::move(late.exchange);
    verdict = late.verdict;
  }
  if (verdict.action() == Verdict::Action::want_body) {
    sent.asked = true;
    apply(sent.first, verdict);
    sent.over_limit = body.size() > verdict.body_limit();
    if (!sent.over_limit) {
      res.body = body;
      verdict = exchange.on_response(res);
    }
  }
  apply(sent.head, verdict);
  if (const auto replaced = verdict.body()) sent.body = *replaced;
  sent.id = verdict.feedback_id();
  exchange.end_delivered(status, sent.body.size());
  return sent;
}

std::string fault;

bool fail(const std::string &what) {
  fault = what;
  return false;
}

std::string show(const Head &head) {
  std::string out;
  for (const Line &line : head.flat()) out += "\n    " + line.name + ": " + line.value;
  return out;
}

Engine engine_of(const json &one) {
  json options = {{"api_key", "ffk_test_0123456789abcdef"}, {"public_url", "https://api.example.com"}, {"strict", true}};
  const json laid = one.value("options", json::object());
  for (const auto &[key, value] : laid.items()) {
    if (value.is_null()) options.erase(key);
    else options[key] = value;
  }
  return Engine(options.dump());
}

void run_before(const Engine &engine, const json &one, const Fill &f) {
  for (const json &step : one.value("before", json::array())) {
    only_keys(step, {"request", "response"});
    const json &response = step.at("response");
    run(engine, step.at("request"), response.at("status"), lines(response.at("headers"), f), bytes(response.value("body", json()), f), f, false);
  }
}

bool run_case(const json &one) {
  only_keys(one, {"id", "title", "why", "fixture", "options", "before", "request", "response", "oracle", "expect"});
  const json &response = one.at("response"), &expect = one.at("expect");
  only_keys(response, {"status", "headers", "body"});
  only_keys(expect, {"edits", "body", "id", "want_body", "first_edits", "verdict"});
  for (const bool at_once : {false, true}) {
    const Engine engine = engine_of(one);
    Fill f;
    if (one.dump().find("{{own_id}}") != std::string::npos) f.own_id = engine.mint_id();
    run_before(engine, one, f);
    const std::uint32_t status = response.at("status");
    const std::vector<Line> before = lines(response.at("headers"), f);
    const std::string body = bytes(response.value("body", json()), f);
    const Sent sent = run(engine, one.at("request"), status, before, body, f, at_once);
    if (at_once && body.size() > (1u << 20)) continue;
    f.id = sent.id;

    const std::string wanted_id = expect.value("id", "");
    if (wanted_id.empty() && !sent.id.empty()) return fail("named the id " + sent.id);
    if (wanted_id == "own" && sent.id != f.own_id) return fail("not the body's own id: " + sent.id);
    if (wanted_id == "new" && (sent.id == f.own_id || engine.verify_id(sent.id) != FX402_ID_VALID)) return fail("not a new valid id: " + sent.id);
    const Head wanted = expected(before, expect.at("edits"), f);
    if (!(sent.head == wanted)) return fail("head expected" + show(wanted) + "\n  got" + show(sent.head));
    const std::string wanted_body = expect.contains("body") ? bytes(expect["body"], f) : body;
    if (sent.body != wanted_body) return fail("body expected " + wanted_body + "\n  got " + sent.body);
    if (expect.contains("verdict") && (expect["verdict"] != "nothing" || !sent.nothing)) return fail("on_request looked at it");
    if (at_once) continue;
    if (expect.contains("want_body") && expect["want_body"] != sent.asked) return fail("asked for the body: " + std::to_string(sent.asked));
    if (expect.contains("first_edits") && (!sent.asked || !(sent.first == expected(before, expect["first_edits"], f)))) return fail("first edits");

    const Engine layer = engine_of(one);
    run_before(layer, one, f);
    const Sent again = run(layer, one.at("request"), status, sent.head.flat(), sent.body, f, false);
    if (!(again.head == Head{sent.head.flat(), {}}) || again.body != sent.body) return fail("twice is not once");
  }
  return true;
}

// A case of requests.json: what becomes of a request, or what it is answered.
bool run_request(const json &one) {
  only_keys(one, {"id", "title", "why", "options", "before", "request", "expect"});
  const json &given = one.at("request"), &expect = one.at("expect");
  only_keys(given, {"method", "target", "headers", "body"});
  only_keys(expect, {"verdict", "want_body", "waits", "target", "edits", "body", "answer"});
  const Engine engine = engine_of(one);
  Fill f;
  f.own_id = engine.mint_id();
  run_before(engine, one, f);
  const std::string method = given.at("method"), target = bytes(given.at("target"), f), body = bytes(given.value("body", json()), f);
  const std::vector<Line> before = lines(given.at("headers"), f);
  const std::vector<fx402_header> before_views = views(before);
  Request request;
  request.method = method, request.target = target, request.headers = before_views.data(), request.header_count = before_views.size();

  auto [exchange, verdict] = engine.on_request(request);
  const std::string wanted = expect.at("verdict");
  if (!exchange) return wanted == "nothing" || fail("on_request did not look at it");
  const bool asked = verdict.action() == Verdict::Action::want_body;
  if (asked) verdict = exchange.on_request_body(std::string_view(body).substr(0, verdict.body_limit() + 1));
  const bool waits = verdict.action() == Verdict::Action::wait;
  if (waits) verdict = exchange.wait(std::chrono::milliseconds(3000));
  if (asked != expect.value("want_body", false)) return fail("asked for the body: " + std::to_string(asked));
  if (waits != expect.value("waits", false)) return fail("waits: " + std::to_string(waits));

  if (wanted == "pass" && verdict.action() == Verdict::Action::pass) {
    Head head{before, {}};
    apply(head, verdict);
    const Head expected_head = expected(before, expect.value("edits", json::array()), f);
    if (!(head == expected_head)) return fail("head expected" + show(expected_head) + "\n  got" + show(head));
    if (verdict.target().value_or(target) != expect.value("target", target)) return fail("target " + std::string(verdict.target().value_or(target)));
    const std::string expected_body = expect.contains("body") ? bytes(expect["body"], f) : body;
    return verdict.body().value_or(body) == expected_body || fail("body expected " + expected_body);
  }
  if (wanted == "reply" && verdict.action() == Verdict::Action::reply) {
    const json &answer = expect.at("answer");
    only_keys(answer, {"status", "headers", "body"});
    Head head, expected_head;
    apply(head, verdict);
    for (const Line &line : lines(answer.at("headers"), f)) expected_head.edit(FX402_EDIT_ADD, line.name, line.value);
    if (!(head == expected_head)) return fail("head expected" + show(expected_head) + "\n  got" + show(head));
    const std::string expected_body = bytes(answer.value("body", json()), f);
    if (verdict.body().value_or("") != expected_body) return fail("body expected " + expected_body + "\n  got " + std::string(verdict.body().value_or("")));
    return answer.at("status") == verdict.status() || fail("status " + std::to_string(verdict.status()));
  }
  return fail("the verdict is not " + wanted);
}

// Its 0 is the first millisecond of 1970, which 1 stands for: 0 means the clock here.
bool run_id(const json &row) {
  only_keys(row, {"id", "api_key", "value", "now_ms", "ttl_ms", "expect"});
  static const char *const names[] = {"valid", "malformed", "bad_signature", "expired"};
  const Engine engine(json{{"api_key", row.at("api_key")}, {"ttl_ms", row.at("ttl_ms")}, {"strict", true}}.dump());
  const std::uint32_t reason = engine.verify_id(row.at("value").get<std::string>(), std::max<std::uint64_t>(row.at("now_ms").get<std::uint64_t>(), 1));
  return row.at("expect") == names[reason] || fail(names[reason]);
}

json load(const std::string &path) {
  std::ifstream file(path);
  if (!file) broken(path + " is missing");
  return json::parse(file);
}

// What the wrapper itself promises: moves, errors, ends.
bool wrapper() {
  try {
    Engine("{\"api_key\":\"k\",\"public_url\":\"https://x.example/path\",\"strict\":true}");
    return fail("bad options opened");
  } catch (const forge_x402::Error &error) {
    if (error.status() != FX402_E_CONFIG || !std::string_view(error.what()).size()) return fail(error.what());
  }
  Engine one("{\"api_key\":\"k\"}");
  Engine two(std::move(one));
  one = std::move(two);
  Exchange none;
  none.end_delivered(200, 0);
  if (none || none.on_response({}).action() != Verdict::Action::pass || none.on_request_body("x").body()) return fail("no exchange passes");
  Request request;
  request.method = "GET", request.target = "/feedback";
  Exchange kept;
  {
    auto begun = one.on_request(request);
    if (begun.verdict.action() != Verdict::Action::reply || begun.verdict.status() != 200 || !begun.verdict.body()) return fail("the form");
    kept = std::move(begun.exchange);
  }
  if (!kept) return fail("moved away");
#ifdef FORGE_X402_HAS_SPAN
  request.set_headers({});
  if (one.on_request(request).verdict.edits().empty()) return fail("no edits");
#endif
  return one.diagnostics().front() == '[' && one.flush(std::chrono::milliseconds(100)) && one.shutdown(std::chrono::milliseconds(100)) &&
         one.stats().internal_errors == 0;
}

}  // namespace

int main(int argc, char **argv) {
  int passed = 0, failed = 0;
  if (argc < 3) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  texts = load(folder + "texts.json");
  const auto count = [&](bool good, const std::string &name) {
    good ? passed++ : failed++;
    if (!good) std::fprintf(stderr, "FAILED %s: %s\n", name.c_str(), fault.substr(0, 4000).c_str());
  };
  count(wrapper(), "wrapper");
  for (int i = 2; i < argc; i++) {
    const std::string file = argv[i];
    for (const json &one : load(folder + file))
      count(file == "ids.json" ? run_id(one) : file == "requests.json" ? run_request(one) : run_case(one), file + " " + one.value("id", "?"));
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0 || passed < 500;
}
