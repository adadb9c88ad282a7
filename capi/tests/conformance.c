/* conformance.c - the cases of tests/conformance through the C interface; README.md there is the contract.
**
** Every case runs with the body shown when asked for and with header lines packed, then shown at once, then its result a
** second time through a fresh engine. Prefixes and the byte comparison of accepts are left to the Rust runner.
** argv: the folder, then the files of cases in it.
*/
#include "check.h"
#include <jansson.h>
#include <stdarg.h>
#include <strings.h>

/* ---- bytes ---- */

typedef struct text { uint8_t *at; size_t len, room; } text;

/* Keeps a NUL behind the bytes, for messages. */
static void append(text *to, const void *from, size_t len) {
  if (to->len + len + 1 > to->room) {
    to->room = 2 * (to->len + len) + 64;
    to->at = (uint8_t *)realloc(to->at, to->room);
  }
  if (len) memcpy(to->at + to->len, from, len);
  to->len += len;
  to->at[to->len] = 0;
}

static int same(text a, text b) { return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0); }

static text copy(const void *from, size_t len) {
  text t = {NULL, 0, 0};
  append(&t, from, len);
  return t;
}

/* ---- a case that is not as the contract says ends the run ---- */

static const char *case_name = "";
static char fault[4096];

static void broken(const char *form, ...) {
  va_list args;
  va_start(args, form);
  fprintf(stderr, "%s: ", case_name);
  vfprintf(stderr, form, args);
  fputc('\n', stderr);
  va_end(args);
  exit(2);
}

static int fail(const char *form, ...) {
  va_list args;
  va_start(args, form);
  vsnprintf(fault, sizeof fault, form, args);
  va_end(args);
  return 0;
}

static void only_keys(json_t *object, const char *known) {
  const char *key;
  json_t *value;
  if (!json_is_object(object)) broken("an object was expected");
  json_object_foreach(object, key, value) {
    char wrapped[64];
    snprintf(wrapped, sizeof wrapped, " %s ", key);
    if (!strstr(known, wrapped)) broken("unknown key %s", key);
  }
}

/* ---- values ---- */

typedef struct fill { const char *own_id, *id, *rate; } fill;

static json_t *texts;

static void value(text *out, json_t *v, const fill *f);

static void fill_in(text *out, const char *from, size_t len, const fill *f) {
  const char *end = from + len;
  while (from < end) {
    const char *open = (const char *)memmem(from, (size_t)(end - from), "{{", 2), *with = NULL;
    size_t skip = 0;
    if (!open) break;
    append(out, from, (size_t)(open - from));
    from = open;
    if (end - from >= 10 && !memcmp(from, "{{own_id}}", 10)) with = f->own_id, skip = 10;
    else if (end - from >= 6 && !memcmp(from, "{{id}}", 6)) with = f->id ? f->id : "NO ID WAS NAMED", skip = 6;
    else if (end - from >= 8 && !memcmp(from, "{{rate}}", 8)) with = f->rate, skip = 8;
    if (with) append(out, with, strlen(with)), from += skip;
    else append(out, from, 1), from += 1;
  }
  append(out, from, (size_t)(end - from));
}

