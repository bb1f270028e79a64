import { RpcError } from "@quicrpc/core";
import { createGreeterClient } from "../generated/greeter.js";
import { connection } from "./connection.js";

const greeter = createGreeterClient(connection);
const form = document.querySelector("form")!;
const output = document.querySelector("output")!;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void greet(String(new FormData(form).get("name")));
});

async function greet(name: string): Promise<void> {
  try {
    const { text } = await greeter.greet({ name }, { timeoutMs: 5000 });
    output.textContent = text;
    for await (const { left } of greeter.countdown({ from: 3 })) output.textContent = `${text} ${left}`;
  } catch (error) {
    output.textContent = RpcError.from(error).message;
  }
}
