// One Python process that asks on behalf of aiohttp, requests and httpx.
//
// E2E_PYTHON names an interpreter that has them (requirements.txt); without it a virtual environment is made once beside this
// file.

import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

export function startPython() {
  const child = spawn(interpreter(), [here("clients.py")], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = [];
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift().resolve(JSON.parse(line)));
  child.on("exit", (code) => waiting.splice(0).forEach(({ reject }) => reject(new Error(`clients.py ended with ${code}`))));
  return {
    ask: (client, url, headers) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.stdin.write(`${JSON.stringify({ client, url, headers })}\n`);
      }),
    close: () =>
      new Promise((resolve) => {
        child.once("exit", resolve);
        child.stdin.end();
      }),
  };
}

function interpreter() {
  if (process.env.E2E_PYTHON) return process.env.E2E_PYTHON;
  const python = here(".venv/bin/python");
  if (!existsSync(here(".venv/ready"))) {
    execFileSync("python3", ["-m", "venv", here(".venv")], { stdio: "inherit" });
    execFileSync(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", here("requirements.txt")], { stdio: "inherit" });
    execFileSync("touch", [here(".venv/ready")]);
  }
  return python;
}
