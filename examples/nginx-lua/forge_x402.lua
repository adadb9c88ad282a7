-- forge-x402 in nginx, through LuaJIT's FFI over libforge_x402.so: in front of an upstream that knows nothing of it.
--
-- open() in init_by_lua (before the workers fork), then one function per phase: request() in access_by_lua, head() in
-- header_filter_by_lua, body() in body_filter_by_lua, finish() in log_by_lua, close() in exit_worker_by_lua. Carries bytes
-- and decides nothing. nginx sends the head before it knows the body, so the head goes without Content-Length where the body
-- may still change (FX402_IN_HEAD_FIRST). Ratings are asked of the backend in a thread, so that no worker waits.

local ffi = require "ffi"

ffi.cdef [[
typedef struct fx402_engine fx402_engine;
typedef struct fx402_exchange fx402_exchange;
typedef struct fx402_span { const uint8_t *ptr; size_t len; } fx402_span;
typedef struct fx402_buf { uint8_t *ptr; size_t len, cap; } fx402_buf;
typedef struct fx402_header { fx402_span name, value; } fx402_header;
typedef struct fx402_error { uint32_t struct_size; int32_t status; char message[248]; } fx402_error;
typedef struct fx402_headers { const fx402_header *items; size_t count; fx402_span packed; } fx402_headers;
typedef struct fx402_request_in { uint32_t struct_size, flags; fx402_span method, target, scheme, authority, route, client_ip;
  fx402_headers headers; fx402_span body; } fx402_request_in;
typedef struct fx402_response_in { uint32_t struct_size, flags, http_status, reserved; fx402_span route; fx402_headers headers;
  fx402_span body; } fx402_response_in;
typedef struct fx402_outcome { uint32_t struct_size, kind, http_status, reserved; uint64_t body_bytes; } fx402_outcome;
typedef struct fx402_edit { uint32_t op, reserved; fx402_span name, value; } fx402_edit;
typedef struct fx402_verdict { uint32_t struct_size, action, http_status, flags; const fx402_edit *edits; size_t edits_len;
  fx402_span target, body, feedback_id; size_t body_limit; } fx402_verdict;
int32_t fx402_engine_open(uint32_t abi, fx402_span config_json, fx402_engine **out, fx402_error *err);
int32_t fx402_engine_diagnostics(const fx402_engine *e, fx402_buf *json);
int32_t fx402_engine_shutdown(const fx402_engine *e, uint32_t timeout_ms);
int32_t fx402_on_request(const fx402_engine *e, const fx402_request_in *in, fx402_exchange **ex, fx402_verdict *out, fx402_error *err);
int32_t fx402_on_request_body(fx402_exchange *ex, fx402_span body, fx402_verdict *out, fx402_error *err);
int32_t fx402_on_response(fx402_exchange *ex, const fx402_response_in *in, fx402_verdict *out, fx402_error *err);
int32_t fx402_on_response_late(const fx402_engine *e, const fx402_request_in *req, const fx402_response_in *res, fx402_exchange **ex,
  fx402_verdict *out, fx402_error *err);
int32_t fx402_exchange_wait(fx402_exchange *ex, uint32_t timeout_ms, fx402_verdict *out, fx402_error *err);
int32_t fx402_exchange_end(fx402_exchange *ex, const fx402_outcome *outcome);
void fx402_buf_free(fx402_buf *b);
]]

local ABI = 0x10000
local REPLY, WANT_BODY, WAIT = 1, 2, 3
local SET, ADD, REMOVE = 1, 2, 3
local BODY_WHOLE, BODY_NONE, HEAD_FIRST = 1, 2, 4
local TARGET_REPLACED, BODY_REPLACED = 1, 2
local DELIVERED, ABORTED = 1, 2

local M = {}
local lib, engine

