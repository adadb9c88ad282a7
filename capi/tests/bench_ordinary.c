/* bench_ordinary.c - what a request with nothing to do costs through the C call: medians over rounds, printed. Targets
** rotate and header lines differ, so that nothing is learned by heart. An empty call into the library stands beside, and
** the same call together with what a host does for it: filling the request in from its own strings. */
#include "check.h"
#include <time.h>

enum { ROUNDS = 401, CALLS = 1000, SHAPES = 16 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}

int main(void) {
  static const char *names[] = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection",
                                "Cookie", "Referer", "X-Request-Id", "Sec-Fetch-Mode", "X-Forwarded-For", "Origin"};
  static char targets[SHAPES][32], values[SHAPES][COUNT(names)][48];
  static fx402_header lines[SHAPES][COUNT(names)];
  static fx402_request_in requests[SHAPES];
  static const size_t counts[] = {2, 8, 12};
  fx402_engine *e = plain_engine();
  double per_call[ROUNDS], filled[ROUNDS], empty[ROUNDS];
  size_t shape, i, c, round;
  volatile uint32_t sink = 0;
  for (shape = 0; shape < SHAPES; shape++) {
    sprintf(targets[shape], "/weather/%zu?city=%zu", shape, shape * 7919);
    for (i = 0; i < COUNT(names); i++) {
      sprintf(values[shape][i], "value %zu of %zu", i, shape);
      lines[shape][i] = header(names[(i + shape) % COUNT(names)], values[shape][i]);
    }
  }
  for (round = 0; round < ROUNDS; round++) {
    double start = now_ns();
    for (i = 0; i < CALLS; i++) sink += fx402_abi_version();
    empty[round] = (now_ns() - start) / CALLS;
  }
  printf("an empty call          %6.1f ns\n", median(empty, ROUNDS));
  for (c = 0; c < COUNT(counts); c++) {
    for (shape = 0; shape < SHAPES; shape++) requests[shape] = new_request("GET", targets[shape], lines[shape], counts[c]);
    for (round = 0; round < ROUNDS; round++) {
      double start = now_ns(), between;
      for (i = 0; i < CALLS; i++) {
        fx402_exchange *ex = NULL;
        fx402_verdict v;
        v.struct_size = sizeof v;
        if (fx402_on_request(e, &requests[i % SHAPES], &ex, &v, NULL) != FX402_OK || ex) return 1;
        sink += v.action;
      }
      between = now_ns();
      for (i = 0; i < CALLS; i++) {
        fx402_exchange *ex = NULL;
        fx402_verdict v;
        fx402_request_in request = new_request("GET", targets[i % SHAPES], lines[i % SHAPES], counts[c]);
        v.struct_size = sizeof v;
        if (fx402_on_request(e, &request, &ex, &v, NULL) != FX402_OK || ex) return 1;
        sink += v.action;
      }
      per_call[round] = (between - start) / CALLS;
      filled[round] = (now_ns() - between) / CALLS;
    }
    printf("ordinary, %2zu lines     %6.1f ns, %6.1f ns with filling the request in (medians of %d rounds of %d)\n", counts[c],
           median(per_call, ROUNDS), median(filled, ROUNDS), ROUNDS, CALLS);
  }
  fx402_engine_free(e);
  return 0;
}