static void value(text *out, json_t *v, const fill *f) {
  json_t *inner;
  size_t i;
  if (json_is_string(v)) {
    fill_in(out, json_string_value(v), json_string_length(v), f);
  } else if (json_is_array(v)) {
    json_array_foreach(v, i, inner) value(out, inner, f);
  } else if ((inner = json_object_get(v, "repeat")) != NULL) {
    json_int_t times = json_integer_value(json_array_get(inner, 1));
    text once = {NULL, 0, 0};
    only_keys(v, " repeat ");
    value(&once, json_array_get(inner, 0), f);
    for (; times > 0; times--) append(out, once.at, once.len);
    free(once.at);
  } else if ((inner = json_object_get(v, "base64_of")) != NULL) {
    text plain = {NULL, 0, 0};
    char *encoded;
    only_keys(v, " base64_of ");
    value(&plain, inner, f);
    encoded = base64(plain.at, plain.len);
    append(out, encoded, strlen(encoded));
    free(encoded), free(plain.at);
  } else if ((inner = json_object_get(v, "hex")) != NULL) {
    const char *hex = json_string_value(inner);
    only_keys(v, " hex ");
    for (; hex[0] && hex[1]; hex += 2) {
      unsigned byte;
      uint8_t small;
      if (sscanf(hex, "%2x", &byte) != 1) broken("hex");
      small = (uint8_t)byte;
      append(out, &small, 1);
    }
  } else if ((inner = json_object_get(v, "text")) != NULL) {
    json_t *named = json_object_get(texts, json_string_value(inner)), *rate = json_object_get(v, "rate");
    fill with = *f;
    only_keys(v, " text rate ");
    if (!named) broken("no text %s", json_string_value(inner));
    if (rate) with.rate = json_string_value(rate);
    value(out, named, &with);
  } else {
    broken("a value in a form nobody knows");
  }
}

static text value_of(json_t *v, const fill *f) {
  text t = {NULL, 0, 0};
  append(&t, "", 0);
  if (v) value(&t, v, f);
  return t;
}

/* ---- heads ---- */

typedef struct line { text name, value; int appended; } line;
typedef struct head { line *lines; size_t count; } head;

static void add_line(head *h, text name, text content, int appended) {
  h->lines = (line *)realloc(h->lines, (h->count + 1) * sizeof *h->lines);
  h->lines[h->count].name = name;
  h->lines[h->count].value = content;
  h->lines[h->count++].appended = appended;
}

static head head_of(json_t *headers, const fill *f) {
  head h = {NULL, 0};
  json_t *pair;
  size_t i;
  json_array_foreach(headers, i, pair) {
    if (json_array_size(pair) != 2) broken("a header is a name and a value");
    add_line(&h, value_of(json_array_get(pair, 0), f), value_of(json_array_get(pair, 1), f), 0);
  }
  return h;
}

static head copy_head(head from) {
  head h = {NULL, 0};
  size_t i;
  for (i = 0; i < from.count; i++)
    add_line(&h, copy(from.lines[i].name.at, from.lines[i].name.len), copy(from.lines[i].value.at, from.lines[i].value.len),
             from.lines[i].appended);
  return h;
}

static void free_head(head h) {
  size_t i;
  for (i = 0; i < h.count; i++) free(h.lines[i].name.at), free(h.lines[i].value.at);
  free(h.lines);
}

static void apply(head *h, uint32_t op, fx402_span name, fx402_span content) {
  size_t i, kept = 0;
  int found = 0;
  for (i = 0; i < h->count && op != FX402_EDIT_ADD; i++) {
    line *l = &h->lines[i];
    int is = l->name.len == name.len && strncasecmp((const char *)l->name.at, (const char *)name.ptr, name.len) == 0;
    if (is && op == FX402_EDIT_SET && !found) {
      free(l->value.at);
      l->value = copy(content.ptr, content.len);
      found = 1;
    } else if (is) {
      free(l->name.at), free(l->value.at);
      continue;
    }
    h->lines[kept++] = *l;
  }
  if (op != FX402_EDIT_ADD) h->count = kept;
  if (op != FX402_EDIT_REMOVE && !found) add_line(h, copy(name.ptr, name.len), copy(content.ptr, content.len), 1);
}

static void apply_verdict(head *h, const fx402_verdict *v) {
  size_t i;
  for (i = 0; i < v->edits_len; i++) apply(h, v->edits[i].op, v->edits[i].name, v->edits[i].value);
}

