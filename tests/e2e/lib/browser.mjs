// The request headers that make x402 servers answer with a page for people instead of JSON for programs.

export const BROWSER = { Accept: "text/html,application/xhtml+xml", "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)" };
