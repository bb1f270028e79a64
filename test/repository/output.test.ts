// Builds that were ended half-way, and checkouts in which sources have gone.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = new URL("../../scripts/output.mjs", import.meta.url).href;
let packages: string;

function write(...files: string[]): void {
  for (const file of files) {
    mkdirSync(join(packages, "one", file, ".."), { recursive: true });
    writeFileSync(join(packages, "one", file), "");
  }
}

function mend(): void {
  const program = `import { mendOutput } from ${JSON.stringify(script)}; mendOutput(process.argv[1]);`;
  execFileSync(process.execPath, ["--input-type=module", "-e", program, packages]);
}

const has = (file: string): boolean => existsSync(join(packages, "one", file));

describe("projectsIn", () => {
  it("passes over what another version has left", () => {
    const folder = mkdtempSync(join(tmpdir(), "quicrpc-projects-"));
    for (const name of ["here", "gone"]) mkdirSync(join(folder, name, "dist"), { recursive: true });
    writeFileSync(join(folder, "here/package.json"), "{}");
    writeFileSync(join(folder, "README.md"), "");
    const program = `import { projectsIn } from ${JSON.stringify(script)}; console.log(projectsIn(process.argv[1]).join());`;
    const args = ["--input-type=module", "-e", program, folder];
    expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe("here\n");
    rmSync(folder, { recursive: true });
  });
});

describe("mendOutput", () => {
  beforeEach(() => {
    packages = mkdtempSync(join(tmpdir(), "quicrpc-output-"));
    write("tsconfig.json", "tsconfig.tsbuildinfo", "src/a.ts", "src/b.test.ts", "src/deep/c.tsx");
    write("dist/a.js", "dist/a.d.ts", "dist/a.js.map", "dist/deep/c.js", "dist/notes.json");
  });
  afterEach(() => rmSync(packages, { recursive: true }));

  it("leaves what is whole as it is", () => {
    mend();
    const whole = [
      "dist/a.js",
      "dist/a.d.ts",
      "dist/a.js.map",
      "dist/deep/c.js",
      "dist/notes.json",
      "tsconfig.tsbuildinfo",
    ];
    expect(whole.filter((file) => !has(file))).toEqual([]);
  });

  it("deletes output of sources that are gone", () => {
    write("dist/gone.js", "dist/gone.d.ts", "dist/gone.d.ts.map", "dist/deep/gone.js");
    mend();
    expect(["dist/gone.js", "dist/gone.d.ts", "dist/gone.d.ts.map", "dist/deep/gone.js"].filter(has)).toEqual([]);
    expect(has("tsconfig.tsbuildinfo")).toBe(true);
  });

  it.each(["dist/a.js", "dist/deep/c.js", "dist"])("without %s the compiler builds the package anew", (file) => {
    rmSync(join(packages, "one", file), { recursive: true });
    mend();
    expect(has("tsconfig.tsbuildinfo")).toBe(false);
  });
});