static void apply_listed(head *h, json_t *edits, const fill *f) {
  json_t *edit;
  size_t i;
  json_array_foreach(edits, i, edit) {
    const char *op = json_string_value(json_array_get(edit, 0));
    text name = value_of(json_array_get(edit, 1), f), content = value_of(json_array_get(edit, 2), f);
    uint32_t number = !strcmp(op, "set") ? FX402_EDIT_SET : !strcmp(op, "add") ? FX402_EDIT_ADD : !strcmp(op, "remove") ? FX402_EDIT_REMOVE : 0;
    if (!number) broken("an edit %s", op);
    apply(h, number, bytes(name.at, name.len), bytes(content.at, content.len));
    free(name.at), free(content.at);
  }
}

static int by_line(const void *a, const void *b) {
  const line *l = (const line *)a, *r = (const line *)b;
  size_t least = l->name.len < r->name.len ? l->name.len : r->name.len;
  int order = memcmp(l->name.at, r->name.at, least);
  if (order || l->name.len != r->name.len) return order ? order : l->name.len < r->name.len ? -1 : 1;
  least = l->value.len < r->value.len ? l->value.len : r->value.len;
  order = memcmp(l->value.at, r->value.at, least);
  return order ? order : (l->value.len > r->value.len) - (l->value.len < r->value.len);
}

/* Kept lines in order; appended ones, which all stand at the end, as a set. */
static int same_head(head got, head expected, const char *when) {
  size_t i, first = 0, first_expected = 0;
  while (first < got.count && !got.lines[first].appended) first++;
  while (first_expected < expected.count && !expected.lines[first_expected].appended) first_expected++;
  if (got.lines) qsort(got.lines + first, got.count - first, sizeof *got.lines, by_line);
  if (expected.lines) qsort(expected.lines + first_expected, expected.count - first_expected, sizeof *expected.lines, by_line);
  for (i = 0; i < got.count || i < expected.count; i++) {
    const line *g = i < got.count ? &got.lines[i] : NULL, *e = i < expected.count ? &expected.lines[i] : NULL;
    if (g && e && same(g->name, e->name) && same(g->value, e->value)) continue;
    return fail("%s: line %zu: expected %.*s: %.600s\n    got %.*s: %.600s", when, i, e ? (int)e->name.len : 4, e ? (char *)e->name.at : "none",
                e ? (char *)e->value.at : "", g ? (int)g->name.len : 4, g ? (char *)g->name.at : "none", g ? (char *)g->value.at : "");
  }
  return 1;
}

static int same_body(text got, text expected, const char *when) {
  if (same(got, expected)) return 1;
  return fail("%s: body expected %zu bytes %.900s\n    got %zu bytes %.900s", when, expected.len, (char *)expected.at, got.len, (char *)got.at);
}

/* ---- one exchange, as a host does it ---- */

enum mode { ASKED, PACKED, AT_ONCE };
typedef struct sent {
  head head, first;
  text body;
  char id[64];
  int nothing, asked, over_limit;
} sent;

typedef struct shown { fx402_header *items; uint8_t *packed; fx402_headers headers; } shown;

static shown show(head h, enum mode mode) {
  shown s;
  size_t i;
  memset(&s, 0, sizeof s);
  s.items = (fx402_header *)calloc(h.count + 1, sizeof *s.items);
  if (mode == PACKED) {
    text packed = {NULL, 0, 0};
    for (i = 0; i < h.count; i++) {
      uint32_t lengths[2];
      lengths[0] = (uint32_t)h.lines[i].name.len, lengths[1] = (uint32_t)h.lines[i].value.len;
      append(&packed, lengths, 8);
      append(&packed, h.lines[i].name.at, h.lines[i].name.len);
      append(&packed, h.lines[i].value.at, h.lines[i].value.len);
    }
    s.packed = packed.at;
    s.headers.packed = bytes(packed.at, packed.len);
  } else {
    for (i = 0; i < h.count; i++) {
      s.items[i].name = bytes(h.lines[i].name.at, h.lines[i].name.len);
      s.items[i].value = bytes(h.lines[i].value.at, h.lines[i].value.len);
    }
    s.headers.items = s.items;
    s.headers.count = h.count;
  }
  return s;
}

