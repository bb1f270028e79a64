import { RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { inputsOf } from "./mock/items.js";
import { loadProjectServices } from "./project-services.js";

/**
 * Returns a function that generates inputs of a server's method, one after another. Uses the schema in the option
 * `schema`, otherwise the project in the current directory. Rejects with `RpcError` if there is no schema for the
 * method, if the schema declares another kind of method, or if no data can be generated for it.
 */
export async function generatedInputs(
  served: AnyMethod,
  seed: number,
  schema: readonly string[] = [],
): Promise<() => unknown> {
  const [service, name] = [served.service.name, served.name];
  const { services = [], diagnostics = [] } = await loadProjectServices(schema, process.cwd());
  const project = services.find(({ schema }) => schema.name === service);
  const declared = project?.schema.methods[name];
  if (declared === undefined) {
    const [problem] = diagnostics;
    const reason = problem === undefined ? "" : ` (${problem.message})`;
    throw new RpcError(
      "failed_precondition",
      `--generate makes inputs from a project's schemas: run this in the one that has ${service}/${name}${reason}`,
    );
  }
  const kind = project?.methods[name]?.kind;
  if (kind !== served.kind) {
    const advice = "take the schema that the server was generated from, or give inputs of your own, by --inputs";
    throw new RpcError(
      "failed_precondition",
      `${service}/${name} is ${served.kind} at the server, but ${String(kind)} in this project: ${advice}`,
    );
  }
  const reported = <T>(make: () => T): T => {
    try {
      return make();
    } catch (error) {
      const advice = "give inputs of your own, by --inputs";
      throw new RpcError(
        "failed_precondition",
        `no input for ${service}/${name}: ${(error as Error).message}: ${advice}`,
      );
    }
  };
  const next = reported(() => inputsOf(`${service}/${name}`, declared.input, seed, served.blobs?.fields.input));
  return () => reported(next);
}
