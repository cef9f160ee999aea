import { anonymous, type Exchange, request } from "../exchange.ts";

const unauthorized = { blocked: "unauthorized", status: 401, answer: /\r\nwww-authenticate: Bearer\r\n/i } as const;

const session = "X-Svc-Session: {session}";
const presented = (name: string, ...lines: readonly string[]): Exchange => ({
  name,
  send: anonymous("GET /ledger/read", lines),
  want: unauthorized,
});

/** Cases 44 and 57: a request without exactly one bearer and its session is unauthorized. */
export const bearers: readonly Exchange[] = [
  presented("nothing at all"),
  presented("a session without a bearer", session),
  presented("two equal bearers", "Authorization: Bearer {bearer}", "Authorization: Bearer {bearer}", session),
  presented("a bearer and another", "Authorization: Bearer {bearer}", "Authorization: Basic eDp5", session),
  presented("two bearers in one line", "Authorization: Bearer {bearer}, Bearer {bearer}", session),
  presented("two sessions", "Authorization: Bearer {bearer}", session, session),
  presented(
    "another session's bearer",
    "Authorization: Bearer {bearer}",
    "X-Svc-Session: 01a00000-0000-7000-8000-000000000000",
  ),
  presented("an empty session", "Authorization: Bearer {bearer}", "X-Svc-Session:"),
  presented("a session with a blank", "Authorization: Bearer {bearer}", "X-Svc-Session: {session} x"),
  presented("an overlong session", "Authorization: Bearer {bearer}", `X-Svc-Session: ${"a".repeat(256)}`),
  presented("a session with bytes that are not UTF-8", "Authorization: Bearer {bearer}", "X-Svc-Session: \xff\xfe"),
  presented("a bearer with bytes that are not UTF-8", "Authorization: Bearer \xff.\xfe.\xfd", session),
  presented("another scheme", "Authorization: Basic eDp5", session),
  presented("a scheme alone", "Authorization: Bearer", session),
  presented("a token without a scheme", "Authorization: {bearer}", session),
  presented("trailing junk", "Authorization: Bearer {bearer} x", session),
  presented("a trailing comma", "Authorization: Bearer {bearer},", session),
  presented("no JWT", "Authorization: Bearer abc", session),
  presented("an OAuth client's access token where no client logs in", `Authorization: Bearer svc_at_${"A".repeat(43)}`),
  presented("its refresh token", `Authorization: Bearer svc_rt_${"A".repeat(43)}`),
  presented("its code as a password", `Authorization: Basic svc_code_${"A".repeat(43)}`, session),
  presented("a JWT of five parts", "Authorization: Bearer a.b.c.d.e", session),
  presented("a JWT without claims", "Authorization: Bearer e30.e30.e30", session),
  presented("a bearer of 20 kB", `Authorization: Bearer ${"a".repeat(20_000)}.b.c`, session),
  presented("a false signature", "Authorization: Bearer {forged}", session),
  presented("two sessions in one line", "Authorization: Bearer {bearer}", "X-Svc-Session: {session}, {session}"),
  presented("a bearer in Proxy-Authorization", "Proxy-Authorization: Bearer {bearer}", session),
  presented("a bearer in a cookie", "Cookie: authorization=Bearer {bearer}", session),
  {
    name: "a bearer in the query",
    send: anonymous("GET /ledger/read?access_token={bearer}", [session]),
    want: unauthorized,
  },
  {
    name: "without a bearer an unknown path is unauthorized too",
    send: anonymous("GET /nobody/nothing"),
    want: unauthorized,
  },
  {
    name: "without a bearer an MCP message is not read",
    send: anonymous(
      "POST /files",
      ["Content-Type: application/json", "Content-Length: 40"],
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    ),
    want: unauthorized,
  },
  {
    name: "a tool's narrowed token",
    send: anonymous("GET /ledger/read", ["Authorization: Bearer {narrowed}", "X-Svc-Session: {narrowedSession}"]),
    want: unauthorized,
  },
  ...[
    ["a bearer names its session itself", []],
    ["another spelling of the session header is no session", ["X_Svc_Session: another", "X.Svc.Session: another"]],
  ].map(
    ([name, more]): Exchange => ({
      name: String(name),
      send: anonymous("GET /ledger/read", ["Authorization: Bearer {bearer}", ...(more ?? [])]),
      want: {
        passes: {
          target: "http:ledger/read",
          line: "GET /read",
          headers: ["x-svc-session: {session}"],
          without: ["another"],
        },
      },
    }),
  ),
  {
    name: "a page of another origin without a bearer",
    send: anonymous("POST /ledger/send", ["Origin: https://evil.example", "Content-Length: 0"]),
    want: { blocked: "unauthorized", status: 403 },
  },
  {
    name: "a lower-case scheme and several spaces are one bearer",
    send: anonymous("GET /ledger/read", ["Authorization: bearer   {bearer}", session]),
    want: { passes: { target: "http:ledger/read", line: "GET /read" } },
  },
  {
    name: "an undeclared call",
    send: request("GET /ledger/secret"),
    want: { blocked: "policy", status: 403, answer: /"deny_reason":"TARGET_NOT_DECLARED"/ },
  },
  {
    name: "a call that another scope allows names that scope",
    send: request("GET /ledger/elsewhere"),
    want: {
      blocked: "policy",
      status: 403,
      answer:
        /www-authenticate: Bearer error="insufficient_scope", scope="elsewhere"\r\n[\s\S]*"recoverable":true,"consentable_scopes":\["elsewhere"\]/i,
    },
  },
];
