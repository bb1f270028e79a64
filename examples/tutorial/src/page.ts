import { connect } from "@quicrpc/browser";
import { isRpcErrorOf, RpcError } from "@quicrpc/core";
import { serverCertificateHashes } from "virtual:quicrpc";
import { createOrdersClient, ordersMethods } from "./generated/orders.js";

// #region connect
const { VITE_ORDERS = "https://localhost:4433/rpc" } = import.meta.env;
const connection = await connect(VITE_ORDERS, { serverCertificateHashes });
// #endregion connect
const orders = createOrdersClient(connection);

const form = document.querySelector("form")!;
const item = form.querySelector<HTMLInputElement>("[name=item]")!;
const count = form.querySelector<HTMLInputElement>("[name=count]")!;

/** Places an order. Returns a message for the user. */
async function place(): Promise<string> {
  try {
    const { id } = await orders.place({ item: item.value, count: count.valueAsNumber });
    return `order ${id}`;
  } catch (error) {
    if (isRpcErrorOf(ordersMethods.place, error)) return `only ${error.details.left} left`;
    return error instanceof RpcError ? error.message : "that did not work";
  }
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void place().then((text) => (form.querySelector("output")!.textContent = text));
});

const list = document.querySelector("ol")!;
for await (const { message } of orders.subscribePlaced({ from: "0" })) {
  if (message === undefined) continue; // as in the first item of a subscription without `from`
  list.append(Object.assign(document.createElement("li"), { textContent: `${message.count} ${message.item}` }));
}
