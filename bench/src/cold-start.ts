// Time from the start of a process to its first served call: `npm run bench start [-- rounds]`. One process is server
// and client; Node's own start is not counted. Contestants take turns, so that other load on the machine affects all
// alike.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generate } from "@quicrpc/codegen";
import { transformSync } from "esbuild";
import { temporaryCertificate } from "./certificate.js";
import type { ColdStart } from "./cold-start-process.js";
import { schemaOfMany } from "./many-schema.js";
import { median } from "./median.js";
import { round } from "./rows.js";

const CONTESTANTS = [
  "quicrpc",
  "quicrpc, tls://",
  "@grpc/grpc-js",
  "connect-node (HTTP/2)",
  "tRPC (WebSocket)",
  "capnweb (WebSocket)",
  "socket.io acks",
  "floor: msgpackr over TLS",
];
const [rounds = 11] = process.argv.slice(2).map(Number);
const program = fileURLToPath(new URL("./cold-start-process.js", import.meta.url));
const folder = fileURLToPath(new URL("../.cache/cold-start", import.meta.url));

const { cert, key } = await temporaryCertificate();
const cases: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(CONTESTANTS.map((name) => [name, [program, name, cert, key]])),
  "client of 500 methods, imported": [program, "import", await clientOfMany()],
};
const measured = new Map<string, ColdStart[]>();
for (let done = 0; done < rounds; done++) {
  for (const [name, args] of Object.entries(cases)) {
    const one = JSON.parse(execFileSync(process.execPath, ["--expose-gc", ...args], { encoding: "utf8" })) as ColdStart;
    measured.set(name, [...(measured.get(name) ?? []), one]);
  }
}
console.log(
  `Node ${process.version}, medians of ${rounds} processes each; heap and memory beyond those of Node itself`,
);
console.table(
  Object.fromEntries(
    Array.from(measured, ([name, all]) => {
      const of = (pick: (one: ColdStart) => number, digits: number): number => round(median(all.map(pick)), digits);
      return [
        name,
        {
          "import, ms": of((one) => one.importMs, 0),
          "first call, ms": of((one) => one.callMs, 0),
          "CPU, ms": of((one) => one.cpuMs, 0),
          "heap, MB": of((one) => one.heapMegabytes, 1),
          "memory, MB": of((one) => one.megabytes, 0),
        },
      ];
    }),
  ),
);

/** Returns the path of a generated client of 10 services with 50 methods each, as JavaScript. */
async function clientOfMany(): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const schema = join(folder, "many.service.ts");
  writeFileSync(schema, schemaOfMany({ services: 10, methods: 50 }));
  const { files, diagnostics } = await generate({ files: [schema], importExtension: "js", target: "client" });
  if (diagnostics.length > 0) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
  for (const { path, text } of files) {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path.replace(/\.ts$/, ".js"), transformSync(text, { loader: "ts" }).code);
  }
  return join(folder, "generated/many.js");
}
