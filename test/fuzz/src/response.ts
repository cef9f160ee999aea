/**
 * Parses an agent's received bytes as strictly as RFC 9112, to find responses that two readers could split differently.
 *
 * @param isHead the request was a HEAD
 * @returns why it is no single response, or undefined; a truncated one counts as one
 */
export function responseFault(received: string, isHead: boolean): string | undefined {
  let rest = received;
  for (;;) {
    if (rest === "") return undefined;
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1)
      return /^H?T?T?P?\/?1?\.?1?/.test(rest) && rest.length < 65_536 ? undefined : "headers without an end";
    const [statusLine = "", ...lines] = rest.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e\x80-\xff]*$/.exec(statusLine)?.[1]);
    if (!(status >= 100)) return `status line ${JSON.stringify(statusLine)}`;
    const bad = lines.find((line) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\t\x20-\x7e\x80-\xff]*$/.test(line));
    if (bad !== undefined) return `header ${JSON.stringify(bad)}`;
    rest = rest.slice(end + 4);
    if (status >= 200) return bodyFault(rest, lines, isHead || status === 204 || status === 304);
    if (status === 101) return undefined;
  }
}

function bodyFault(body: string, lines: readonly string[], isEmpty: boolean): string | undefined {
  const valuesOf = (name: string) =>
    lines.filter((line) => line.toLowerCase().startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
  const [lengths, codings] = [valuesOf("content-length"), valuesOf("transfer-encoding")];
  if (lengths.length + codings.length > 1) return "two framings";
  if (isEmpty) return body === "" ? undefined : "an unexpected body";
  if (codings.length === 1) return chunkFault(body);
  return lengths.length === 1 && body.length > Number(lengths[0]) ? "more than its length" : undefined;
}

function chunkFault(body: string): string | undefined {
  let rest = body;
  for (;;) {
    const head = /^([0-9a-f]+)\r\n/i.exec(rest);
    if (!head) return /^[0-9a-f]*\r?$/i.test(rest) ? undefined : "no chunk";
    const length = Number.parseInt(head[1] ?? "", 16);
    rest = rest.slice(head[0].length);
    if (length === 0)
      return /^(?:[^\r\n]+\r\n)*\r\n$|^[^\r\n]*\r?$|^(?:[^\r\n]+\r\n)*[^\r\n]*\r?$/.test(rest)
        ? undefined
        : "more than its last chunk";
    if (rest.length < length + 2) return undefined;
    if (rest.slice(length, length + 2) !== "\r\n") return "a chunk without its end";
    rest = rest.slice(length + 2);
  }
}
