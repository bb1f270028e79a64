import { isBatch } from "@quicrpc/services";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadCatalog, type ShownService } from "./catalog.js";
import { Header } from "./header.js";
import type { KeptRequest } from "./history.js";
import { locationHash, locationOf } from "./location.js";
import { RequestView } from "./request-view.js";
import { keyLabel, SHORTCUTS } from "./shortcuts.js";
import { Sidebar } from "./sidebar.js";
import type { ServerTarget } from "./target.js";

export interface AppProps {
  readonly target: ServerTarget;
  readonly title: string;
  readonly nonce: string;
}

export function App({ target, title, nonce }: AppProps): JSX.Element {
  const [services, setServices] = useState<readonly ShownService[]>();
  const [problem, setProblem] = useState<string>();
  const [route, setRoute] = useState(locationOf(location.hash));
  const [prefilled, setPrefilled] = useState<Partial<KeptRequest> | undefined>(route);
  const [, setKept] = useState(0);
  /** Whether the list of methods is shown. A small screen shows either the list or the selected method. */
  const [isChoosing, setChoosing] = useState(route.method === undefined);

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
      const next = locationOf(location.hash);
      setRoute(next);
      setChoosing(next.method === undefined);
      if (next.input !== undefined) setPrefilled(next);
    };
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);

  const method = services
    ?.find(({ name }) => name === route.service)
    ?.methods.find(({ name }) => name === route.method);
  useEffect(() => {
    document.title = method === undefined ? title : `${method.name} · ${title}`;
  }, [method, title]);
  const servedMethod = services
    ?.find(({ name }) => name === "quicrpc.v1.Timings")
    ?.methods.find(({ name }) => name === "of")?.descriptor;
  const open = (request: KeptRequest): void => {
    setPrefilled(request);
    setChoosing(false);
    location.hash = locationHash({ service: request.service, method: request.method });
  };
  const isFor = prefilled !== undefined && prefilled.service === route.service && prefilled.method === route.method;
  return (
    <div class={isChoosing && services !== undefined ? "app choosing" : "app"}>
      <Header target={target} title={title} onReload={load} onChoose={() => setChoosing(!isChoosing)} />
      {services !== undefined && <Sidebar services={services} current={method} onOpen={open} />}
      <main>
        {problem !== undefined && (
          <p class="failure" role="alert">
            {problem}
          </p>
        )}
        {services === undefined && problem === undefined && (
          <p class="empty" role="status">
            Asking the server what it serves …
          </p>
        )}
        {services !== undefined && method === undefined && <Welcome services={services} route={route} />}
        {method !== undefined && (
          <RequestView
            key={`${method.service}/${method.name}`}
            method={method}
            target={target}
            nonce={nonce}
            // The calls of a batch have the same name as the batch.
            served={isBatch(method.descriptor) ? undefined : servedMethod}
            prefilled={isFor ? prefilled : undefined}
            onKept={() => setKept((count) => count + 1)}
          />
        )}
      </main>
    </div>
  );
}

interface WelcomeProps {
  readonly services: readonly ShownService[];
  readonly route: ReturnType<typeof locationOf>;
}

/** Shows the services while no method is selected. */
function Welcome({ services, route }: WelcomeProps): JSX.Element {
  return (
    <section class="welcome" aria-label="Services">
      {route.method !== undefined && (
        <p class="failure" role="alert">
          The server has no method {route.service}/{route.method}.
        </p>
      )}
      <p class="dim">
        Choose a method, or search: <kbd>{SHORTCUTS.search.key}</kbd>. <kbd>{keyLabel(SHORTCUTS.run.key)}</kbd> calls,{" "}
        <kbd>{SHORTCUTS.help.key}</kbd> lists what the keyboard does.
      </p>
      <dl>
        {services.map(({ name, docs, methods }) => (
          <div key={name}>
            <dt>
              {name} <span class="dim">{methods.length === 1 ? "1 method" : `${methods.length} methods`}</span>
            </dt>
            {docs !== undefined && <dd class="docs">{docs}</dd>}
          </div>
        ))}
      </dl>
    </section>
  );
}
