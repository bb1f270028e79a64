import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { platformName } from "../scripts/platforms.mjs";

const packageRoot = fileURLToPath(new URL("..", import.meta.url));
const platform = platformName();
let copy: string;

/** The error of binding with a copy of the package whose engine is `engine`; undefined where it binds. */
function bindWith(engine: string | undefined): { code: string; message: string } | undefined {
  if (engine !== undefined) {
    mkdirSync(join(copy, "prebuilds"));
    writeFileSync(join(copy, "prebuilds", `${platform}.node`), engine);
  }
  const program = `
    import { Endpoint } from ${JSON.stringify(pathToFileURL(join(copy, "dist/index.js")).href)};
    try { await Endpoint.bind().close(); } catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }`;
  const said = spawnSync(process.execPath, ["--input-type=module", "-e", program]).stdout.toString();
  return said === "" ? undefined : JSON.parse(said);
}

function failureWith(engine: string | undefined): { code: string; message: string } {
  const error = bindWith(engine);
  if (error === undefined) throw new Error("it was bound");
  return error;
}

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "quicrpc-"));
  cpSync(join(packageRoot, "dist"), join(copy, "dist"), { recursive: true });
  writeFileSync(join(copy, "package.json"), '{ "name": "@quicrpc/quic", "type": "module" }');
});
afterEach(() => rmSync(copy, { recursive: true }));

/** The copy's package.json, as published with engines for these platforms. */
function publishedWith(...platforms: string[]): void {
  const optionalDependencies = Object.fromEntries(platforms.map((name) => [`@quicrpc/quic-${name}`, "0.1.0"]));
  writeFileSync(
    join(copy, "package.json"),
    JSON.stringify({ name: "@quicrpc/quic", type: "module", optionalDependencies }),
  );
}

test("without an engine in a checkout one error says how to build it", () => {
  const { code, message } = failureWith(undefined);
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(`not available on ${platform}: it has not been built`);
  expect(message).toContain('Build it with "npm run build:native -w @quicrpc/quic"');
});

test("where the package of the platform's engine is not installed, the error names it and says why that may be", () => {
  publishedWith("plan9-x64", platform);
  const { code, message } = failureWith(undefined);
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(`@quicrpc/quic-${platform} is not installed. Install with optional dependencies`);
});

test("on a platform that has none the error says which have, and what works here", () => {
  publishedWith("plan9-x64", "plan9-arm64");
  const { code, message } = failureWith(undefined);
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(
    `not available on ${platform}: there is no engine for it (there is one for plan9-x64, plan9-arm64)`,
  );
  expect(message).toContain("wss:// and tls://");
});

test("the engine of the platform's own package is found", () => {
  publishedWith(platform);
  const installed = join(copy, "node_modules/@quicrpc", `quic-${platform}`);
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), '{ "main": "engine.node" }');
  writeFileSync(join(installed, "engine.node"), "no library");
  expect(failureWith(undefined).message).toContain(`not available on ${platform}: the engine could not be loaded`);
});

test("in a bundle that has none near, the error says where it is looked for", () => {
  writeFileSync(join(copy, "package.json"), '{ "name": "app", "type": "module" }');
  const { message } = failureWith(undefined);
  expect(message).toContain(
    `@quicrpc/quic-${platform} was found neither from ${join(copy, "dist/engine-file.js")} nor`,
  );
  expect(message).toContain("mark @quicrpc/quic as external for the bundler");
});

test("an engine that cannot be loaded is named with the reason", () => {
  const { code, message } = failureWith("no library");
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(`not available on ${platform}: the engine could not be loaded`);
});

test.each([
  ["prebuilds", `${platform}.node`, "npm run build"],
  [`node_modules/@quicrpc/quic-${platform}`, "index.node", "install again"],
])("an engine in %s of another layout than the package is not used", (folder, name, remedy) => {
  const layout = join(copy, "dist/native-layout.js");
  const path = join(copy, folder, name);
  publishedWith(platform);
  mkdirSync(join(copy, folder), { recursive: true });
  const engine = join(packageRoot, "prebuilds", `${platform}.node`);
  if (existsSync(engine)) cpSync(engine, path);
  writeFileSync(join(copy, folder, "package.json"), '{ "main": "index.node" }');
  expect(bindWith(undefined)).toBeUndefined();

  writeFileSync(layout, readFileSync(layout, "utf8").replace(/ LAYOUT = \d+/, " LAYOUT = 1"));
  const { code, message } = failureWith(undefined);
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(`the engine in ${path} has another version than @quicrpc/quic in ${copy}`);
  expect(message).toContain(remedy);
});
