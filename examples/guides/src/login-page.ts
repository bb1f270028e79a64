// A page that signs in: see docs/authentication.md.
import { connect, type ConnectOptions } from "@quicrpc/browser";
import { RpcError } from "@quicrpc/core";
import { createAuthClient } from "./generated/login.js";
import { createOrdersClient } from "./generated/orders.js";

/** Elements of the page. `cancel` cancels an order, which only some roles may. */
export interface Elements {
  readonly form: HTMLFormElement;
  readonly name: HTMLInputElement;
  readonly password: HTMLInputElement;
  readonly cancel: HTMLButtonElement;
  readonly message: HTMLElement;
}

export async function startPage(url: string, elements: Elements, options: ConnectOptions): Promise<void> {
  const { form, name, password, cancel, message } = elements;
  // #region page
  const show = (text: string) => (message.textContent = text);
  const showError = (error: unknown) => show(RpcError.from(error).message);
  // A reload of the tab keeps the token.
  const credentials = () => sessionStorage.getItem("token") ?? undefined;
  const open = () => connect(url, { ...options, credentials });
  let connection = await open();

  async function signIn(): Promise<void> {
    await using visitor = await connect(url, options);
    const { token } = await createAuthClient(visitor).login({ name: name.value, password: password.value });
    sessionStorage.setItem("token", token);
    await connection.close();
    connection = await open();
    show(`signed in as ${name.value}`);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    signIn().catch(showError);
  });
  cancel.addEventListener("click", () => {
    const orders = createOrdersClient(connection);
    orders.cancel({ id: "1" }).then(() => show("cancelled"), showError);
  });
  // #endregion page
}
