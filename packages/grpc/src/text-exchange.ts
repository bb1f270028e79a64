import { RpcError } from "@quicrpc/core";
import { toBase64 } from "@quicrpc/core/internal";
import { type AnswerBody, type HttpExchange, readBase64 } from "@quicrpc/http/internal";

/** Returns the exchange of a gRPC-Web call in text mode: the bodies of its request and response are base64. */
export function textExchange(exchange: HttpExchange): HttpExchange {
  const open: HttpExchange["open"] = (head) => new TextBody(exchange.open(head));
  return new Proxy(exchange, {
    get(target, name) {
      if (name === "open") return open;
      if (name === "body") return target.body?.pipeThrough(decoder()) ?? null;
      // The body is always read as a stream.
      if (name === "arrival") return undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

/** Writes each piece as padded base64. Clients accept padding within a body. */
class TextBody implements AnswerBody {
  private readonly body: AnswerBody;

  constructor(body: AnswerBody) {
    this.body = body;
  }

  get ready(): boolean {
    return this.body.ready;
  }

  write(bytes: Uint8Array): void {
    this.body.write(new TextEncoder().encode(toBase64(bytes)));
  }

  whenReady(resume: () => void): void {
    this.body.whenReady(resume);
  }

  end(): void {
    this.body.end();
  }
}

/** Decodes base64 that arrives in pieces of any length. It may be padded anywhere after a multiple of four characters. */
function decoder(): TransformStream<Uint8Array, Uint8Array> {
  const latin1 = new TextDecoder("latin1");
  let rest = "";
  return new TransformStream({
    transform(piece, controller) {
      const text = rest + latin1.decode(piece);
      const end = text.length - (text.length % 4);
      rest = text.slice(end);
      if (end === 0) return;
      for (const part of text.slice(0, end).split(/(?<==)(?=[^=])/)) {
        const bytes = readBase64(part);
        if (bytes === undefined) throw malformed();
        controller.enqueue(bytes);
      }
    },
    flush() {
      if (rest !== "") throw malformed();
    },
  });
}

function malformed(): RpcError {
  return new RpcError("invalid_argument", "the body of the request is not base64");
}
