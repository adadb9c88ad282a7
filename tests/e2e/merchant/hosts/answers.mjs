// What the merchants of all hosts answer: `{ status, headers, body }` for what they were handed.

const json = (value) => ({ status: 200, headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });

export function answer({ method, path, url, header, body }) {
  switch (`${method} ${path}`) {
    case "GET /weather":
      return json({ city: "Oslo", weather: "foggy", temperature: 60 });
    case "GET /free":
      return json({ free: true });
    case "GET /paid/text":
      return { status: 200, headers: { "Content-Type": "text/plain" }, body: "caf\u00e9\n" };
    case "GET /paid/cookies":
      return { status: 200, headers: { "Content-Type": "application/json", "Set-Cookie": ["a=1", "b=2"] }, body: '{"cookies":2}' };
    case "GET /paid/seen":
    case "POST /paid/seen":
    case "POST /free-seen":
      return json({ url, contentLength: header("content-length") ?? null, body: body.length > 2_000 ? body.length : body.toString() });
    case "GET /paid/throws":
      throw new Error("thrown by the handler");
    default:
      return { status: 404, headers: { "Content-Type": "application/json" }, body: '{"error":"not found"}' };
  }
}
