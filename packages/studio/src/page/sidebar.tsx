import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import { matching, type ShownMethod, type ShownService } from "./catalog.js";
import type { KeptRequest } from "./history.js";
import { HistoryView, KeptView } from "./kept-view.js";
import { locationHash } from "./location.js";
import { useShortcut } from "./shortcuts.js";
import { Tabs } from "./tabs.js";

const KINDS: Readonly<Record<ShownMethod["kind"], string>> = {
  unary: "→",
  notify: "⇢",
  server_stream: "⇉",
  client_stream: "⇇",
  duplex: "⇄",
};
/** Maximum number of methods with which all services are expanded initially. */
const MAX_OPEN = 120;
const TABS = ["Methods", "Kept", "History"] as const;

export interface SidebarProps {
  readonly services: readonly ShownService[];
  readonly current: ShownMethod | undefined;
  readonly onOpen: (request: KeptRequest) => void;
}

/** Shows the methods by service, a search field, and the saved and recent requests. */
export function Sidebar({ services, current, onOpen }: SidebarProps): JSX.Element {
  const [tab, setTab] = useState<(typeof TABS)[number]>("Methods");
  const [search, setSearch] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const matches = matching(services, search);
  const toSearch = useCallback(() => {
    setTab("Methods");
    // After the tab is shown.
    requestAnimationFrame(() => field.current?.select());
  }, []);
  useShortcut("search", toSearch);
  const step = (offset: number): void => {
    const methods = services.flatMap((service) => service.methods);
    const at = methods.findIndex((candidate) => candidate === current);
    const method = methods[at === -1 ? 0 : at + offset];
    if (method !== undefined) location.hash = locationHash({ service: method.service, method: method.name });
  };
  useShortcut("next", () => step(1));
  useShortcut("previous", () => step(-1));

  /** Handles keys: the arrow keys move from the search field through the results, and Enter opens the first result. */
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key, target } = event;
    const links = [...(list.current?.querySelectorAll<HTMLElement>("a") ?? [])].filter(
      (element) => element.closest("details:not([open])") === null,
    );
    const at = links.indexOf(target as HTMLElement);
    const isSearch = target === field.current;
    if (key === "Enter" && isSearch) return links[0]?.click();
    if (key === "Escape" && at >= 0) return field.current?.focus();
    if (key !== "ArrowDown" && key !== "ArrowUp") return;
    if (at === -1 && !isSearch) return;
    event.preventDefault();
    const to = at + (key === "ArrowDown" ? 1 : -1);
    if (to < 0) field.current?.focus();
    else links[to]?.focus();
  };
  const isMany = services.reduce((sum, { methods }) => sum + methods.length, 0) > MAX_OPEN;
  return (
    <nav aria-label="Methods and requests" onKeyDown={onKeyDown}>
      <Tabs label="Methods and requests" id="sidebar" names={TABS} current={tab} onChoose={setTab} />
      <div id="sidebar" role="tabpanel" aria-labelledby={`sidebar-${tab}`} ref={list}>
        {tab === "Methods" && (
          <>
            <input
              ref={field}
              type="search"
              placeholder="Search ( / )"
              aria-label="Search methods"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
            {matches.map((service) => (
              <ServiceLinks
                key={service.name}
                service={service}
                current={current}
                isOpen={!isMany || search !== "" || current?.service === service.name}
              />
            ))}
            {matches.length === 0 && <p class="dim">Nothing fits.</p>}
          </>
        )}
        {tab === "Kept" && <KeptView onOpen={onOpen} />}
        {tab === "History" && <HistoryView onOpen={onOpen} />}
      </div>
    </nav>
  );
}

interface ServiceLinksProps {
  readonly service: ShownService;
  readonly current: ShownMethod | undefined;
  readonly isOpen: boolean;
}

function ServiceLinks({ service: { name, docs, methods }, current, isOpen }: ServiceLinksProps): JSX.Element {
  const end = name.lastIndexOf(".") + 1;
  return (
    <details class="service" open={isOpen}>
      <summary title={docs ?? name}>
        <span class="dim">{name.slice(0, end)}</span>
        <wbr />
        {name.slice(end)} <span class="count">{methods.length}</span>
      </summary>
      <ul>
        {methods.map((method) => (
          <li key={method.name}>
            <a
              href={locationHash({ service: name, method: method.name })}
              aria-current={method === current ? "page" : undefined}
              title={method.docs}
            >
              <span class={`kind ${method.kind}`} aria-hidden="true">
                {KINDS[method.kind]}
              </span>
              {method.name}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
