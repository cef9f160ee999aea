// Imported first by every program. In syntax that older versions of Node can read.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 20)) {
  console.error(`agent-authorization-service needs Node 22.20 or newer; this is ${process.version}`);
  process.exit(1);
}
