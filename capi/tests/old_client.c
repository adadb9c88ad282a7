/* old_client.c - struct_size: nothing is read or written past what the caller says it has. An older header's structs end
** earlier, a newer one's later; memory beyond is fenced here. */
#include "check.h"

/* As an older header would have had it: the counts end at dropped, the message is short. */
typedef struct old_stats { uint32_t struct_size, worker_running; uint64_t generation, queued, sent, dropped; } old_stats;
typedef struct old_error { uint32_t struct_size; fx402_status status; char message[24]; } old_error;

static int fenced(const void *at, size_t len) {
  size_t i;
  for (i = 0; i < len; i++)
    if (((const uint8_t *)at)[i] != 0xA5) return 0;
  return 1;
}

static void stats_of_an_older_client(void) {
  fx402_engine *e = plain_engine();
  struct { old_stats stats; uint8_t fence[256]; } memory;
  uint32_t size;
  char id[FX402_ID_LEN + 1];
  CHECK_OK(fx402_mint_id(e, id));
  memset(&memory, 0xA5, sizeof memory);
  memory.stats.struct_size = sizeof memory.stats;
  fx402_engine_stats(e, (fx402_stats *)(void *)&memory);
  CHECK(memory.stats.struct_size == sizeof memory.stats && memory.stats.worker_running == 0);
  CHECK(memory.stats.generation > 0 && memory.stats.generation < 1000 && memory.stats.dropped == 0);
  CHECK(fenced(memory.fence, sizeof memory.fence));
  for (size = 0; size <= 128; size++) {
    memset(&memory, 0xA5, sizeof memory);
    memory.stats.struct_size = size;
    fx402_engine_stats(e, (fx402_stats *)(void *)&memory);
    CHECK(memory.stats.struct_size == size);
    if (size >= sizeof(fx402_stats)) CHECK(fenced((uint8_t *)&memory + sizeof(fx402_stats), sizeof memory - sizeof(fx402_stats)));
    else CHECK(fenced((uint8_t *)&memory + (size < 4 ? 4 : size), sizeof memory - (size < 4 ? 4 : size)));
  }
  fx402_engine_stats(NULL, (fx402_stats *)(void *)&memory);
  CHECK(memory.stats.generation == 0);
  fx402_engine_stats(e, NULL);
  fx402_engine_free(e);
}

static void errors_of_an_older_client(void) {
  struct { old_error err; uint8_t fence[256]; } memory;
  fx402_engine *e = NULL;
  uint32_t size;
  memset(&memory, 0xA5, sizeof memory);
  memory.err.struct_size = sizeof memory.err;
  CHECK(fx402_engine_open(FX402_ABI, span("{\"strict\":true,\"nonsense\":1}"), &e, (fx402_error *)(void *)&memory) == FX402_E_CONFIG);
  CHECK(memory.err.status == FX402_E_CONFIG && strlen(memory.err.message) == 23);
  CHECK(fenced(memory.fence, sizeof memory.fence));
  for (size = 0; size <= 300; size++) {
    size_t used = size < 8 ? 4 : size > sizeof(fx402_error) ? sizeof(fx402_error) : size;
    memset(&memory, 0xA5, sizeof memory);
    memory.err.struct_size = size;
    CHECK(fx402_engine_open(FX402_ABI, span("{\"strict\":true,\"nonsense\":1,\"\xC3\xA9\xC3\xA9\xC3\xA9\":2}"), &e, (fx402_error *)(void *)&memory) == FX402_E_CONFIG);
    CHECK(fenced((uint8_t *)&memory + used, sizeof memory - used));
    if (size > 8) CHECK(memchr(memory.err.message, 0, size - 8) != NULL);
  }
}

