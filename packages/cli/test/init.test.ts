import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, quicrpc, write } = useProject();

const read = (path: string): string => readFileSync(join(cwd, path), "utf8");
const init = (...args: string[]): { added: string[]; kept: string[]; notes: string[] } => {
  const { code, stdout, stderr } = quicrpc(["init", "--no-install", "--json", ...args]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout);
};

test.each(["node", "browser", "react", "monorepo", "next"])(
  "makes a project by the template %s, twice the same",
  (template) => {
    const { added, kept, notes } = init("My App", "--template", template);
    expect(added).toContain("package.json");
    expect(added).toContain("README.md");
    expect(added).toContain(".gitignore");
    expect(kept).toEqual([]);
    expect(notes).toEqual([]);
    const manifest = JSON.parse(read("My App/package.json"));
    expect(manifest).toMatchObject({ name: "my-app", type: "module", scripts: { gen: "quicrpc gen" } });
    expect(manifest.devDependencies.quicrpc).toBe("0.1.0");
    for (const script of ["dev", "test", "lint", "build", "start"])
      expect(manifest.scripts[script]).toBeTypeOf("string");
    expect(read("My App/README.md")).toMatch(/^# my-app\n/);
    const before = read("My App/package.json");
    const again = init("My App", "--template", template);
    expect(again.added).toEqual([]);
    expect(again.notes).toEqual(["nothing was changed: the project already has all parts of the template"]);
    expect(read("My App/package.json")).toBe(before);
  },
);

test("gives a new project pnpm's settings if pnpm makes it, and a package of an existing project none", () => {
  const env = { npm_config_user_agent: "pnpm/12.0.0 npm/? node/v24.0.0 linux x64" };
  expect(quicrpc(["init", "app", "--no-install"], env).code).toBe(0);
  expect(read("app/pnpm-workspace.yaml")).toContain("esbuild: false");
  write("part/package.json", "{}");
  expect(quicrpc(["init", "part", "--no-install"], env).code).toBe(0);
  expect(existsSync(join(cwd, "part/pnpm-workspace.yaml"))).toBe(false);
});

test("adds what a project lacks, replaces nothing, and says so", () => {
  write(
    "package.json",
    JSON.stringify({ name: "shop", scripts: { test: "vitest" }, devDependencies: { zod: "^4.1.0" }, private: true }),
  );
  write("src/server.ts", "// mine\n");
  const { added, kept, notes } = init();
  expect(added).toContain("src/greeter.service.ts");
  expect(added).toContain("package.json: scripts dev");
  expect(added).toContain("package.json: dependencies @quicrpc/core");
  expect(kept).toEqual(["package.json: scripts test", "package.json: dependencies zod", "src/server.ts"]);
  expect(notes).toEqual([`package.json has no "type": "module": set it, or rename the written files to .mts`]);
  expect(read("src/server.ts")).toBe("// mine\n");
  expect(JSON.parse(read("package.json"))).toMatchObject({
    name: "shop",
    private: true,
    scripts: { test: "vitest", dev: "quicrpc dev src/server.ts" },
    devDependencies: { zod: "^4.1.0", quicrpc: "0.1.0" },
  });
});

test("says where a project's own tsconfig.json finds no packages of modules", () => {
  write("package.json", JSON.stringify({ type: "module" }));
  write("tsconfig.json", '{ "compilerOptions": { "module": "commonjs" } }');
  expect(init().notes).toEqual([`tsconfig.json does not resolve "exports" of packages: set "module": "nodenext"`]);
  expect(read("tsconfig.json")).toContain("commonjs");
  write("tsconfig.json", '{ "compilerOptions": { "module": "NodeNext" } }');
  expect(init().notes.join()).not.toContain("tsconfig.json");
});

test("leaves the sample out where there are schemas", () => {
  write("package.json", JSON.stringify({ type: "module" }));
  write("api/shop.service.ts", "export {};\n");
  const { added, notes } = init();
  expect(added.filter((what) => !what.startsWith("package.json"))).toEqual([".gitignore", "tsconfig.json"]);
  expect(notes).toEqual(["the project has its own schemas: the template's sample was left out"]);
  expect(existsSync(join(cwd, "src"))).toBe(false);
});

test("says what is wrong", () => {
  expect(quicrpc(["init", "--template", "vue"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("node, browser, react"),
  });
  write("a-file", "");
  expect(quicrpc(["init", "a-file", "--no-install"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("a-file is a file: name a folder"),
  });
  write("package.json", "{");
  expect(quicrpc(["init", "--no-install"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("package.json is not valid JSON"),
  });
});