static void must(fx402_status status, const fx402_error *err, const char *call) {
  if (status != FX402_OK) broken("%s: %s: %s", call, fx402_status_text(status), err->message);
}

static sent run(const fx402_engine *e, json_t *request, uint32_t status, head before, text body, const fill *f, enum mode mode) {
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_error err = new_error();
  fx402_request_in in;
  fx402_response_in res;
  head asked = head_of(json_object_get(request, "headers"), f);
  shown req_lines = show(asked, mode), res_lines = show(before, mode);
  text request_body = value_of(json_object_get(request, "body"), f);
  sent s;
  memset(&s, 0, sizeof s);
  only_keys(request, " method target headers body ");
  in = new_request(json_string_value(json_object_get(request, "method")), json_string_value(json_object_get(request, "target")), NULL, 0);
  in.headers = req_lines.headers;
  in.flags = request_body.len ? 0 : FX402_IN_BODY_NONE;
  must(fx402_on_request(e, &in, &ex, &v, &err), &err, "on_request");
  if (v.action != FX402_PASS || v.flags || v.edits_len) broken("on_request is to pass these requests");
  s.nothing = ex == NULL;
  s.head = copy_head(before);
  s.first = copy_head(before);
  s.body = copy(body.at, body.len);
  if (ex || status == 402) {
    res = new_response(status, NULL, 0, NULL);
    res.headers = res_lines.headers;
    if (mode == AT_ONCE) res.flags = FX402_IN_BODY_WHOLE, res.body = bytes(body.at, body.len);
    if (ex) must(fx402_on_response(ex, &res, &v, &err), &err, "on_response");
    else must(fx402_on_response_late(e, &in, &res, &ex, &v, &err), &err, "on_response_late");
    if (v.action == FX402_WANT_BODY) {
      s.asked = 1;
      apply_verdict(&s.first, &v);
      s.over_limit = body.len > v.body_limit;
      if (!s.over_limit) {
        res.flags = FX402_IN_BODY_WHOLE;
        res.body = bytes(body.at, body.len);
        must(fx402_on_response(ex, &res, &v, &err), &err, "on_response with the body");
      }
    }
    apply_verdict(&s.head, &v);
    if (v.flags & FX402_BODY_REPLACED) {
      free(s.body.at);
      s.body = copy(v.body.ptr, v.body.len);
    }
    if (v.feedback_id.len >= sizeof s.id) broken("an id of %zu characters", v.feedback_id.len);
    if (v.feedback_id.len) memcpy(s.id, v.feedback_id.ptr, v.feedback_id.len);
  }
  {
    fx402_outcome outcome = {sizeof outcome, FX402_DELIVERED, status, 0, s.body.len};
    must(fx402_exchange_end(ex, &outcome), &err, "end");
  }
  free_head(asked);
  free(req_lines.items), free(req_lines.packed), free(res_lines.items), free(res_lines.packed), free(request_body.at);
  return s;
}

static void free_sent(sent s) { free_head(s.head), free_head(s.first), free(s.body.at); }

/* ---- a case ---- */

static fx402_engine *engine_of(json_t *one) {
  json_t *options = json_pack("{ssssso}", "api_key", "ffk_test_0123456789abcdef", "public_url", "https://api.example.com", "strict", json_true());
  json_t *laid = json_object_get(one, "options"), *v;
  const char *key;
  char *written;
  fx402_engine *e = NULL;
  fx402_error err = new_error();
  json_object_foreach(laid, key, v) {
    if (json_is_null(v)) json_object_del(options, key);
    else json_object_set(options, key, v);
  }
  written = json_dumps(options, JSON_COMPACT);
  must(fx402_engine_open(FX402_ABI, span(written), &e, &err), &err, "open");
  free(written);
  json_decref(options);
  return e;
}

