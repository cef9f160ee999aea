import { type CamelCased, fromWire, snakeCase } from "@svc/core";
import { parseBody, type StepPorts, send, type TransportResponse, type Unusable, unusable } from "@svc/hop";
import type { z } from "zod";
import { ControlPlaneUnavailable, type RequestLine } from "./errors.ts";
import { errorOf, rejection } from "./response-error.ts";

/** Options of every call. */
export interface CallOptions {
  /** After an abort the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface PlaneRequest extends RequestLine {
  /** Members in `camelCase`, as those of the body; one that is undefined is not sent. */
  readonly query?: object | undefined;
  readonly body?: object;
  /** The status of a success. Default 200. */
  readonly expected?: number;
}

/** Sends requests of one group of routes under one bearer. */
export interface Plane {
  /**
   * Sends a request and returns the response's body as `schema` reads it, in `camelCase`.
   *
   * @throws {ControlPlaneRejected} where the control plane refuses, {ControlPlaneUnavailable} for anything else that is
   * not `expected` with a body that `schema` reads
   */
  request<Schema extends z.ZodType>(
    request: PlaneRequest,
    schema: Schema,
    options: CallOptions | undefined,
  ): Promise<CamelCased<z.output<Schema>>>;
  /** Sends a request whose success is 204 without a body. @throws as `request` */
  send(request: PlaneRequest, options: CallOptions | undefined): Promise<void>;
}

export interface PlanePorts {
  readonly steps: StepPorts;
  readonly timeoutMs: number;
}

/** A page of 200 decisions, or a manifest of 1 MiB with every character escaped. */
const maxResponseBytes = 8 * 1024 * 1024;

type ErrorOf = (line: RequestLine, failure: Unusable, signal?: AbortSignal) => unknown;

/** @param toError what to throw for an unexpected response */
export function createPlane(ports: PlanePorts, bearer: string | undefined, toError: ErrorOf = errorOf): Plane {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };

  async function expectedResponse(
    { method, path, query, body }: PlaneRequest,
    expected: number,
    { signal }: CallOptions = {},
  ): Promise<TransportResponse> {
    const line = { method, path };
    const sent = await send(
      ports.steps,
      {
        method,
        path: path + queryText(query),
        headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(inSnakeCase(body)) }),
        maxResponseBytes,
      },
      { deadlineMs: ports.timeoutMs, ...(signal && { signal }) },
    );
    if (sent.kind === "unusable") throw toError(line, sent, signal);
    if (sent.response.status !== expected) throw toError(line, unusable("status", sent.response), signal);
    return sent.response;
  }

  return {
    async request(request, schema, options) {
      const read = parseBody(schema, await expectedResponse(request, request.expected ?? 200, options));
      // Without the response: the body of a success may hold a token.
      if (read === undefined) throw new ControlPlaneUnavailable(request, "malformed");
      return fromWire(schema, read);
    },
    async send(request, options) {
      await expectedResponse(request, 204, options);
    },
  };
}

/** Consent's own rule: a 401 is a rejection, anything else an outage (docs/reference/client.md#exceptions). */
export const consentErrorOf: ErrorOf = (line, { fault, response, cause }, signal) => {
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  return response?.status === 401
    ? rejection(line, response)
    : new ControlPlaneUnavailable(line, fault, response, cause);
};

function queryText(query: object = {}): string {
  const given = Object.entries(inSnakeCase(query)).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** The members' names only: what they hold is data. */
const inSnakeCase = (value: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), member]));

/**
 * One segment of a path.
 *
 * @throws {TypeError} for an empty name, `.` and `..`, which URL parsers resolve, and for a lone surrogate
 */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name) || !name.isWellFormed()) throw new TypeError("this name cannot be a path segment");
  return encodeURIComponent(name);
}
