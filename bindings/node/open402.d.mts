// The ESM face of open402.d.ts.
export * from "./open402.js";
