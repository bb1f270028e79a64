import { createQueries } from "@quicrpc/query";
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { greeterMethods } from "../generated/greeter.js";
import { connection } from "./connection.js";

const greeter = createQueries(greeterMethods, connection);

function Greeting() {
  const [name, setName] = useState("Ada");
  const greeting = useQuery({ ...greeter.greet.queryOptions({ name }), enabled: name !== "", retry: false });
  const countdown = useQuery(greeter.countdown.streamedOptions({ from: 3 }));
  return (
    <main>
      <label>
        Name <input value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <p>{greeting.error?.message ?? greeting.data?.text ?? "…"}</p>
      <p>{countdown.data?.map(({ left }) => left).join(", ")}</p>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={new QueryClient()}>
      <Greeting />
    </QueryClientProvider>
  </StrictMode>,
);
