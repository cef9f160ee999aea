/**
 * Loaded before a child's own program: the channel to the parent closes when the parent ends, by SIGKILL too, and the
 * child then ends as by SIGTERM.
 */
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

export {};
