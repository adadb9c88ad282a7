// The ESM face of client.d.ts.
export * from "./client.js";
