/** The service that every server of this library has over HTTP. Its method `ping` answers a client that asks whether the server is there. */
export const HTTP_SERVICE = { name: "quicrpc.v1.Http", id: 0 } as const;
