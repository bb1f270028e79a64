// A component: its queries follow its signals.
import { Component, inject, InjectionToken, signal } from "@angular/core";
import type { Queries } from "@quicrpc/query";
import { injectMutation, injectQuery } from "@tanstack/angular-query-experimental";
import type { greeterMethods } from "./generated/greeter.js";

/** The queries of the service: over HTTP in the browser, in the same process on the server. */
export const GREETER = new InjectionToken<Queries<typeof greeterMethods>>("greeter");

@Component({
  selector: "app-greeting",
  template: `
    @if (greeting.error(); as error) {
      <p role="alert">{{ error.code }}: {{ error.message }}</p>
    } @else {
      <p>{{ greeting.data()?.text }}</p>
    }
    <button (click)="name.set('Grace')">Grace</button>
    <ol>
      @for (left of countdown.data(); track left) {
        <li>{{ left }}</li>
      }
    </ol>
    <button (click)="again.mutate({ name: name() })">again</button> {{ again.data()?.text }}
  `,
})
export class Greeting {
  readonly name = signal("Ada");
  readonly #greeter = inject(GREETER);
  readonly greeting = injectQuery(() => this.#greeter.greet.queryOptions({ name: this.name() }));
  readonly countdown = injectQuery(() => this.#greeter.count.streamedOptions({ from: 3 }));
  readonly again = injectMutation(() => this.#greeter.greet.mutationOptions());
}
