import { testBearers } from "@svc/test-support";
import { request } from "undici";

/** A response without success. */
export class Answered extends Error {
  override readonly name = "Answered";
  readonly status: number;

  constructor(url: string, status: number, text: string) {
    super(`${url} returned ${status}: ${text}`);
    this.status = status;
  }
}

/** On a busy machine a step's one-second deadline can pass; it is then repeated. */
export async function untilAvailable<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (cause) {
      if (attempt === 10 || !(cause instanceof Answered && cause.status === 503)) throw cause;
    }
  }
}

/** One call on the admin plane; any status but 2xx ends the run. */
export async function admin<T>(controlPlaneUrl: string, path: string, body: object): Promise<T> {
  return post<T>(controlPlaneUrl + path, testBearers.admin, "application/json", JSON.stringify(body));
}

/** @param bearer none for the token endpoint */
export async function post<T>(url: string, bearer: string | undefined, contentType: string, body: string): Promise<T> {
  const headers = { "content-type": contentType, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) };
  const answer = await request(url, { method: "POST", headers, body });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Answered(url, answer.statusCode, text);
  return JSON.parse(text) as T;
}

export async function remove(url: string): Promise<void> {
  const answer = await request(url, { method: "DELETE", headers: { authorization: `Bearer ${testBearers.admin}` } });
  await answer.body.dump();
}

export async function put(url: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${testBearers.admin}` };
  const answer = await request(url, { method: "PUT", headers, body: JSON.stringify(body) });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Answered(url, answer.statusCode, text);
}
