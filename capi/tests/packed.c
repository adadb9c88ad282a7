/* packed.c - header lines in both forms: equal results, and nothing but FX402_E_ARG or success for random bytes. */
#include "check.h"

static size_t pack(uint8_t *to, const fx402_header *items, size_t count) {
  uint8_t *at = to;
  size_t i;
  for (i = 0; i < count; i++) {
    uint32_t lengths[2];
    lengths[0] = (uint32_t)items[i].name.len;
    lengths[1] = (uint32_t)items[i].value.len;
    memcpy(at, lengths, 8), at += 8;
    memcpy(at, items[i].name.ptr, lengths[0]), at += lengths[0];
    memcpy(at, items[i].value.ptr, lengths[1]), at += lengths[1];
  }
  return (size_t)(at - to);
}

/* 0, 1, 63, 64, 65, 200 and 65536 lines around the one that pays: packed or not, the payment is seen. */
static void packed_and_items_are_the_same(void) {
  static const size_t counts[] = {1, 2, 63, 64, 65, 66, 200, 500};
  fx402_engine *e = plain_engine();
  char *payment = base64_text(PAYMENT_TEXT);
  fx402_header *items = (fx402_header *)malloc(65537 * sizeof *items);
  uint8_t *packed = (uint8_t *)malloc(65537 * 64);
  size_t i, c;
  for (i = 0; i < 65537; i++) items[i] = header("X-Filler", "1");
  for (c = 0; c < COUNT(counts); c++) {
    size_t where[3], w;
    where[0] = 0, where[1] = counts[c] / 2, where[2] = counts[c] - 1;
    for (w = 0; w < 3; w++) {
      fx402_request_in request = new_request("GET", "/", items, counts[c]);
      fx402_exchange *ex = NULL;
      fx402_verdict v = new_verdict();
      items[where[w]] = header("payment-signature", payment);
      CHECK_OK(fx402_on_request(e, &request, &ex, &v, NULL));
      CHECK(ex != NULL);
      CHECK_OK(fx402_exchange_end(ex, NULL));
      request.headers.items = NULL;
      request.headers.count = 0;
      request.headers.packed = bytes(packed + 1, pack(packed + 1, items, counts[c])); /* not aligned */
      CHECK_OK(fx402_on_request(e, &request, &ex, &v, NULL));
      CHECK(ex != NULL);
      CHECK_OK(fx402_exchange_end(ex, NULL));
      items[where[w]] = header("X-Filler", "1");
    }
  }
  {
    fx402_request_in request = new_request("GET", "/", items, 65536);
    fx402_exchange *ex = NULL;
    fx402_verdict v = new_verdict();
    CHECK_OK(fx402_on_request(e, &request, &ex, &v, NULL));
    request.headers.count = 65537;
    CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_LIMIT);
    request.headers.count = (size_t)-1;
    CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_LIMIT);
    request.headers.count = 0;
    request.headers.packed = bytes(packed, pack(packed, items, 65536));
    CHECK_OK(fx402_on_request(e, &request, &ex, &v, NULL));
    request.headers.packed = bytes(packed, pack(packed, items, 65537));
    CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_LIMIT);
    request.headers.count = 1; /* both forms at once */
    request.headers.packed = bytes(packed, pack(packed, items, 1));
    CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
  }
  fx402_engine_free(e);
  free(items), free(packed), free(payment);
}

static void spans_are_checked(void) {
  fx402_engine *e = plain_engine();
  fx402_request_in request = new_request("GET", "/", NULL, 0);
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_header line = header("a", "b");
  fx402_span *spans[6];
  size_t i;
  spans[0] = &request.method, spans[1] = &request.target, spans[2] = &request.scheme;
  spans[3] = &request.authority, spans[4] = &request.route, spans[5] = &request.client_ip;
  for (i = 0; i < 6; i++) {
    *spans[i] = bytes(NULL, 1);
    CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
    *spans[i] = bytes("x", (size_t)-1);
    CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
    *spans[i] = bytes(NULL, 0);
    CHECK_OK(fx402_on_request(e, &request, &ex, &v, NULL));
  }
  request.headers.items = &line, request.headers.count = 1;
  line.value = bytes(NULL, 7);
  CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
  line.value = bytes("x", ((size_t)-1) / 2 + 1);
  CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
  request.headers.count = 0;
  request.flags = FX402_IN_BODY_WHOLE;
  request.body = bytes(NULL, 7);
  CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
  fx402_engine_free(e);
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Whether packed bytes are whole lines, said a second time in the simplest way. */
static int whole(const uint8_t *at, size_t len) {
  while (len) {
    uint32_t lengths[2];
    if (len < 8) return 0;
    memcpy(lengths, at, 8);
    at += 8, len -= 8;
    if ((uint64_t)lengths[0] + lengths[1] > len) return 0;
    at += lengths[0] + lengths[1], len -= lengths[0] + lengths[1];
  }
  return 1;
}

/* Random cuts, bit flips and lengths; the buffer is exactly as long as it says, so a step beyond shows under a watcher. */
static void random_packed_headers(void) {
  fx402_engine *e = plain_engine();
  char *payment = base64_text(PAYMENT_TEXT);
  fx402_header items[5];
  uint8_t good[1024];
  uint64_t state = 402;
  size_t round, rounds = getenv("CHECK_WATCHED_BY") ? 2000 : 50000, good_len, broken = 0;
  items[0] = header("Host", "api.example.com"), items[1] = header("", ""), items[2] = header("PAYMENT-SIGNATURE", payment);
  items[3] = header("Accept", ""), items[4] = header("x", "\xFF\xFE");
  good_len = pack(good, items, 5);
  for (round = 0; round < rounds; round++) {
    size_t len = next_random(&state) % (good_len + 1), flips = next_random(&state) % 4, i;
    uint8_t *exact = (uint8_t *)malloc(len ? len : 1);
    fx402_request_in request = new_request("GET", "/", NULL, 0);
    fx402_exchange *ex = NULL;
    fx402_verdict v = new_verdict();
    fx402_status status;
    memcpy(exact, good, len);
    for (i = 0; len && i < flips; i++) exact[next_random(&state) % len] ^= (uint8_t)(1u << (next_random(&state) & 7));
    request.headers.packed = bytes(exact, len);
    status = fx402_on_request(e, &request, &ex, &v, NULL);
    CHECK(status == (whole(exact, len) ? FX402_OK : FX402_E_ARG));
    broken += status != FX402_OK;
    CHECK(status == FX402_OK || ex == NULL);
    CHECK_OK(fx402_exchange_end(ex, NULL));
    free(exact);
  }
  CHECK(broken > rounds / 4 && broken < rounds); /* both kinds came up */
  CHECK(stats_of(e).internal_errors == 0);
  fx402_engine_free(e);
  free(payment);
}

static const test tests[] = {
  {"packed and items are the same", packed_and_items_are_the_same},
  {"spans are checked", spans_are_checked},
  {"random packed headers", random_packed_headers},
};
MAIN(tests)
