import { quicrpc } from "@quicrpc/vite";

export default { plugins: [quicrpc()] };
