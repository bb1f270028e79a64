import { type JSX, render } from "preact";
import type { PageSettings } from "../assets.js";
import { App } from "./app.js";
import { takeToken } from "./location.js";
import { listenToKeys } from "./shortcuts.js";
import { ServerTarget } from "./target.js";

interface Settings extends Pick<PageSettings, "title" | "route" | "describedBy" | "trust"> {
  readonly nonce: string;
}

const configuration = document.querySelector<HTMLMetaElement>("meta[name=quicrpc-studio]")?.content ?? "{}";
const settings = JSON.parse(configuration) as Settings;
const { title, nonce } = settings;

listenToKeys();
ServerTarget.open(settings, takeToken()).then(
  (target) => render(<App target={target} title={title} nonce={nonce} />, document.body),
  (error: unknown) => render(<Failure title={title} error={error} route={settings.route} />, document.body),
);

interface FailureProps extends Pick<Settings, "title" | "route"> {
  readonly error: unknown;
}

function Failure({ title, error, route }: FailureProps): JSX.Element {
  return (
    <main class="welcome">
      <h1>{title}</h1>
      <p class="failure" role="alert">
        {error instanceof Error ? error.message : String(error)}
      </p>
      {route.via === "connect" && (
        <p>
          This page connects by itself: the server has to be reached by the browser, its certificate trusted there, and
          this page's origin, <code>{location.origin}</code>, be among its allowedOrigins.
        </p>
      )}
      <p>
        <button type="button" onClick={() => location.reload()}>
          Try again
        </button>
      </p>
    </main>
  );
}
