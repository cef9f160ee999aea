/**
 * Bodies and Content-Type headers, each list one request's, that servers read in different ways: by another charset, as a
 * form, after a repeated header. The first five types are plain JSON, which all of them read alike.
 */
export const hostileContentTypes: readonly (readonly string[])[] = [
  ["application/json"],
  ["Application/JSON;charset=UTF-8"],
  ['application/json; charset="utf-8"'],
  ["application/vnd.api+json"],
  ["application/vnd.api+json; charset=utf-8"],
  ["application/json; charset=utf-16"],
  ["application/json; charset=utf-16le"],
  ["application/json; charset=utf-7"],
  ["application/json; charset=utf-8; charset=utf-7"],
  ["application/json; charset=utf-7; charset=utf-8"],
  ['application/json; x=";charset=utf-8"; charset=utf-7'],
  ["application/json; charset*=utf-8''utf-7"],
  ["application/json; charset=\\utf-8"],
  ["application/json;"],
  ["application/json; boundary=x"],
  ["application/json, application/x-www-form-urlencoded"],
  ["application/x-www-form-urlencoded, application/json"],
  ["application/x-www-form-urlencoded"],
  ["application/x-www-form-urlencoded; charset=utf-8"],
  ["application/x-www-form-urlencoded; application/json"],
  ["application/x-www-form-urlencoded+json"],
  ["multipart/form-data; boundary=x"],
  ["text/plain"],
  ["text/json"],
  ["application/octet-stream"],
  ["application/jsonx"],
  ["application/json", "application/x-www-form-urlencoded"],
  ["application/x-www-form-urlencoded", "application/json"],
  [],
];

export const plainContentTypes = hostileContentTypes.slice(0, 5);

export const hostileBodies: readonly (string | Buffer)[] = [
  '{"amount":12.5,"to":"7"}',
  '{"a":"&amount=1000000&to=mallory&x="}',
  '{"a":"+ACI-,+ACI-to+ACI-:+ACI-mallory"}',
  '{"n":[1.0,-0,1e3,0.1,"\\u00e9"],"__proto__":{"to":"mallory"}}',
  '{"a":1,"a":2}',
  '{"n":9007199254740993}',
  '{"n":1e400}',
  '{"a":NaN}',
  '{"a":"\\ud800"}',
  '\ufeff{"a":1}',
  '{"a":1}x',
  "amount=1",
  '--x\r\ncontent-disposition: form-data; name="to"\r\n\r\nmallory\r\n--x--',
  "[1]",
  '"a"',
  "",
  Buffer.from('{"a":1}', "utf16le"),
  Buffer.from('{"a":"\u00ff"}', "latin1"),
];
