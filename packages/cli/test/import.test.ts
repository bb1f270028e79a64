import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, quicrpc, write } = useProject();

const GREETER = `syntax = "proto3";
package hello.v1;
import "hello/v1/name.proto";
service Greeter { rpc Greet(Name) returns (Greeting); }
message Greeting { string text = 1; }
`;
const NAME = 'syntax = "proto3";\npackage hello.v1;\nmessage Name { string name = 3; }\n';

test("writes modules that gen takes, and keeps edits", () => {
  write("proto/hello/v1/greeter.proto", GREETER);
  write("proto/hello/v1/name.proto", NAME);
  const args = ["import", "proto/hello/v1/greeter.proto", "-I", "proto", "--out", "src"];
  const [service, types] = ["src/hello/v1/greeter.service.ts", "src/hello/v1/name.ts"];
  const lines = (verb: string): string => `${verb} ${service}\n${verb} ${types}\nin 0 ms\n`;
  expect(quicrpc(args)).toEqual({ code: 0, stdout: lines("wrote"), stderr: "" });
  expect(quicrpc(args)).toEqual({ code: 0, stdout: lines("unchanged"), stderr: "" });
  expect(quicrpc(["gen", "--proto", "out"])).toMatchObject({ code: 0, stderr: "" });
  expect(readFileSync(join(cwd, "out/hello/v1/hello.proto"), "utf8")).toContain("string name = 3;");

  const path = join(cwd, types);
  writeFileSync(path, readFileSync(path, "utf8").replace("z.string()", "z.string().min(1)"));
  const edited = quicrpc(args);
  expect(edited.code).toBe(1);
  expect(edited.stderr).toContain(`${types} was edited since quicrpc import wrote it`);
  expect(readFileSync(path, "utf8")).toContain(".min(1)");
  expect(quicrpc([...args, "--force"]).stdout).toContain(`wrote ${types}`);
  expect(readFileSync(path, "utf8")).not.toContain(".min(1)");
});

test("names file and line of a problem", () => {
  write("bad.proto", 'syntax = "proto3";\nmessage A {\n  strin g name = 1;\n}\n');
  const bad = quicrpc(["import", "bad.proto"]);
  expect(bad.code).toBe(1);
  expect(bad.stderr).toContain("bad.proto:3:1 - error proto-syntax");
  write("proto/hello/v1/greeter.proto", GREETER);
  const json = quicrpc(["import", "proto/hello/v1/greeter.proto", "--json"]);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    diagnostics: [
      {
        code: "proto-type",
        line: 4,
        message: "The type Name was not found.",
        help: "Add the folder to which imports are relative with -I. Not found: hello/v1/name.proto.",
      },
    ],
    files: [],
  });
  expect(existsSync(join(cwd, "greeter.service.ts"))).toBe(false);
  expect(quicrpc(["import", "none.proto"])).toMatchObject({ code: 1 });
  expect(quicrpc(["import"])).toMatchObject({ code: 2 });
});

test("reports folders, and files that it cannot write", () => {
  write("good.proto", 'syntax = "proto3";\nmessage A {}\n');
  write("taken", "");
  const folder = quicrpc(["import", "proto", "--json"]);
  expect(folder.code).toBe(1);
  expect(JSON.parse(folder.stdout)).toMatchObject({ diagnostics: [{ code: "file-not-found" }], files: [] });
  const failed = quicrpc(["import", "good.proto", "--out", "taken", "--json"]);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({ diagnostics: [{ code: "write-failed" }], files: [] });
  write("folder/good.ts/x.txt", "");
  expect(quicrpc(["import", "good.proto", "--out", "folder"]).stderr).toContain("error write-failed");
});