static void run_before(const fx402_engine *e, json_t *one, const fill *f) {
  json_t *step;
  size_t i;
  json_array_foreach(json_object_get(one, "before"), i, step) {
    json_t *response = json_object_get(step, "response");
    head h = head_of(json_object_get(response, "headers"), f);
    text body = value_of(json_object_get(response, "body"), f);
    only_keys(step, " request response ");
    free_sent(run(e, json_object_get(step, "request"), (uint32_t)json_integer_value(json_object_get(response, "status")), h, body, f, ASKED));
    free_head(h), free(body.at);
  }
}

static int id_is_right(const fx402_engine *e, json_t *expect, const sent *s, const fill *f) {
  const char *wanted = json_string_value(json_object_get(expect, "id"));
  uint32_t reason = 99;
  if (!wanted) return s->id[0] ? fail("named the id %s", s->id) : 1;
  if (!strcmp(wanted, "own")) return f->own_id && !strcmp(s->id, f->own_id) ? 1 : fail("not the body's own id: %s", s->id);
  if (strcmp(wanted, "new")) broken("id %s", wanted);
  if (!s->id[0]) return fail("no id");
  if (f->own_id && !strcmp(s->id, f->own_id)) return fail("the body's own id");
  if (fx402_verify_id(e, span(s->id), 0, &reason) != FX402_OK || reason != FX402_ID_VALID) return fail("%s is not valid: %u", s->id, reason);
  return 1;
}

static int as_expected(const fx402_engine *e, json_t *one, const sent *s, head before, text body, const fill *base, const char *when) {
  json_t *expect = json_object_get(one, "expect"), *replaced = json_object_get(expect, "body");
  fill f = *base;
  head wanted = copy_head(before);
  text wanted_body;
  int good;
  f.id = s->id[0] ? s->id : NULL;
  apply_listed(&wanted, json_object_get(expect, "edits"), &f);
  wanted_body = replaced ? value_of(replaced, &f) : copy(body.at, body.len);
  good = id_is_right(e, expect, s, base) && same_head(s->head, wanted, when) && same_body(s->body, wanted_body, when);
  free_head(wanted), free(wanted_body.at);
  return good;
}

static int run_case(json_t *one) {
  json_t *request = json_object_get(one, "request"), *response = json_object_get(one, "response"), *expect = json_object_get(one, "expect");
  json_t *want = json_object_get(expect, "want_body"), *first = json_object_get(expect, "first_edits"), *verdict = json_object_get(expect, "verdict");
  uint32_t status = (uint32_t)json_integer_value(json_object_get(response, "status"));
  fill f = {NULL, NULL, NULL};
  char own_id[FX402_ID_LEN + 1];
  char *source = json_dumps(one, 0);
  enum mode mode;
  int good = 1;
  only_keys(one, " id title why fixture options before request response oracle expect ");
  only_keys(response, " status headers body ");
  only_keys(expect, " edits body id want_body first_edits verdict ");
  for (mode = ASKED; good && mode <= AT_ONCE; mode = (enum mode)(mode + 1)) {
    static const char *const names[] = {"asked", "packed", "shown at once"};
    fx402_engine *e = engine_of(one);
    head before;
    text body;
    sent s;
    if (!f.own_id && strstr(source, "{{own_id}}")) {
      must(fx402_mint_id(e, own_id), NULL, "mint");
      f.own_id = own_id;
    }
    run_before(e, one, &f);
    before = head_of(json_object_get(response, "headers"), &f);
    body = value_of(json_object_get(response, "body"), &f);
    s = run(e, request, status, before, body, &f, mode);
    good = mode == AT_ONCE && s.over_limit ? 1 : as_expected(e, one, &s, before, body, &f, names[mode]);
    if (good && mode != AT_ONCE && want && json_is_true(want) != s.asked) good = fail("asked for the body: %d", s.asked);
    if (good && verdict && (strcmp(json_string_value(verdict), "nothing") || !s.nothing)) good = fail("on_request looked at it");
    if (good && first && mode != AT_ONCE) {
      fill named = f;
      head wanted = copy_head(before);
      named.id = s.id[0] ? s.id : NULL;
      apply_listed(&wanted, first, &named);
      good = s.asked ? same_head(s.first, wanted, "first edits") : fail("the body was not asked for");
      free_head(wanted);
    }
    if (good && mode == ASKED) {
      fx402_engine *layer = engine_of(one);
      sent again;
      size_t i;
      run_before(layer, one, &f);
      for (i = 0; i < s.head.count; i++) s.head.lines[i].appended = 0;
      again = run(layer, request, status, s.head, s.body, &f, ASKED);
      good = same_head(again.head, s.head, "twice is once") && same_body(again.body, s.body, "twice is once");
      free_sent(again);
      fx402_engine_free(layer);
    }
    free_sent(s), free_head(before), free(body.at);
    fx402_engine_free(e);
  }
  free(source);
  return good;
}

