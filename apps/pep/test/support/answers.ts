import type { ServerResponse } from "node:http";
import type { Override } from "./control-plane.ts";

/** Answers that a test has the double of the control plane give in place of its own. */
export type Reply = (response: ServerResponse) => void;

export const reply =
  (status: number, body: string, type = "application/json", headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(status, { "content-type": type, ...headers }).end(body);
  };

/** Answers requests to one path alone. */
export const at =
  (wanted: string, answer: Reply): Override =>
  ({ path }, response) => {
    if (path !== wanted) return undefined;
    answer(response);
    return true;
  };

export const hang: Reply = () => {};
export const cut: Reply = (response) => response.destroy();

export const authorize = "/v1/authorize";
export const exchange = "/v1/token/exchange";
export const mint = "/v1/token/transaction";
export const renew = "/v1/token/renew";
