export default { include: "http.service.ts", out: "generated" };
