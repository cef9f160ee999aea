import { type CamelCased, fromWire, snakeCase } from "@svc/core";
import { parseBody, type StepPorts, send, type TransportResponse, type Unusable, unusable } from "@svc/hop";
import type { z } from "zod";
import { type Asked, ControlPlaneUnavailable } from "./errors.ts";
import { errorOf, rejection } from "./refusal.ts";

/** What every call takes besides its arguments. */
export interface CallOptions {
  /** Where it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface PlaneRequest extends Asked {
  /** Members in `camelCase`, as those of the body; one that is undefined is not sent. */
  readonly query?: object | undefined;
  readonly body?: object;
  /** The one status of an answer with a body. Default 200. */
  readonly expected?: number;
}

/** Sends requests of one group of routes under one bearer. */
export interface Plane {
  /**
   * The answer's body as `schema` reads it, in `camelCase`.
   *
   * @throws {ControlPlaneRejected} where the control plane refuses, {ControlPlaneUnavailable} for anything else that is
   * not `expected` with a body that `schema` reads
   */
  ask<Schema extends z.ZodType>(
    request: PlaneRequest,
    schema: Schema,
    options: CallOptions | undefined,
  ): Promise<CamelCased<z.output<Schema>>>;
  /** For an answer without a body: 204. @throws as `ask` */
  send(request: PlaneRequest, options: CallOptions | undefined): Promise<void>;
}

export interface PlanePorts {
  readonly steps: StepPorts;
  readonly timeoutMs: number;
}

/** A page of 200 decisions, or a manifest of 1 MiB with every character escaped. */
const maxResponseBytes = 8 * 1024 * 1024;

type Refusal = (asked: Asked, refused: Unusable, signal?: AbortSignal) => unknown;

/** @param refuse what to throw for an answer that is not the expected one */
export function createPlane(ports: PlanePorts, bearer: string | undefined, refuse: Refusal = errorOf): Plane {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };

  async function expectedAnswer(
    { method, path, query, body }: PlaneRequest,
    expected: number,
    { signal }: CallOptions = {},
  ): Promise<TransportResponse> {
    const asked = { method, path };
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
    if (sent.kind === "unusable") throw refuse(asked, sent, signal);
    if (sent.response.status !== expected) throw refuse(asked, unusable("status", sent.response), signal);
    return sent.response;
  }

  return {
    async ask(request, schema, options) {
      const read = parseBody(schema, await expectedAnswer(request, request.expected ?? 200, options));
      // Without the answer: the body of a success may hold a token.
      if (read === undefined) throw new ControlPlaneUnavailable(request, "malformed");
      return fromWire(schema, read);
    },
    async send(request, options) {
      await expectedAnswer(request, 204, options);
    },
  };
}

/** Consent's own rule: a 401 is a refusal, anything else an outage that says why (specification: Client exceptions). */
export const consentErrorOf: Refusal = (asked, refused, signal) => {
  const { fault, response, cause } = refused;
  if (fault === "aborted" && signal?.aborted) return signal.reason;
  return response?.status === 401
    ? rejection(asked, response)
    : new ControlPlaneUnavailable(asked, fault, response, cause);
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
 * @throws {TypeError} for `.` and `..`, which every URL parser takes for another path, and for a lone surrogate
 */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name) || !name.isWellFormed()) throw new TypeError("this name cannot stand in a path");
  return encodeURIComponent(name);
}
