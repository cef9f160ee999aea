import fc from "fast-check";
import { type Case, requestOf, type Target } from "../target.ts";

/** Path segments with several readings, and plain ones between them. */
const odd = fc.constantFrom(
  ...["//", ".", "..", ";", ";x=1", "\\", "#", "?", "*", ":id", "~", "@", "%", "&", "="],
  ...["%2e", "%2E%2e", "%2f", "%5C", "%3b", "%00", "%0d%0a", "%25", "%252e", "%ff", "%c0%af", "%C3%A9", "%61", "%zz"],
);
const word = fc.constantFrom("a", "admin", "entries", "post", "base", "7", "A", "entries/7", "a.b", "a;b");
const segment = fc.oneof(
  { weight: 12, arbitrary: word },
  { weight: 1, arbitrary: fc.tuple(word, odd, word).map((parts) => parts.join("")) },
  { weight: 1, arbitrary: odd },
);
const query = fc.constantFrom("", "", "?x=1", "?/../admin", "?a=%zz&b=//", "?");
const path = fc
  .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), query)
  .map(([segments, query]) => `/${segments.join("/")}${query}`);

interface Place {
  readonly target: string;
  readonly host: string;
}

/** Every form of a request target and every way to name an upstream (RFC 9112 section 3.2). */
const place: fc.Arbitrary<Place> = fc
  .record({
    path,
    form: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom("prefix", "host", "absolute") },
      { weight: 1, arbitrary: fc.constant("star") },
    ),
    name: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom("ledger", "deep") },
      { weight: 1, arbitrary: fc.constantFrom("files", "nobody") },
    ),
    host: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("ledger.internal", "LEDGER.internal.", "deep.internal:80") },
      { weight: 1, arbitrary: fc.constantFrom("evil.example", "{own}", "", "a b", "ledger.internal@x") },
    ),
  })
  .map(({ path, form, name, host }) => {
    if (form === "prefix") return { target: `/${name}${path}`, host: "{own}" };
    if (form === "star") return { target: "*", host };
    const under = host.startsWith("deep") && !path.startsWith("/a") ? `/base${path}` : path;
    return form === "host" ? { target: under, host } : { target: `http://${host}${under}`, host: "{own}" };
  });

/** Headers that imitate ours, another hop's, or repeat one. */
const harmless = fc.constantFrom(
  ...["x_svc_session", "X-Svc-Authorization", "X-Svc-Blocked", "Txn-Token", "txn_token", "Agent-Identity"],
  ...[
    "X-Forwarded-For",
    "X_Forwarded_Host",
    "Forwarded",
    "X-HTTP-Method-Override",
    "X-Original-URL",
    "Proxy-Authorization",
  ],
  ...["Connection", "Keep-Alive", "TE", "Via", "Trailer", "Cookie", "Accept", "X-A", "x-a", "Expect"],
  ...["traceparent", "baggage", "constructor", "__proto__", "authorization_", "Proxy-Connection"],
);
/** Most calls with one of these are blocked. */
const fatal = fc.constantFrom(
  "X-Svc-Session",
  "Upgrade",
  "Transfer-Encoding",
  "Content-Length",
  "Host",
  "Authorization",
);
const name = fc.oneof({ weight: 15, arbitrary: harmless }, { weight: 1, arbitrary: fatal });
const value = fc.constantFrom(
  ...["", "1", "forged", "Authorization, Txn-Token, X-Svc-Session", "close", "trailers", "websocket", "h2c", "a, b"],
  ...["100-continue", "chunked", "\u00e9", "Bearer a.b.c", "x".repeat(300), "http://evil.example/"],
);
const header = fc.tuple(name, value).map(([name, value]) => `${name}: ${value}`);
const method = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom("GET", "POST", "PUT", "HEAD") },
  { weight: 1, arbitrary: fc.constantFrom("OPTIONS", "TRACE", "PATCH", "get", "PROPFIND") },
);
const body = fc.constantFrom("", "{}", '{"amount":1}', "plain", "x".repeat(3_000));

const call: fc.Arbitrary<Case> = fc
  .record({ method, place, headers: fc.array(header, { maxLength: 4 }), body })
  .map(({ method, place: { target, host }, headers, body }) => {
    const framing = body === "" ? [] : [`Content-Length: ${body.length}`];
    return {
      send: requestOf(`${method} ${target}`, [`Host: ${host}`, ...headers, ...framing], body),
      isHead: method === "HEAD",
      check: (_heard, arrivals) => [
        ...(arrivals.length > 1 ? ["more than one request arrived"] : []),
        ...arrivals.flatMap((arrival) => [
          ...(arrival.method === method ? [] : [`sent as ${arrival.method}`]),
          // Nothing was reserialized: the sent bytes are a part of the received ones.
          ...(target.endsWith(arrival.url.replace(/^\/base/, "")) ||
          arrival.url.replace(/^\/base/, "").startsWith("/?") ||
          arrival.url === "/"
            ? []
            : [`sent to ${arrival.url}`]),
          ...(arrival.body.toString("latin1") === body ? [] : ["another body"]),
        ]),
      ],
    };
  });

export const calls: Target = {
  name: "calls",
  about: "paths, authority forms, header sets, methods and bodies: the decided call is the one sent",
  cases: call,
};
