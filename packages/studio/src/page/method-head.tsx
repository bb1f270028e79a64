import { schemaText } from "@quicrpc/services";
import type { JSX } from "preact";
import type { ShownMethod } from "./catalog.js";

/** Shows a method: its kind, who may call it, its comment and its types. */
export function MethodHead({ method }: { readonly method: ShownMethod }): JSX.Element {
  const { name, docs, kind, traits, permission, errors } = method;
  return (
    <section aria-label="Method" class="method">
      <ul class="badges" aria-label="Kind">
        <li class={`badge ${kind}`}>{kind.replace("_", " ")}</li>
        {traits.map((trait) => (
          <li key={trait} class="badge">
            {trait}
          </li>
        ))}
        {permission !== undefined && <li class="badge permission">{permission}</li>}
      </ul>
      {docs !== undefined && <p class="docs">{docs}</p>}
      <details>
        <summary>Types</summary>
        <pre tabIndex={0}>
          {name}({sideText(method.takes, method.input, method.streamsInput)}):{" "}
          {sideText(method.gives, method.output, method.streamsOutput) || "nothing"}
          {Object.entries(errors).map(([error, schema]) => `\nthrows ${error} ${schemaText(schema)}`)}
        </pre>
      </details>
    </section>
  );
}

function sideText(form: ShownMethod["takes"], schema: ShownMethod["input"], streams: boolean): string {
  if (form === "nothing") return "";
  const type = form === "bytes" ? "Uint8Array" : schema === undefined ? "unknown" : schemaText(schema);
  return streams ? `stream<${type}>` : type;
}