/* requests.json: what becomes of a request, or what it is answered. */
static int run_request(json_t *one) {
  static const char *const names[] = {"pass", "reply"};
  json_t *given = json_object_get(one, "request"), *expect = json_object_get(one, "expect"), *answer = json_object_get(expect, "answer");
  json_t *other_body = json_object_get(expect, "body"), *other_target = json_object_get(expect, "target");
  const char *wanted = json_string_value(json_object_get(expect, "verdict"));
  fx402_engine *e = engine_of(one);
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_error err = new_error();
  fx402_request_in in;
  fill f = {NULL, NULL, NULL};
  char own_id[FX402_ID_LEN + 1];
  text target, body, got_body, wanted_body;
  head before, got, wanted_head;
  shown lines;
  size_t i;
  int asked, waits, good;
  only_keys(one, " id title why options before request expect ");
  only_keys(given, " method target headers body ");
  only_keys(expect, " verdict want_body waits target edits body answer ");
  must(fx402_mint_id(e, own_id), NULL, "mint");
  f.own_id = own_id;
  run_before(e, one, &f);
  target = value_of(json_object_get(given, "target"), &f);
  body = value_of(json_object_get(given, "body"), &f);
  before = head_of(json_object_get(given, "headers"), &f);
  lines = show(before, PACKED);
  in = new_request(json_string_value(json_object_get(given, "method")), (const char *)target.at, NULL, 0);
  in.headers = lines.headers;
  in.flags = 0; /* not read yet */
  must(fx402_on_request(e, &in, &ex, &v, &err), &err, "on_request");
  asked = v.action == FX402_WANT_BODY;
  if (asked) must(fx402_on_request_body(ex, bytes(body.at, body.len > v.body_limit ? v.body_limit + 1 : body.len), &v, &err), &err, "on_request_body");
  waits = v.action == FX402_WAIT;
  if (waits) must(fx402_exchange_wait(ex, 3000, &v, &err), &err, "wait");

  got = answer ? head_of(NULL, &f) : copy_head(before);
  wanted_head = copy_head(got);
  apply_verdict(&got, &v);
  if (answer) {
    head listed = head_of(json_object_get(answer, "headers"), &f);
    only_keys(answer, " status headers body ");
    for (i = 0; i < listed.count; i++)
      apply(&wanted_head, FX402_EDIT_ADD, bytes(listed.lines[i].name.at, listed.lines[i].name.len), bytes(listed.lines[i].value.at, listed.lines[i].value.len));
    free_head(listed);
  } else {
    apply_listed(&wanted_head, json_object_get(expect, "edits"), &f);
  }
  wanted_body = answer ? value_of(json_object_get(answer, "body"), &f) : other_body ? value_of(other_body, &f) : copy(body.at, body.len);
  got_body = v.flags & FX402_BODY_REPLACED ? copy(v.body.ptr, v.body.len) : answer ? copy("", 0) : copy(body.at, body.len);
  if (v.flags & FX402_TARGET_REPLACED) free(target.at), target = copy(v.target.ptr, v.target.len);

  if (!ex) good = !strcmp(wanted, "nothing") ? 1 : fail("on_request did not look at it");
  else if (v.action > FX402_REPLY || strcmp(wanted, names[v.action])) good = fail("action %u, not %s", v.action, wanted);
  else if (asked != json_is_true(json_object_get(expect, "want_body"))) good = fail("asked for the body: %d", asked);
  else if (waits != json_is_true(json_object_get(expect, "waits"))) good = fail("waits: %d", waits);
  else if (other_target && strcmp((char *)target.at, json_string_value(other_target))) good = fail("target %s", (char *)target.at);
  else if (!other_target && v.flags & FX402_TARGET_REPLACED) good = fail("a new target %s", (char *)target.at);
  else if (answer && (json_int_t)v.http_status != json_integer_value(json_object_get(answer, "status"))) good = fail("status %u", v.http_status);
  else good = same_head(got, wanted_head, "request") && same_body(got_body, wanted_body, "request");

  must(fx402_exchange_end(ex, NULL), &err, "end");
  fx402_engine_free(e);
  free_head(before), free_head(got), free_head(wanted_head);
  free(target.at), free(body.at), free(got_body.at), free(wanted_body.at), free(lines.items), free(lines.packed);
  return good;
}

