import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const packages = fileURLToPath(new URL("../../packages", import.meta.url));
const files = readdirSync(packages).flatMap((name) =>
  readdirSync(`${packages}/${name}/src`, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => `${name}/src/${file}`),
);

/** Names of the fields of the classes in `source` that get no value when an object is made. */
function fieldsWithoutValue(source: string): string[] {
  const classes = source.match(/^(?:export )?(?:abstract )?class [\s\S]*?^\}/gm) ?? [];
  return classes.flatMap((text) => {
    const made = /^ {2}(?:private |protected )?constructor\([\s\S]*?^ {2}\}/m.exec(text)?.[0] ?? "";
    const fields = text.matchAll(
      /^ {2}(?:(?:private|protected|override|readonly) )*(\w+)\??: .*\bundefined(?<!= undefined);$/gm,
    );
    return [...fields].map(([, name = ""]) => name).filter((name) => !new RegExp(`this\\.${name}\\b`).test(made));
  });
}

describe("fields of classes", () => {
  // A field that is first set later makes objects of one class differ in shape, which slows down every place that reads them.
  it("all have a value when an object is made", () => {
    const found = files.flatMap((file) => {
      const names = fieldsWithoutValue(readFileSync(`${packages}/${file}`, "utf8"));
      return names.map((name) => `${file}: ${name}`);
    });
    expect(found).toEqual([]);
  });

  it("are found where they have none", () => {
    const source = [
      "export class Example {",
      "  private later: string | undefined;",
      "  readonly given: string | undefined;",
      "  private empty: string | undefined = undefined;",
      "  constructor(given: string | undefined) {",
      "    this.given = given;",
      "  }",
      "}",
    ];
    expect(fieldsWithoutValue(source.join("\n"))).toEqual(["later"]);
  });
});
