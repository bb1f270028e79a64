import { connect } from "@quicrpc/browser";
import { createQueries } from "@quicrpc/query";
import { QueryClient, QueryClientProvider, useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { createRoot } from "react-dom/client";
import type { Connection } from "@quicrpc/core";
import { useConnectionState } from "./connection-state.js";
import { methods } from "./queries.js";

type Api = ReturnType<typeof createQueries<typeof methods>>;

function Double({ api, of }: { api: Api; of: number }): ReactNode {
  const { data, error, isPending } = useQuery(api.double.queryOptions(of));
  if (isPending) return <output id="double">loading</output>;
  return <output id="double">{error === null ? data : `${error.name} ${error.code}: ${error.message}`}</output>;
}

function Count({ api }: { api: Api }): ReactNode {
  const { data = [], fetchStatus } = useQuery(api.count.streamedOptions(3));
  return <output id="count">{`${data.join(" ")} ${fetchStatus}`}</output>;
}

function Live({ api }: { api: Api }): ReactNode {
  const { data = [], error, failureReason } = useQuery(api.live.streamedOptions(undefined));
  return <output id="live">{`${data.join(" ")} ${error?.code ?? failureReason?.code ?? "open"}`}</output>;
}

function Add({ api }: { api: Api }): ReactNode {
  const { mutate, data, status } = useMutation(api.add.mutationOptions());
  return (
    <button id="add" type="button" onClick={() => mutate(5)}>
      {`${status} ${data ?? ""}`}
    </button>
  );
}

function State({ connection }: { connection: Connection }): ReactNode {
  const { status, resuming = 0 } = useConnectionState(connection);
  return <output id="state">{`${status} ${resuming}`}</output>;
}

function App({ api }: { api: Api }): ReactNode {
  const [shown, setShown] = useState({ double: 0, count: false, live: false });
  Object.assign(globalThis, { show: setShown });
  return (
    <>
      {shown.double !== 0 && <Double api={api} of={shown.double} />}
      {shown.count && <Count api={api} />}
      {shown.live && <Live api={api} />}
      <Add api={api} />
    </>
  );
}

/** Connects, and shows what the test asks for by `show`. */
async function start(url: string, hash: number[]): Promise<void> {
  const value = new Uint8Array(hash);
  const connection = await connect(url, { serverCertificateHashes: [{ algorithm: "sha-256", value }] });
  const follow = async (): Promise<void> => {
    for await (const { id } of connection.serverStream(methods.follow, undefined)) Object.assign(globalThis, { id });
  };
  Object.assign(globalThis, { follow: () => void follow().catch(() => {}) });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  createRoot(document.body.appendChild(document.createElement("main"))).render(
    <QueryClientProvider client={client}>
      <App api={createQueries(methods, connection)} />
      <State connection={connection} />
    </QueryClientProvider>,
  );
}

Object.assign(globalThis, { start });
