const client = await quicrpc.connect("https://example.org:4433/rpc");

const { pro } = await client.call("demo.v1.Arith/multiply", { a: 9, b: 2 });
document.querySelector("#product").textContent = pro;

for await (const { i } of await client.stream("demo.v1.Arith/ticks", { n: 3 })) {
  document.querySelector("#ticks").append(`tick ${i} `);
}
