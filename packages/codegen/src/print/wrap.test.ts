import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_WIDTH, wrapLines } from "./wrap.js";

const long = (text: string): string => text.padEnd(50, "x");
const [a, b, c] = ["a", "b", "c"].map(long);

test.each([
  ["arguments", `call(${a}, ${b}, ${c});`, `call(\n  ${a},\n  ${b},\n  ${c},\n);`],
  [
    "the object that is the last argument",
    `call("x", { ${a}, ${b}, ${c} });`,
    `call("x", {\n  ${a},\n  ${b},\n  ${c},\n});`,
  ],
  ["parameters", `f(${a}: A, ${b}: B, c: C): D;`, `f(\n  ${a}: A,\n  ${b}: B,\n  c: C,\n): D;`],
  [
    "the union that a function returns",
    `f(p: A): ${a} | ${b} | ${c};`,
    `f(\n  p: A,\n):\n  | ${a}\n  | ${b}\n  | ${c};`,
  ],
  ["the type of a quoted name", `"a (b": ${a} | ${b} | ${c};`, `"a (b":\n  | ${a}\n  | ${b}\n  | ${c};`],
  ["options of a union", `type A = ${a} | ${b} | ${c};`, `type A =\n  | ${a}\n  | ${b}\n  | ${c};`],
  ["fields of a type", `let x: { ${a}: A; ${b}: B; c: C };`, `let x: {\n  ${a}: A;\n  ${b}: B;\n  c: C;\n};`],
  [
    "exports of types",
    `export type { ${a}, ${b}, ${c} } from "./a.js";`,
    `export type {\n  ${a},\n  ${b},\n  ${c},\n} from "./a.js";`,
  ],
  [
    "a value that is too long for its line",
    `const ${a} = wire${b}.${c}(a, b);`,
    `const ${a} =\n  wire${b}.${c}(a, b);`,
  ],
  ["a condition", `if (${a} && ${b} && ${c}) {`, `if (\n  ${a} &&\n  ${b} &&\n  ${c}\n) {`],
  ["the statement after a condition", `if (${a} && ${b}) return ${c};`, `if (${a} && ${b}) {\n  return ${c};\n}`],
  ["a choice", `x = ${a} ? ${b} : ${c};`, `x =\n  ${a}\n    ? ${b}\n    : ${c};`],
])("breaks %s", (_, line, expected) => {
  expect(wrapLines(line)).toBe(expected);
});

test.each([
  ["a comment", ` * ${a} (${b}, ${c})`],
  ["a string", `"${a}, ${b}, (${c}"`],
  ["a pattern", `/${a}[/(]${b}|${c}/;`],
  ["a template in a template", ["`", a, "${`", b, ', ${"}"} | `} | ', c, "`"].join("")],
  ["an index", `let x: (typeof ${a})["${b}"]["${c}"];`],
])("does not break %s", (_, line) => {
  expect(wrapLines(line)).toBe(line);
});

/** Expressions whose strings contain what breaks code elsewhere. */
const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const parts = fc.array(tie("expression"), { maxLength: 6 });
  return {
    expression: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom("name", '"a, b"', '"(["', "'{\"'", "`${x}<`", "/[/](, )/u", "/* , */ 1", "() => x"),
      parts.map((items) => `call(${items.join(", ")})`),
      parts.map((items) => `[${items.join(", ")}]`),
      parts.map((items) => (items.length === 0 ? "{}" : `{ ${items.map((each, i) => `k${i}: ${each}`).join(", ")} }`)),
    ),
  };
});

const choice = fc
  .array(fc.tuple(fc.constant("name === null"), expression), { maxLength: 3 })
  .chain((cases) =>
    expression.map((last) => `${cases.map(([test, value]) => `${test} ? ${value} : `).join("")}${last}`),
  );

test("wrapping adds only white space and commas before closing brackets", () => {
  fc.assert(
    fc.property(choice, (value) => {
      const line = `const x = ${value};`;
      const wrapped = wrapLines(line);
      expect(wrapped.replaceAll(/,(?=\n *[)\]}])/g, "").replaceAll(/\s/g, "")).toBe(line.replaceAll(/\s/g, ""));
      if (line.length <= MAX_WIDTH) expect(wrapped).toBe(line);
      for (const each of wrapped.split("\n"))
        expect(each.length <= MAX_WIDTH || /^\s*\S+:? \S+$/.test(each)).toBe(true);
    }),
    { numRuns: 200 },
  );
});
