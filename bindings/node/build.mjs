// Builds the addon with cargo and puts it where lib/native.js looks: prebuilt/forge_x402.<platform>.node.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const profile = process.argv.includes("--debug") ? "dev" : "release";
execFileSync("cargo", ["build", "-p", "forge-x402-node", "--profile", profile, "--locked"], { cwd: root, stdio: "inherit" });

const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const built = { linux: "libforge_x402_node.so", darwin: "libforge_x402_node.dylib", win32: "forge_x402_node.dll" }[process.platform];
const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const to = join(here, "prebuilt", `forge_x402.${process.platform}-${process.arch}${musl ? "-musl" : ""}.node`);
mkdirSync(dirname(to), { recursive: true });
// A new file, renamed into place: overwriting one that a process has mapped would crash that process.
copyFileSync(join(target, profile === "dev" ? "debug" : "release", built), `${to}.new`);
renameSync(`${to}.new`, to);
console.log(`built ${to.slice(root.length + 1)}`);
