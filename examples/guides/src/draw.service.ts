import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

const Stroke = z.object({ x: z.number(), y: z.number() });

// #region schema
export const Draw = service("draw.v1.Draw", {
  strokes: rpc({ input: stream(Stroke), output: stream(Stroke), resumable: true }),
});
// #endregion schema
