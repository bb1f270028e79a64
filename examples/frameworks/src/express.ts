// Express 5. The handler reads bodies itself: mount it before express.json().
import { toNodeHandler } from "@quicrpc/http";
import express, { type Express } from "express";
import { handler } from "./greeter.js";

export const app: Express = express();
app.use("/rpc", toNodeHandler(handler));
app.use(express.json());
app.get("/", (_, response) => void response.send("Express"));
