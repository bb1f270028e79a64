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

export function startPage(url: string, elements: Elements, options: ConnectOptions): void {
  const { form, name, password, cancel, message } = elements;
  // #region page
  const show = (text: string) => (message.textContent = text);
  const showError = (error: unknown) => show(RpcError.from(error).message);
  // A reload of the tab keeps the token.
  const credentials = () => sessionStorage.getItem("token") ?? undefined;
  const open = () => connect(url, { ...options, credentials });
  let connection = open();
  connection.catch(showError);

  async function signIn(): Promise<void> {
    const input = { name: name.value, password: password.value };
    await using visitor = await connect(url, options);
    const { token } = await createAuthClient(visitor).login(input);
    sessionStorage.setItem("token", token);
    connection.then(
      (previous) => previous.close(),
      () => undefined,
    );
    connection = open();
    await connection;
    show(`signed in as ${input.name}`);
  }

  async function cancelOrder(): Promise<void> {
    connection = connection.catch(open); // another attempt if the last one failed
    await createOrdersClient(await connection).cancel({ id: "1" });
    show("cancelled");
  }

  // Without `preventDefault` the browser itself would submit the form. So nothing is awaited before this.
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    signIn().catch(showError);
  });
  cancel.addEventListener("click", () => void cancelOrder().catch(showError));
  // #endregion page
}
