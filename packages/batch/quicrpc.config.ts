export default { include: "src/*.service.ts" };
