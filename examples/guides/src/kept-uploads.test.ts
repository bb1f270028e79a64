import { once } from "node:events";
import { readdir } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { devCertificate } from "@quicrpc/node";
import { expect, it, vi } from "vitest";
import { createNotesRouter } from "./generated/notes.js";
import { serveUploads } from "./kept-uploads.js";
import { placed } from "./loopback.js";
import { createNotes } from "./notes.js";

vi.mock(import("@quicrpc/node"), async (actual) => {
  const { nodeOnLoopback, placed } = await import("./loopback.js");
  const { fileUploads, ...rest } = nodeOnLoopback(await actual());
  return { ...rest, fileUploads: (folder, options) => fileUploads(placed(folder), options) };
});

it("what was uploaded waits for its call in a folder", async () => {
  const tls = await devCertificate();
  const server = await serveUploads([createNotesRouter(createNotes())], tls);
  const url = new URL("/notes.v1.Notes/upload/file", server.urls[0]);
  const post = request({
    host: url.hostname,
    port: url.port,
    path: url.pathname,
    method: "POST",
    ca: tls.cert,
    servername: "localhost",
    headers: { "content-type": "image/png" },
  });
  post.end(new Uint8Array(2000));
  const [response] = (await once(post, "response")) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(201);
  expect(await readdir(placed("/var/lib/orders/uploads"))).not.toEqual([]);
});
