import { type Exchange, request } from "../exchange.ts";

/** Case 56: a path with more than one reading is refused. */
const refused = (path: string): Exchange => ({
  name: `the path ${JSON.stringify(path)} is ambiguous`,
  send: request(`GET ${path}`),
  want: { blocked: "unresolvable_call", status: 404 },
});

const sent = (path: string, target: string, received: string): Exchange => ({
  name: `the path ${JSON.stringify(path)} is ${target}, unchanged`,
  send: request(`GET ${path}`),
  want: { passes: { target, line: `GET ${received}` } },
});

const malformed = (path: string): Exchange => ({
  name: `the target ${JSON.stringify(path)} is no HTTP target`,
  send: request(`GET ${path}`),
  want: { malformed: [400] },
});

const ambiguous = [
  ...["/ledger/any/../admin", "/ledger/any/./x", "/ledger/any/..", "/ledger/any/.", "/../ledger/read"],
  ...[
    "/ledger/any/%2e%2e/admin",
    "/ledger/any/%2E./admin",
    "/ledger/any/.%2e/admin",
    "/ledger/any/%2e",
    "/ledger/%2e%2e/read",
  ],
  ...["//ledger/read", "/ledger//read", "/ledger/any//x", "/ledger/any/x//", "//evil.example/ledger/read"],
  ...["/ledger/any/a\\b", "/ledger\\read", "/ledger/any/..\\admin", "\\ledger\\read"].slice(0, 3),
  ...["/ledger/any/a%2fb", "/ledger/any/a%2Fb", "/ledger%2fread", "/ledger/any/a%5cb", "/ledger/any/a%5Cb"],
  ...[
    "/ledger/any/%00",
    "/ledger/any/a%00b",
    "/ledger/any/%0d%0aX-A:1",
    "/ledger/any/%0a",
    "/ledger/any/%7f",
    "/ledger/any/%c2%85",
  ],
  ...["/ledger/any/%252e%252e/admin", "/ledger/any/%252fx", "/ledger/any/%255c", "/ledger/any/%2525"],
  ...["/ledger/any/%", "/ledger/any/%2", "/ledger/any/%zz", "/ledger/any/%u002e"],
  ...[
    "/ledger/any/%ff",
    "/ledger/any/%c0%af",
    "/ledger/any/%c0%ae%c0%ae",
    "/ledger/any/%ed%a0%80",
    "/ledger/any/%e0%80%af",
  ],
  ...[
    "/ledger/any/;x",
    "/ledger/any/..;/admin",
    "/ledger/any/.;x/admin",
    "/ledger/any/%3bx",
    "/ledger/any/..%3b/admin",
  ],
  ...["/ledger/any/x#y", "/ledger/any/x?y#z"],
  ...["/ledger/%61dmin", "/ledger/adm%69n", "/ledger/admin;x", "/ledger/admin%3bx"],
  ...["/ledger/Admin", "/ledger/READ", "/ledger/admin.json", "/ledger/admin.", "/ledger/admin%20", "/ledger/admin%3fx"],
  ...[
    "/%6cedger/read",
    "/Ledger/read",
    "/ledger.",
    "/nobody/read",
    "/ledger/nowhere/at/all",
    "/ledger/read/",
    "/ledger/read/x",
  ],
  ...["/ledger/READ/x", "/", "/ledger", "/ledger/any/"],
];

export const paths: readonly Exchange[] = [
  ...ambiguous.map(refused),
  ...["ledger/read", "\\ledger\\read", "?x", "", "http:/ledger/read", "/ledger/any/caf\xe9", "/ledger/any/x\x01"].map(
    malformed,
  ),

  sent("/ledger/read", "http:ledger/read", "/read"),
  sent("/ledger/read?a=b&c=%2e%2e/..//;", "http:ledger/read", "/read?a=b&c=%2e%2e/..//;"),
  sent("/ledger/read?", "http:ledger/read", "/read?"),
  sent("/ledger/any/x/", "http:ledger/any", "/any/x/"),
  sent("/ledger/any/~@:!$&'()*+,=-_", "http:ledger/any", "/any/~@:!$&'()*+,=-_"),
  sent("/ledger/any/...", "http:ledger/any", "/any/..."),
  sent("/ledger/any/x;y=1/z", "http:ledger/any", "/any/x;y=1/z"),
  sent("/ledger/any/%C3%A9", "http:ledger/any", "/any/%C3%A9"),
  sent("/ledger/any/%c3%a9", "http:ledger/any", "/any/%c3%a9"),
  sent("/ledger/any/%61%20b", "http:ledger/any", "/any/%61%20b"),
  sent("/ledger/any/%2561", "http:ledger/any", "/any/%2561"),
  sent("/ledger/Users", "http:ledger/page", "/Users"),
  sent("/ledger/*", "http:ledger/page", "/*"),
  sent("/ledger/:page", "http:ledger/page", "/:page"),
];
