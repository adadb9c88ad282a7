/* layout.c - prints sizes and offsets of every struct; capi/abi/layout.txt is what a 64-bit system must print. */
#include <stdio.h>
#include "forge_x402.h"
#include "forge_x402.h" /* twice is fine */

#define STRUCT(name) printf("%s %zu\n", #name, sizeof(name))
#define FIELD(name, field) printf("  %s %zu %zu\n", #field, offsetof(name, field), sizeof(((name *)0)->field))

int main(void) {
  STRUCT(fx402_span);
  FIELD(fx402_span, ptr); FIELD(fx402_span, len);
  STRUCT(fx402_buf);
  FIELD(fx402_buf, ptr); FIELD(fx402_buf, len); FIELD(fx402_buf, cap);
  STRUCT(fx402_header);
  FIELD(fx402_header, name); FIELD(fx402_header, value);
  STRUCT(fx402_error);
  FIELD(fx402_error, struct_size); FIELD(fx402_error, status); FIELD(fx402_error, message);
  STRUCT(fx402_headers);
  FIELD(fx402_headers, items); FIELD(fx402_headers, count); FIELD(fx402_headers, packed);
  STRUCT(fx402_request_in);
  FIELD(fx402_request_in, struct_size); FIELD(fx402_request_in, flags);
  FIELD(fx402_request_in, method); FIELD(fx402_request_in, target); FIELD(fx402_request_in, scheme);
  FIELD(fx402_request_in, authority); FIELD(fx402_request_in, route); FIELD(fx402_request_in, client_ip);
  FIELD(fx402_request_in, headers); FIELD(fx402_request_in, body);
  STRUCT(fx402_response_in);
  FIELD(fx402_response_in, struct_size); FIELD(fx402_response_in, flags); FIELD(fx402_response_in, http_status);
  FIELD(fx402_response_in, reserved); FIELD(fx402_response_in, route); FIELD(fx402_response_in, headers);
  FIELD(fx402_response_in, body);
  STRUCT(fx402_outcome);
  FIELD(fx402_outcome, struct_size); FIELD(fx402_outcome, kind); FIELD(fx402_outcome, http_status);
  FIELD(fx402_outcome, reserved); FIELD(fx402_outcome, body_bytes);
  STRUCT(fx402_edit);
  FIELD(fx402_edit, op); FIELD(fx402_edit, reserved); FIELD(fx402_edit, name); FIELD(fx402_edit, value);
  STRUCT(fx402_verdict);
  FIELD(fx402_verdict, struct_size); FIELD(fx402_verdict, action); FIELD(fx402_verdict, http_status);
  FIELD(fx402_verdict, flags); FIELD(fx402_verdict, edits); FIELD(fx402_verdict, edits_len);
  FIELD(fx402_verdict, target); FIELD(fx402_verdict, body); FIELD(fx402_verdict, feedback_id);
  FIELD(fx402_verdict, body_limit);
  STRUCT(fx402_stats);
  FIELD(fx402_stats, struct_size); FIELD(fx402_stats, worker_running); FIELD(fx402_stats, generation);
  FIELD(fx402_stats, queued); FIELD(fx402_stats, sent); FIELD(fx402_stats, dropped);
  FIELD(fx402_stats, failed_posts); FIELD(fx402_stats, internal_errors); FIELD(fx402_stats, minted);
  FIELD(fx402_stats, described); FIELD(fx402_stats, skipped);
  return 0;
}