local function span(text) return ffi.new("fx402_span", ffi.cast("const uint8_t *", text), #text) end
local function text(s) return ffi.string(s.ptr, s.len) end
local function new_verdict() return ffi.new("fx402_verdict", { ffi.sizeof "fx402_verdict" }) end
local function has(flags, flag) return bit.band(flags, flag) ~= 0 end

-- Header lines as C sees them. `kept` holds what the spans point to: keep it until the call is over.
local function lines(headers, kept)
  local flat = {}
  for name, value in pairs(headers) do
    for _, one in ipairs(type(value) == "table" and value or { value }) do flat[#flat + 1] = { name, tostring(one) } end
  end
  local items = ffi.new("fx402_header[?]", math.max(#flat, 1))
  for i, line in ipairs(flat) do
    items[i - 1].name, items[i - 1].value = span(line[1]), span(line[2])
  end
  kept[#kept + 1] = flat
  kept[#kept + 1] = items
  return items, #flat
end

local function request_in(kept)
  local parts = {
    method = ngx.req.get_method(), target = ngx.var.request_uri, scheme = ngx.var.scheme,
    authority = ngx.var.http_host or "", client_ip = ngx.var.remote_addr,
  }
  local into = ffi.new("fx402_request_in", { ffi.sizeof "fx402_request_in" })
  for name, value in pairs(parts) do into[name] = span(value) end
  into.headers.items, into.headers.count = lines(ngx.req.get_headers(512, true), kept)
  kept[#kept + 1] = parts
  return into
end

local function response_in(headers, flags, body, kept)
  local into = ffi.new("fx402_response_in", { ffi.sizeof "fx402_response_in", flags, ngx.status })
  into.headers.items, into.headers.count = lines(headers, kept)
  if body then
    into.body = span(body)
    kept[#kept + 1] = body
  end
  return into
end

local function apply_edits(verdict)
  for i = 0, tonumber(verdict.edits_len) - 1 do
    local edit = verdict.edits[i]
    local name, value = text(edit.name), text(edit.value)
    if edit.op == REMOVE then
      ngx.header[name] = nil
    elseif edit.op == SET or ngx.header[name] == nil then
      ngx.header[name] = value
    elseif edit.op == ADD then
      local all = ngx.header[name]
      all = type(all) == "table" and all or { all }
      all[#all + 1] = value
      ngx.header[name] = all
    end
  end
end

-- The request's body, at most limit + 1 bytes of it.
local function request_body(limit)
  ngx.req.read_body()
  local name = ngx.req.get_body_file()
  if not name then return ngx.req.get_body_data() or "" end
  local file = io.open(name, "rb")
  if not file then return nil end
  local body = file:read(limit + 1)
  file:close()
  return body or ""
end

-- Runs in a thread of nginx's pool, in a Lua state of its own, on the very same exchange: this one waits meanwhile.
function M.wait_in_thread(path, exchange, verdict)
  ffi.load(path, true).fx402_exchange_wait(ffi.cast("fx402_exchange *", exchange), 3000, ffi.cast("fx402_verdict *", verdict), nil)
  return true
end

-- config_json: the options. path: where the library is.
function M.open(config_json, path)
  M.path = path or "libforge_x402.so.1"
  lib = ffi.load(M.path)
  local out, fault = ffi.new "fx402_engine *[1]", ffi.new("fx402_error", { ffi.sizeof "fx402_error" })
  if lib.fx402_engine_open(ABI, span(config_json), out, fault) ~= 0 then error("forge-x402: " .. ffi.string(fault.message)) end
  engine = out[0]
end

function M.request()
  local kept, out, verdict = {}, ffi.new "fx402_exchange *[1]", new_verdict()
  local into = request_in(kept)
  if lib.fx402_on_request(engine, into, out, verdict, nil) ~= 0 or out[0] == nil then return end
  local x = { exchange = out[0], sent = 0 }
  ngx.ctx.forge_x402 = x
  if has(verdict.flags, TARGET_REPLACED) then
    ngx.req.set_uri_args(text(verdict.target):match "%?(.*)$" or "")
  end
  if verdict.action == WANT_BODY then
    local limit = tonumber(verdict.body_limit)
    local body = request_body(limit)
    if body and lib.fx402_on_request_body(x.exchange, span(body), verdict, nil) == 0 and verdict.action ~= REPLY
        and has(verdict.flags, BODY_REPLACED) then
      ngx.req.set_body_data(text(verdict.body))
    end
  end
  if verdict.action == WAIT then
    local address = function(at) return tonumber(ffi.cast("uintptr_t", ffi.cast("void *", at))) end
    local ok, fault = ngx.run_worker_thread("forge_x402", "forge_x402", "wait_in_thread", M.path, address(x.exchange), address(verdict))
    if not ok then
      ngx.log(ngx.ERR, "forge-x402: ", fault)
      return ngx.exit(503)
    end
  end
  if verdict.action ~= REPLY then return end
  x.replied = true
  ngx.status = verdict.http_status
  apply_edits(verdict)
  if has(verdict.flags, BODY_REPLACED) then
    ngx.print(text(verdict.body))
  else
    ngx.send_headers()
  end
  return ngx.exit(ngx.HTTP_OK)
end

function M.head()
  local x = ngx.ctx.forge_x402
  if (x and x.replied) or (not x and ngx.status ~= 402) then return end
  local kept, verdict = {}, new_verdict()
  local headers = ngx.resp.get_headers(512, true)
  local none = ngx.req.get_method() == "HEAD" or ngx.status == 204 or ngx.status == 304
  local into = response_in(headers, none and BODY_NONE + HEAD_FIRST or HEAD_FIRST, nil, kept)
  if x then
    if lib.fx402_on_response(x.exchange, into, verdict, nil) ~= 0 then return end
  else
    local out = ffi.new "fx402_exchange *[1]"
    local request = request_in(kept)
    if lib.fx402_on_response_late(engine, request, into, out, verdict, nil) ~= 0 or out[0] == nil then return end
    x = { exchange = out[0], sent = 0 }
    ngx.ctx.forge_x402 = x
  end
  if verdict.action == WANT_BODY then
    x.held, x.size, x.limit, x.headers = {}, 0, tonumber(verdict.body_limit), headers
  end
  apply_edits(verdict)
end

function M.body()
  local x = ngx.ctx.forge_x402
  if not x then return end
  local chunk, last = ngx.arg[1], ngx.arg[2]
  if x.held then
    x.held[#x.held + 1] = chunk
    x.size = x.size + #chunk
    if not last and x.size <= x.limit then
      ngx.arg[1] = nil
      return
    end
    local whole, kept, verdict = table.concat(x.held), {}, new_verdict()
    x.held = nil
    if last and #whole <= x.limit and
        lib.fx402_on_response(x.exchange, response_in(x.headers, BODY_WHOLE + HEAD_FIRST, whole, kept), verdict, nil) == 0 and
        has(verdict.flags, BODY_REPLACED) then
      whole = text(verdict.body)
    end
    ngx.arg[1] = whole
    chunk = whole
  end
  x.sent = x.sent + #chunk
end

function M.finish()
  local x = ngx.ctx.forge_x402
  if not x then return end
  local kind = ngx.var.request_completion == "OK" and DELIVERED or ABORTED
  lib.fx402_exchange_end(x.exchange, ffi.new("fx402_outcome", { ffi.sizeof "fx402_outcome", kind, ngx.status, 0, x.sent }))
  ngx.ctx.forge_x402 = nil
end

-- Hands warnings to nginx's log, delivers what is queued, for timeout_ms at most.
function M.close(timeout_ms)
  local buf = ffi.new "fx402_buf"
  lib.fx402_engine_shutdown(engine, timeout_ms)
  if lib.fx402_engine_diagnostics(engine, buf) == 0 then
    local said = ffi.string(buf.ptr, buf.len)
    lib.fx402_buf_free(buf)
    if said ~= "[]" then ngx.log(ngx.WARN, "forge-x402: ", said) end
  end
end

return M
