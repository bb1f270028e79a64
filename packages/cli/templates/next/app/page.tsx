import { createLocalCaller } from "@quicrpc/core";
import { createGreeterClient } from "../src/generated/greeter";
import { greeter } from "../src/greeter";
import { Greeting } from "./greeting";

export default async function Page() {
  // On the server: the handler itself, without a network.
  const { text } = await createGreeterClient(createLocalCaller([greeter])).greet({ name: "Next" });
  return (
    <main>
      <p>{text}</p>
      <Greeting />
    </main>
  );
}
