import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { matching, type ShownMethod, type ShownService } from "./catalog.js";
import { hashOf } from "./place.js";

const KINDS: Readonly<Record<ShownMethod["kind"], string>> = {
  unary: "→",
  notify: "⇢",
  server_stream: "⇉",
  client_stream: "⇇",
  duplex: "⇄",
};

/** Services and methods, by name, with a search. "/" leads to it. */
export function Sidebar({
  services,
  current,
}: {
  readonly services: readonly ShownService[];
  readonly current: ShownMethod | undefined;
}): JSX.Element {
  const [search, setSearch] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping =
        target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
      if (event.key !== "/" || isTyping) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const found = matching(services, search);
  return (
    <nav aria-label="Methods">
      <input
        ref={field}
        type="search"
        placeholder="Search ( / )"
        aria-label="Search methods"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
      />
      {found.map(({ name, methods }) => (
        <section key={name}>
          <h2>{name}</h2>
          <ul>
            {methods.map((method) => (
              <li key={method.name}>
                <a
                  href={hashOf({ service: name, method: method.name })}
                  aria-current={method === current ? "page" : undefined}
                >
                  <span class="kind" aria-hidden="true">
                    {KINDS[method.kind]}
                  </span>{" "}
                  {method.name}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {found.length === 0 && <p class="dim">Nothing fits.</p>}
    </nav>
  );
}
