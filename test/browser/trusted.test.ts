// `quicrpc cert trust`: browsers reach a server with the development certificate without its hash, over what takes none.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { bundle } from "./bundle.js";
import { executablePath } from "./chromium.js";
import { Firefox, firefoxPath } from "./firefox.js";
import { Site } from "./site.js";
import { Tab } from "./tab.js";

const CLI = fileURLToPath(new URL("../../packages/cli/dist/main.js", import.meta.url));
const CLIENT = `
  import { connect } from "@quicrpc/browser";
  import { methods } from "./behaviour/service.js";
  globalThis.WebTransport = undefined;
  globalThis.attempt = async (url) => {
    const connection = await connect(url);
    return { kind: connection.transport.kind, ...(await connection.unary(methods.echo, { text: "trusted" })) };
  };
  globalThis.isRefused = (url) => new Promise((resolve) => {
    const socket = new WebSocket(url);
    socket.onopen = () => resolve(false);
    socket.onerror = () => resolve(true);
  });
`;

const hasTool = spawnSync("certutil", ["-H"]).error === undefined;
if (!hasTool) console.log("skipped: what browsers trust, since certutil is missing (libnss3-tools)");

describe.skipIf(!hasTool || process.platform !== "linux")("a browser that was told by quicrpc cert trust", () => {
  let directory: string;
  let site: Site;
  let server: Server;
  /** Its certificate is signed by itself. */
  let stranger: Server;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "quicrpc-trust-"));
    site = await Site.start();
    site.files.set("/client.js", { body: await bundle(CLIENT) });
    site.files.set("/page", { body: "<!doctype html><script src=/client.js></script>", type: "text/html" });
    // Makes the authority, which the server's certificate is then signed by.
    await trust(join(directory, "unused"));
    server = await listen(directory);
    stranger = await listen(join(directory, "stranger"));
  }, 60_000);
  afterAll(async () => {
    await Promise.all([server?.close(), stranger?.close()]);
    site?.close();
    await rm(directory, { recursive: true });
  });

  async function listen(directory: string): Promise<Server> {
    return serve({
      listen: ["wss://127.0.0.1:0/rpc"],
      tls: await devCertificate({ directory }),
      routers: [behaviourRouter(new Witness())],
    });
  }

  async function trust(database: string): Promise<void> {
    const args = [CLI, "cert", "trust", "--directory", directory, "--nss", database, "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(JSON.parse(stdout)).toMatchObject({ stores: [{ store: database, outcome: "done" }] });
  }

  async function reaches(tab: Pick<Tab, "evaluate">): Promise<void> {
    await expect.poll(() => tab.evaluate("typeof attempt")).toBe("function");
    const [url, other] = [server, stranger].map(({ address }) => `127.0.0.1:${address.port}/rpc`);
    expect(await tab.evaluate(`attempt("https://${url}")`)).toEqual({ kind: "websocket", text: "trusted" });
    expect(await tab.evaluate(`isRefused("wss://${other}")`)).toBe(true);
  }

  it.skipIf(firefoxPath === undefined)("is Firefox", async () => {
    const firefox = await Firefox.launch(firefoxPath as string, trust);
    onTestFinished(() => firefox.close());
    await reaches(await firefox.open(`${site.origin}/page`));
  });

  it.skipIf(executablePath === undefined)("is Chromium", async () => {
    const prepare = (home: string): Promise<void> => trust(join(home, ".pki/nssdb"));
    const tab = await Tab.open(executablePath as string, `${site.origin}/page`, prepare);
    onTestFinished(() => tab.close());
    await reaches(tab);
  });
});
