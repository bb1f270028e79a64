import {
  type AnyMethod,
  bytesCodec,
  defineMethod,
  type MessageCodec,
  onceCalls,
  uncheckedCodec,
} from "@quicrpc/core/generated";
import type { MethodDescription, ServiceDescription } from "./generated/reflection.js";

/** Makes a method that reflection describes callable, without its schema: values travel as they are, and the server validates. */
export function describedMethod({ name: service, id }: ServiceDescription, described: MethodDescription): AnyMethod {
  const { kind, name, idempotent, once, meta, id: its } = described;
  const input = codecOf(described.takes);
  const output = codecOf(described.gives);
  const options = {
    id: its,
    idempotent,
    ...(once === true && { once: onceCalls }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(meta !== undefined && { meta }),
  };
  return defineMethod({ name: service, id }, kind, name, options);
}

function codecOf(form: MethodDescription["takes"]): MessageCodec<unknown> | undefined {
  if (form === "nothing") return undefined;
  return form === "bytes" ? bytesCodec : uncheckedCodec();
}
