// A real nginx with the buffers Debian ships (nothing about sizes is set), in front of one merchant on loopback.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function startNginx(upstreamPort) {
  const folder = mkdtempSync(join(tmpdir(), "forge-x402-nginx-"));
  const port = await freePort();
  writeFileSync(join(folder, "nginx.conf"), configuration(folder, port, upstreamPort));
  const child = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")], { stdio: "ignore" });
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  const failed = new Promise((_, reject) => {
    child.once("error", (error) => reject(new Error(`nginx cannot be started (is it installed?): ${error.message}`)));
    child.once("exit", (code) => reject(new Error(`nginx ended with ${code}`)));
  });
  failed.catch(() => {});
  await Promise.race([listening(port), failed]);
  return {
    port,
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      process.off("exit", kill);
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configuration(folder, port, upstreamPort) {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `  ${name}_temp_path ${folder}/${name};`).join("\n");
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
${temporary}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstreamPort};
      proxy_set_header Host $http_host;
    }
  }
}
`;
}

async function listening(port) {
  for (let left = 200; left > 0; left--) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("nginx does not listen");
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
