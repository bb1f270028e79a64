import { schemaText } from "@quicrpc/services";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadCatalog, type ShownMethod, type ShownService } from "./catalog.js";
import type { KeptRequest } from "./history.js";
import { KeptView } from "./kept-view.js";
import { useObserved } from "./observed.js";
import { hashOf, placeOf } from "./place.js";
import { RequestView } from "./request-view.js";
import { Sidebar } from "./sidebar.js";
import type { Target } from "./target.js";

/** Properties of `App`. */
export interface AppProps {
  readonly target: Target;
  readonly title: string;
  readonly nonce: string;
}

/** The page. */
export function App({ target, title, nonce }: AppProps): JSX.Element {
  useObserved(target);
  const [services, setServices] = useState<readonly ShownService[]>();
  const [problem, setProblem] = useState<string>();
  const [place, setPlace] = useState(placeOf(location.hash));
  const [given, setGiven] = useState<Partial<KeptRequest> | undefined>(place);
  const [kept, setKept] = useState(0);

  const load = (): void => {
    setProblem(undefined);
    loadCatalog(target.reflection).then(setServices, (error: unknown) =>
      setProblem(error instanceof Error ? error.message : String(error)),
    );
  };
  useEffect(() => {
    load();
    target.onModel = load;
  }, [target]);
  useEffect(() => {
    const onHash = (): void => {
      const next = placeOf(location.hash);
      setPlace(next);
      if (next.input !== undefined) setGiven(next);
    };
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);

  const method = services
    ?.find(({ name }) => name === place.service)
    ?.methods.find(({ name }) => name === place.method);
  const served = services
    ?.find(({ name }) => name === "quicrpc.v1.Timings")
    ?.methods.find(({ name }) => name === "of")?.descriptor;
  const open = (request: KeptRequest): void => {
    setGiven(request);
    location.hash = hashOf(request);
  };
  const isFor = given !== undefined && given.service === place.service && given.method === place.method;
  return (
    <>
      <header>
        <h1>{title}</h1>
        <p class="target">
          {target.url} <State target={target} />
        </p>
        {!target.describesItself && <p class="dim">Services are those of the command's schemas.</p>}
        <button type="button" onClick={load}>
          Reload
        </button>
        <Theme />
      </header>
      <div class="columns">
        {services !== undefined && <Sidebar services={services} current={method} />}
        <main>
          {problem !== undefined && (
            <p class="failure" role="alert">
              {problem}
            </p>
          )}
          {services === undefined && problem === undefined && <p role="status">Asking the server what it serves …</p>}
          {services !== undefined && method === undefined && <p class="dim">Choose a method.</p>}
          {method !== undefined && (
            <>
              <Description method={method} />
              <RequestView
                key={`${method.service}/${method.name}`}
                method={method}
                target={target}
                nonce={nonce}
                served={served}
                given={isFor ? given : undefined}
                onKept={() => setKept((count) => count + 1)}
              />
            </>
          )}
          <KeptView key={kept} onOpen={open} />
        </main>
      </div>
    </>
  );
}

function State({ target }: { readonly target: Target }): JSX.Element | null {
  const last = target.samples.at(-1)?.sample;
  if (last === undefined) return null;
  const { rttMs } = last.stats;
  return (
    <span class={`state ${last.status}`}>
      {last.status}
      {rttMs === undefined || rttMs === null ? "" : `, ${rttMs.toFixed(1)} ms`}
    </span>
  );
}

function Description({ method }: { readonly method: ShownMethod }): JSX.Element {
  const { service, name, docs, kind, idempotent, resumable, permission, errors } = method;
  return (
    <section aria-label="Method">
      <h2>
        <span class="dim">{service}/</span>
        {name}
      </h2>
      <p class="dim">
        {kind.replace("_", " ")}
        {idempotent ? ", idempotent" : ""}
        {resumable ? ", resumable" : ""}
        {permission === undefined ? "" : `, ${permission}`}
      </p>
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

const THEMES = ["light dark", "light", "dark"] as const;

function Theme(): JSX.Element {
  const [theme, setTheme] = useState(() => localStorage.getItem("quicrpc-studio:theme") ?? THEMES[0]);
  useEffect(() => {
    document.documentElement.style.colorScheme = theme;
    localStorage.setItem("quicrpc-studio:theme", theme);
  }, [theme]);
  return (
    <select aria-label="Colors" value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
      <option value="light dark">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
