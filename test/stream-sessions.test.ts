// The behaviours, with clients by `createStreamSession`: `behaviour/stream-sessions.ts` says what they cannot show.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const vitest = join(root, "node_modules/vitest/vitest.mjs");

const files = (
  "admission basic bytes cancellation datagrams deadlines drain errors extremes foreign-streams interceptors kill leaks limits long-streams " +
  "metadata schemas sessions slow-reader stream-limit typed-errors unserved"
).split(" ");
/** Tests of these that must pass, at least. */
const LEAST = 295;

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

async function run(report: string): Promise<Report> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const child = spawn(
    process.execPath,
    [
      vitest,
      "run",
      "--reporter=json",
      `--outputFile=${report}`,
      ...files.map((file) => `test/behaviour/${file}.test.ts`),
    ],
    { cwd: root, env: { ...Object.fromEntries(own), QUICRPC_STREAM_SESSIONS: "1" }, stdio: ["ignore", "pipe", "pipe"] },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (!existsSync(report)) throw new Error(`vitest ended with ${String(code)} and no report:\n${output}`);
  return JSON.parse(readFileSync(report, "utf8")) as Report;
}

it("clients with a stream for each call behave as others do", { timeout: 300_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "quicrpc-streams-"));
  try {
    const { testResults } = await run(join(directory, "report.json"));
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = tests.filter(({ status }) => status === "failed");
    expect(failed.map(({ fullName, failureMessages }) => [fullName, ...failureMessages])).toEqual([]);
    expect(tests.filter(({ status }) => status === "passed").length).toBeGreaterThanOrEqual(LEAST);
  } finally {
    await rm(directory, { recursive: true });
  }
});