static void structs_that_come_in(void) {
  fx402_engine *e = plain_engine();
  fx402_exchange *ex = NULL;
  fx402_verdict v = new_verdict();
  fx402_error err = new_error();
  struct { fx402_request_in request; uint8_t later[64]; } newer;
  fx402_request_in request = new_request("GET", "/", NULL, 0);
  fx402_response_in response = new_response(402, NULL, 0, CHALLENGE_V1);
  /* A newer client: what lies beyond is not looked at. */
  memset(&newer, 0xA5, sizeof newer);
  newer.request = request;
  newer.request.struct_size = sizeof newer;
  CHECK_OK(fx402_on_request(e, &newer.request, &ex, &v, &err));
  /* Less than ABI 1.0 has. */
  request.struct_size--;
  CHECK(fx402_on_request(e, &request, &ex, &v, &err) == FX402_E_ABI);
  CHECK(strstr(err.message, "fx402_request_in.struct_size is 151") != NULL || sizeof(void *) != 8);
  request.struct_size = 0;
  CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ABI);
  request.struct_size = sizeof request;
  response.struct_size = 3;
  CHECK(fx402_on_response_late(e, &request, &response, &ex, &v, NULL) == FX402_E_ABI);
  response.struct_size = sizeof response;
  response.http_status = 99;
  CHECK(fx402_on_response_late(e, &request, &response, &ex, &v, NULL) == FX402_E_ARG);
  response.http_status = 65536 + 402;
  CHECK(fx402_on_response_late(e, &request, &response, &ex, &v, NULL) == FX402_E_ARG);
  request.flags = FX402_IN_BODY_WHOLE | FX402_IN_BODY_NONE;
  CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
  request.flags = 8;
  CHECK(fx402_on_request(e, &request, &ex, &v, NULL) == FX402_E_ARG);
  CHECK(fx402_on_request(e, NULL, &ex, &v, NULL) == FX402_E_ARG);
  CHECK(fx402_on_request(NULL, &request, &ex, &v, NULL) == FX402_E_ARG);
  CHECK(fx402_on_response(NULL, &response, &v, NULL) == FX402_E_ARG);
  fx402_engine_free(e);
}

static void verdicts_that_go_out(void) {
  fx402_engine *e = plain_engine();
  struct { fx402_verdict verdict; uint8_t fence[64]; } memory;
  fx402_exchange *ex = NULL;
  fx402_request_in request = new_request("GET", "/", NULL, 0);
  uint32_t size;
  for (size = 0; size <= sizeof memory; size++) {
    size_t used = size < 4 ? 4 : size > sizeof(fx402_verdict) ? sizeof(fx402_verdict) : size;
    fx402_status status;
    memset(&memory, 0xA5, sizeof memory);
    memory.verdict.struct_size = size;
    status = fx402_on_request(e, &request, &ex, &memory.verdict, NULL);
    CHECK(status == (size < sizeof(fx402_verdict) ? FX402_E_ABI : FX402_OK));
    CHECK(memory.verdict.struct_size == size && fenced((uint8_t *)&memory + used, sizeof memory - used));
  }
  CHECK(fx402_on_request(e, &request, &ex, NULL, NULL) == FX402_E_ARG);
  CHECK(fx402_on_request(e, &request, NULL, &memory.verdict, NULL) == FX402_E_ARG);
  fx402_engine_free(e);
}

static void versions_agree(void) {
  CHECK(fx402_abi_version() == FX402_ABI);
  CHECK(fx402_abi_version() >> 16 == FX402_ABI_MAJOR && (fx402_abi_version() & 0xFFFF) == FX402_ABI_MINOR);
  CHECK(strcmp(fx402_version(), FX402_VERSION) == 0);
  CHECK(strcmp(FX402_VERSION, CARGO_VERSION) == 0);
  CHECK(strstr(fx402_build_info(), FX402_VERSION) != NULL && strstr(fx402_build_info(), "rustc 1.") != NULL);
  CHECK(strstr(fx402_build_info(), "commit ") != NULL);
}

static const test tests[] = {
  {"stats of an older client", stats_of_an_older_client},
  {"errors of an older client", errors_of_an_older_client},
  {"structs that come in", structs_that_come_in},
  {"verdicts that go out", verdicts_that_go_out},
  {"versions of header, library and package agree", versions_agree},
};
MAIN(tests)
