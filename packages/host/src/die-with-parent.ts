/**
 * Loaded before a child's own program: the channel to the parent closes when the parent ends, even by SIGKILL, and then
 * the child ends as on any SIGTERM.
 */
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

export {};
