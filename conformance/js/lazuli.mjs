// Starts the built server on free ports with a data directory of its own, and stops it again.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const BINARY = process.env.LAZULI_BINARY ?? resolve(import.meta.dirname, "../../target/ci/lazuli");

/** Runs a command of the program to its end. */
export function run(...args) {
  const { status, stdout, stderr } = spawnSync(BINARY, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`lazuli ${args.join(" ")} ended with ${status}: ${stdout}${stderr}`);
}

/** Resolves to a running server: its connection string, and how to stop it. */
export async function start(...flags) {
  const data = mkdtempSync(join(tmpdir(), "lazuli-"));
  const ports = ["blob", "queue", "table", "file", "smb", "admin"].flatMap((name) => [`--${name}-port`, "0"]);
  const child = spawn(BINARY, ["serve", "--data-dir", data, "--log-level", "error", ...ports, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((done) => child.once("exit", done));
  let connectionString;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("DefaultEndpointsProtocol=")) connectionString = line;
    if (line.startsWith("Ready")) break;
  }
  if (!connectionString) throw new Error("the server ended before it printed its endpoints");
  const settings = new Map(connectionString.split(";").map((part) => [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)]));
  return {
    connectionString,
    account: settings.get("AccountName"),
    key: settings.get("AccountKey"),
    blobUrl: settings.get("BlobEndpoint"),
    fileUrl: settings.get("FileEndpoint"),
    /** Stops it, and verifies what it leaves behind. */
    async stop() {
      child.kill("SIGTERM");
      const code = await ended;
      const checked = spawnSync(BINARY, ["check", "--data-dir", data], { encoding: "utf8" });
      rmSync(data, { recursive: true });
      if (code !== 0 || checked.status !== 0) throw new Error(`ended with ${code}: ${checked.stdout}${checked.stderr}`);
    },
  };
}
