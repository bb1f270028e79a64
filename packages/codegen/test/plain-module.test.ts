import { expect, test } from "vitest";
import { PREFIX, plainModule } from "../src/plain-module.js";
import { ts } from "../src/source/compiler.js";

const convert = (source: string): string | undefined =>
  plainModule(ts.createSourceFile("a.ts", source, ts.ScriptTarget.ES2022, false), source, "require(");

test("a module of constants becomes CommonJS, each piece where it was", () => {
  const source = `import { rpc, service as make, type ServiceSchema } from "@quicrpc/core";
import {
  z,
} from "zod";
/** A user. */
const User = z.object({ id: z.int() });
export const A = make("a.A", { get: rpc({ output: User }) }), B = 2;
`;
  expect(convert(source)).toBe(`${PREFIX}const { rpc, service: make } = require("@quicrpc/core");
const { z } = require("zod");


/** A user. */
const User = z.object({ id: z.int() });
       const A = make("a.A", { get: rpc({ output: User }) }), B = 2;

Object.defineProperty(exports, "__esModule", { value: true }); exports.A = A; exports.B = B;
`);
});

test.each([
  'import { User } from "./user.js";',
  'import { User } from "@/user";',
  'import zod from "zod";',
  'import * as zod from "zod";',
  'import "zod";',
  'export { z } from "zod";',
  "export default 1;",
  "export const a: number = 1;",
  "export const a = 1 as const;",
  "export const a = f<string>();",
  "export const f = <T>(x) => x;",
  "export const f = (x?: string) => x;",
  "export const { a } = { a: 1 };",
  "declare const a;",
  "enum E { A }",
  "type A = 1;",
  "function f() {}",
])("%s is left to the compiler", (source) => {
  expect(convert(source)).toBeUndefined();
});
