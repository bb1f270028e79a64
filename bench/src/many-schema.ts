/** Returns a typical schema file: shared types, checks and lists; every fifth method streams. */
export function schemaOfMany({ services, methods }: { readonly services: number; readonly methods: number }): string {
  const method = (index: number): string => `  /** Method ${index}. */
  method${index}: rpc({
    input: z.object({ id: z.int(), user: User, tags: z.array(z.string()).max(10), at: z.date().optional() }),
    output: ${index % 5 === 0 ? "stream(" : ""}z.object({ ok: z.boolean(), list: z.array(z.object({ a: z.number(), b: z.string().nullable() })) })${index % 5 === 0 ? ")" : ""},
  }),\n`;
  const written = Array.from({ length: services }, (_, service) => {
    const lines = Array.from({ length: methods }, (_, index) => method(index)).join("");
    return `export const Service${service} = service("bench.v1.Service${service}", {\n${lines}});\n`;
  });
  return `import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";
const User = z.object({ id: z.uuid(), name: z.string().min(1), email: z.email().optional(), role: z.enum(["a", "b"]).default("a") });
${written.join("")}`;
}
