import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect } from "@quicrpc/node";
import { expect, it } from "vitest";
import { attach } from "./attached.js";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";

it("serves sessions on the port of an HTTP server", async () => {
  const server = attach((_, response) => response.end("a page"), [createNotesRouter(createNotes())], 0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = await connect(`ws://localhost:${port}/rpc`);
  const notes = createNotesClient(connection);
  const { id } = await notes.save({ text: "milk" });
  expect(await notes.get({ id })).toMatchObject({ text: "milk" });
  expect(await (await fetch(`http://localhost:${port}/`)).text()).toBe("a page");
  await connection.close();
  server.close();
});