/* ids.json: asked at that time. Its 0 is the first millisecond of 1970, which 1 stands for: 0 means the clock here. */
static int run_id(json_t *row) {
  static const char *const names[] = {"valid", "malformed", "bad_signature", "expired"};
  json_t *value_given = json_object_get(row, "value");
  json_t *options = json_pack("{sOsOsb}", "api_key", json_object_get(row, "api_key"), "ttl_ms", json_object_get(row, "ttl_ms"), "strict", 1);
  char *written = json_dumps(options, JSON_COMPACT);
  fx402_engine *e = open_engine(written);
  uint64_t now = (uint64_t)json_integer_value(json_object_get(row, "now_ms"));
  uint32_t reason = 99;
  int good;
  only_keys(row, " id api_key value now_ms ttl_ms expect ");
  must(fx402_verify_id(e, bytes(json_string_value(value_given), json_string_length(value_given)), now ? now : 1, &reason), NULL, "verify");
  good = reason < COUNT(names) && !strcmp(names[reason], json_string_value(json_object_get(row, "expect")));
  if (!good) fail("got %u", reason);
  fx402_engine_free(e);
  free(written);
  json_decref(options);
  return good;
}

static json_t *load(const char *folder, const char *file) {
  char path[4096];
  json_error_t err;
  json_t *read;
  snprintf(path, sizeof path, "%s/%s", folder, file);
  read = json_load_file(path, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &err);
  if (!read) broken("%s: line %d: %s", path, err.line, err.text);
  return read;
}

int main(int argc, char **argv) {
  int passed = 0, failed = 0, i;
  if (argc < 3) return 2;
  texts = load(argv[1], "texts.json");
  for (i = 2; i < argc; i++) {
    int ids = !strcmp(argv[i], "ids.json"), requests = !strcmp(argv[i], "requests.json"), passed_before = passed, failed_before = failed;
    json_t *cases = load(argv[1], argv[i]), *one;
    size_t at;
    json_array_foreach(cases, at, one) {
      case_name = json_string_value(json_object_get(one, "id"));
      if (!case_name) broken("%s: case %zu has no id", argv[i], at);
      if (ids ? run_id(one) : requests ? run_request(one) : run_case(one)) {
        passed++;
      } else {
        failed++;
        fprintf(stderr, "FAILED %s %s: %s\n", argv[i], case_name, fault);
      }
    }
    printf("%s %s: %d cases\n", failed == failed_before ? "ok    " : "FAILED", argv[i], passed - passed_before + failed - failed_before);
    if (passed == passed_before && failed == failed_before) broken("%s has no cases", argv[i]);
    json_decref(cases);
  }
  json_decref(texts);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
