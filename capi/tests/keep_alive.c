/* keep_alive.c - L13: the example server over a real socket. Pipelined requests in odd cuts, on one connection: every
** answer is framed by an exact Content-Length and the connection goes on. argv[1]: the example server.
*/
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int port;

static int connect_to_server(void) {
  struct sockaddr_in address;
  struct timeval limit = {20, 0};
  int s = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((uint16_t)port);
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(s, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("connect");
    exit(2);
  }
  return s;
}

/* Reads one answer by its own framing. in: what is read ahead. */
static int read_answer(int s, char *in, size_t size, size_t *have, char *head, char *content) {
  char *end, *length;
  size_t head_len, body_len;
  while (!(end = (char *)memmem(in, *have, "\r\n\r\n", 4))) {
    ssize_t n = recv(s, in + *have, size - *have, 0);
    if (n <= 0) return 0;
    *have += (size_t)n;
  }
  head_len = (size_t)(end + 4 - in);
  memcpy(head, in, head_len), head[head_len] = 0;
  length = strcasestr(head, "\r\nContent-Length: ");
  if (!length || strcasestr(length + 4, "\r\nContent-Length: ")) return 0;
  body_len = strtoul(length + 18, NULL, 10);
  while (*have < head_len + body_len) {
    ssize_t n = recv(s, in + *have, size - *have, 0);
    if (n <= 0) return 0;
    *have += (size_t)n;
  }
  memcpy(content, in + head_len, body_len), content[body_len] = 0;
  *have -= head_len + body_len;
  memmove(in, in + head_len + body_len, *have);
  return 1;
}

static void l13_pipelined_requests(void) {
  enum { REQUESTS = 40 };
  static char in[1 << 20], head[1 << 16], content[1 << 16], wire[1 << 16];
  char *payment = base64_text(PAYMENT_TEXT), *at = wire;
  size_t have = 0, cut, i, len;
  int s = connect_to_server();
  for (i = 0; i < REQUESTS; i++) {
    at += sprintf(at, "GET /weather?n=%u HTTP/1.1\r\nHost: x\r\n", (unsigned)i);
    if (i % 3) at += sprintf(at, "Payment-Signature: %s\r\n", payment);
    at += sprintf(at, "\r\n");
  }
  len = (size_t)(at - wire);
  for (at = wire, cut = 1; len; cut = cut * 3 % 1021 + 1) { /* in odd cuts */
    size_t part = cut < len ? cut : len;
    CHECK(send(s, at, part, MSG_NOSIGNAL) == (ssize_t)part);
    at += part, len -= part;
  }
  for (i = 0; i < REQUESTS; i++) {
    int whole = read_answer(s, in, sizeof in, &have, head, content);
    CHECK(whole);
    if (!whole) break;
    if (i % 3) {
      CHECK(strncmp(head, "HTTP/1.1 200 ", 13) == 0 && strstr(head, "\r\nForge-Feedback-Id: ") != NULL);
      CHECK(strncmp(content, "{\"sky\":\"clear\",\"feedback_id\":\"", 30) == 0 && content[strlen(content) - 1] == '}');
    } else {
      CHECK(strncmp(head, "HTTP/1.1 402 ", 13) == 0 && strcmp(content, "{}") == 0);
      CHECK(strstr(head, "\r\nPAYMENT-REQUIRED: ") != NULL && strlen(strstr(head, "PAYMENT-REQUIRED: ")) > 700);
    }
  }
  CHECK(have == 0); /* nothing between or after the answers */
  /* And the connection goes on. */
  len = (size_t)sprintf(wire, "GET / HTTP/1.1\r\n\r\n");
  CHECK(send(s, wire, len, MSG_NOSIGNAL) == (ssize_t)len);
  CHECK(read_answer(s, in, sizeof in, &have, head, content) && have == 0);
  close(s);
  free(payment);
}

static void l13_a_client_that_leaves(void) {
  int s = connect_to_server(), again;
  static char in[1 << 16], head[1 << 16], content[1 << 16];
  size_t have = 0;
  struct linger now = {1, 0};
  CHECK(send(s, "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHo", 38, MSG_NOSIGNAL) == 38);
  setsockopt(s, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(s);
  again = connect_to_server();
  CHECK(send(again, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) == 18);
  CHECK(read_answer(again, in, sizeof in, &have, head, content));
  close(again);
}

static void the_server_answers_the_rating_routes(void) {
  static char in[1 << 16], head[1 << 16], content[1 << 16], wire[256];
  size_t have = 0, len;
  int s = connect_to_server();
  len = (size_t)sprintf(wire, "GET /feedback/rate?feedback_id=junk&outcome=fully HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
  CHECK(send(s, wire, len, MSG_NOSIGNAL) == (ssize_t)len);
  CHECK(read_answer(s, in, sizeof in, &have, head, content) && strncmp(head, "HTTP/1.1 4", 10) == 0 && content[0] == '{');
  CHECK(read_answer(s, in, sizeof in, &have, head, content) && strncmp(head, "HTTP/1.1 402 ", 13) == 0 && have == 0);
  close(s);
}

static const test tests[] = {
  {"L13 pipelined requests on one connection", l13_pipelined_requests},
  {"L13 a client that leaves", l13_a_client_that_leaves},
  {"the server answers the rating routes", the_server_answers_the_rating_routes},
};

int main(int argc, char **argv) {
  int pipes[2], failed;
  char line[128] = "";
  pid_t server;
  FILE *from;
  if (argc != 2 || pipe(pipes) != 0) return 2;
  server = fork();
  if (server == 0) {
    dup2(pipes[1], 1);
    close(pipes[0]), close(pipes[1]);
    execl(argv[1], argv[1], "0", (char *)NULL);
    _exit(127);
  }
  close(pipes[1]);
  from = fdopen(pipes[0], "r");
  if (!from || !fgets(line, sizeof line, from) || sscanf(line, "http://127.0.0.1:%d/", &port) != 1) {
    fprintf(stderr, "the server said: %s\n", line);
    return 2;
  }
  failed = check_run(tests, COUNT(tests));
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  fclose(from);
  return failed;
}
