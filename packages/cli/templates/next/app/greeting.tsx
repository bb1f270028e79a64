"use client";

import { httpTransport } from "@quicrpc/http";
import { useEffect, useState } from "react";
import { createGreeterClient } from "../src/generated/greeter";

/** Calls from the page, over HTTP. */
export function Greeting() {
  const [said, setSaid] = useState("…");
  useEffect(() => {
    const leaving = new AbortController();
    const greeter = createGreeterClient(httpTransport().caller(`${location.origin}/rpc`));
    greeter.greet({ name: "Ada" }, { signal: leaving.signal }).then(
      ({ text }) => setSaid(text),
      (error: Error) => leaving.signal.aborted || setSaid(error.message),
    );
    return () => leaving.abort();
  }, []);
  return <output>{said}</output>;
}
