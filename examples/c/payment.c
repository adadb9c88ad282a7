/* payment.c - base64, terms, and the two questions to the facilitator, over a connection each.
*/
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "payment.h"

#define TERMS "{\"scheme\":\"exact\",\"network\":\"eip155:84532\",\"amount\":\"1000\"," \
  "\"asset\":\"0x036CbD53842c5426634e7929541eC2318f3dCF7e\",\"payTo\":\"0x1111111111111111111111111111111111111111\"," \
  "\"maxTimeoutSeconds\":60,\"extra\":{\"name\":\"USDC\",\"version\":\"2\"}}"
#define CHALLENGE "{\"x402Version\":2,\"error\":\"%s\",\"resource\":{\"url\":\"%s\",\"description\":\"Weather now.\"," \
  "\"mimeType\":\"application/json\"},\"accepts\":[" TERMS "]}"
#define QUESTION "{\"x402Version\":2,\"paymentPayload\":%s,\"paymentRequirements\":" TERMS "}"

enum { ANSWER_LIMIT = 1 << 20 };

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static struct sockaddr_in facilitator = {.sin_family = AF_INET};
static const char *resource;

static void *need(void *memory) {
  if (!memory) abort();
  return memory;
}

static char *base64(const char *in) {
  const uint8_t *bytes = (const uint8_t *)in;
  size_t len = strlen(in), n = 0;
  char *out = need(malloc((len + 2) / 3 * 4 + 1));
  for (size_t i = 0; i < len; i += 3) {
    uint32_t bits = (uint32_t)bytes[i] << 16;
    if (i + 1 < len) bits |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < len) bits |= bytes[i + 2];
    for (int k = 0; k < 4; k++) out[n++] = i + (size_t)k > len ? '=' : ALPHABET[bits >> (18 - 6 * k) & 63];
  }
  out[n] = 0;
  return out;
}

/* Empty where it is not base64. */
static char *unbase64(const char *in) {
  char *out = need(malloc(strlen(in) + 1));
  size_t n = 0;
  uint32_t bits = 0;
  int have = 0;
  for (; *in && *in != '='; in++) {
    const char *at = strchr(ALPHABET, *in);
    if (!at) { n = 0; break; }
    bits = bits << 6 | (uint32_t)(at - ALPHABET);
    if ((have += 6) >= 8) out[n++] = (char)(bits >> (have -= 8));
  }
  out[n] = 0;
  return out;
}

/* Sends a request and reads the answer to the end of the connection; empty on any failure. */
static char *exchange_with_facilitator(const char *request, size_t size) {
  struct timeval limit = {10, 0};
  size_t len = 0;
  ssize_t n;
  char *answer = need(calloc(1, 1)), buffer[4096];
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd, (struct sockaddr *)&facilitator, sizeof facilitator) == 0 && write(fd, request, size) == (ssize_t)size) {
    while ((n = read(fd, buffer, sizeof buffer)) > 0 && len < ANSWER_LIMIT) {
      answer = need(realloc(answer, len + (size_t)n + 1));
      memcpy(answer + len, buffer, (size_t)n);
      answer[len += (size_t)n] = 0;
    }
  }
  close(fd);
  return answer;
}

/* The JSON object that the facilitator answers, empty where it gives none. */
static char *ask(const char *path, const char *signature) {
  char *payment = unbase64(signature), *question = NULL, *request = NULL;
  int len = asprintf(&question, QUESTION, payment);
  int size = asprintf(&request, "POST %s HTTP/1.1\r\nHost: facilitator\r\nContent-Type: application/json\r\nConnection: close\r\n"
    "Content-Length: %d\r\n\r\n%s", path, len, question);
  if (len < 0 || size < 0) abort();
  char *answer = *payment ? exchange_with_facilitator(request, (size_t)size) : need(calloc(1, 1));
  free(payment), free(question), free(request);
  /* From the first brace to the last: what a chunked body has around them is not of interest. */
  char *head = strstr(answer, "\r\n\r\n"), *start = head ? strchr(head, '{') : NULL, *end = start ? strrchr(start, '}') : NULL;
  char *object = need(end ? strndup(start, (size_t)(end - start) + 1) : strdup(""));
  free(answer);
  return object;
}

int payment_open(const char *at, const char *url) {
  char address[INET_ADDRSTRLEN];
  const char *colon = strchr(at, ':');
  if (!colon || (size_t)(colon - at) >= sizeof address) return 0;
  memcpy(address, at, (size_t)(colon - at)), address[colon - at] = 0;
  facilitator.sin_port = htons((uint16_t)atoi(colon + 1));
  resource = need(strdup(url));
  return inet_pton(AF_INET, address, &facilitator.sin_addr) == 1;
}

char *payment_required(const char *why) {
  char *challenge = NULL, *value;
  if (asprintf(&challenge, CHALLENGE, why, resource) < 0) abort();
  value = base64(challenge);
  free(challenge);
  return value;
}

int payment_verify(const char *signature) {
  char *answer = ask("/verify", signature);
  int valid = strstr(answer, "\"isValid\":true") != NULL;
  free(answer);
  return valid;
}

int payment_settle(const char *signature, char **receipt) {
  char *answer = ask("/settle", signature);
  int settled = strstr(answer, "\"success\":true") != NULL;
  *receipt = base64(answer);
  free(answer);
  return settled;
}
