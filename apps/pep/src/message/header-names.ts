const mostNames = 1_024;
const longestName = 64;

/** Calls have the same few names, so an answer is found once for each. Bounded, since agents choose them. */
function remembered<T extends string | boolean>(find: (name: string) => T): typeof find {
  const known = new Map<string, T>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const found = find(name);
    if (known.size < mostNames && name.length <= longestName) known.set(name, found);
    return found;
  };
}

/** A name as the most liberal servers read it: CGI and its kin keep only letters and digits of `X-Svc-Session`. */
export const foldedName = remembered((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ""));

/** RFC 9110 section 7.6.1, folded. */
export const hopByHop: ReadonlySet<string> = new Set([
  ...["connection", "http2settings", "keepalive", "proxyauthenticate", "proxyauthorization"],
  ...["proxyconnection", "te", "transferencoding", "upgrade"],
]);

export const isOurs = (folded: string): boolean => /^xsvc|^txntoken$|^agentidentity$/.test(folded);

/** What an agent may not say, by folded name (docs/reference/enforcement-point.md#headers). */
const reserved: readonly RegExp[] = [
  // Set by the enforcement point. Trace context is its own; framing belongs to each connection.
  /^(?:authorization|baggage|contentlength|expect|host|traceparent|tracestate|trailer)$/,
  // `Proxy` becomes the variable HTTP_PROXY of a CGI program.
  /^proxy/,
  // Who forwarded the request, and for whom.
  /^x?forwarded|^xenvoy|(?:client|cluster|real|connecting|remote|originating|socket)(?:ip|ipv6|addr|address)$/,
  // Another method.
  /httpmethod|methodoverride|^x?httpoverride$|^xmethod$/,
  // Another URL or host.
  /^x?(?:original|rewrite|override)(?:ur[il]|path|host|method|query|scheme)|(?:ur[il]|path|host)override$/,
  /^x?requestur[il]$|^x?httphost|^xhost$|(?:destination|unencoded)ur[il]$|^x?(?:matchedpath|scriptname|(?:url)?scheme)$/,
  /^frontendhttps$/,
  // What a server tells its own parts: which file to send, which handler to skip.
  /^x?(?:accel|sendfile)|^x(?:middleware|invoke|nowroute)/,
  // A client certificate that was verified elsewhere.
  /clientcert|client(?:s?dn|cn|verify)$|^x?ssl|^x?tlsclient|^xamznmtls/,
  // A person or service that another proxy signed in.
  /^x?remote(?:user|group|email|name)|^x?authenticateduser|^xauthrequest|^xwebauth|^xmsclientprincipal/,
  /^xgoog(?:authenticateduser|iap)|^xamznoidc|^cfaccess|^xpomerium|^xauthentik|^xvouch|^tailscale/,
  /^x(?:authenticated|anonymousconsumer|consumer|credential)(?:customid|groups?|id(?:entifier)?|scope|username)?$|^xuserinfo$/,
];

/** The one rule for an agent's headers: a folded name that is ours, for one connection, or reserved does not pass. */
export const mayPass = remembered(
  (folded) => !hopByHop.has(folded) && !isOurs(folded) && !reserved.some((pattern) => pattern.test(folded)),
);
