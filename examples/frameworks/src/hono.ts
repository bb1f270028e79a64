// Hono, on any of its runtimes.
import { Hono } from "hono";
import { handler } from "./greeter.js";

export const app: Hono = new Hono();
app.get("/", (context) => context.text("Hono"));
app.all("/rpc/*", ({ req }) => handler(req.raw));
